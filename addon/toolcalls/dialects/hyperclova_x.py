"""`hyperclova_x`: HyperCLOVA X SEED Think, a JSON array in a message whose header says that it is a call.

The message before it may end right in front of the header, and the header may have lost its first words. Where all of
it is gone, it is `json_array`.
"""

from toolcalls.shapes import About
from toolcalls.shapes.json.marked_json import MarkedJson

ABOUT = About(
    form="arrays behind a mark",
    written_by="NAVER's HyperCLOVA X SEED Think 14B",
    source="vLLM's `hyperclovax_seed_think_14b` parser",
    example="""\
<|im_start|>assistant -> tool/function_call
[{"name": "read_file", "arguments": {"path": "src/a.ts"}}]<|im_end|>""",
)

_ROLE = "<|im_start|>assistant"
_HEADER = "-> tool/function_call"
_ENDS = ("<|im_end|>\n", "<|im_end|>\r\n", "<|im_end|>", "")

DIALECT = MarkedJson(
    "hyperclova_x",
    opening=(
        f"{_ROLE} {_HEADER}",
        *(f"{end}{role} {_HEADER}" for end in _ENDS[:-1] for role in (_ROLE, "")),
        _HEADER,
    ),
    closing=("<|im_end|>", "<|stop|>", "<|endofturn|>"),
    closed=False,
    line="\n",
    brackets=("[", "{"),
    place="anywhere",
)
