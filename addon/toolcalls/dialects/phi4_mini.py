"""`phi4_mini`: a JSON array after the word `functools`.

The word alone is prose (a module of Python's): it counts only with an array of calls after it, at the start of a line.
"""

from toolcalls.shapes import About
from toolcalls.shapes.json.marked_json import MarkedJson

ABOUT = About(
    form="arrays behind a mark",
    written_by="Microsoft's Phi-4-mini and, with a blank in front of it, FireFunction 2",
    source="vLLM's `phi4_mini_json` parser",
    example="""\
functools[{"name": "read_file", "arguments": {"path": "src/a.ts"}}]""",
)

DIALECT = MarkedJson("phi4_mini", opening=("functools",), closed=False, place="start", brackets=("[",))
