"""`bullet_function`: function tags after a bullet and without a closer.

The last parameter's closer counts where another call or the end of the reply follows, a special token or wrapper's
closer that was left over (`<|tool_call_end|>`), or text without any other such closer up to the reply's end. A
`</function>` is read as well. Without the bullet the text is `qwen3_xml`'s.
"""

from functools import cached_property

from toolcalls.shapes import About
from toolcalls.shapes.tags.content import Printed
from toolcalls.shapes.tags.form import BULLETS, FunctionTags
from toolcalls.shapes.tags.tag_patterns import Parts, PatternPart

ABOUT = About(
    form="function tags",
    written_by="models that imitate the transcript of a coding agent in a terminal, StepFun's among them",
    source="free-claude-code, which converts it at the end of a reply",
    example="""\
● <function=read_file><parameter=path>src/a.ts</parameter>""",
)

# The name of a special token, whichever it is.
_TOKEN = PatternPart(full=r"[a-z][a-z_]{1,39}+", partial=r"(?:[a-z][a-z_]{0,39}+)?", first="abcdefghijklmnopqrstuvwxyz")


class _Bullet(FunctionTags):
    """The form, and what is left over of other forms after it."""

    @cached_property
    def wrapper_ends(self) -> tuple[Parts, ...]:
        """A wrapper's closer, or any special token."""
        return ("</", "tool_call", ">"), ("<|", _TOKEN, "|>")


DIALECT = _Bullet(
    "bullet_function",
    content=Printed("inline"),
    line="",
    hollow="",
    closed=False,
    bulleted=True,
    stray_words=BULLETS,
)
