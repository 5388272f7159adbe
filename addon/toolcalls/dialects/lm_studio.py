"""`lm_studio`: JSON between the marks that LM Studio teaches models without a template for tools.

It shows as text where LM Studio's parser is not in the way. `[TOOL_CALL]` with its closer is what models make of it.
"""

from toolcalls.shapes import About
from toolcalls.shapes.json.marked_json import MarkedJson

ABOUT = About(
    form="JSON in tags",
    written_by="any model that LM Studio serves in its default format",
    source=(
        "https://lmstudio.ai/docs/developer/openai-compat/tools (default tool use), "
        "https://docs.openclaw.ai/gateway/local-models"
    ),
    example="""\
[TOOL_REQUEST]{"name": "read_file", "arguments": {"path": "src/a.ts"}}[END_TOOL_REQUEST]""",
)

DIALECT = MarkedJson(
    "lm_studio",
    opening=("[TOOL_REQUEST]", "[TOOL_CALL]"),
    closing=("[END_TOOL_REQUEST]", "[/TOOL_REQUEST]", "[/TOOL_CALL]", "[END_TOOL_CALL]"),
)
