"""`functionary_v31`: a tag that carries the name, around the arguments as JSON.

    <function=read_file>{"path": "src/a.ts"}</function>

Written by MeetKai's Functionary 3.1, and by Llama 3.1 for custom tools. With parameters in tags of their own it is
`qwen3_xml`. Source: https://github.com/MeetKai/functionary.
"""

from toolcalls.shapes.jsonelement import JsonElement

DIALECT = JsonElement("functionary_v31", start="<function=", closing="</function>")
