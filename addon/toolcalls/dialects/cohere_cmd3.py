"""`cohere_cmd3`: Cohere's Command R7B and A, a JSON array between tokens, beside thinking and a response.

    <|START_ACTION|>[
        {"tool_call_id": "0", "tool_name": "read_file", "parameters": {"path": "src/a.ts"}}
    ]<|END_ACTION|>

Source: the chat template of https://huggingface.co/CohereLabs/c4ai-command-a-03-2025.
"""

from toolcalls.shapes.actions import Actions

DIALECT = Actions("cohere_cmd3", channel="RESPONSE")
