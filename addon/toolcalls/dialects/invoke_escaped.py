"""`invoke_escaped`: `invoke` that was escaped for HTML as a whole, tags and values.

Everything was escaped once, so every value is decoded once. It opens only at the start of a line.
"""

import re
from collections.abc import Mapping, Sequence

from toolcalls.shapes import About, Call
from toolcalls.shapes.arguments import Arguments, Value
from toolcalls.shapes.tags.content import Opened, Verbatim, opened_on_lines
from toolcalls.shapes.tags.entities import Unescaped, escape, unescape
from toolcalls.shapes.tags.form import TagForm
from toolcalls.shapes.tags.opening_tag import Tag
from toolcalls.shapes.tags.raw import delimited
from toolcalls.shapes.tags.tag_patterns import Tags, spelt
from toolcalls.shapes.writable import plain_text
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="invoke",
    since="0.1.0",
    written_by="clients that escape what they keep of a reply, and models that see it again",
    source="opencode #16735",
    example="""\
&lt;invoke name="read_file"&gt;
&lt;parameter name="path"&gt;src/a.ts&lt;/parameter&gt;
&lt;/invoke&gt;""",
)

_END = "&gt;"
_NAME = re.compile(
    rf"""\s+name\s*=\s*(?P<quote>"|'|&quot;|&#39;)(?P<name>[^"'\n]{{1,256}}?)(?P=quote)\s*{_END}""", re.DOTALL
)
_MAX_TAG = 512


class _Content(Verbatim):
    """Escaped text; line ends around a value on lines of its own are layout."""

    def member(self, arguments: Arguments, key: str, attributes: Mapping[str, str]) -> Value:
        return Unescaped(super().member(arguments, key, attributes))

    def start(self, scan: Scanner, value: Value, closers: Tags) -> Step[Opened]:
        return opened_on_lines(scan, value, closers)

    def write(self, name: str, key: str, raw: str, tools: Toolbox, tags: Tags) -> tuple[str, str]:  # noqa: ARG002
        return "", escape(delimited(plain_text(name, key, raw, tools)))


class _Escaped(TagForm):
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        """The wrapper's tag, and the call's up to its name."""
        return tuple(f"&lt;{tag}" for tag in spelt(*self.prefix, (f"{self.wrappers[0]}{_END}", f"{self.call} name=")))

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        return "\n".join(self.write_call(call, tools) for call in calls)

    def call_here(self, scan: Scanner, ahead: int = 0) -> Step[Tag | None]:
        return _tag(scan, self.call_tag, ahead)

    def parameter_here(self, scan: Scanner, ahead: int = 0) -> Step[Tag | None]:
        return _tag(scan, self.parameter_tag, ahead)


def _tag(scan: Scanner, elements: Tags, ahead: int) -> Step[Tag | None]:
    """The tag that begins with one of `elements`, and its name between quotes that may be escaped, too."""
    _, length = yield from elements.at(scan, ahead)
    if not length:
        return None
    end = yield from scan.find(_END, ahead + length, ahead + _MAX_TAG)
    found = _NAME.fullmatch(scan.text, scan.pos + ahead + length, scan.pos + end + len(_END))
    name = unescape(found["name"]).strip() if end >= 0 and found else ""
    return Tag(name, end + len(_END) - ahead) if name else None


DIALECT = _Escaped(
    "invoke_escaped",
    brackets=("&lt;", _END),
    prefix=(("", "antml:", "tml:"),),
    content=_Content(),
    json=False,
    place="start",
)
