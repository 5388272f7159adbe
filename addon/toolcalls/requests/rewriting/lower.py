"""For a native client of a text upstream: tools go into the prompt, past calls and results become text."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from msgspec import structs

from toolcalls.requests.conversation import Conversation, PastCall, Result, Text, Turn
from toolcalls.requests.rewriting.notes import Rewritten, counted, listed, notes_of
from toolcalls.requests.rewriting.system_prompt import add_to_system_prompt, tool_prompt
from toolcalls.requests.rewriting.to_text import calls_as_text, joined, results_as_text
from toolcalls.route import Route
from toolcalls.shapes import Unwritable
from toolcalls.values import rawjson
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing import prompting


def lower(conversation: Conversation, dialect: str, route: Route, known: Mapping[str, str] | None = None) -> Rewritten:
    """Write everything native as text in `dialect`, or in plain words where it cannot hold a past call.

    known   the names, by their ids, of calls of which the conversation has only the results

    Raises Unwritable where the dialect can hold a call of none of the tools.
    """
    conversation, left_out = _without_other_tools(conversation, dialect)
    tools = Toolbox(conversation.tools)
    names = dict(known or {})
    places: dict[str, int] = {}
    turns: list[Turn] = []
    call_count = result_count = 0
    before = None
    for turn in _with_results_joined(conversation.turns):
        calls = [block for block in turn.blocks if isinstance(block, PastCall)]
        results = [block for block in turn.blocks if isinstance(block, Result)]
        call_count += len(calls)
        result_count += len(results)
        names.update((call.id, call.name) for call in calls)
        places.update((call.id, place) for place, call in enumerate(calls))
        if calls:
            turns.append(calls_as_text(turn, calls, dialect, tools, route))
        elif results:
            turns.append(results_as_text(_in_call_order(turn, results, places), dialect, names))
        elif before == "tool" and _is_plain(turn):  # templates of open models refuse two messages of the user in a row
            turns[-1] = joined(turns[-1], turn)
        else:
            turns.append(turn)
        before = turn.role
    notes = (*left_out, *notes_of(dialect, calls=call_count, results=result_count))
    if conversation.tools:
        turns = add_to_system_prompt(turns, tool_prompt(conversation, dialect), own_turn=conversation.own_system_prompt)
        notes = (f"{counted(len(conversation.tools), 'tool')} into the prompt ({dialect})", *notes)
    return (
        Rewritten(conversation.changed(turns=turns, tools=(), tool_choice="auto", parallel=True), notes)
        if notes
        else Rewritten(conversation)
    )


def _without_other_tools(conversation: Conversation, dialect: str) -> tuple[Conversation, tuple[str, ...]]:
    """The conversation without the tools that no prompt in `dialect` can describe, and notes of what was left out.

    The choice becomes "auto" where it named one of those, or a tool that the request does not declare.
    """
    opaque = {tool.name for tool in conversation.opaque_tools}
    described = [(tool, prompting.callable_in(dialect, tool)) for tool in conversation.tools if tool.name not in opaque]
    tools = tuple(tool for tool, fits in described if fits)
    unwritable = [tool.name for tool, fits in described if not fits]
    if unwritable and not tools:
        raise Unwritable(f"{dialect} can hold no call of {listed(unwritable)}")
    choice = conversation.tool_choice
    reasons = (
        ("only the provider runs", [tool.name for tool in conversation.opaque_tools if tool.hosted]),
        ("the request does not describe", [tool.name for tool in conversation.opaque_tools if not tool.hosted]),
        (f"{dialect} cannot hold", unwritable),
    )
    notes = [f"left out: {listed(names)}, which {why}" for why, names in reasons if names]
    named = choice not in {"none", "auto", "required", "any"}
    if named and not any(tool.name == choice or tool.name.endswith(f".{choice}") for tool in tools):
        if notes or tools:
            why = "with it" if notes else "since no tool has that name"
            notes.append(f"the choice of {choice} is left out {why}")
        choice = "auto"
    return conversation.changed(tools=tools, tool_choice=choice, opaque_tools=()), tuple(notes)


def _with_results_joined(turns: Sequence[Turn]) -> Iterator[Turn]:
    """The turns, with adjacent ones of tools joined: they answer the same reply."""
    for role, group in groupby(turns, lambda turn: turn.role):
        row = list(group)
        if role == "tool" and len(row) > 1:
            yield Turn("tool", tuple(block for turn in row for block in turn.blocks))
        else:
            yield from row


def _in_call_order(turn: Turn, results: Sequence[Result], places: Mapping[str, int]) -> Turn:
    """The turn with its results in the order of the calls. Cache marks stay in their places.

    Agents write first what was done first, and few forms of a result have a place for the call's id.
    """
    sorted_ = sorted(results, key=lambda result: places.get(result.id, len(places)))
    if all(one is other for one, other in zip(sorted_, results, strict=True)):
        return turn
    rest = iter(sorted_)
    return turn.with_blocks(
        [
            structs.replace(next(rest), cache_control=block.cache_control) if isinstance(block, Result) else block
            for block in turn.blocks
        ]
    )


def _is_plain(turn: Turn) -> bool:
    """Whether a turn is one text of the user's and nothing else, so that it can be part of another message."""
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
