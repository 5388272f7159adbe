"""`invoke_escaped`: `invoke` that was escaped for HTML as a whole, tags and values.

Everything was escaped once, so every value is decoded once. It opens only at the start of a line.
"""

from toolcalls.shapes import About
from toolcalls.shapes.tags.content import Decoded
from toolcalls.shapes.tags.form import TagForm

ABOUT = About(
    form="invoke",
    written_by="clients that escape what they keep of a reply, and models that see it again",
    source="opencode #16735",
    example="""\
&lt;invoke name="read_file"&gt;
&lt;parameter name="path"&gt;src/a.ts&lt;/parameter&gt;
&lt;/invoke&gt;""",
)

DIALECT = TagForm(
    "invoke_escaped",
    prefix=(("", "antml:", "tml:"),),
    content=Decoded(),
    hollow="\n",
    around="none",
    opened_by=("name",),
    escaped=True,
    json=False,
    place="start",
)
