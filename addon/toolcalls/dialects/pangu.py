"""`pangu`: a JSON array between two tokens without a name.

    [unused11][{"name": "read_file", "arguments": {"path": "src/a.ts"}}][unused12]

Written by Huawei's openPangu, whose tokenizer calls these tokens so. Sources: the model's chat template
(https://ai.gitcode.com/ascend-tribe/openpangu-embedded-7b-model) and the prompts of agents that serve it.
"""

from toolcalls.shapes.jsonlist import JsonList

DIALECT = JsonList("pangu", opening=("[unused11]",), closing=("[unused12]",), first=("[", "{"), place="anywhere")
