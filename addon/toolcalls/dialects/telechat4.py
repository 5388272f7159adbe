"""`telechat4`: TeleChat4's and Xing 4.0's form, GLM's pairs with tags of their own names.

Values are taken verbatim, white space between tags means nothing. The models write an object in place of the pairs as
well, with the name in it or in front of it: that is `hermes`, or `glm_xml`, whose tag this is.
"""

from toolcalls.shapes import About
from toolcalls.shapes.tags.pair_form import PairForm

ABOUT = About(
    form="keys and values",
    written_by="China Telecom's TeleChat4 and Xing 4.0",
    source="TensorRT-LLM's `xing4_0` parser",
    example="""\
<tool_call>read_file<param_key>path</param_key><param_value>src/a.ts</param_value></tool_call>""",
)

DIALECT = PairForm("telechat4", key="param_key", value="param_value")
