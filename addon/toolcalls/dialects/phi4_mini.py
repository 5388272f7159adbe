"""`phi4_mini`: a JSON array behind the word `functools`.

    functools[{"name": "read_file", "arguments": {"path": "src/a.ts"}}]

Written by Microsoft's Phi-4-mini and, with a blank in front of it, by FireFunction 2. The word alone is prose (a module
of Python's): it counts only with an array of calls behind it, at the start of a line. Source: vLLM's `phi4_mini_json`
parser.
"""

from toolcalls.shapes.jsonlist import JsonList

DIALECT = JsonList("phi4_mini", opening=("functools",), closed=False, place="start")
