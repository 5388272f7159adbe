"""`lm_studio`: JSON between the marks that LM Studio teaches models without a template for tools.

    [TOOL_REQUEST]{"name": "read_file", "arguments": {"path": "src/a.ts"}}[END_TOOL_REQUEST]

Written by any model that LM Studio serves in its default format, and seen as text where its parser is not in the way.
`[TOOL_CALL]` with its closer is what models make of it. Sources: https://lmstudio.ai/docs/developer/openai-compat/tools
(default tool use), https://docs.openclaw.ai/gateway/local-models.
"""

from toolcalls.shapes.jsontags import JsonTags

DIALECT = JsonTags(
    "lm_studio",
    opening=("[TOOL_REQUEST]", "[TOOL_CALL]"),
    closing=("[END_TOOL_REQUEST]", "[/TOOL_REQUEST]", "[/TOOL_CALL]", "[END_TOOL_CALL]"),
    line="",
)
