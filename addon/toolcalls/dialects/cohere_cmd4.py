"""`cohere_cmd4`: Cohere's next Command models, whose text channel has another name and whose replies begin in thinking.

    <|START_TEXT|>Let me look.<|END_TEXT|><|START_ACTION|>[
        {"tool_call_id": "0", "tool_name": "read_file", "parameters": {"path": "src/a.ts"}}
    ]<|END_ACTION|>

A call by itself reads as `cohere_cmd3`'s. Source: the models' chat template.
"""

from toolcalls.shapes.actions import Actions

DIALECT = Actions("cohere_cmd4", channel="TEXT")
