"""`invoke`: Claude's prompt-level form, which every model imitates that has seen it.

    <function_calls>
    <invoke name="read_file">
    <parameter name="path">src/a.ts</parameter>
    </invoke>
    </function_calls>

Written by Claude when its API fails to convert it (with a namespace before each tag or name, with a stray word alone in
front of it: anthropics/claude-code #64690 #69337 #77061), by MiniMax, Kimi, MiMo, GLM and Qwen inside agents that look
like Claude's. The wrapper may be missing, and so may its closer. One line end on either side of a value is layout.
"""

from toolcalls.shapes.attributed import Attributed

DIALECT = Attributed("invoke", prefixes=("", "antml:", "tml:"), strays=("court", "count", "call", "card"))
