"""Group: replies that stop inside a call, anywhere in it: inside tags, names, values, CDATA, events and characters.

The call of every dialect, plainly and where its value is between tags also as CDATA, is cut after every character
of it on Chat Completions and after many on every other wire, and on Chat Completions after any byte of its events;
each time the connection is reset once, and once it ends. No call comes of it before the last character of its argument
has come.
"""

from collections.abc import Iterator
from functools import cache, partial

from reliability import heard, invariants
from reliability.driving import Outcome, driven
from reliability.faults import Faulted, given
from reliability.invariants import Breach
from reliability.jobs import Job, Tally
from reliability.materials import EMPTY_REQUESTS, PATHS, Reply, chosen
from reliability.rows import Row
from reliability.said import with_tools
from reliability.spliced import content_type
from support.spoken import TEXTUAL, Spoken
from toolcalls.dialects import all_dialects
from toolcalls.request import Tool
from toolcalls.route import Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import write

GROUP = "faults: cuts"
TOOL = Tool("run_shell", {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]})
# The shares of all cuts that are tried: after characters on Chat Completions all, on the other wires, after bytes.
WIRES = 0.4
BYTES = 0.1
MARK = "zz9"  # what the argument ends with
VALUE = f"rm -r é/{MARK}"


@cache
def texts(dialect: str) -> tuple[tuple[str, str], ...]:
    """What is cut: the call as the dialect writes it, and with its value as CDATA."""
    try:
        plain = write(dialect, (Call(TOOL.name, f'{{"command": "{VALUE}"}}'),), Toolbox((TOOL,)))
    except Unwritable:
        return ()
    if f">{VALUE}<" not in plain:
        return (("plain", plain),)
    return (("plain", plain), ("CDATA", plain.replace(VALUE, f"<![CDATA[{VALUE}]]>")))


def jobs(fraction: float, seed: int) -> Iterator[Job]:
    """The parts of this group."""
    for dialect in all_dialects():
        yield Job(over, (dialect, fraction, seed))


def over(dialect: str, fraction: float, seed: int) -> Row:
    """All cuts of one dialect's call."""
    tally = Tally(GROUP)
    route = with_tools(Route(client="native", upstream="text"), (TOOL,))
    for kind, text in texts(dialect):
        for key, spoken in TEXTUAL.items():
            whole = cache(partial(_driven, spoken, spoken.said([text]), route, ends=True))  # few parts need each
            share = 1 if spoken.wire == "openai_chat" else WIRES
            for size in range(1, len(text)):
                for ends in (False, True):
                    name = f"{dialect} {kind} wire={key} characters={size} ends={ends} seed={seed}"
                    if chosen(name, fraction * share, seed):
                        body = _until(spoken, text, size)
                        tally.count(name, _breaches(spoken, body, route, whole(), text[:size], ends=ends))
        spoken = TEXTUAL["openai_chat"]
        body = spoken.said([text[at : at + 9] for at in range(0, len(text), 9)])
        whole = cache(partial(_driven, spoken, body, route, ends=True))
        for size in range(1, len(body)):
            for ends in (False, True):
                name = f"{dialect} {kind} wire=openai_chat bytes={size} ends={ends} seed={seed}"
                if chosen(name, fraction * BYTES, seed):
                    said = heard.heard(spoken.wire, spoken.form, body[:size]).text
                    tally.count(name, _breaches(spoken, body[:size], route, whole(), said, ends=ends))
    return tally.row


def _until(spoken: Spoken, text: str, size: int) -> bytes:
    """The body up to the frame in which the first `size` characters of a text come."""
    frames = given(spoken.said([text[:size], text[size:]]), spoken.form).frames
    body = b""
    for frame in frames:
        body += frame
        if heard.heard(spoken.wire, spoken.form, body).text:
            return body
    raise AssertionError(f"{spoken.wire} says nothing of {text[:size]!r}")


def _driven(spoken: Spoken, body: bytes, route: Route, *, ends: bool) -> Outcome:
    return driven(_reply(spoken, body), [body], route=route, ends=ends)


def _reply(spoken: Spoken, body: bytes) -> Reply:
    path = PATHS["gemini-jsonarray" if spoken.form == "json_array" else spoken.wire.replace("_", "-")]
    return Reply("cut", path, content_type(spoken.form), _REQUESTS[spoken.wire], body)


_REQUESTS = {name: str(request).replace("'", '"').encode() for name, request in EMPTY_REQUESTS.items()}


def _breaches(
    spoken: Spoken, body: bytes, route: Route, whole: Outcome, said: str, *, ends: bool
) -> Iterator[Breach]:  # fmt: skip
    outcome = _driven(spoken, body, route, ends=ends)
    yield from invariants.sound(outcome, Faulted(body, (body,), ends))
    yield from invariants.cut_short(outcome, whole, ends=True)
    if outcome.complete and not said.rpartition(MARK)[2]:
        yield Breach("invented", f"I6 {outcome.complete} of {said!r}")
    after = heard.heard(spoken.wire, spoken.form, outcome.out)
    if after.finish is not None and heard.heard(spoken.wire, spoken.form, body).finish is None:
        yield Breach("invented", f"I6 the client heard an end: {after.finish}")
    open_ = [verdict for _, verdict in outcome.verdicts if verdict.index is not None]
    # From a JSON array no element can go, so one whose text was a call's so far has left without it, and the text of a
    # call that broke off comes in an element of its own.
    kept = after.text == said if spoken.form == "json_array" else outcome.out == body
    if ends and not open_ and not kept:
        yield Breach("lost", f"I1 {after.text!r} of {said!r}")
