"""What is fuzzed: each target takes any bytes and raises where a law does not hold. No fuzzer is needed to call one.

The first bytes of an input choose what an input of the real kind cannot say: the policy, the sizes of the pieces, how
the text ends. The rest is the text, or the body.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import cycle

from reliability import heard
from support.chatclient import HEAD, chunk, ending
from support.chatclient import event as framed
from support.transducing import run
from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Markup, Text, Verdict
from toolcalls.insight.vocabulary.words import REASONS
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request, Tool
from toolcalls.requests.evidence import Decision, call_policy_of, decide
from toolcalls.route import PolicyName, Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import FRAMES, SSE
from toolcalls.writing.writer import calls_in

CHOICES = 4  # bytes in front of the text


def _tool(name: str, **types: str) -> Tool:
    return Tool(name, {"type": "object", "properties": {key: {"type": kind} for key, kind in types.items()}})


TOOLS = (
    _tool("Bash", command="string"),
    _tool("Read", path="string", limit="integer"),
    _tool("Write", path="string", content="string"),
    _tool("Noop"),
)
POLICIES: tuple[PolicyName, ...] = ("standard", "strict", "lenient")


def pieces[T: (str, bytes)](whole: T, sizes: Sequence[int]) -> list[T]:
    """`whole` in pieces of these sizes, in turn; 0 is the rest."""
    found: list[T] = []
    at = 0
    for size in cycle(sizes or (0,)):
        if at >= len(whole):
            return found
        end = at + size if size else len(whole)
        found.append(whole[at:end])
        at = end
    return found


def chosen(data: bytes) -> tuple[int, list[int], bytes]:
    """What the first bytes choose: a number, the sizes of pieces; and the rest."""
    head = data[:CHOICES].ljust(CHOICES, b"\0")
    return head[0], [size % 32 for size in head[1:CHOICES]], data[CHOICES:]


def text_of(data: bytes) -> str:
    """Any bytes as text; lone surrogates may be in it, as servers send them."""
    return data.decode("utf-8", "replace").replace("\ufffe", "\ud800")


def reader(data: bytes) -> None:
    """Any text: cut or not it is read the same, nothing of it is lost, and every verdict has a known reason."""
    number, sizes, rest = chosen(data)
    text, cut = text_of(rest), bool(number & 64)
    call_policy = CallPolicy(Route(client="native", upstream="text", policy=POLICIES[number % 3]), Request(tools=TOOLS))
    once, again = _read(call_policy, [text], cut=cut), _read(call_policy, pieces(text, sizes), cut=cut)
    joined = "".join(event.text for event in once if isinstance(event, Text | Markup))
    assert joined == text, (joined, text)
    assert _meaning(once) == _meaning(again), (_meaning(once), _meaning(again))
    for call in calls_in(once):
        assert isinstance(json.loads(call.arguments), dict), call
    for event in once:
        assert not isinstance(event, Verdict) or event.reason is None or event.reason in REASONS, event


def _read(call_policy: CallPolicy, parts: Iterable[str], *, cut: bool) -> list[Event]:
    one = Reader(call_policy)
    events = [event for part in parts for event in one.feed(part)]
    return [*events, *one.finish(cut=cut)]


def _meaning(events: Iterable[Event]) -> tuple[str, dict[int, list[str]], set[int], list[Verdict]]:
    """What does not depend on the cutting: text, calls as far as they came, which are complete, verdicts."""
    text: list[str] = []
    calls: dict[int, list[str]] = {}
    complete: set[int] = set()
    verdicts: list[Verdict] = []
    for event in events:
        if isinstance(event, Text):
            text.append(event.text)
        elif isinstance(event, CallStart):
            calls[event.index] = [event.name, ""]
        elif isinstance(event, CallPiece):
            calls[event.index][1] += event.json
        elif isinstance(event, CallEnd):
            complete.add(event.index)
        elif isinstance(event, Verdict):
            verdicts.append(event)
    return "".join(text), calls, complete, verdicts


def transducer(data: bytes) -> None:
    """Any text as JSON: cut or not it leaves the same, what is done is strict JSON, and strict JSON is what it was."""
    number, sizes, rest = chosen(data)
    text = text_of(rest)
    options = {"bare_keys": bool(number & 1), "only_object": bool(number & 2)}
    once, again = run([text], **options), run(pieces(text, sizes), **options)
    assert once == again, (once, again)
    out, _, done, failed, repairs = once
    assert not (done and failed), once
    if done:
        _strict(out)
    value = text.strip(" \t\r\n")
    if done and not repairs and once[1] == len(text) and not any("\ud800" <= char <= "\udfff" for char in text):
        assert out.strip(" \t\r\n") == value, (out, text)


def _strict(text: str) -> None:
    """Raises for what is no strict JSON."""

    def refused(word: str) -> None:
        raise AssertionError(f"{word} in {text!r}")

    try:
        json.loads(text, parse_constant=refused)
    except RecursionError:  # of the standard library's; the transducer has none
        return


def framing(data: bytes) -> None:
    """Any body in every form: all bytes come back, and the data does not depend on the cutting."""
    _, sizes, body = chosen(data)
    for made in FRAMES.values():
        once, again = (_framed(made(), parts) for parts in ([body], pieces(body, sizes)))
        assert once == again, (made, once, again)
    events = [payload for payload, complete in _framed(SSE(), [body]) if complete]
    assert events == list(heard.events(body, lenient=False)), (events, body)


def _framed(splitter: object, parts: Sequence[bytes]) -> list[tuple[bytes, bool]]:
    frames = [frame for part in parts for frame in splitter.feed(part)] + splitter.flush()  # type: ignore[attr-defined]
    joined = b"".join(frame.raw for frame in frames)
    assert joined == b"".join(parts), (joined, parts)
    return [(frame.data, frame.complete) for frame in frames if frame.data is not None]


def exchange(data: bytes) -> None:
    """Any body of every wire: nothing fails, cut or not the same leaves, and what is only observed is what it was."""
    number, sizes, body = chosen(data)
    ends = bool(number & 64)
    wires = list(all_wires().values())
    wire = wires[number % len(wires)]
    form = "ndjson" if wire.name.startswith("ollama") else getattr(wire, "stream_form", "sse")
    if number & 128:  # else most inputs are no stream at all
        text = text_of(body)
        wire, form = all_wires()["openai_chat"], "sse"
        body = framed(chunk({**HEAD, "content": ""})) + framed(chunk({"content": text})) + ending()
    outcomes = []
    for observes in (False, True):
        for parts in ([body], pieces(body, sizes)):
            route = Route(client="native", upstream="text")
            decision = decide(route, Request(tools=TOOLS), {}, ())
            if observes:
                decision = Decision("observe", "native", "native", None, ())
            call_policy, tools = call_policy_of(route, Request(tools=TOOLS), decision)
            one = Exchange(wire, call_policy, decision, tools, form=form, seed=b"fuzz")  # type: ignore[arg-type]
            out = b"".join([one.feed(part) for part in parts])
            out += one.close() if ends else one.abort()
            assert one.failure is None, repr(one.failure)
            assert not (observes and ends) or out == body, (out, body)
            outcomes.append((observes, _lines(out, body), sorted(one.verdicts, key=repr)))
    assert outcomes[0] == outcomes[1], outcomes
    assert outcomes[2] == outcomes[3], outcomes


def _lines(out: bytes, body: bytes) -> bytes:
    """What left. Where lines end with CR, a LF that was cut from it may be a blank line more."""
    return b"\n".join(filter(None, out.replace(b"\r", b"\n").split(b"\n"))) if b"\r" in body else out


TARGETS: dict[str, Callable[[bytes], None]] = {
    "reader": reader,
    "transducer": transducer,
    "framing": framing,
    "exchange": exchange,
}
