"""How a parameter's value is between its tags: what is layout, what is escaped, what says which type it has.

The tags around a value are its form's business (`form`), and where it ends is `value_end`'s. A dialect chooses one of
these contents, or brings its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from toolcalls.shapes.arguments import LINE_ENDS, Arguments, Value
from toolcalls.shapes.tags.entities import (
    CDATA,
    IN_CDATA,
    Decoding,
    cdata,
    escape,
    reads_as_escaped,
    take_section,
)
from toolcalls.shapes.tags.raw import delimited, line_end, on_own_lines
from toolcalls.shapes.tags.tag_patterns import Tags
from toolcalls.shapes.writable import other_value, plain_text
from toolcalls.text.scanner import SPACE, Scanner, Step
from toolcalls.values.conversion import quote, to_json, to_text
from toolcalls.values.toolbox import Toolbox

_PYTHON = {"true": "True", "false": "False", "null": "None"}


class Opened(NamedTuple):
    """A value whose text can be read now.

    value       where the text goes
    literal     it was marked as text
    entities    those in it may stand for what was escaped (`entities`)
    own_lines   a line end that was after the tag was layout, and so is one before the closer
    """

    value: Value
    literal: bool = False
    own_lines: bool = False
    entities: bool = True


class Content(Protocol):
    """How one value is read and written."""

    def member(self, arguments: Arguments, key: str, attributes: Mapping[str, str]) -> Value:
        """Open the member `key`, whose tag has these attributes."""

    def start(self, scan: Scanner, value: Value, closers: Tags) -> Step[Opened]:
        """Read what comes before the text of `value`; `closers` are the tags that may end it."""

    def write(self, name: str, key: str, raw: str, tools: Toolbox, tags: Tags) -> tuple[str, str]:
        """A raw JSON value of tool `name` as more attributes for its tag ("" for none) and the text after the tag.

        `tags` are those that mean something inside a value. Raises `Unwritable`.
        """


def opened_verbatim(scan: Scanner, value: Value, closers: Tags) -> Step[Opened]:  # noqa: ARG001
    """Every character is the value's."""
    yield from ()
    return Opened(value)


def opened_as_text(scan: Scanner, value: Value, closers: Tags) -> Step[Opened]:  # noqa: ARG001
    """Every character is the value's, and it is marked as text."""
    yield from ()
    return Opened(value, literal=True)


def opened_on_lines(scan: Scanner, value: Value, closers: Tags) -> Step[Opened]:  # noqa: ARG001
    """A line end after the tag is layout, and so is one before the closer then."""
    lines = yield from line_end(scan)
    scan.take(lines)
    return Opened(value, own_lines=lines > 0)


class Verbatim:
    """Every character is the value's, and the schema says its type."""

    def member(self, arguments: Arguments, key: str, attributes: Mapping[str, str]) -> Value:  # noqa: ARG002
        return arguments.value(key)

    def start(self, scan: Scanner, value: Value, closers: Tags) -> Step[Opened]:
        return opened_verbatim(scan, value, closers)

    def write(
        self,
        name: str,
        key: str,
        raw: str,
        tools: Toolbox,
        tags: Tags,  # noqa: ARG002 - a tag that does harm is found when the text is read back
    ) -> tuple[str, str]:
        """The text as it is; refused where the schema would make something else of it."""
        return "", plain_text(name, key, raw, tools)


type Layout = Literal["lines", "inline", "block", "verbatim"]


@dataclass(frozen=True)
class Printed(Verbatim):
    """Values as Python prints them: `True`, `None`, `3`; lists and objects as JSON.

    layout   how a value is written: on lines of its own, right between its tags unless line ends would be lost there,
             on lines of its own when it has several, or as it is. In all but the last, a line end after the opening
             tag and one before the closer are layout.
    words    how `true`, `false` and `null` are written where not as JSON does
    """

    layout: Layout = "lines"
    words: Mapping[str, str] = field(default_factory=lambda: _PYTHON, hash=False)

    def start(self, scan: Scanner, value: Value, closers: Tags) -> Step[Opened]:
        """A line end, which is layout."""
        return (opened_verbatim if self.layout == "verbatim" else opened_on_lines)(scan, value, closers)

    def write(self, name: str, key: str, raw: str, tools: Toolbox, tags: Tags) -> tuple[str, str]:  # noqa: ARG002
        """The text, on lines of its own where the layout has it so."""
        text = plain_text(name, key, raw, tools, self.words)
        return "", on_own_lines(text) if self._needs_lines(text) else text

    def _needs_lines(self, text: str) -> bool:
        match self.layout:
            case "lines":
                return True
            case "inline":
                return text.startswith(LINE_ENDS) or text.endswith(LINE_ENDS)
            case "block":
                return any(end in text for end in LINE_ENDS)
            case "verbatim":
                return False


class Escaped:
    """Line ends around a value on lines of its own are layout, and CDATA hides what is in it."""

    def member(self, arguments: Arguments, key: str, attributes: Mapping[str, str]) -> Value:  # noqa: ARG002
        """Attributes say nothing of the type: the schema alone decides."""
        return arguments.value(key)

    def start(self, scan: Scanner, value: Value, closers: Tags) -> Step[Opened]:
        """The CDATA sections that come first, or a line end."""
        lines = yield from line_end(scan)
        space = yield from scan.space()
        if (yield from scan.starts(CDATA, space)):
            scan.take(space)
            yield from _sections(scan, value, closers)
            return Opened(value, literal=True, own_lines=lines > 0, entities=False)
        scan.take(lines)
        return Opened(value, own_lines=lines > 0)

    def write(self, name: str, key: str, raw: str, tools: Toolbox, tags: Tags) -> tuple[str, str]:
        """The text as it is, in CDATA only where it would be read as something else."""
        types = tools.types(name, key)
        text, is_string = to_text(raw)
        value = quote(text) if is_string else raw
        hidden = reads_as_escaped(text, key, tools) or text.lstrip(SPACE).startswith(CDATA) or tags.stand_in(text)
        if not hidden and to_json(text, types, infer=tools.infer) == value:
            return "", delimited(text)
        if to_json(text, types, infer=False) == value:
            return "", cdata(text)
        raise other_value(name, key, raw)


class Decoded(Verbatim):
    """A value of which everything was escaped once; a line end on each side of it is layout."""

    def start(self, scan: Scanner, value: Value, closers: Tags) -> Step[Opened]:
        opened = yield from opened_on_lines(scan, Decoding(value), closers)
        return opened._replace(entities=False)

    def write(self, name: str, key: str, raw: str, tools: Toolbox, tags: Tags) -> tuple[str, str]:  # noqa: ARG002
        return "", escape(delimited(plain_text(name, key, raw, tools)))


def _sections(scan: Scanner, value: Value, closers: Tags) -> Step[None]:
    """CDATA sections one after the other, with nothing but white space between them."""
    while (yield from take_section(scan, value.add, IN_CDATA if value.wake_on is not None else None)):
        space = yield from scan.space()
        again = yield from scan.starts(CDATA, space)
        if again or (yield from closers.at(scan, space))[1]:
            scan.take(space)
        if not again:
            return
