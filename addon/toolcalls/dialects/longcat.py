"""`longcat`: Hermes' form with a tag of its own.

    <longcat_tool_call>{"name": "read_file", "arguments": {"path": "src/a.ts"}}</longcat_tool_call>

Written by Meituan's LongCat-Flash. Source: the model's chat template.
"""

from toolcalls.shapes.jsontags import JsonTags

DIALECT = JsonTags("longcat", opening=("<longcat_tool_call>",), closing=("</longcat_tool_call>",), line="")
