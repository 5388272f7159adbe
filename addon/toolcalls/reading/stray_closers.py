"""Closing tags of wrappers whose opening tag the model left out: after a call they are markup, and go with it.

Half of a wrapper is what models forget first, and what servers strip: `<invoke name="N">…</invoke>` and then
`</minimax:tool_call>`, a JSON object and then `</tool_call>`. No grammar began with them, so none takes them. They are
looked for directly after a call only, with nothing but white space between; anywhere else they are text. The tokens
that end a model's turn go the same way, which some servers leave in the text.
"""

from toolcalls.reading.block import Block
from toolcalls.shapes.spaced_closers import closer_among
from toolcalls.text.scanner import Scanner, Step
from toolcalls.text.turn_ends import TURN_ENDS

_PREFIX = "antml" + ":"

STRAY_CLOSERS = (
    "</tool_call>",
    "</tool_calls>",
    "</toolcall>",
    "</tools>",
    "</TOOLCALL>",
    "</function_call>",
    "</function_calls>",
    f"</{_PREFIX}function_calls>",
    "</function>",
    "</function_invocation>",
    "</invoke>",
    f"</{_PREFIX}invoke>",
    "</minimax:tool_call>",
    "]<]minimax[>[</tool_call>",
    "</seed:tool_call>",
    "</iquest_tool_call>",
    "</longcat_tool_call>",
    "</dots_function_call>",
    "</｜DSML｜tool_calls>",
    "</｜DSML｜function_calls>",
    "<|tool_call_end|>",
    "<|tool_calls_section_end|>",
    "<|tool_call_section_end|>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
    "<｜tool_calls_end｜>",
    "<|plamo:end_tool_requests:plamo|>",
    "[/TOOL_CALLS]",
    "[/TOOL_CALL]",
    "[/tool_call]",
    "[/Tool Call]",
    "<|/tool_call|>",
    "<|python_end|>",
    *TURN_ENDS,
)


def take_stray_closers(scan: Scanner, block: Block, more: tuple[str, ...], own: tuple[str, ...]) -> Step[bool]:
    """Take all closers behind a block's complete call, as the repair `stray_closer`. Returns whether there was one.

    more   other closers that count
    own    those of the wrapper that the block is in, which need no repair
    """
    found = False
    while True:
        space = yield from scan.space()
        closer, length = yield from closer_among(scan, (*STRAY_CLOSERS, *more), space)
        if closer is None:
            return found
        found = True
        scan.take(space + length)
        if closer in own:
            block.leave_open(())
        else:
            block.note_repair("stray_closer")
