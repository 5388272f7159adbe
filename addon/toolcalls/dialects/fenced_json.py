"""`fenced_json`: JSON calls in a code fence, and nothing else in the message.

    ```json
    {"name": "read_file", "arguments": {"path": "src/a.ts"}}
    ```

Written by Qwen2.5-Coder and other models without a template for calls (omlx #2565, hermes-agent PR#83023). The JSON is
an object or an array, read as `bare_json` reads it. A fence with anything else in it is a code block.
"""

from toolcalls.shapes.openjson import OpenJson

DIALECT = OpenJson("fenced_json", fences=tuple((f"```{info}", "```") for info in ("json", "JSON", "")))
