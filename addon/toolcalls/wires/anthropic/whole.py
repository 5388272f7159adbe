"""A reply that comes as one JSON body."""

from collections.abc import Iterable, Iterator, Sequence
from operator import is_
from typing import Any

from toolcalls.events import (
    CallStart,
    Event,
    Fetched,
    Finish,
    OtherContent,
    ParagraphEnd,
    PartEnd,
    Reasoning,
    Text,
)
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part, WholeCodec, calls_first
from toolcalls.wires.anthropic.blocks import (
    all_mended,
    ended,
    fetched,
    gap,
    is_behind,
    is_call,
    is_other,
    is_text,
    reason_of,
)
from toolcalls.wires.anthropic.decoding import native_call
from toolcalls.wires.anthropic.replacement import BlockCall
from toolcalls.wires.content_blocks import Block, CompleteCalls, ContentBlocks
from toolcalls.wires.replacement import Replacements

_THINKING = {"thinking", "redacted_thinking"}


class Whole(WholeCodec):
    """The codec of a whole reply."""

    def decode(self, payload: bytes) -> list[Part]:
        """The events of the reply, by lane."""
        message = rawjson.fields(payload)
        if rawjson.word(message, "type") == "error" or "content" not in message:
            return []
        self.reply_id = rawjson.word(message, "id")
        rows: list[list[Event]] = []
        index = 0
        ids: set[str] = set()
        behind_call = False  # a native call came since the latest text block
        results: list[str] = []  # of the provider's own tools, since then
        for place, (lane, raw) in enumerate(_in_lanes(rawjson.items(message["content"]))):
            block = rawjson.fields(raw)
            while lane is not None and lane >= len(rows):
                rows.append([])
            if lane is not None and is_text(block):
                results += fetched(block)
                if behind_call and lane:
                    rows[lane].append(ParagraphEnd())
                rows[lane].extend(map(Fetched, results))
                if text := rawjson.word(block, "text"):
                    rows[lane].append(Text(text))
                behind_call, results = False, []
            elif lane is not None:
                rows[lane].extend(event for _, event in native_call(lane, index, block, ids, place))
                index += 1
                behind_call = True
            else:
                results += fetched(block)
        reason = reason_of(rawjson.word(message, "stop_reason"))
        blocks = [*map(rawjson.fields, rawjson.items(message["content"]))]
        thoughts = [rawjson.word(block, "thinking") for block in blocks if rawjson.word(block, "type") in _THINKING]
        parts: list[Part] = [(0, Reasoning("", said="\n".join(thoughts)))] if thoughts else []
        if any(is_other(rawjson.word(block, "type")) for block in blocks):
            parts.append((0, OtherContent()))
        if not rows:
            parts.append((0, Finish(reason)))
        for lane, events in enumerate(rows):
            parts += [(lane, event) for event in calls_first(events)]
            parts.append((lane, Finish(reason) if lane == len(rows) - 1 else PartEnd("stop")))
        return parts

    def encode(self, payload: bytes, parts: Sequence[Part], *, can_omit: bool) -> list[bytes]:  # noqa: ARG002
        message = rawjson.fields(payload)
        came = rawjson.items(message["content"])
        content = all_mended(came, parts)
        lanes: dict[int, list[Part]] = {}
        for part in parts:
            lanes.setdefault(part[0], []).append(part)
        texts, natives = _placed(content)
        replacements = {lane: Replacements(blocks, lanes.get(lane, ()), BlockCall) for lane, blocks in natives.items()}
        lanes |= {lane: replacement.other_parts for lane, replacement in replacements.items()}
        said = {lane: [event for _, event in rest] for lane, rest in lanes.items()}
        made = Content()
        wrote = False
        for lane, raw in _in_lanes(content):
            block = rawjson.fields(raw)
            if lane is None:
                made.blocks.append(raw)
            elif is_text(block):
                events = said.pop(lane, [])
                shown = _text_of(events)
                made.take_text(raw, [Text(gap(shown)), *events] if wrote and shown else events)
                wrote = lane in replacements and is_behind(shown, rawjson.word(block, "text"))
            elif (call := replacements[lane].next()) is not None:
                made.take_call(call, raw)
            elif replacements[lane].in_order and lane not in texts:
                made.take_text({}, said.pop(lane, []))
        made.take_text({}, [event for events in said.values() for event in events])  # text that has no block
        for replacement in replacements.values():
            for call in replacement.unplaced:
                made.take_call(call)
        cut = any(isinstance(event, Finish) and event.reason == "length" for _, event in parts)
        end = ended(message, parts, lifted=made.lifted, broken=made.broken and cut, calls=made.calls)
        if end is message and len(made.blocks) == len(came) and all(map(is_, made.blocks, came)):
            return [payload]
        return [rawjson.written({**end, "content": made.blocks})]


def _text_of(events: Iterable[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text))


def _in_lanes(content: Iterable[Any]) -> Iterator[tuple[int | None, Any]]:
    """Each block with its lane, None for those that are neither text nor a call of the client's tools."""
    lane, used = 0, False
    for raw in content:
        block = rawjson.fields(raw)
        lane += used and is_text(block)
        used = used or is_text(block)
        yield lane if is_text(block) or is_call(block) else None, raw


def _placed(content: Iterable[Any]) -> tuple[set[int], dict[int, list[Fields]]]:
    """The lanes that have a text block, and the blocks of native calls by their lanes."""
    texts: set[int] = set()
    natives: dict[int, list[Fields]] = {}
    for lane, raw in _in_lanes(content):
        block = rawjson.fields(raw)
        if lane is not None and is_text(block):
            texts.add(lane)
        elif lane is not None:
            natives.setdefault(lane, []).append(block)
    return texts, natives


class Content(ContentBlocks):
    """The blocks of a whole reply, as they are made."""

    blanks_wait = True

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[Any] = []
        self.calls = 0
        self.lifted = False
        self.broken = False
        self._came: Any = {}  # the text block in hand
        self._text = ""  # what it says
        self._call: CallStart | None = None
        self._rest: Fields = {}  # other members of the block that is open
        self._said: list[str] = []

    def take_text(self, came: Any, events: Iterable[Event]) -> None:
        """What has become of the text block `came`, or of text that has none ({}). The first text of it has its other
        members.
        """
        self._came, self.held = came, rawjson.fields(came)
        self._text = rawjson.word(self.held, "text")
        complete = CompleteCalls()
        for event in (*complete.of(events), *complete.decide()):
            self.event(0, event)
        self.broken = self.broken or complete.broken
        if self._blank and self._blank == self._text:  # nothing else was in it
            self._say(self.show(), self._text, None)
        self.close()

    def take_call(self, call: BlockCall, raw: Any = None) -> None:
        """A native call, or the one in its place. `raw` is the block that is there, None where none does."""
        self.calls += 1
        self.lifted = self.lifted or call.start.dialect is not None
        self.blocks.append(raw if call.is_unchanged(rawjson.fields(raw)) else call.block())

    def _start(self, block: Block, opener: Fields | None, call: CallStart | None) -> None:  # noqa: ARG002
        self._rest, self.held = opener or {}, None
        self._call, self._said = call, []

    def _say(self, block: Block, text: str, event: Fields | None) -> None:  # noqa: ARG002
        self._said.append(text)

    def _stop(self, block: Block) -> None:
        said = "".join(self._said)
        if self._call is not None:
            call = BlockCall(self._call)
            call.pieces.append(said)
            self.take_call(call)
        elif block.kind == "text":
            same = said == self._text
            self.blocks.append(self._came if same else {"type": "text", **self._rest, "text": rawjson.string(said)})
        else:
            self.blocks.append({"type": "thinking", "thinking": rawjson.string(said), "signature": ""})
