"""`cohere_cmd4`: Cohere's next Command models, whose text channel has another name and whose replies begin in thinking.

A call by itself reads as `cohere_cmd3`'s, whose text channel is read here, too.
"""

from toolcalls.shapes import About
from toolcalls.shapes.json.cohere_channels import CohereChannels

ABOUT = About(
    form="arrays behind a mark",
    written_by="Cohere's Command models after Command A",
    source="the models' chat template",
    example="""\
<|START_TEXT|>Let me look.<|END_TEXT|><|START_ACTION|>[
    {"tool_call_id": "0", "tool_name": "read_file", "parameters": {"path": "src/a.ts"}}
]<|END_ACTION|>""",
)

DIALECT = CohereChannels("cohere_cmd4")
