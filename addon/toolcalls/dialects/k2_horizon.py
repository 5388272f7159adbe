"""`k2_horizon`: K2 Horizon's form, GLM's pairs with tags of its own that may name a value's type.

Values are taken verbatim; a type that says string keeps a value text where no schema says anything. The body may be
JSON as well: an object after the name in place of the pairs, or one that holds the name too.
"""

from toolcalls.shapes import About, CallSink
from toolcalls.shapes.json.marked_json import MarkedJson
from toolcalls.shapes.tags.pair_form import PairForm
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="keys and values",
    written_by="K2 Horizon",
    source="the model's chat template",
    example="""\
<ifm|tool_calls><ifm|tool_call>read_file<ifm|arg_key>path</ifm|arg_key><ifm|arg_type>string</ifm|arg_type>\
<ifm|arg_value>src/a.ts</ifm|arg_value></ifm|tool_call></ifm|tool_calls>""",
)

_OBJECTS = MarkedJson("k2_horizon", opening=("<ifm|tool_call>",), closing=("</ifm|tool_call>",), line="\n")


class _Horizon(PairForm):
    """The pairs, or JSON where they would stand."""

    def one(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool | None]:
        """Also an object that holds the name."""
        complete = yield from super().one(scan, sink, tools)
        if complete is not None:
            return complete
        space = yield from scan.space(len(_OBJECTS.opening[0]))
        if not (yield from scan.starts(_OBJECTS.opening[0])) or not (yield from scan.starts("{", space)):
            return None
        return (yield from _OBJECTS.read(scan, sink, tools))


DIALECT = _Horizon(
    "k2_horizon",
    call="ifm|tool_call",
    key="ifm|arg_key",
    value="ifm|arg_value",
    wrapper="ifm|tool_calls",
    bare=True,
    kind="ifm|arg_type",
    json=True,
)
