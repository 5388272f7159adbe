"""The content views "Upstream body" and "Client body": each event with when it came and what is in it.

The two differ where the addon did something. Events that both hold, byte for byte and in the same order, are unmarked;
those of the upstream that did not leave as they came, and those of the client that did not come so, bear a `*`
(`pairing`); nothing is judged again.

An event's time is that of the piece its last byte came in (or went out in), counted from the reply's headers. After it
stands its number, by which "Tool calls" names it, and in "Upstream body" the numbers of the verdicts whose text it
brings.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from mitmproxy import contentviews

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Finish, Reasoning, Text
from toolcalls.insight.formatting import counted
from toolcalls.insight.report import visible
from toolcalls.mitm.views.excerpt import Excerpt, excerpt
from toolcalls.mitm.views.lines import clipped, folded
from toolcalls.mitm.views.message import Reply, Times, is_ours, reply_of
from toolcalls.mitm.views.pairing import same_frames
from toolcalls.wires import Part
from toolcalls.wires.frames import Frame

_WORDS = 60  # characters of one event's text or arguments
_RAW = 160  # characters of an event's payload
_EVENTS = 400  # at either end of a long body
_CHANGED = "did not leave as they came"
_MADE = "did not come so from the upstream"


class _BodyView(contentviews.Contentview):
    """The events of one body of a reply."""

    syntax_highlight = "javascript"  # every event is JSON

    def prettify(self, data: bytes, metadata: contentviews.Metadata) -> str:
        """A line an event. Raises ValueError when the addon has not read this message."""
        return "\n".join(self.lines(reply_of(data, metadata)))

    def render_priority(self, data: bytes, metadata: contentviews.Metadata) -> float:  # noqa: ARG002 - mitmproxy's
        """Never the first choice."""
        return 0.1 if is_ours(metadata) else -1

    def lines(self, reply: Reply) -> Iterator[str]:
        """The lines that are shown."""
        raise NotImplementedError


class UpstreamBodyView(_BodyView):
    """What the upstream sent."""

    name = "Upstream body"

    def lines(self, reply: Reply) -> Iterator[str]:
        return _lines(reply, reply.upstream, reply.client, reply.upstream_times, _CHANGED, _spans(reply))


class ClientBodyView(_BodyView):
    """What the client got."""

    name = "Client body"

    def lines(self, reply: Reply) -> Iterator[str]:
        return _lines(reply, reply.client, reply.upstream, reply.client_times, _MADE, ())


@dataclass(frozen=True, slots=True)
class _Span:
    """Where in the text of a choice a verdict's candidate stands. `number` is that of "Tool calls"."""

    number: int
    lane: int
    start: int
    end: int


def _spans(reply: Reply) -> list[_Span]:
    return [
        _Span(number, one["lane"], one["start"], one["end"])
        for number, one in enumerate(reply.report["verdicts"], 1)
        if one["end"] and one["dialect"] is not None
    ]


def _lines(
    reply: Reply, body: bytes, other: bytes, times: Times | None, marked: str, spans: Sequence[_Span]
) -> Iterator[str]:
    part = excerpt(body, reply.form, _EVENTS)
    same = same_frames(part, excerpt(other, reply.form, _EVENTS)) if reply.changed else [True] * len(part.frames)
    events = [number for number, frame in enumerate(part.frames) if frame.raw.strip(b"\r\n")]
    changed = sum(not same[number] for number in events)
    whole = reply.form == "whole"
    what = "reply in one piece" if whole else "event"
    which = "the first and last " if part.left_out else ""
    about = f"{which}{counted(len(events), what)} of {counted(len(body), 'byte')}"
    if not reply.changed:
        about += "; client and upstream have the same"
    elif whole:
        about += "; the client got another than the upstream sent"
    elif changed:
        about += f"; {changed} {marked} (*)"
    if reply.live:
        about += "; the reply is still coming"
    yield f"// {about}"
    if times is None:
        yield "// when they came is not known"
    if spans:
        yield '// [1]: the event brings text of the call that "Tool calls" names by this number'
    yield " "
    moments = _moments(part, len(body), times)
    codec = reply.wire.decoder(streamed=not whole) if reply.wire else None
    left_out = part.left_out
    read: Counter[int] = Counter()  # characters, by choice
    for count, number in enumerate(events, 1):
        if left_out and number >= len(part.head):
            yield f"… {counted(left_out, 'byte')} in the middle of the body left out …"
            left_out = 0
        frame = part.frames[number]
        moment = moments[number]
        when = "         " if moment is None else f"{moment / 1e6:8.3f}s"
        parts = codec.decode(frame.data) if codec is not None and frame.data is not None else []
        if whole:
            yield f"{when}"
            yield from folded(frame.raw.decode("utf-8", "replace"))
        else:
            mark = " " if same[number] else "*"
            known = number < len(part.head)  # how many are between is not counted
            place = f"{count:>4}" if known else "    "
            about = _about(parts, read, spans) if known else ""
            yield f"{when} {mark}{place} {about}{_words(parts)}{_payload(frame)}".rstrip()


def _about(parts: Sequence[Part], read: "Counter[int]", spans: Sequence[_Span]) -> str:
    """The numbers of the verdicts whose text an event brings; `read` is what was before it, and grows."""
    found = []
    for lane, event in parts:
        if isinstance(event, Text):
            start = read[lane]
            read[lane] = end = start + len(event.text)
            found += [one.number for one in spans if one.lane == lane and one.start < end and start < one.end]
    return f"[{', '.join(map(str, dict.fromkeys(found)))}] " if found else ""


def _words(parts: Sequence[Part]) -> str:
    """What an event says, in a few words."""
    said = [_word(event) for _, event in parts[:4]]
    if len(parts) > 4:
        said.append(f"… {len(parts) - 4} more")
    return f"{', '.join(filter(None, said)):<24}  " if any(said) else ""


def _word(event: Event) -> str:
    match event:
        case Text(text):
            return f'text "{_quotable(text)}"' if text else ""
        case Reasoning(text):
            return f'reasoning "{_quotable(text)}"'
        case CallStart(index, name):
            return f"call {index} begins: {clipped(name, _WORDS)}"
        case CallPiece(index, json):
            return f"call {index}: {_short(json)}"
        case CallEnd(index):
            return f"call {index} ends"
        case Finish(reason):
            return f"finish: {clipped(reason, _WORDS)}"
    return ""


def _quotable(text: str) -> str:
    return _short(text).replace('"', '\\"')


def _short(text: str) -> str:
    return clipped(text, _WORDS).replace("\\x0a", "\\n").replace("\\x09", "\\t").replace("\\x0d", "\\r")


def _payload(frame: Frame) -> str:
    """An event's bytes on one line, without what all events of a stream have."""
    shown = frame.raw if len(frame.raw) <= 4 * _RAW else frame.raw[: 4 * _RAW]
    text = shown.strip(b"\r\n").removeprefix(b"data:").strip().decode("utf-8", "replace")
    cut = len(frame.raw) - len(shown)
    line = visible(" ".join(text[:_RAW].splitlines()))
    more = max(0, len(text) - _RAW) + cut
    return f"{line} … {more:,} more" if more else line


def _moments(part: Excerpt, size: int, times: Times | None) -> list[int | None]:
    """For each frame when its last byte came, in microseconds."""
    if times is None or not times[0]:
        return [None] * len(part.frames)
    ends = list(accumulate(times[1]))
    found: list[int | None] = []
    for start, frame in zip(part.starts, part.frames, strict=True):
        last = min(start + len(frame.raw), size)
        found.append(times[0][min(bisect_left(ends, last), len(ends) - 1)])
    return found
