"""How a parameter's value is between its tags: what is layout, what is escaped, what says which type it has.

The tags around a value are the shape's business (`attributed`), and so is where the value ends. A dialect chooses one
of these contents, or brings its own.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from toolcalls.shapes import Unwritable
from toolcalls.shapes.arguments import Arguments, Value
from toolcalls.shapes.tags.entities import Unescaping, reads_as_escaped
from toolcalls.shapes.tags.raw import delimited, line_end
from toolcalls.shapes.tags.tags import Tags
from toolcalls.text.scanner import SPACE, Scanner, Step
from toolcalls.values.conversion import quote, to_json, to_text
from toolcalls.values.toolbox import Toolbox

_CDATA, _CDATA_END = "<![CDATA[", "]]>"


class Opened(NamedTuple):
    """A value whose text can be read now.

    value       where the text goes
    literal     it was marked as text
    own_lines   a line end that was after the tag was layout, and so is one before the closer
    """

    value: Value
    literal: bool = False
    own_lines: bool = False


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


class Verbatim:
    """Every character is the value's, and the schema says its type."""

    def member(self, arguments: Arguments, key: str, attributes: Mapping[str, str]) -> Value:  # noqa: ARG002
        """The schema alone decides."""
        return arguments.value(key)

    def start(self, scan: Scanner, value: Value, closers: Tags) -> Step[Opened]:  # noqa: ARG002
        """Nothing comes before the text."""
        yield from ()
        return Opened(value)

    def write(
        self,
        name: str,
        key: str,
        raw: str,
        tools: Toolbox,
        tags: Tags,  # noqa: ARG002 - a tag that does harm is found when the text is read back
    ) -> tuple[str, str]:
        """The text as it is; refused where the schema would make something else of it."""
        text, is_string = to_text(raw)
        if to_json(text, tools.types(name, key), infer=tools.infer) != (quote(text) if is_string else raw):
            raise Unwritable(f"{name}.{key}: {raw[:80]} would be read back as another value")
        return "", text


class Escaped:
    """Line ends around a value on lines of its own are layout, CDATA hides what is in it, entities are decoded as
    `entities` says.
    """

    def member(self, arguments: Arguments, key: str, attributes: Mapping[str, str]) -> Value:  # noqa: ARG002
        """The schema alone decides."""
        return arguments.value(key)

    def start(self, scan: Scanner, value: Value, closers: Tags) -> Step[Opened]:
        """The CDATA sections that come first, or a line end."""
        lines = yield from line_end(scan)
        space = yield from scan.space()
        if (yield from scan.starts(_CDATA, space)):
            scan.take(space)
            yield from _sections(scan, value, closers)
            return Opened(Unescaping(value), literal=True, own_lines=lines > 0)
        scan.take(lines)
        return Opened(Unescaping(value), own_lines=lines > 0)

    def write(self, name: str, key: str, raw: str, tools: Toolbox, tags: Tags) -> tuple[str, str]:
        """The text as it is, in CDATA only where it would be read as something else."""
        types = tools.types(name, key)
        text, is_string = to_text(raw)
        value = quote(text) if is_string else raw
        hidden = reads_as_escaped(text) or text.lstrip(SPACE).startswith(_CDATA) or tags.stand_in(text)
        if not hidden and to_json(text, types, infer=tools.infer) == value:
            return "", delimited(text)
        if to_json(text, types, infer=False) == value:
            return "", _CDATA + text.replace(_CDATA_END, "]]]]><![CDATA[>") + _CDATA_END
        raise Unwritable(f"{name}.{key}: {raw[:80]} would be read back as another value")


def _sections(scan: Scanner, value: Value, closers: Tags) -> Step[None]:
    """CDATA sections one after the other, with nothing but white space between them."""
    while True:
        scan.take(len(_CDATA))
        while True:
            text, pos = scan.text, scan.pos
            found = text.find(_CDATA_END, pos)
            if found >= 0:
                value.add(scan.take(found - pos))
                scan.take(len(_CDATA_END))
                break
            kept = 0 if scan.ended else 2 if text.endswith("]]") else 1 if text.endswith("]") else 0
            kept = min(kept, len(text) - pos)
            if len(text) - kept > pos:
                value.add(scan.take(len(text) - kept - pos))
            if scan.ended:
                return
            yield
        space = yield from scan.space()
        again = yield from scan.starts(_CDATA, space)
        if again or (yield from closers.at(scan, space))[1]:
            scan.take(space)
        if not again:
            return
