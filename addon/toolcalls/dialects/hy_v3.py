"""`hy_v3`: Tencent's Hy3, GLM's pairs behind a separator and in a wrapper.

    <tool_calls>
    <tool_call>read_file<tool_sep>
    <arg_key>path</arg_key>
    <arg_value>src/a.ts</arg_value>
    </tool_call>
    </tool_calls>

Values stand as they are. Tags with a tokenizer's suffix
(`<tool_calls:...>`) are not read. Source: the model's chat template.
"""

from toolcalls.shapes.keyvalue import KeyValue

DIALECT = KeyValue("hy_v3", wrapper=("<tool_calls>", "</tool_calls>"), separator="<tool_sep>", line="\n")
