"""`llama4_pythonic`: Llama 4's list of calls between markers, the second of which may be missing.

    <|python_start|>[read_file(path="src/a.ts"), list_files()]<|python_end|>

Without the first marker it is `pythonic`. Source: the model's chat template
(https://huggingface.co/meta-llama/Llama-4-Scout-17B-16E-Instruct, chat_template.jinja).
"""

from toolcalls.shapes.pythonic import Pythonic

DIALECT = Pythonic("llama4_pythonic", opening=("<|python_start|>",), closing=("<|python_end|>",))
