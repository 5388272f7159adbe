"""`pangu`: a JSON array between two tokens without a name.

The model's tokenizer calls these tokens so.
"""

from toolcalls.shapes import About
from toolcalls.shapes.json.marked_json import MarkedJson

ABOUT = About(
    form="arrays behind a mark",
    written_by="Huawei's openPangu",
    source=(
        "the chat template of https://ai.gitcode.com/ascend-tribe/openpangu-embedded-7b-model, and the prompts of "
        "agents that serve it"
    ),
    example="""\
[unused11][{"name": "read_file", "arguments": {"path": "src/a.ts"}}][unused12]""",
)

DIALECT = MarkedJson("pangu", opening=("[unused11]",), closing=("[unused12]",), brackets=("[", "{"), place="anywhere")
