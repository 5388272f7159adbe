"""`glm_xml`: GLM's form from 4.5 on, a name with pairs of key and value; also Spark 2.5, Laguna (poolside) and Ling 3.

    <tool_call>read_file<arg_key>path</arg_key><arg_value>src/a.ts</arg_value></tool_call>

GLM 4.5 and 4.6 put each tag on a line of its own, GLM 4.7 and 5 put everything on one; both are read, the second is
written. Values stand as they are: no line end is layout, nothing is escaped. An object behind the name, which models
write that know Hermes' form too, stands for the pairs. `<tool_call>` is also what Hermes and Qwen begin with. Source:
the models' chat templates (https://huggingface.co/zai-org/GLM-4.7, chat_template.jinja).
"""

from toolcalls.shapes.keyvalue import KeyValueOrJson

DIALECT = KeyValueOrJson("glm_xml")

RESULT = "<tool_response>{text}</tool_response>"
