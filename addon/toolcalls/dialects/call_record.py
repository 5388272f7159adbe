"""`call_record`: an element that names the tool in `tool`, leaked by Gemini.

Values are taken verbatim: no line end is layout, nothing is decoded.
"""

import re

from toolcalls.shapes import About, Call
from toolcalls.shapes.tags.content import Verbatim
from toolcalls.shapes.tags.entities import unescape
from toolcalls.shapes.tags.form import TagForm
from toolcalls.shapes.tags.opening_tag import Tag
from toolcalls.shapes.words import word
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="invoke",
    written_by="Gemini, as a leak",
    source="oh-my-pi #92",
    example="""\
<call_record tool="read_file"><parameter name="path">src/a.ts</parameter></call_record>""",
)

_TAG = re.compile(r"""<call_record\s+tool\s*=\s*(?:"([^"<>]+)"|'([^'<>]+)'|([^\s"'<>/]+))\s*(/?)""")
_UP_TO_END = re.compile(r"[^>]*+")


class _CallRecord(TagForm):
    def call_here(self, scan: Scanner, ahead: int = 0) -> Step[Tag | None]:
        if not (yield from scan.starts("<call_record", ahead)):
            return None
        written = yield from word(scan, _UP_TO_END, ahead)
        found = _TAG.fullmatch(written)
        if found is None or not (yield from scan.starts(">", ahead + len(written))):
            return None
        name = unescape(next(filter(None, found.groups()))).strip()
        return Tag(name, len(written) + 1, bool(found[4])) if name else None

    def write_call(self, call: Call, tools: Toolbox) -> str:
        return super().write_call(call, tools).replace(" name=", " tool=", 1)


DIALECT = _CallRecord("call_record", wrappers=(), call="call_record", content=Verbatim(), line="")
