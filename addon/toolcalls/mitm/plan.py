"""What is decided from a request: which API it is, which route holds, what is done to the reply.

A plan is a function of the configuration and of the request, so it is the same live, from a file and in a replay. It
holds no reference to the flow, because a tap holds it.
"""

from dataclasses import dataclass, replace
from hashlib import blake2b

from mitmproxy import http

from toolcalls.asking import processors_for, screened, steered, watch_for
from toolcalls.config import select
from toolcalls.evidence import Decision, decide, terms_of
from toolcalls.exchange import Exchange
from toolcalls.frames import Form
from toolcalls.mitm.codings import CodingError, decoded
from toolcalls.policy import Terms
from toolcalls.processors import Processors, Watch
from toolcalls.reacting import RUNNER
from toolcalls.request import Request
from toolcalls.rewriting import rewritten
from toolcalls.route import Config
from toolcalls.tools import Toolbox
from toolcalls.turns import formats
from toolcalls.wires import Wire, model_in, recalled_by, wire_of

_PASSES, _LEFT_OUT = "the request passes unchanged: ", "request: left out: "
_LOSSES = (_PASSES, _LEFT_OUT)

MAX_REQUEST = 64 * 1024 * 1024  # bytes


class Unread(Exception):
    """A request of an LLM API whose reply passes unread; the text says why and is safe to log once escaped."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is done to one exchange. `seed` is a digest of the request's body, which the ids of lifted calls grow from.

    request   the body that came, and the one that the upstream is sent instead; None where it is the same
    processors   the route's, None where it has none
    watch     the loop guard that only looks on, None where there is none
    """

    wire: Wire
    terms: Terms
    decision: Decision
    tools: Toolbox
    seed: bytes
    request: tuple[bytes, bytes] | None = None
    processors: Processors | None = None
    watch: Watch | None = None

    @property
    def changes(self) -> bool:
        """Whether the reply may leave otherwise than it came."""
        return self.decision.kind != "observe"

    @property
    def losses(self) -> tuple[str, ...]:
        """What the upstream is not told, of all that was done to the request: worth a line in the log."""
        return tuple(note for note in self.decision.evidence if note.startswith(_LOSSES))

    @property
    def model(self) -> str:
        """The model that the request names, "" for none."""
        return self.terms.request.model

    def exchange(self, form: Form) -> Exchange:
        """A new reading of a reply."""
        return Exchange(
            self.wire, self.terms, self.decision, self.tools, form=form, seed=self.seed, processors=self.processors,
            watch=self.watch,
        )  # fmt: skip


def wire_for(request: http.Request) -> Wire | None:
    """The API that a request is for. This is all that other traffic costs."""
    if request.method == "POST":
        return wire_of(request.path)
    return recalled_by(request.path) if request.method == "GET" else None


def plan_for(wire: Wire, request: http.Request, config: Config, original: bytes | None = None) -> Plan:
    """Raises Unread when the request's body is not there or cannot be read.

    original   the body that the client sent, without its coding, where the request holds a rewritten one
    """
    recalled = request.method == "GET" and original is None  # what was asked before is not known here
    raw = request.raw_content if original is None else original
    if raw is None:
        raise Unread("the request was streamed, so its tools are not known")
    if len(raw) > MAX_REQUEST:
        raise Unread(f"the request is larger than {MAX_REQUEST} bytes")
    try:
        body = decoded(raw, request.headers.get("content-encoding", "")) if original is None else original
        asked = Request() if recalled else wire.request(body)
    except (CodingError, LookupError, ValueError) as error:
        raise Unread(f"the request cannot be read: {error}") from error
    asked = replace(asked, model=asked.model or model_in(request.path))
    # The Host header names what the client asked for, also where mitmproxy only knows an address (transparent mode).
    route = select(config, host=request.pretty_host, path=request.path, model=asked.model, wire=wire.name)
    headers = {name.lower(): request.headers[name] for name in request.headers}
    decision = decide(route, asked, headers, config.vtc_client_patterns)
    terms, tools = terms_of(route, asked, decision)
    agent = headers.get("user-agent", "")
    processors = processors_for(wire.name, body, route, decision, model=asked.model, agent=agent, run=RUNNER)
    watch = watch_for(wire.name, body, route, decision)
    made = None
    if route.rewrite_request and not recalled:
        made, notes = _rewritten(wire, body, replace(terms, route=route), decision, processors)
        decision = replace(decision, evidence=(*decision.evidence, *notes))
    seed = blake2b(request.path.encode() if recalled else body, digest_size=16).digest()
    return Plan(wire, terms, decision, tools, seed, (body, made) if made else None, processors, watch)


def _rewritten(
    wire: Wire, body: bytes, terms: Terms, decision: Decision, processors: Processors | None
) -> tuple[bytes | None, list[str]]:
    """The request's new body, None where it stays; and what was done, or why nothing could be."""
    format_ = formats().get(wire.name)
    if format_ is None:
        return None, [f"{_PASSES}those of {wire.name} are not rewritten"]
    try:
        offered = screened(format_.read(body), processors.gate if processors is not None else None)
        made = rewritten(offered.conversation, terms, decision)
        told = steered(made.conversation, terms.route)
        notes = (*offered.notes, *made.notes, *told.notes)
        if not notes:
            return None, []
        return format_.write(body, told.conversation), [f"request: {note}" for note in notes]
    except (ValueError, RecursionError) as error:  # Unwritable is one; nothing is sent that could not be made whole
        return None, [f"{_PASSES}{error}"]


def form_of(wire: Wire, request: http.Request, response: http.Response) -> Form | None:
    """The form of a reply that can be read; None for an error's reply and for all other content types."""
    if not 200 <= response.status_code < 300:
        return None
    return wire.form(request.path, response.headers.get("content-type", ""))
