"""`grok_xai`: Grok's form, an element that carries the name, with nothing around the calls.

    <xai:function_call name="read_file"><parameter name="path">src/a.ts</parameter></xai:function_call>

Leaked by Grok in agents (sst/opencode #2288 #2291). Values stand as they are: no line end is layout, nothing is
decoded.
"""

from toolcalls.shapes.attributed import Attributed
from toolcalls.shapes.content import Verbatim

DIALECT = Attributed("grok_xai", wrappers=(), call="xai:function_call", content=Verbatim(), line="")
