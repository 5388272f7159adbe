"""`picoclaw`: an element named after the tool, with the arguments as JSON, in `<toolcall>` tags.

    <toolcall><shell>{"command": "ls"}</shell></toolcall>

Written by MiMo and others where an agent declares no tools to them (picoclaw PR#2104). `<toolcall>` is also a spelling
of Hermes' tag.
"""

from toolcalls.shapes.jsonelement import JsonElement

DIALECT = JsonElement("picoclaw", start="<", closing="</{name}>", wrapper=("<toolcall>", "</toolcall>"))
