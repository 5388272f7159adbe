"""What must hold of every reply, whatever came: the eight invariants, each a function that lists what breaks it.

I1  what holds no call leaves byte for byte, or as far as it came
I2  text, calls and declined candidates make up what was said, nothing twice and nothing missing
I3  the cutting of the bytes does not matter
I4  nothing raises and nothing stalls
I5  what is held back is bounded, and a client that is cut off has lost only that
I6  no call comes of a reply that was cut off before its arguments were closed
I7  every candidate and every native call has exactly one record
I8  nothing of it is left behind for the next reply (`leftovers`, which every tally asks)

A breach is counted as one of four: bytes lost or altered, a call invented, a hang, or (`failed`) anything else.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from reliability import heard
from reliability.driving import Outcome, Stalled, plan_of
from reliability.faults import Faulted
from reliability.spliced import Spliced
from support.dialectcases import as_read
from support.exchanges import in_blocks
from toolcalls.events import Event, Markup, Text, Verdict
from toolcalls.flows.content_codings import CodingError
from toolcalls.reading.reader import Reader
from toolcalls.wires import all_wires
from toolcalls.writing.writer import calls_in

type Kind = Literal["lost", "invented", "hang", "failed"]

STALL = 0.25  # seconds of CPU for a piece, and what its bytes may take beyond that
STALL_BYTE = 20e-6  # a hundred times what a byte takes in a piece of many events
LOOK_AHEAD = 4096  # characters that are unread beside the text that is held: white space, the beginning of a tag

_BROKEN = {"truncated", "malformed"}
_TOKEN = re.compile(r"<[|\uff5c][^<>|\uff5c]{1,64}[|\uff5c]>")
_BLANK_LINES = re.compile(rb"(?:\r\n|\n|\r)+")


@dataclass(frozen=True)
class Breach:
    """One invariant that did not hold."""

    kind: Kind
    text: str


def sound(outcome: Outcome, faulted: Faulted) -> Iterator[Breach]:
    """I4 and the bookkeeping of the tap, for every reply."""
    failure = outcome.failure
    if isinstance(failure, Stalled):
        yield Breach("hang", str(failure))
    elif failure is not None and not (faulted.raw and isinstance(failure, CodingError)):
        yield Breach("failed", f"I4 {failure!r}")
    elif failure is None and faulted.raw:
        yield Breach("failed", "I4 a body that is not in its coding was not noticed")
    if outcome.slowest > STALL + STALL_BYTE * outcome.size:
        yield Breach("hang", f"I4 {outcome.slowest:.2f} s of CPU for a piece of {outcome.size} bytes")
    if outcome.held > outcome.route.max_frame_bytes:
        yield Breach("failed", f"I5 {outcome.held} bytes of frames wait, {outcome.route.max_frame_bytes} may")
    held = max(outcome.route.max_buffer_bytes, outcome.route.max_held_call_bytes)
    if outcome.undecided > held + LOOK_AHEAD:
        yield Breach("failed", f"I5 {outcome.undecided} characters wait, {held} may")
    if not outcome.encoded and outcome.client != outcome.out:
        yield Breach("lost", "I5 what the client got is not what is kept of it")
    if outcome.upstream != faulted.body + faulted.raw:
        yield Breach("lost", "I5 what came is not what is kept of it")
    yield from _told_once(outcome)


def _told_once(outcome: Outcome) -> Iterator[Breach]:
    """I7."""
    indices = sorted((lane, verdict.index) for lane, verdict in outcome.verdicts if verdict.index is not None)
    records = sorted((lane, record.index) for lane, record in outcome.client_calls)
    if indices != records:
        yield Breach("failed", f"I7 the calls {records} have the verdicts {indices}")
    spans = [(lane, verdict.start, verdict.end) for lane, verdict in outcome.verdicts if verdict.end > verdict.start]
    if len(spans) != len(set(spans)):
        yield Breach("failed", f"I7 a candidate has two verdicts: {spans}")


def untouched(outcome: Outcome, faulted: Faulted) -> Iterator[Breach]:
    """I1, for a reply that holds no call as text."""
    made = [verdict.name for _, verdict in outcome.verdicts if verdict.status == "lifted"]
    if made:
        yield Breach("invented", f"I1 lifted {made}")
    came = b"".join(faulted.pieces) if outcome.encoded else faulted.body + faulted.raw
    if (faulted.ends and outcome.out != came) or not came.startswith(outcome.out):
        yield Breach("lost", f"I1 {_difference(came, outcome.out)}")


def same(outcome: Outcome, other: Outcome, *, cut: bool) -> Iterator[Breach]:
    """I3: two ways of cutting the same bytes. `cut`: the connection broke, so what is held reaches nobody.

    A LF that is cut from its CR stays where the event that it closed goes: one blank line more, which says nothing.
    """
    if outcome.encoded != other.encoded:  # nothing of the reply may change, so one of them left in its coding
        return
    if outcome.out != other.out and not (b"\r" in other.upstream and _settled(outcome.out) == _settled(other.out)):
        yield Breach("lost", f"I3 {'cut off, ' if cut else ''}{_difference(other.out, outcome.out)}")
    if _told(outcome) != _told(other):
        yield Breach("failed", f"I3 verdicts {_told(outcome)} and {_told(other)}")


def _settled(body: bytes) -> list[bytes]:
    """The lines of a body that are not blank."""
    return [line for line in _BLANK_LINES.split(body) if line]


def _joined(body: bytes) -> bytes:
    """A body without its blank lines."""
    return b"\n".join(_settled(body))


def _told(outcome: Outcome) -> list[tuple[Any, ...]]:
    """Verdicts, without the order in which lanes that are side by side were told of."""
    return [(lane, *told(verdict), verdict.start, verdict.end) for lane, verdict in outcome.verdicts]


def told(verdict: Verdict) -> tuple[str, str | None, str | None, str | None]:
    """What a case says of a verdict."""
    return verdict.status, verdict.reason, verdict.dialect, verdict.name


def as_expected(one: Spliced, outcome: Outcome) -> Iterator[Breach]:
    """I2, where what arrives means what the case says."""
    case = one.case
    said = heard.heard(one.wire, one.form, outcome.out)
    wanted = [(name, json.loads(arguments)) for name, arguments, _ in case.calls]
    complete = said.whole
    if said.finish not in heard.ENDS:  # the reply says that a call broke off, and its JSON may look whole all the same
        complete = _within(wanted, complete)
    if complete != wanted:
        kind: Kind = "invented" if len(complete) > len(wanted) else "lost"
        yield Breach(kind, f"I2 calls {complete} instead of {wanted}")
    shown = case.shown
    unsent = all_wires()[one.wire].calls_are_whole and any(status in _BROKEN for status, *_ in case.verdicts)
    blank = one.wire == "anthropic" and _dense(said.text) == _dense(shown)  # a block of white space alone
    if unsent or blank:
        shown = shown_of(one, read(one, heard.Heard(case.text, finish="stop")))
    if said.text != shown:
        yield Breach("lost", f"I2 text {said.text!r} instead of {shown!r}")
    exact = [arguments if exact else None for _, arguments, exact in case.calls]
    if one.wire == "openai_chat" and any(
        wish is not None and wish != call[1] for wish, call in zip(exact, said.calls, strict=False)
    ):
        yield Breach("lost", f"I2 arguments {said.calls} instead of {exact}")
    found = tuple(told(as_read(verdict)) for _, verdict in outcome.verdicts)
    if found != case.verdicts:
        yield Breach("failed", f"I7 verdicts {found} instead of {case.verdicts}")


def conserved(one: Spliced, outcome: Outcome, faulted: Faulted) -> Iterator[Breach]:
    """I2, whatever arrives: what a client hears is what a reader makes of the text that was said, and nothing of it
    is missing there.
    """
    if not faulted.ends or faulted.raw:
        return
    broken = list(_compared(one, outcome, faulted.body, strict=False))
    if broken and not heard.is_text(faulted.body):
        # A frame that is no UTF-8 may also be forwarded unparsed: what a client makes of it is its own.
        broken = list(_compared(one, outcome, faulted.body, strict=True))
    yield from broken


def accounted(one: Spliced, outcome: Outcome, faulted: Faulted) -> Iterator[Breach]:
    """I2 where events come twice or out of order, so that nobody can say in which order the text was meant.

    What is shown is all that was said, but for the spans of calls and the tokens that are a dialect's frame wherever
    they stand; and no more calls than verdicts say, of declared tools.
    """
    before = heard.heard(one.wire, one.form, faulted.body)
    after = heard.heard(one.wire, one.form, outcome.out)
    taken = [verdict for _, verdict in outcome.verdicts if verdict.index is not None]
    said, shown = _dense(before.text + before.behind), _dense(after.text + after.behind)
    for token in _frame_tokens(one, said):
        said, shown = said.replace(token, ""), shown.replace(token, "")
    if len(said) - len(shown) > sum(verdict.end - verdict.start for verdict in taken) or len(shown) > len(said):
        yield Breach("lost", f"I2 {shown!r} is shown of {said!r}, with {taken}")
    if not taken and sorted(said) != sorted(shown):
        yield Breach("lost", f"I2 {shown!r} is shown of {said!r}")
    yield from _made_by_verdicts(one, outcome)


def _frame_tokens(one: Spliced, text: str) -> list[str]:
    """The special tokens in a text that no reply shows, whatever is beside them: `<|message_sep|>` of GigaChat."""
    tokens = sorted(set(_TOKEN.findall(text)))
    alone = ((token, read(one, heard.Heard(f"a {token} b", finish="stop"))) for token in tokens)
    return [
        token
        for token, events in alone
        if not any(isinstance(event, Verdict) for event in events)
        and "".join(event.text for event in events if isinstance(event, Text)) == "a  b"
    ]


def in_order(one: Spliced, outcome: Outcome, faulted: Faulted) -> Iterator[Breach]:
    """I2 where a limit decides how much of the text is a call: what is shown was said, in that order, and no more calls
    are made than verdicts say, of declared tools.
    """
    before = heard.heard(one.wire, one.form, faulted.body)
    after = heard.heard(one.wire, one.form, outcome.out)
    said, shown = iter(before.text + before.behind), after.text + after.behind
    if not all(character in said for character in shown):
        yield Breach("lost", f"I2 {shown!r} is shown of {before.text + before.behind!r}")
    yield from _made_by_verdicts(one, outcome)


def _made_by_verdicts(one: Spliced, outcome: Outcome) -> Iterator[Breach]:
    taken = [verdict for _, verdict in outcome.verdicts if verdict.index is not None]
    names = {tool.name for tool in plan_of(one.reply.path, one.reply.request, one.route).call_policy.request.tools}
    lifted = [verdict.name for verdict in taken if verdict.status == "lifted"]
    calls = [name for name, _ in outcome.complete]
    if calls != lifted or not (one.case.route.policy == "lenient" or set(calls) <= names):
        yield Breach("invented", f"I2 calls {calls}, verdicts {lifted}, tools {sorted(names)}")


def _dense(text: str) -> str:
    """A text without its white space, of which a little goes with calls."""
    return "".join(text.split())


def _compared(one: Spliced, outcome: Outcome, body: bytes, *, strict: bool) -> Iterator[Breach]:
    before = heard.heard(one.wire, one.form, body, strict=strict)
    after = heard.heard(one.wire, one.form, outcome.out, strict=strict)
    events = read(one, before)
    joined = "".join(event.text for event in events if isinstance(event, Text | Markup))
    if joined != before.text + before.behind:
        yield Breach("lost", f"I2 the reader has {joined!r} of {before.text + before.behind!r}")
    shown = shown_of(one, events)
    if shown != after.text + after.behind:
        yield Breach("lost", f"I2 text {after.text + after.behind!r} instead of {shown!r}")
    wanted = [(call.name, json.loads(call.arguments)) for call in calls_in(events)]
    complete = [(name, json.loads(arguments)) for name, arguments in outcome.complete]
    if complete != wanted:
        kind: Kind = "invented" if len(complete) > len(wanted) else "lost"
        yield Breach(kind, f"I2 calls {complete} instead of {wanted}")
    if _within(wanted, after.whole) != wanted:
        yield Breach("lost", f"I2 the client heard {after.whole} instead of {wanted}")


def _within(wanted: list[Any], found: list[Any]) -> list[Any]:
    """Those of the wanted calls that are found, in this order."""
    rest = iter(found)
    return [call for call in wanted if call in rest]


def shown_of(one: Spliced, events: list[Event]) -> str:
    """The text that a client is shown. Where a call is never split, one that broke off was not sent, and is text; and
    the Messages API has no block of white space alone beside another.
    """
    whole = all_wires()[one.wire].calls_are_whole
    shown: list[str] = []
    markup: list[str] = []
    if one.wire == "anthropic":
        return in_blocks(events)
    for event in events:
        if isinstance(event, Text):
            shown.append(event.text)
        elif isinstance(event, Markup):
            markup.append(event.text)
        elif isinstance(event, Verdict):
            if whole and event.index is not None and event.status in _BROKEN:
                shown.extend(markup)
            markup = []
    return "".join(shown)


def read(one: Spliced, said: heard.Heard) -> list[Event]:
    """What the reader makes of what was said, all at once; what came after the end is read by itself."""
    plan = plan_of(one.reply.path, one.reply.request, one.route)
    reader = Reader(plan.call_policy, tools=plan.tools)
    events = [*reader.feed(said.text), *reader.finish(cut=said.finish not in heard.ENDS)]
    if not said.behind:
        return events
    return [*events, *reader.feed(said.behind), *reader.finish(cut=said.again not in heard.ENDS)]


def cut_short(outcome: Outcome, whole: Outcome, *, ends: bool) -> Iterator[Breach]:
    """I6: of a reply that stopped, only calls that the whole reply has too, and nothing that it would not have sent.

    whole   the outcome of the reply without the cut
    ends    the body ended there; else the connection broke, and what was held reached nobody
    """
    calls = outcome.complete
    if calls != whole.complete[: len(calls)]:
        yield Breach("invented", f"I6 {calls} in a reply that was cut; whole it has {whole.complete}")
    settled = b"\r" in whole.upstream and _joined(whole.out).startswith(_joined(outcome.out))
    if not ends and not (settled or whole.out.startswith(outcome.out)):
        yield Breach("lost", f"I6 {_difference(whole.out, outcome.out)}")


def _difference(came: bytes, left: bytes) -> str:
    """Where two bodies part."""
    at = next((at for at, (one, other) in enumerate(zip(came, left, strict=False)) if one != other), -1)
    if at < 0:
        at = min(len(came), len(left))
    return f"{len(came)} bytes came, {len(left)} left; at {at}: {came[at : at + 60]!r} became {left[at : at + 60]!r}"
