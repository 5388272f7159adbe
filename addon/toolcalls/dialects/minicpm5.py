"""`minicpm5`: MiniCPM 5's form, `function` and `param` elements that carry names.

A value may be in CDATA. Servers leak the tokenizer's `Ġ` and `Ċ` for blanks and line ends: in a call whose tag holds
one they are read as the characters they encode. A `<param>` without a name is the one parameter that is still missing,
where there is only one. Where one parameter that nobody declared holds an object of declared ones, that is meant.
"""

from collections.abc import Mapping
from functools import cached_property

from toolcalls.shapes import About, CallSink
from toolcalls.shapes.arguments import Arguments, Value
from toolcalls.shapes.tags.call_end import Parameters
from toolcalls.shapes.tags.content import Escaped
from toolcalls.shapes.tags.form import TagForm
from toolcalls.shapes.tags.opening_tag import Tag
from toolcalls.shapes.tags.tag_patterns import Parts, Tags, unbracketed
from toolcalls.shapes.tags.value_end import CALL, CALL_END, CLOSER, NEXT, UNBRACKETED
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="invoke",
    written_by="MiniCPM 5",
    source="the model's chat template, and SGLang's `minicpm` parser",
    example="""\
<function name="read_file"><param name="path">src/a.ts</param></function>""",
)

_MARKS = ("Ċ", "Ġ", "ĊĊ", "ĊĠ", "ĊĠĠ", "")
_NAMELESS = "<param>"  # no key can be called so


class _MiniCPM(TagForm):
    """The form, with what the tokenizer leaves between its tags."""

    def opening(self, *elements: str) -> Parts:
        """The tag, with what the tokenizer may have left before it."""
        return _MARKS, *super().opening(*elements)

    def closing(self, *elements: str) -> Parts:
        return _MARKS, *super().closing(*elements)

    @cached_property
    def call_tag(self) -> Tags:
        """Nothing is known to be misspelt."""
        return Tags(call=[super().opening(self.call)])

    @cached_property
    def inside(self) -> Tags:
        """In a value a mark is the value's."""
        opening, closing = super().opening, super().closing
        parts = {
            CLOSER: closing(self.parameter),
            UNBRACKETED: unbracketed(closing(self.parameter))[0],
            CALL_END: closing(self.call),
            CALL: opening(self.call),
            NEXT: opening(self.parameter),
        }
        return Tags(**{kind: [form] for kind, form in parts.items()})

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        """A call's tag up to its name."""
        return "<function name=", "<functionname=", "<functionĠname="

    def wraps(self, key: str, declared: tuple[str, ...]) -> bool:
        """Under any name that is not declared."""
        return key != _NAMELESS and bool(declared) and key not in declared

    def parameter_here(self, scan: Scanner, ahead: int = 0) -> Step[Tag | None]:
        """The parameter's tag that is here; one without a name gets `_NAMELESS`."""
        tag = yield from super().parameter_here(scan, ahead)
        if tag is not None:
            return tag
        _, length = yield from _PARAM.at(scan, ahead)
        return Tag(_NAMELESS, length) if length else None

    def one(self, scan: Scanner, sink: CallSink, tools: Toolbox, tag: Tag) -> Step[bool]:
        """A call whose tag holds a mark has them in its values too."""
        marked = "Ġ" in scan.text[scan.pos : scan.pos + tag.length]
        return (yield from TagForm.one(_MARKED if marked else self, scan, sink, tools, tag))

    def keyed(self, tag: Tag, values: Parameters) -> Tag | None:
        """A parameter without a name is the one that the call still lacks, if that is just one."""
        if tag.name != _NAMELESS:
            return tag
        missing = values.missing()
        return tag._replace(name=missing[0], repairs=("nameless_argument",)) if len(missing) == 1 else None


class _Unmarked:
    """A value whose marks are blanks and line ends."""

    wake_on = None

    def __init__(self, value: Value) -> None:
        self._value = value

    def add(self, piece: str) -> None:
        self._value.add(piece.replace("Ġ", " ").replace("Ċ", "\n"))

    def end(self, *, literal: bool = False) -> None:
        self._value.end(literal=literal)


class _Marks(Escaped):
    """Values with marks in them."""

    def member(self, arguments: Arguments, key: str, attributes: Mapping[str, str]) -> Value:
        """The schema decides on what the marks stand for."""
        return _Unmarked(super().member(arguments, key, attributes))


_PARAM = Tags(next=[(_MARKS, "<", "param", ">")])
_MARKED = _MiniCPM("minicpm5", wrappers=(), call="function", parameter="param", content=_Marks(), line="")
DIALECT = _MiniCPM("minicpm5", wrappers=(), call="function", parameter="param", line="")
