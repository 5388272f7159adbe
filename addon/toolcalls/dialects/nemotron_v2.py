"""`nemotron_v2`: a JSON array in `<TOOLCALL>` tags."""

from toolcalls.shapes import About
from toolcalls.shapes.json.marked_json import MarkedJson

ABOUT = About(
    form="arrays behind a mark",
    written_by="NVIDIA's Nemotron Nano 2 and Llama-Nemotron",
    source="the chat template of https://huggingface.co/nvidia/NVIDIA-Nemotron-Nano-9B-v2",
    example="""\
<TOOLCALL>[{"name": "read_file", "arguments": {"path": "src/a.ts"}}]</TOOLCALL>""",
)

DIALECT = MarkedJson("nemotron_v2", opening=("<TOOLCALL>",), closing=("</TOOLCALL>",), brackets=("[", "{"))
