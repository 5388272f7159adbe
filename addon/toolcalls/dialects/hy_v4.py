"""`hy_v4`: Tencent's Hy4, which writes as Hy3 does but for the separator behind the name.

    <tool_calls>
    <tool_call>read_file
    <arg_key>path</arg_key>
    <arg_value>src/a.ts</arg_value>
    </tool_call>
    </tool_calls>

Values stand as they are, and any tag may carry a suffix of the model's tokenizer. Without the wrapper a call is
`glm_xml`'s. Source: the model's chat template.
"""

from toolcalls.shapes.keyvalue import KeyValue

DIALECT = KeyValue("hy_v4", wrapper="tool_calls", suffixed=True, line="\n")

RESULT = "<tool_responses>\n<tool_response>\n{text}\n</tool_response>\n</tool_responses>"
