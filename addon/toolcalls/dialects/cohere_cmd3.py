"""`cohere_cmd3`: Cohere's Command R7B and A, a JSON array between tokens, beside thinking and a response."""

from toolcalls.shapes import About
from toolcalls.shapes.json.cohere_channels import CohereChannels

ABOUT = About(
    form="arrays behind a mark",
    written_by="Cohere's Command R7B and Command A",
    source="the chat template of https://huggingface.co/CohereLabs/c4ai-command-a-03-2025",
    example="""\
<|START_ACTION|>[
    {"tool_call_id": "0", "tool_name": "read_file", "parameters": {"path": "src/a.ts"}}
]<|END_ACTION|>""",
)

DIALECT = CohereChannels("cohere_cmd3")
