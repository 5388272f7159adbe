"""`iquest`: IQuest's form, GLM's pairs in a tag of its own.

    <iquest_tool_call>read_file<arg_key>path</arg_key><arg_value>src/a.ts</arg_value></iquest_tool_call>

Values stand as they are, white space between tags means nothing. Source: the model's chat template.
"""

from toolcalls.shapes.keyvalue import KeyValue

DIALECT = KeyValue("iquest", call="iquest_tool_call")
