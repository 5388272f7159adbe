"""`grok_xai`: Grok's form, an element that carries the name, with nothing around the calls.

Values are taken verbatim: no line end is layout, nothing is decoded.
"""

from toolcalls.shapes import About
from toolcalls.shapes.tags.content import Verbatim
from toolcalls.shapes.tags.form import TagForm

ABOUT = About(
    form="invoke",
    written_by="Grok, as a leak in agents",
    source="sst/opencode #2288, #2291",
    example="""\
<xai:function_call name="read_file"><parameter name="path">src/a.ts</parameter></xai:function_call>""",
)

DIALECT = TagForm("grok_xai", wrappers=(), call="xai:function_call", content=Verbatim(), line="")
