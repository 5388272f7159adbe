"""Calls with names in attributes and a special token in each tag: `<｜DSML｜invoke name="N">`.

Servers and transcripts double, replace or drop the token's bars or part them by blanks, and what is in a block of
special tokens can only be a call. So more is read here than in plain tags: a call whose tag says that it is a
parameter, and arguments that are wrapped once more (`arguments`, `input`) though the schema knows no such parameter.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from toolcalls.shapes.arguments import Arguments, Value
from toolcalls.shapes.tags.content import Verbatim
from toolcalls.shapes.tags.form import TagForm
from toolcalls.shapes.tags.opening_tag import Tag, named_tag
from toolcalls.shapes.tags.tag_patterns import BARS, Tags
from toolcalls.shapes.writable import other_value
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import STRING, quote, to_json, to_text
from toolcalls.values.toolbox import Toolbox

_STRING = {"true": True, "false": False}
_WRAPPED = ("arguments", "input")

_GAP = ("", " ")  # some servers part the tokens of a mark


class Marked(Verbatim):
    """The attribute `string` says whether a value is a string or JSON, where the schema leaves that open."""

    def member(self, arguments: Arguments, key: str, attributes: Mapping[str, str]) -> Value:
        """The schema decides, and where it says nothing or allows both the text."""
        return arguments.marked(key, string=_STRING.get(attributes.get("string", "").lower()))

    def write(self, name: str, key: str, raw: str, tools: Toolbox, tags: Tags) -> tuple[str, str]:  # noqa: ARG002
        """The text as it is, and whether it is a string; refused where the schema would make something else of it."""
        text, is_string = to_text(raw)
        types = tools.types(name, key)
        if types is not None and not tools.textual and not (is_string and "string" in types):
            made = quote(text) if types == STRING else to_json(text, types)
            if made != (quote(text) if is_string else raw):
                raise other_value(name, key, raw)
        return f' string="{"true" if is_string else "false"}"', text


@dataclass(frozen=True)
class TokenTags(TagForm):
    """The form with its strings filled in; `token` is the word between the bars, and goes into `prefix` too."""

    token: str = ""

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        """What any of its tags begins with, up to the token's word."""
        return tuple(
            dict.fromkeys(f"<{before}{bars}{behind}{self.token}" for bars in BARS for before in _GAP for behind in _GAP)
        )

    def first(self, scan: Scanner, ahead: int = 0, *, compact: bool = False) -> Step[Tag | None]:
        """A call's opening tag; one that says `parameter` is a call's where another parameter is in it."""
        tag = yield from super().first(scan, ahead, compact=compact)
        if tag is not None:
            return tag
        tag = yield from named_tag(scan, self.parameter_tag, ahead)
        if tag is None or tag.empty or "string" in tag.attributes:
            return None
        space = yield from scan.space(ahead + tag.length)
        inner = yield from self.parameter_at(scan, space)
        return tag._replace(repairs=("misspelt_tag",)) if inner else None

    def wraps(self, key: str, declared: tuple[str, ...]) -> bool:
        """Under one of the names that servers and models give them."""
        return key in _WRAPPED and bool(declared) and key not in declared


def token_tags(name: str, token: str) -> TokenTags:
    """The dialect `name`, in whose tags `token` is between bars."""
    return TokenTags(
        name,
        wrappers=("tool_calls", "function_calls", "toolcalls", "tool", "calls"),
        prefix=(BARS, token, BARS),
        token=token,
        content=Marked(),
        hollow="\n",
        place="anywhere",
    )
