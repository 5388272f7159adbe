"""`invoke`: Claude's prompt-level form, which every model imitates that has seen it.

Claude leaks it with a namespace before each tag or name, and with a stray word alone in front of it. The wrapper may be
missing, and so may its closer. The line ends around a value on lines of its own are layout. Known slips are read:
`<rivoke name=`, `<parameter rname=`, `< invoke name=`, and the closers of DeepSeek's tags and of others.

Relatives have files of their own: `invoke_angleless`, `invoke_escaped`, `invoke_legacy`.
"""

from toolcalls.shapes import About
from toolcalls.shapes.tags.form import TagForm
from toolcalls.shapes.tags.tag_patterns import FOREIGN_PREFIXES
from toolcalls.shapes.words import LEAKED

ABOUT = About(
    form="invoke",
    written_by=(
        "Claude when its API fails to convert it, and MiniMax, Kimi, MiMo, GLM and Qwen inside agents that look "
        "like Claude's"
    ),
    source="anthropics/claude-code #64690, #69337, #77061; hermes-agent PR#73472",
    example="""\
<function_calls>
<invoke name="read_file">
<parameter name="path">src/a.ts</parameter>
</invoke>
</function_calls>""",
)

_NAMESPACES = tuple(f"{name}:" for name in ("antml", "tml", "ml", "ns", "anthropic", "claude"))

DIALECT = TagForm(
    "invoke",
    # The first is Claude's; models that mix two forms up put another's around its calls.
    wrappers=("function_calls", "function_call", "tool_calls"),
    prefix=(("", *_NAMESPACES),),
    foreign=FOREIGN_PREFIXES,
    misspelt=("rivoke",),
    stray_words=LEAKED,
)

RESULT = (
    "<function_results>\n<result>\n<tool_name>{name}</tool_name>\n<stdout>\n{text}\n</stdout>\n</result>\n"
    "</function_results>"
)
