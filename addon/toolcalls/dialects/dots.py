"""`dots`: rednote's dots models, `invoke` elements or a JSON object in a tag of their own.

Values are taken verbatim. A JSON object may be in place of the elements:

    <dots_function_call>{"name": "read_file", "arguments": {"path": "src/a.ts"}}</dots_function_call>
"""

from toolcalls.shapes import About, CallSink
from toolcalls.shapes.json.marked_json import MarkedJson
from toolcalls.shapes.tags.content import Verbatim
from toolcalls.shapes.tags.form import TagForm
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="invoke",
    written_by="rednote's dots models",
    source="the models' chat templates, and vLLM's `dots` parser",
    example="""\
<dots_function_call>
<invoke name="read_file">
<parameter name="path">src/a.ts</parameter>
</invoke>
</dots_function_call>""",
)

_OPENER = "<dots_function_call>"
_OBJECT = MarkedJson("dots", opening=(_OPENER,), closing=("</dots_function_call>",), line="\n")


class _Dots(TagForm):
    """Elements, or an object where they would stand."""

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        space = yield from scan.space(len(_OPENER))
        if (yield from scan.starts("{", space)):
            return (yield from _OBJECT.read(scan, sink, tools))
        return (yield from super().read(scan, sink, tools))


DIALECT = _Dots("dots", wrappers=("dots_function_call",), content=Verbatim(), bare=False)
