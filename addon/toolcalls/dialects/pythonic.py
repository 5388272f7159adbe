"""`pythonic`: calls as a Python list of calls, which is the whole message.

    [read_file(path="src/a.ts", limit=20), list_files()]

Written by Llama 3.2 and 4, ToolACE, and small models that are taught it in a prompt. Arguments have names, values are
Python literals. Source: https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_2/ (zero-shot function
calling).
"""

from toolcalls.shapes.pythonic import Pythonic

DIALECT = Pythonic("pythonic", opening=("[",), taught=("[func_name1(params_name1=",), place="message")
