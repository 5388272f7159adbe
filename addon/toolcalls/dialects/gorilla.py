"""`gorilla`: Python calls after a mark of their own.

The calls are in brackets, or without them and with the mark before each.
"""

from toolcalls.shapes import About
from toolcalls.shapes.code.pythonic import Pythonic

ABOUT = About(
    form="Python",
    written_by="Gorilla OpenFunctions",
    source="https://huggingface.co/gorilla-llm/gorilla-openfunctions-v2",
    example="""\
<<function>>[read_file(path="src/a.ts")]""",
)

DIALECT = Pythonic("gorilla", opening=("<<function>>",))
