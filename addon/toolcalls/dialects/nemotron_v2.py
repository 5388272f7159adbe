"""`nemotron_v2`: a JSON array in `<TOOLCALL>` tags.

    <TOOLCALL>[{"name": "read_file", "arguments": {"path": "src/a.ts"}}]</TOOLCALL>

Written by NVIDIA's Nemotron Nano 2 and Llama-Nemotron. Source: the chat template of
https://huggingface.co/nvidia/NVIDIA-Nemotron-Nano-9B-v2.
"""

from toolcalls.shapes.jsonlist import JsonList

DIALECT = JsonList("nemotron_v2", opening=("<TOOLCALL>",), closing=("</TOOLCALL>",), first=("[", "{"))
