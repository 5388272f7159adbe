"""`dots`: rednote's dots models, `invoke` elements or a JSON object in a tag of their own.

    <dots_function_call>
    <invoke name="read_file">
    <parameter name="path">src/a.ts</parameter>
    </invoke>
    </dots_function_call>

    <dots_function_call>{"name": "read_file", "arguments": {"path": "src/a.ts"}}</dots_function_call>

Values stand as they are. Source: the models' chat templates, vLLM's `dots` parser.
"""

from toolcalls.shapes import Calls
from toolcalls.shapes.attributed import Attributed
from toolcalls.shapes.content import Verbatim
from toolcalls.shapes.jsontags import JsonTags
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

_OPENER = "<dots_function_call>"
_OBJECT = JsonTags("dots", opening=(_OPENER,), closing=("</dots_function_call>",))


class _Dots(Attributed):
    """Elements, or an object where they would stand."""

    def read(self, scan: Scanner, calls: Calls, tools: Toolbox) -> Step[bool]:
        """Also an object."""
        space = yield from scan.space(len(_OPENER))
        if (yield from scan.starts("{", space)):
            return (yield from _OBJECT.read(scan, calls, tools))
        return (yield from super().read(scan, calls, tools))


DIALECT = _Dots("dots", wrappers=("dots_function_call",), content=Verbatim(), bare=False)
