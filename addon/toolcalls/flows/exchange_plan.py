"""What is decided from a request: its API, its route, and what is done to the reply.

A plan is a function of the configuration and the request, so it is the same live, from a file and in a replay. It holds
no reference to the flow, because a tap holds the plan.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b

from mitmproxy import http

from toolcalls.config import select
from toolcalls.flows.content_codings import CodingError, decoded
from toolcalls.flows.request_signing import signs_body
from toolcalls.processors import LoopWatch, Processors
from toolcalls.processors.reactor_runner import RUNNER
from toolcalls.reading.policy import CallPolicy
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.requests.call_memory import REFUSED, CallMemory, missing_call_notes, missing_calls, with_missing_calls
from toolcalls.requests.client_memory import ClientMemory, session_of
from toolcalls.requests.conversation import Conversation, conversation_of
from toolcalls.requests.evidence import Decision, call_policy_of, client_pattern, decide
from toolcalls.requests.history_mending import mended_history
from toolcalls.requests.processing import loop_watch_for, processors_for, with_steering_texts, without_blocked_tools
from toolcalls.requests.rewriting import rewrite
from toolcalls.route import Config
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import Wire, model_in, wire_of, wire_of_retrieval
from toolcalls.wires.frames import Form

_REASONS_FIRST = "an earlier reply of this session closed reasoning that nothing in it opened: this one may begin so"
_PASSES, _LEFT_OUT = "the request passes unchanged: ", "request: left out: "
_LOSSES = (_PASSES, _LEFT_OUT, REFUSED)

MAX_REQUEST = 64 * 1024 * 1024  # bytes


class ReplyNotParsed(Exception):
    """A request of an LLM API whose reply is forwarded unparsed; the text says why and is safe to log once escaped."""


@dataclass(frozen=True, slots=True)
class ExchangePlan:
    """What is done to one exchange.

    seed             gives a digest of the request's body, from which the ids of lifted calls are made
    form_asked_for   says how the body of the reply is framed that the request asks for
    request          the body that came, and the one that the upstream is sent instead; None if it is the same
    processors       the route's; None for none
    watch            a loop guard that only reports; None for none
    call_memory      remembers the calls that are lifted; None if no later request can refer to them
    recognised       the pattern that an earlier request of the session matched; None for none
    may_be_refused   the request has the result of a lifted call, and the server has kept that call as text
    """

    wire: Wire
    call_policy: CallPolicy
    decision: Decision
    tools: Toolbox
    seed: Callable[[], bytes]
    request: tuple[bytes, bytes] | None = None
    processors: Processors | None = None
    watch: LoopWatch | None = None
    call_memory: CallMemory | None = None
    may_be_refused: bool = False
    recognised: str | None = None
    session: bytes = b""
    clients: ClientMemory | None = None
    reasons_first: bool = False
    form_asked_for: Callable[[], Form] = lambda: "whole"

    @property
    def may_change(self) -> bool:
        """Whether the reply may be changed: where nothing else is, it may be mended."""
        return self.decision.kind != "observe" or bool(self.call_policy.route.mend)

    @property
    def may_block(self) -> bool:
        """Whether a rule may block calls of the reply: then a reply that cannot be read must not pass."""
        return self.may_change and self.processors is not None and self.processors.blocks

    @property
    def losses(self) -> tuple[str, ...]:
        """The notes on what the upstream is not sent of the request; they are logged."""
        return tuple(note for note in self.decision.evidence if note.startswith(_LOSSES))

    @property
    def model(self) -> str:
        """The model that the request names, "" for none."""
        return self.call_policy.request.model

    def exchange(self, form: Form, *, is_error: bool = False, moment: tuple[int, str] | None = None) -> Exchange:
        """A new reading of a reply. `is_error`: its status is that of an error. `moment`: as an exchange's."""
        exchange = Exchange(
            self.wire, self.call_policy, self.decision, self.tools,
            form=form, seed=self.seed, processors=self.processors, watch=self.watch,
            is_error=is_error, moment=moment,
        )  # fmt: skip
        if self.call_memory is not None:
            self.call_memory.reply_started(exchange)
        if self.clients is not None:
            self.clients.reply_started(self.session, exchange)
        return exchange


class _Digest:
    """A digest of a body, made when it is first asked for: of a long one it takes a while."""

    __slots__ = ("_body", "_made")

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._made = b""

    def __call__(self) -> bytes:
        if not self._made:
            self._made = blake2b(self._body, digest_size=16).digest()
        return self._made


def wire_for(request: http.Request) -> Wire | None:
    """The API that a request is for; None for any other traffic, which costs no more than this."""
    if request.method == "POST":
        return wire_of(request.path)
    return wire_of_retrieval(request.path) if request.method == "GET" else None


def plan_for(
    wire: Wire,
    request: http.Request,
    config: Config,
    original: bytes | None = None,
    call_memory: CallMemory | None = None,
    clients: ClientMemory | None = None,
    recognised: str | None = None,
    *,
    reasons_first: bool = False,
) -> ExchangePlan:
    """The plan for a request. Raises ReplyNotParsed if its body is missing or cannot be read.

    original      the body that the client sent, without content coding, if the request holds a rewritten one
    call_memory   the calls that were lifted so far; None for a request on its own
    clients       the clients that were recognised so far; None for a request on its own
    recognised    the pattern that is recorded for the request's session; None for none
    reasons_first   the session's model is recorded to begin in reasoning
    """
    fetched = request.method == "GET" and original is None  # what was asked before is not known here
    raw = request.raw_content if original is None else original
    if raw is None:
        raise ReplyNotParsed("the request was streamed, so its tools are not known")
    if len(raw) > MAX_REQUEST:
        raise ReplyNotParsed(f"the request is larger than {MAX_REQUEST} bytes")
    try:
        body = decoded(raw, request.headers.get("content-encoding", "")) if original is None else original
        conversation = None if fetched else conversation_of(wire.name, body)
    except (CodingError, LookupError, ValueError) as error:
        raise ReplyNotParsed(f"the request cannot be read: {error}") from error
    asked = Request() if conversation is None else conversation.request
    asked = replace(asked, model=asked.model or model_in(request.path))
    asked = call_memory.with_tools(asked) if call_memory is not None else asked
    # The Host header names what the client asked for, also where mitmproxy only knows an address (transparent mode).
    route = select(config, host=request.pretty_host, path=request.path, model=asked.model, wire=wire.name)
    headers = _by_name(request.headers)
    session = b"" if clients is None else session_of(headers, request.pretty_host, asked)
    if clients is not None:
        recognised = _recognised(clients, session, headers, config)
        reasons_first = clients.begins_in_reasoning(session)
    decision = decide(route, asked, headers, config.vtc_client_patterns, recognised=recognised)
    call_policy, tools = call_policy_of(route, asked, decision)
    if reasons_first and call_policy.lift and not asked.prefill:
        call_policy = replace(call_policy, may_start_in_reasoning=True)
        decision = replace(decision, evidence=(*decision.evidence, _REASONS_FIRST))
    agent = headers.get("user-agent", "")
    processors = processors_for(
        conversation, route, decision, model=asked.model, agent=agent, run=RUNNER, tools=tools.names
    )
    watch = loop_watch_for(conversation, route, decision)
    made, notes = None, missing_call_notes(wire.name, conversation, call_memory, rewrites=route.rewrite_request)
    may_be_refused = bool(notes)
    if route.rewrite_request and signs_body(request):
        notes = (f"{_PASSES}it is signed (AWS Signature Version 4); a bearer token signs nothing", *notes)
    elif route.rewrite_request and conversation is not None:
        made, done = _rewritten(
            wire, conversation, replace(call_policy, route=route), decision, tools, processors, call_memory
        )
        notes = (*done, *notes)
    decision = replace(decision, evidence=(*decision.evidence, *notes)) if notes else decision
    path = request.path
    seed = _Digest(path.encode() if fetched else body)
    request_body = (body, made) if made else None
    return ExchangePlan(
        wire, call_policy, decision, tools, seed, request_body, processors, watch, call_memory, may_be_refused,
        recognised, session, clients, reasons_first, lambda: wire.asked_form(path, body),
    )  # fmt: skip


def _by_name(headers: http.Headers) -> dict[str, str]:
    """The headers by their names in lower case, those of one name joined, in one pass."""
    found: dict[str, str] = {}
    for raw_name, raw_value in headers.fields:
        name, value = raw_name.decode("utf-8", "surrogateescape").lower(), raw_value.decode("utf-8", "surrogateescape")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def _recognised(clients: ClientMemory, session: bytes, headers: Mapping[str, str], config: Config) -> str | None:
    """The pattern that an earlier request of the session matched. One that this request matches is remembered."""
    matched = client_pattern(headers, config.vtc_client_patterns)
    if matched is None:
        return clients.recall(session)
    clients.remember(session, matched)
    return None


def _rewritten(
    wire: Wire,
    conversation: Conversation,
    call_policy: CallPolicy,
    decision: Decision,
    tools: Toolbox,
    processors: Processors | None,
    call_memory: CallMemory | None,
) -> tuple[bytes | None, list[str]]:
    """The request's new body, None where it stays; and what was done, or why nothing could be."""
    if not call_policy.request.carries_calls:
        return None, [f"{_PASSES}those of {wire.name} are not rewritten"]
    try:
        body, mended = mended_history(wire, conversation, call_policy, tools)
        if mended:
            conversation = conversation_of(wire.name, body)
        if decision.upstream == "text" and decision.kind == "lift":  # the tools are declared anew in each request
            known = {tool.name for tool in conversation.tools}
            earlier = (tool for tool in call_policy.request.conversation_tools if tool.name not in known)
            conversation = conversation.changed(tools=(*conversation.tools, *earlier))
        offered = without_blocked_tools(conversation, processors.gate if processors is not None else None)
        # A text upstream knows such a call as the text that it was, and its result becomes text, too.
        missing = missing_calls(offered.conversation, call_memory) if call_memory else {}
        names = {id_: call.name for id_, call in missing.items()}
        is_text = decision.upstream == "text"
        whole = with_missing_calls(wire.name, offered.conversation, {} if is_text else missing)
        made = rewrite(whole.conversation, call_policy, decision, names)
        steered = with_steering_texts(made.conversation, call_policy.route)
        notes = (*offered.notes, *whole.notes, *made.notes, *steered.notes)
        made_body = steered.conversation.written() if notes else body
        notes = (*mended, *notes)
        return made_body if notes else None, [f"request: {note}" for note in notes]
    except (ValueError, RecursionError) as error:  # Unwritable is one; nothing is sent that could not be made whole
        return None, [f"{_PASSES}{error}"]
