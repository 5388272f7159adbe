"""`attributed` calls with a special token in each tag: `<｜DSML｜invoke name="N">`.

Servers and transcripts double, replace or drop the token's bars, and what stands in a block of special tokens can only
be a call. So more is read here than in plain tags: a call whose tag says that it is a parameter, and arguments that are
wrapped once more (`arguments`, `input`) though the schema knows no such parameter.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from toolcalls.shapes import CallSink
from toolcalls.shapes.arguments import Arguments, Value
from toolcalls.shapes.attributed import Attributed
from toolcalls.shapes.closing_tags import Parameters, tag_value
from toolcalls.shapes.content import Verbatim
from toolcalls.shapes.tags import Tag, Tags, named_tag
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members, to_json, to_text
from toolcalls.values.toolbox import Toolbox

_STRING = {"true": True, "false": False}
_WRAPPED = ("arguments", "input")

BARS = ("｜", "｜｜", "‖", "‖‖", "|", "||", "")


class Marked(Verbatim):
    """The attribute `string` says whether a value is a string or JSON."""

    def member(self, arguments: Arguments, key: str, attributes: Mapping[str, str]) -> Value:
        """The text decides, and where it says nothing the schema."""
        return arguments.value(key, string=_STRING.get(attributes.get("string", "").lower()))

    def write(self, name: str, key: str, raw: str, tools: Toolbox, tags: Tags) -> tuple[str, str]:  # noqa: ARG002
        """The text as it is, and whether it is a string."""
        text, is_string = to_text(raw)
        return f' string="{"true" if is_string else "false"}"', text


@dataclass(frozen=True)
class TokenTag(Attributed):
    """The form with its strings filled in; `token` is the word between the bars, and goes into `prefix` too."""

    token: str = ""

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        """What any of its tags begins with, up to the token's word."""
        return tuple(f"<{bars}{self.token}" for bars in BARS)

    def first(self, scan: Scanner, ahead: int = 0) -> Step[Tag | None]:
        """A call's opening tag; one that says `parameter` is a call's where another parameter stands in it."""
        tag = yield from super().first(scan, ahead)
        if tag is not None:
            return tag
        tag = yield from named_tag(scan, self.parameter_tag, ahead)
        if tag is None or tag.empty or "string" in tag.attributes:
            return None
        space = yield from scan.space(ahead + tag.length)
        inner = yield from self.parameter_at(scan, space)
        return replace(tag, misspelt=True) if inner else None

    def body(self, scan: Scanner, sink: CallSink, tools: Toolbox, name: str, tag: Tag) -> Step[bool]:
        """Also arguments that are wrapped once more."""
        scan.take(0 if tag.empty else (yield from scan.space()))
        if tag.empty or (yield from scan.starts("{")):
            return (yield from super().body(scan, sink, tools, name, tag))
        arguments, values = Arguments(sink, tools, name), Parameters(self, tools, name)
        first = yield from named_tag(scan, self.parameter_tag)
        declared = tools.keys(name)
        if first is not None and not first.empty and declared and first.name in _WRAPPED and first.name not in declared:
            scan.take(first.length)
            collected = _Text()
            if (yield from tag_value(scan, collected, values)) is None:
                return False
            inner = _inner(collected.text(), declared)
            space = yield from scan.space()
            _, length = yield from self.call_end.at(scan, space)
            if inner is not None and length:
                scan.take(space + length)
                sink.note_repair("wrapped_arguments")
                sink.piece(inner)
                sink.end()
                return True
            value = self.content.member(arguments, values.given(first.name), first.attributes)
            value.add(collected.text())
            value.end()
        return (yield from self.rest(scan, sink, arguments, values))


def token_tag(name: str, token: str) -> TokenTag:
    """The dialect `name`, in whose tags `token` stands between bars."""
    return TokenTag(
        name,
        wrappers=("tool_calls", "function_calls", "toolcalls", "tool", "calls"),
        prefix=(BARS, token, BARS),
        token=token,
        content=Marked(),
        hollow="\n",
        place="anywhere",
    )


class _Text:
    """A value that is only collected."""

    wake_on = None

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def add(self, piece: str) -> None:
        """The next piece of the text."""
        self._pieces.append(piece)

    def end(self, *, literal: bool = False) -> None:
        """Nothing depends on it."""

    def text(self) -> str:
        """All of it."""
        return "".join(self._pieces)


def _inner(text: str, declared: tuple[str, ...]) -> str | None:
    """The object in `text`, or in the string that `text` is, when all its keys are declared; None for anything else."""
    decoded, _ = to_text(text)
    try:
        keys = {key for key, _ in members(decoded)}
    except ValueError:
        return None
    return to_json(decoded, frozenset({"object"})) if keys.issubset(declared) else None
