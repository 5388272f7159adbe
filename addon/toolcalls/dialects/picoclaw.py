"""`picoclaw`: an element named after the tool, with the arguments as JSON, in `<toolcall>` tags.

`<toolcall>` is also a spelling of Hermes' tag.
"""

from toolcalls.shapes import About, Call
from toolcalls.shapes.headers.name_in_tag import NameInTag

ABOUT = About(
    form="JSON in tags",
    written_by="MiMo and others, where an agent declares no tools to them",
    source="picoclaw PR#2104",
    example="""\
<toolcall><shell>{"command": "ls"}</shell></toolcall>""",
    call=Call("shell", '{"command": "ls"}'),
)

DIALECT = NameInTag("picoclaw", start="<", closing="</{name}>", before="<toolcall>", after="</toolcall>", between="")
