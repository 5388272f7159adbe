"""`deepseek_dsml`: DeepSeek's form from V3.2 on, `invoke` with a special token in each tag.

    <｜DSML｜tool_calls>
    <｜DSML｜invoke name="read_file">
    <｜DSML｜parameter name="path" string="true">src/a.ts</｜DSML｜parameter>
    <｜DSML｜parameter name="limit" string="false">20</｜DSML｜parameter>
    </｜DSML｜invoke>
    </｜DSML｜tool_calls>

V3.2 calls the wrapper `function_calls`, V4 `tool_calls`, V4.1 `calls` and puts a space behind the token; servers and
transcripts double, replace or drop the token's bars. All of these are read, V4's is written. Whether a value is a
string is said in the text and holds whatever the schema says; without `string` the schema decides. Values stand as
they are. Source: encoding/encoding_dsv32.py at https://huggingface.co/deepseek-ai/DeepSeek-V3.2.
"""

from collections.abc import Mapping

from toolcalls.shapes.arguments import Arguments, Value
from toolcalls.shapes.attributed import Attributed
from toolcalls.shapes.content import Verbatim
from toolcalls.tools import Toolbox
from toolcalls.values import to_text

_BARS = ("｜", "｜｜", "‖", "|", "||", "")
_TOKENS = tuple(f"{bars}DSML{bars}{space}" for space in ("", " ") for bars in _BARS)
_STRING = {"true": True, "false": False}


class _Marked(Verbatim):
    """The attribute `string` says whether a value is a string or JSON."""

    def member(self, arguments: Arguments, key: str, attributes: Mapping[str, str]) -> Value:
        return arguments.value(key, string=_STRING.get(attributes.get("string", "").lower()))

    def write(self, name: str, key: str, raw: str, tools: Toolbox, tags: tuple[str, ...]) -> tuple[str, str]:  # noqa: ARG002
        text, is_string = to_text(raw)
        return f' string="{"true" if is_string else "false"}"', text


DIALECT = Attributed(
    "deepseek_dsml",
    wrappers=("tool_calls", "function_calls", "toolcalls", "tool", "calls"),
    prefixes=_TOKENS,
    content=_Marked(),
    hollow="\n",
    place="anywhere",
)
