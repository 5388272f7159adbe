"""`glm_xml`: GLM's form from 4.5 on, a name with pairs of key and value; also Spark 2.5, Laguna (poolside) and Ling 3.

GLM 4.5 and 4.6 put each tag on a line of its own, GLM 4.7 and 5 put everything on one; both are read, the second is
written. Values are taken verbatim: no line end is layout, nothing is escaped. An object after the name, which models
write that know Hermes' form too, is read in place of the pairs. `<tool_call>` is also what Hermes and Qwen begin with.
"""

from toolcalls.shapes import About
from toolcalls.shapes.tags.pair_form import PairForm

ABOUT = About(
    form="keys and values",
    written_by="GLM 4.5 and later, Spark 2.5, Laguna (poolside) and Ling 3",
    source="the models' chat templates (https://huggingface.co/zai-org/GLM-4.7, chat_template.jinja)",
    example="""\
<tool_call>read_file<arg_key>path</arg_key><arg_value>src/a.ts</arg_value></tool_call>""",
)

DIALECT = PairForm("glm_xml", json=True)

RESULT = "<tool_response>{text}</tool_response>"
