"""Past calls and results in a dialect's text as native ones."""

from collections.abc import Iterator, Sequence
from hashlib import blake2b

from toolcalls.events import CallEnd, CallPiece, CallStart, Event
from toolcalls.events import Text as Shown
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.reading.unopened_reasoning import holds_closer
from toolcalls.request import Request
from toolcalls.requests.conversation import Block, Conversation, PastCall, Result, Text, Turn
from toolcalls.requests.prompt_tools import tools_in
from toolcalls.route import Route
from toolcalls.text.markdown import Position
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing import prompting


def read_as_native(conversation: Conversation, dialect: str) -> Conversation:
    """The conversation as if all of it had been native: past calls in `dialect`, with those results that are found.

    Nothing is sent like that. It shows which calls were made so far.
    """
    tools = Toolbox(conversation.tools or tools_in(conversation.system))
    turns: list[Turn] = []
    open_calls: tuple[PastCall, ...] = ()
    for number, turn in enumerate(conversation.turns):
        answered = results_in_reply_to(turn, open_calls, dialect) if open_calls else None
        open_calls = ()
        if turn.role == "assistant":
            turns.append(as_native(turn, number, any_name_policy(dialect), tools))
            open_calls = calls_of(turns[-1])
        else:
            turns.extend([turn] if answered is None else answered)
    return conversation.changed(turns=turns)


def any_name_policy(dialect: str) -> CallPolicy:
    """The policy for an earlier turn: whatever is in a place where its dialect allows a call is a call."""
    return CallPolicy(Route(dialects=(dialect,), max_buffer_bytes=1 << 40), Request(), allow_undeclared=True)


def calls_of(turn: Turn) -> tuple[PastCall, ...]:
    return tuple(block for block in turn.blocks if isinstance(block, PastCall))


def as_native(turn: Turn, number: int, call_policy: CallPolicy, tools: Toolbox) -> Turn:
    """The turn with the calls in its text as native ones; itself when there are none, or one is not complete."""
    blocks: list[Block] = []
    place = Position()  # what is quoted in one block goes on in the next
    for block in turn.blocks:
        if isinstance(block, Text):
            end = _reasoning_end(block.text, Reader(call_policy, tools=tools, place=place.copy()))
            reader = Reader(call_policy, tools=tools, place=place, reasoning_end=end)
            blocks.extend(_split(block, (number, len(blocks)), reader))
            place = reader.next_block()
        else:
            blocks.append(block)
            if isinstance(block, PastCall):
                place.end_paragraph()
    return turn if len(blocks) == len(turn.blocks) and all(
        one is other for one, other in zip(blocks, turn.blocks, strict=True)
    ) else turn.with_blocks(blocks)  # fmt: skip


def _reasoning_end(text: str, reader: Reader) -> int:
    """Where the reasoning ends inside which a text began, 0 where it did not: its closer alone says so."""
    if not holds_closer(text):
        return 0
    reader.feed(text)
    return reader.unopened.began_inside or 0


def _split(block: Text, place: tuple[int, int], reader: Reader) -> Iterator[Block]:
    """A text and the calls that the reader finds in it, in order; the block itself when there are none."""
    events = [*reader.feed(block.text), *reader.finish(cut=False)]
    started = [event for event in events if isinstance(event, CallStart)]
    ended = {event.index for event in events if isinstance(event, CallEnd)}
    if not started or len(ended) != len(started):
        yield block
        return
    text = ""
    for event in events:
        if isinstance(event, Shown):
            text += event.text
        elif isinstance(event, CallStart):
            if text.strip():
                yield Text(text.rstrip(), block.raw)
            text = ""
            arguments = "".join(
                piece.json for piece in events if isinstance(piece, CallPiece) and piece.index == event.index
            )
            last = event.index == started[-1].index and not _text_follows(events)
            mark = block.cache_control if last else None
            id_ = _id(place, event.index, event.name, arguments)
            yield PastCall(id_, event.name, arguments, cache_control=mark)
    if text.strip():
        yield Text(text, block.raw, block.cache_control)


def _text_follows(events: Sequence[Event]) -> bool:
    last = max(number for number, event in enumerate(events) if isinstance(event, CallStart))
    return any(isinstance(event, Shown) and event.text.strip() for event in events[last:])


def _id(place: tuple[int, int], index: int, name: str, arguments: str) -> str:
    """An id made of the call's place and content, so that it is the same in every later request."""
    digest = blake2b(f"{place} {index} {name} {arguments}".encode("utf-8", "surrogatepass"), digest_size=12)
    return f"call_{digest.hexdigest()}"


def results_in_reply_to(turn: Turn, calls: Sequence[PastCall], dialect: str) -> list[Turn] | None:
    """The turn as the calls' results and the user's other words; None where it does not answer all of the calls."""
    if turn.role != "user":
        return None
    found = prompting.results_in(dialect, [block.text if isinstance(block, Text) else None for block in turn.blocks])
    if found is None or len(found.results) != len(calls):
        return None
    results = tuple(Result(call.id, text) for call, text in zip(calls, found.results, strict=True))
    answered = [Turn("tool", results)]
    rest: list[Block] = [Text(found.rest)] if found.rest else []
    rest.extend(turn.blocks[found.blocks :])
    if rest:
        answered.append(turn.with_blocks(rest))
    return answered
