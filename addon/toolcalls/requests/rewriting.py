"""What a request becomes when `rewrite_request` is on: the other way round to what is done to its reply.

    lower       native client, text upstream: the tools go into the prompt, past calls and results become text
    lift        text client, native upstream: the tools come out of the prompt, past calls and results become native
    translate   both speak text, in two dialects: past calls and results change their dialect
    mend        past calls that leaked as text become what they should have been, so that a leak does not breed

All are functions of the conversation alone: the same request is rewritten to the same bytes, an earlier turn never
depends on a later one (a prompt cache finds its prefix), and what is rewritten is left alone the second time.

Past 300 lines: the four ways share what reads and writes a turn.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import groupby

from toolcalls.dialects import all_dialects
from toolcalls.events import CallEnd, CallPiece, CallStart, Event
from toolcalls.events import Text as Shown
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.requests.evidence import Decision
from toolcalls.requests.prompt_tools import tools_in
from toolcalls.requests.turns import Block, Conversation, Other, PastCall, Result, Text, Turn
from toolcalls.route import Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.text.echo import RequestText
from toolcalls.values import rawjson
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing import prompting
from toolcalls.writing.writer import separated, write

NOT_EXECUTED = "This call was written as text, so it was not executed."
# Past calls that no dialect, or this one, can hold. The model gets to know of them, in no form that calls could have.
_BROKEN = "The call of {} was not written to its end, so it has no meaning: {}"
_FAILED = "Error: "  # in front of what a tool answered that failed, where a dialect's form has no place to say so
_UNHELD = "The tool {} was called with {}"
_NAME, _NAMES = 64, 16  # characters of a name, and names, that a note says
NATIVELY = "The tools described above are offered natively: call them natively, and write no tool call as text."


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A conversation after rewriting, and what was done, in words for the flow view; () when nothing was."""

    conversation: Conversation
    notes: tuple[str, ...] = ()


# What a text upstream is taught where its route names no dialect: the form that most open models know.
_DEFAULT = "hermes"


def rewritten(
    conversation: Conversation, call_policy: CallPolicy, decision: Decision, names: Mapping[str, str] | None = None
) -> Rewritten:
    """What the exchange that was decided on makes of its request. Raises Unwritable.

    names   those of calls that only their results tell of, by their ids
    """
    route = call_policy.route
    spoken = route.dialects[0] if route.dialects else _DEFAULT
    if decision.kind == "lift":
        is_text = decision.upstream == "text"
        return lower(conversation, spoken, route, names) if is_text else mend(conversation, call_policy)
    if decision.kind == "lower" and decision.dialect:
        return lift(conversation, decision.dialect, route.tools)
    if decision.kind == "roundtrip" and decision.dialect and route.dialects and spoken != decision.dialect:
        return translate(conversation, decision.dialect, spoken, route)
    return Rewritten(conversation)


def lower(conversation: Conversation, dialect: str, route: Route, known: Mapping[str, str] | None = None) -> Rewritten:
    """Everything native becomes text in `dialect`; in words where that cannot hold a past call. Raises Unwritable where
    it can hold a call of none of the tools.

    known   the names of calls that only their results tell of, by their ids
    """
    conversation, left_out = _tellable(conversation, dialect)
    tools = Toolbox(conversation.tools)
    names = dict(known or {})
    places: dict[str, int] = {}
    turns: list[Turn] = []
    calls = results = 0
    before = None
    for turn in _answered_at_once(conversation.turns):
        past = [block for block in turn.blocks if isinstance(block, PastCall)]
        answers = [block for block in turn.blocks if isinstance(block, Result)]
        calls += len(past)
        results += len(answers)
        names.update((block.id, block.name) for block in past)
        places.update((block.id, place) for place, block in enumerate(past))
        if past:
            turns.append(_calls_as_text(turn, past, dialect, tools, route))
        elif answers:
            turns.append(_results_as_text(_in_order(turn, answers, places), dialect, names))
        elif before == "tool" and _is_plain(turn):  # templates of open models refuse two messages of the user in a row
            turns[-1] = _joined(turns[-1], turn)
        else:
            turns.append(turn)
        before = turn.role
    notes = (*left_out, *_notes(dialect, calls=calls, results=results))
    if conversation.tools:
        turns = _with_system(turns, _prompt(conversation, dialect), apart=conversation.prompt_apart)
        notes = (f"{_many(len(conversation.tools), 'tool')} into the prompt ({dialect})", *notes)
    return Rewritten(Conversation(tuple(turns), stop=conversation.stop), notes) if notes else Rewritten(conversation)


def _tellable(conversation: Conversation, dialect: str) -> tuple[Conversation, tuple[str, ...]]:
    """The conversation without the tools that no prompt in `dialect` can tell of, and what was left out.

    The choice is "auto" where it named one of those, or one that nobody has declared.
    """
    untold = {tool.name for tool in conversation.untold}
    told = [(tool, prompting.callable_in(dialect, tool)) for tool in conversation.tools if tool.name not in untold]
    tools = tuple(tool for tool, fits in told if fits)
    unheld = [tool.name for tool, fits in told if not fits]
    if unheld and not tools:
        raise Unwritable(f"{dialect} can hold no call of {_listed(unheld)}")
    choice = conversation.tool_choice
    reasons = (
        ("only the provider runs", [tool.name for tool in conversation.untold if tool.hosted]),
        ("the request does not describe", [tool.name for tool in conversation.untold if not tool.hosted]),
        (f"{dialect} cannot hold", unheld),
    )
    notes = [f"left out: {_listed(names)}, which {why}" for why, names in reasons if names]
    named = choice not in {"none", "auto", "required", "any"}
    if named and not any(tool.name == choice or tool.name.endswith(f".{choice}") for tool in tools):
        if notes or tools:
            why = "with it" if notes else "since no tool has that name"
            notes.append(f"the choice of {choice} is left out {why}")
        choice = "auto"
    return replace(conversation, tools=tools, tool_choice=choice, untold=()), tuple(notes)


def lift(conversation: Conversation, dialect: str, tools: Sequence[Tool] = ()) -> Rewritten:
    """Everything in `dialect` becomes native. `tools` are the route's; without any, the prompt's are taken."""
    tools = tuple(tools) or tools_in(conversation.system)
    if not tools or conversation.tools:
        return Rewritten(conversation)
    turns: list[Turn] = []
    calls = 0
    waiting: tuple[Turn, tuple[PastCall, ...]] | None = None
    for number, turn in enumerate(conversation.turns):
        if waiting is not None:
            native, asked = waiting
            waiting = None
            answered = _answered(turn, asked, dialect)
            if answered is not None:  # a call without its answer is refused by every API, so both become native or none
                turns[-1] = native
                turns.extend(answered)
                calls += len(asked)
                continue
        turns.append(turn)
        if turn.role == "assistant":
            native = _natively(turn, number, _all_names(dialect), Toolbox(tools))
            asked = tuple(block for block in native.blocks if isinstance(block, PastCall))
            waiting = (native, asked) if asked else None
    turns = _with_system(turns, NATIVELY, apart=conversation.prompt_apart)
    # A server that reads its model's calls out of the text would stop in the middle of one.
    stops = [text for text in conversation.stop if prompting.stops_calls(dialect, tools, text)]
    notes = (
        f"{_many(len(tools), 'tool')} out of the prompt",
        *_notes("native", calls=calls, results=calls),
        *(f"no stop at {_listed([text])}, with which calls in {dialect} end" for text in stops),
    )
    stop = tuple(text for text in conversation.stop if text not in stops)
    return Rewritten(Conversation(tuple(turns), tools, untold=conversation.untold, stop=stop), notes)


def translate(conversation: Conversation, spoken: str, dialect: str, route: Route) -> Rewritten:
    """Past calls and results in `spoken` change to `dialect`."""
    tools = Toolbox(tools_in(conversation.system))
    turns: list[Turn] = []
    calls = 0
    asked: tuple[PastCall, ...] = ()
    for number, turn in enumerate(conversation.turns):
        if turn.role == "assistant":
            native = _natively(turn, number, _all_names(spoken), tools)
            asked = tuple(block for block in native.blocks if isinstance(block, PastCall))
            calls += len(asked)
            turns.append(_calls_as_text(native, asked, dialect, tools, route) if asked else turn)
            continue
        answered = _answered(turn, asked, spoken) if asked else None
        if answered is None:
            turns.append(turn)
        else:  # in the message that they came in: two of the user in a row are refused by templates of open models
            made = _results_as_text(answered[0], dialect, {call.id: call.name for call in asked})
            for rest in answered[1:]:
                made = _joined(made, rest)
            turns.append(turn.with_blocks(made.blocks))
        asked = ()
    notes = (f"{_many(calls, 'past call')} from {spoken} to {dialect}",) if calls else ()
    return Rewritten(replace(conversation, turns=tuple(turns)), notes)


def mend(conversation: Conversation, call_policy: CallPolicy) -> Rewritten:
    """Past calls that stand as text, on the terms on which a reply's text is a call, become native ones."""
    tools = Toolbox(conversation.tools)
    turns: list[Turn] = []
    calls = 0
    heard: list[str] = []  # what the model may have repeated: what was said before, and nothing that came later
    for number, turn in enumerate(conversation.turns):
        native = turn
        if turn.role == "assistant":
            repeatable = replace(call_policy, request=replace(call_policy.request, quotable=tuple(heard)))
            native = _natively(turn, number, repeatable, tools)
        elif turn.role != "system":
            heard.extend(map(RequestText, _heard(turn)))
        leaked = [block for block in native.blocks if isinstance(block, PastCall) and block not in turn.blocks]
        turns.append(native if leaked else turn)
        if leaked:
            calls += len(leaked)
            turns.append(Turn("tool", tuple(Result(call.id, NOT_EXECUTED) for call in leaked)))
    notes = (f"{_many(calls, 'leaked call')} to native",) if calls else ()
    return Rewritten(replace(conversation, turns=tuple(turns)), notes) if notes else Rewritten(conversation)


def _heard(turn: Turn) -> Iterator[str]:
    """The texts of a user's or a tool's turn, also those in documents."""
    for block in turn.blocks:
        if isinstance(block, Text | Result):
            yield block.text
        for other in block.others if isinstance(block, Result) else [block]:
            if isinstance(other, Other):
                yield from _texts_in(rawjson.value(other.raw))


def _texts_in(value: object) -> Iterator[str]:
    """What stands in a block of any kind as text."""
    if isinstance(value, dict):
        keys = {"text", "content", "data"} if value.get("type") == "text" else {"text", "content"}
        for key, member in value.items():
            if key in keys and isinstance(member, str):
                yield member
            else:
                yield from _texts_in(member)
    for item in value if isinstance(value, list) else ():
        yield from _texts_in(item)


def read_back(conversation: Conversation, dialect: str) -> Conversation:
    """The conversation as if all of it had been native: past calls in `dialect`, and their results where they can be
    told. Nothing is sent like that; it is for whoever looks at what was called so far.
    """
    tools = Toolbox(conversation.tools or tools_in(conversation.system))
    turns: list[Turn] = []
    asked: tuple[PastCall, ...] = ()
    for number, turn in enumerate(conversation.turns):
        answered = _answered(turn, asked, dialect) if asked else None
        asked = ()
        if turn.role == "assistant":
            native = _natively(turn, number, _all_names(dialect), tools)
            asked = tuple(block for block in native.blocks if isinstance(block, PastCall))
            turns.append(native)
        else:
            turns.extend([turn] if answered is None else answered)
    return replace(conversation, turns=tuple(turns))


# Native to text


def _calls_as_text(
    turn: Turn, calls: Sequence[PastCall], dialect: str, tools: Toolbox, route: Route
) -> Turn:  # fmt: skip
    """The turn with its calls written where the first of them stood."""
    whole = [call for call in calls if _is_whole(call)]
    said = [_written([Call(call.name, call.arguments) for call in whole], dialect, tools)] if whole else []
    written = "\n\n".join([*said, *(_BROKEN.format(call.name, call.arguments) for call in calls if call not in whole)])
    marks = [call.cache_control for call in calls if call.cache_control is not None]
    blocks: list[Block] = []
    for block in turn.blocks:
        if not isinstance(block, PastCall):
            blocks.append(block)
        elif block is calls[0]:
            before = blocks[-1].text if blocks and isinstance(blocks[-1], Text) else ""
            text = separated(before, written, route)
            blocks.append(Text(text, cache_control=marks[-1] if marks else None))
    return turn.with_blocks(blocks)


def _is_whole(call: PastCall) -> bool:
    """Whether a past call has arguments: one that broke off stays in the history as it came."""
    try:
        members(call.arguments)
    except (ValueError, RecursionError):
        return False
    return True


def _written(calls: Sequence[Call], dialect: str, tools: Toolbox) -> str:
    try:
        return write(dialect, calls, tools)
    except Unwritable:
        pass
    try:
        # What was said once is history: the templates write it too, though nobody could read it back.
        return all_dialects()[dialect].write(calls, tools)
    except Unwritable:
        if len(calls) == 1:
            return _UNHELD.format(calls[0].name, calls[0].arguments)
    return "\n".join(_written([call], dialect, tools) for call in calls)  # a form for one call, or one call has none


def _results_as_text(turn: Turn, dialect: str, names: Mapping[str, str]) -> Turn:
    """The turn as the user's, its results written as the dialect's template writes them."""
    blocks: list[Block] = []
    for block in turn.blocks:
        if isinstance(block, Result):
            said = f"{_FAILED}{block.text}" if block.is_error else block.text
            text = prompting.result(dialect, names.get(block.id, ""), said, block.id)
            before = blocks[-1] if blocks else None
            if isinstance(before, Text) and before.raw is None and before.cache_control is None:
                blocks[-1] = Text(f"{before.text}\n{text}", cache_control=block.cache_control)
            else:
                blocks.append(Text(text, cache_control=block.cache_control))
            blocks.extend(block.others)
        else:
            blocks.append(block)
    return Turn("user", tuple(blocks), turn.raw if turn.role == "user" else None, changed=True)


def _answered_at_once(turns: Sequence[Turn]) -> Iterator[Turn]:
    """The turns, those of tools that follow each other as one: they answer the same reply."""
    for role, group in groupby(turns, lambda turn: turn.role):
        row = list(group)
        if role == "tool" and len(row) > 1:
            yield Turn("tool", tuple(block for turn in row for block in turn.blocks))
        else:
            yield from row


def _in_order(turn: Turn, answers: Sequence[Result], places: Mapping[str, int]) -> Turn:
    """The turn with its results in the order of the calls: agents write down first what was done first, and few forms
    of a result have a place for the call's id. Marks stay where they stand.
    """
    sorted_ = sorted(answers, key=lambda answer: places.get(answer.id, len(places)))
    if all(one is other for one, other in zip(sorted_, answers, strict=True)):
        return turn
    rest = iter(sorted_)
    return turn.with_blocks(
        [
            replace(next(rest), cache_control=block.cache_control) if isinstance(block, Result) else block
            for block in turn.blocks
        ]
    )


def _joined(results: Turn, said: Turn) -> Turn:
    """The turn of some results with what the user says behind them."""
    last, first = results.blocks[-1], said.blocks[0]
    says_more = isinstance(first, Text) and not set(rawjson.fields(first.raw)) <= {"type", "text"}
    if isinstance(last, Text) and isinstance(first, Text) and last.cache_control is None and not says_more:
        return results.with_blocks((*results.blocks[:-1], Text(f"{last.text}\n\n{first.text}"), *said.blocks[1:]))
    return results.with_blocks((*results.blocks, *said.blocks))


def _is_plain(turn: Turn) -> bool:
    """Whether a turn is one text of the user's and says nothing else, so that it can stand in another message."""
    (block, *others) = turn.blocks or (None,)
    messages = turn.raw if isinstance(turn.raw, tuple) else (turn.raw,)
    return (
        turn.role == "user"
        and isinstance(block, Text)
        and not others
        and block.cache_control is None
        and set(rawjson.fields(block.raw)) <= {"type", "text"}
        and all(set(rawjson.fields(message)) <= {"type", "role", "content"} for message in messages)
    )


def _prompt(conversation: Conversation, dialect: str) -> str:
    """The tools in the dialect's words, and what the request says about choosing among them."""
    parts = [prompting.prompt(dialect, conversation.tools)]
    choice = conversation.tool_choice
    if choice == "none":
        parts.append("Call no tool in your next reply.")
    elif choice in {"required", "any"}:
        parts.append("Your next reply must call at least one tool.")
    elif choice != "auto":
        parts.append(f"Your next reply must call the tool {choice}.")
    if not conversation.parallel:
        parts.append("Call at most one tool in a reply.")
    return "\n\n".join(parts)


def _with_system(turns: Sequence[Turn], text: str, *, apart: bool) -> list[Turn]:
    """The turns with `text` at the end of the first one, if that is the system's, else in one of its own before all,
    where it also stands if it is to be `apart`.

    A system turn further down does not count: it may have come later, and an earlier turn never changes.
    """
    if apart or not turns or turns[0].role != "system":
        return [Turn("system", (Text(text),)), *turns]
    first = turns[0]
    said = any(isinstance(block, Text) for block in first.blocks)
    return [first.with_blocks((*first.blocks, Text(f"\n\n{text}" if said else text))), *turns[1:]]


# Text to native


def _all_names(dialect: str) -> CallPolicy:
    """The terms on which an earlier turn is read: whatever stands where its dialect allows it is a call."""
    return CallPolicy(Route(dialects=(dialect,), max_buffer_bytes=1 << 40), Request(), allow_undeclared=True)


def _natively(turn: Turn, number: int, call_policy: CallPolicy, tools: Toolbox) -> Turn:
    """The turn with the calls in its text as native ones; itself when there are none, or one is not complete."""
    blocks: list[Block] = []
    for block in turn.blocks:
        blocks.extend(_split(block, (number, len(blocks)), call_policy, tools) if isinstance(block, Text) else (block,))
    return turn if len(blocks) == len(turn.blocks) and all(
        one is other for one, other in zip(blocks, turn.blocks, strict=True)
    ) else turn.with_blocks(blocks)  # fmt: skip


def _split(block: Text, place: tuple[int, int], call_policy: CallPolicy, tools: Toolbox) -> Iterator[Block]:
    """A text with the calls that stand in it, in order; the block itself when there are none."""
    reader = Reader(call_policy, tools=tools)
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
            last = event.index == started[-1].index and not _said_behind(events)
            mark = block.cache_control if last else None
            id_ = _id(place, event.index, event.name, arguments)
            yield PastCall(id_, event.name, arguments, cache_control=mark)
    if text.strip():
        yield Text(text, block.raw, block.cache_control)


def _said_behind(events: Sequence[Event]) -> bool:
    """Whether text follows the last call."""
    last = max(number for number, event in enumerate(events) if isinstance(event, CallStart))
    return any(isinstance(event, Shown) and event.text.strip() for event in events[last:])


def _id(place: tuple[int, int], index: int, name: str, arguments: str) -> str:
    """An id that grows from where the call stands and what it says, so that it is the same in every later request."""
    digest = blake2b(f"{place} {index} {name} {arguments}".encode("utf-8", "surrogatepass"), digest_size=12)
    return f"call_{digest.hexdigest()}"


def _answered(turn: Turn, calls: Sequence[PastCall], dialect: str) -> list[Turn] | None:
    """The turn as the calls' results and what else the user said; None where it does not answer all of them."""
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


# Words


def _notes(where: str, *, calls: int, results: int) -> tuple[str, ...]:
    counted = ((calls, "past call"), (results, "result"))
    return tuple(f"{_many(count, what)} to {where}" for count, what in counted if count)


def _listed(names: Sequence[str]) -> str:
    """Names of tools, as many and as much of each as a line has room for."""
    shown = [name if len(name) <= _NAME else f"{name[:_NAME]}…" for name in names[:_NAMES]]
    return ", ".join([*shown, *([f"{len(names) - _NAMES} more"] if len(names) > _NAMES else [])])


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
