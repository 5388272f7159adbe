"""`apertus`: a JSON array between special tokens, of objects whose only key is the tool's name."""

from toolcalls.shapes import About
from toolcalls.shapes.json.marked_json import MarkedJson

ABOUT = About(
    form="arrays behind a mark",
    written_by="the Swiss AI Initiative's Apertus",
    source="the chat template of https://huggingface.co/swiss-ai/Apertus-8B-Instruct-2509",
    example="""\
<|tools_prefix|>[{"read_file": {"path": "src/a.ts"}}]<|tools_suffix|>""",
)


DIALECT = MarkedJson(
    "apertus",
    opening=("<|tools_prefix|>",),
    closing=("<|tools_suffix|>",),
    brackets=("[", "{"),
    place="anywhere",
    keyed=True,
)
