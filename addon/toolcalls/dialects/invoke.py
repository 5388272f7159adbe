"""`invoke`: Claude's prompt-level form, which every model imitates that has seen it.

    <function_calls>
    <invoke name="read_file">
    <parameter name="path">src/a.ts</parameter>
    </invoke>
    </function_calls>

Written by Claude when its API fails to convert it (with a namespace before each tag or name, with a stray word alone in
front of it: anthropics/claude-code #64690 #69337 #77061), by MiniMax, Kimi, MiMo, GLM and Qwen inside agents that look
like Claude's. The wrapper may be missing, and so may its closer. One line end on either side of a value is layout.
Known slips are read: `<rivoke name=`, `<parameter rname=`, `< invoke name=` (hermes-agent PR#73472).

Relatives have files of their own: `invoke_angleless`, `invoke_escaped`, `invoke_legacy`.
"""

from toolcalls.shapes.attributed import Attributed

_NAMESPACES = tuple(f"{name}:" for name in ("antml", "tml", "ml", "ns", "anthropic", "claude"))

DIALECT = Attributed(
    "invoke",
    prefix=(("", *_NAMESPACES),),
    misspelt=("rivoke",),
    strays=("court", "count", "call", "card"),
)

RESULT = (
    "<function_results>\n<result>\n<tool_name>{name}</tool_name>\n<stdout>\n{text}\n</stdout>\n</result>\n"
    "</function_results>"
)
