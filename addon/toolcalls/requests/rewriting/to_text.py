"""Past calls and results as text in a dialect."""

from collections.abc import Mapping, Sequence

from toolcalls.dialects import grammar
from toolcalls.requests.conversation import Block, PastCall, Result, Text, Turn
from toolcalls.route import Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values import rawjson
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing import prompting
from toolcalls.writing.writer import separated, write

# For past calls that no dialect, or this one, can hold: the model reads of them in no form that calls could have.
_INCOMPLETE = "The call of {} was not written to its end, so it has no meaning: {}"
_UNWRITABLE = "The tool {} was called with {}"
_ERROR_PREFIX = "Error: "  # of the result of a call that failed, where a dialect's form has no place to say so


def calls_as_text(
    turn: Turn, calls: Sequence[PastCall], dialect: str, tools: Toolbox, route: Route
) -> Turn:  # fmt: skip
    """The turn with its calls written in the place of the first of them."""
    whole = [call for call in calls if _is_whole(call)]
    said = [_write([Call(call.name, call.arguments) for call in whole], dialect, tools)] if whole else []
    written = "\n\n".join(
        [*said, *(_INCOMPLETE.format(call.name, call.arguments) for call in calls if call not in whole)]
    )
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


def _write(calls: Sequence[Call], dialect: str, tools: Toolbox) -> str:
    try:
        return write(dialect, calls, tools)
    except Unwritable:
        pass
    try:
        # What was said once is history: the templates write it too, though nobody could read it back.
        return grammar(dialect).write(calls, tools)
    except Unwritable:
        if len(calls) == 1:
            return _UNWRITABLE.format(calls[0].name, calls[0].arguments)
    return "\n".join(_write([call], dialect, tools) for call in calls)  # a form for one call, or one call has none


def results_as_text(turn: Turn, dialect: str, names: Mapping[str, str]) -> Turn:
    """The turn as one of the user, with its results in the dialect's template."""
    blocks: list[Block] = []
    for block in turn.blocks:
        if isinstance(block, Result):
            said = f"{_ERROR_PREFIX}{block.text}" if block.is_error else block.text
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


def joined(results: Turn, said: Turn) -> Turn:
    """A turn of results, with the user's message after them."""
    last, first = results.blocks[-1], said.blocks[0]
    says_more = isinstance(first, Text) and not set(rawjson.fields(first.raw)) <= {"type", "text"}
    if isinstance(last, Text) and isinstance(first, Text) and last.cache_control is None and not says_more:
        return results.with_blocks((*results.blocks[:-1], Text(f"{last.text}\n\n{first.text}"), *said.blocks[1:]))
    return results.with_blocks((*results.blocks, *said.blocks))
