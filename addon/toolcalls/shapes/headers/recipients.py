"""Who a message of gpt-oss is for, with the noise that models leak into its header.

GPT-5 writes words in another script between a recipient and the arguments, or right behind the name, and the content's
type in brackets or twice (openai/codex #15822, livekit/agents-js #1632, earendil-works/pi #9822). The recipient
`multi_tool_use.parallel` is no tool: the calls in its arguments are what is meant.
"""

import re

from toolcalls.shapes import CallSink
from toolcalls.shapes.json.json_values import whole_value
from toolcalls.shapes.json.strict_calls import calls_meant
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox

PREFIX = "functions."
PARALLEL = "multi_tool_use.parallel"

_FOREIGN = r"(?:[^\x00-\x7f][^\s<{\"]*+)"  # a word in another script
_TYPE = r"[(\[]?(?:json|code|commentary|analysis|final)[)\]]?[:=]?"
NOISE = rf"(?:(?:{_FOREIGN}|{_TYPE})\s*)*"
"""A pattern for what may be between a recipient and the arguments."""

_GLUED = re.compile(rf"(?:{_FOREIGN}|(?:analysis|commentary|final)?(?:json|code)?)\Z")


def declared(recipient: str, tools: Toolbox) -> str | None:
    """The declared tool that a recipient means, or `PARALLEL`; the words after it may have run together with it."""
    recipient = recipient.rstrip(":,")
    name = recipient.removeprefix(PREFIX)
    glued = _GLUED.search(name)
    names = (recipient, name, name[: glued.start()] if glued else name)
    if PARALLEL in names:
        return PARALLEL
    named = [one for one in names if one in tools] or [one for one in names if tools.means_tool(one)]
    return named[0] if named else None


def parallel_calls(scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
    """The calls in the arguments of `PARALLEL`, which begin here. Returns whether they are complete."""
    found = yield from whole_value(scan)
    calls = calls_meant(members(found.json), tools) if found is not None and found.json.startswith("{") else []
    for call in calls:
        sink.begin(call.name)
        sink.piece(call.arguments or "{}")
        for repair in call.repairs:
            sink.note_repair(repair)
        sink.end()
    return bool(calls)
