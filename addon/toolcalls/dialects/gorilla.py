"""`gorilla`: Python calls behind a mark of their own.

    <<function>>[read_file(path="src/a.ts"), list_files()]

Written by Gorilla OpenFunctions, with brackets around its calls, or without them and the mark before each.
Source: https://huggingface.co/gorilla-llm/gorilla-openfunctions-v2.
"""

from toolcalls.shapes.pythonic import Pythonic

DIALECT = Pythonic("gorilla", opening=("<<function>>",))
