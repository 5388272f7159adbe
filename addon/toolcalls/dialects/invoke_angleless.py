"""`invoke_angleless`: `invoke` whose opening tag lost its bracket, so that the namespace is in the open.

A stray `</function_results>` often follows the call and is removed with it. A tag without its bracket opens a call only
at the start of a line, and only with its namespace.
"""

from functools import cached_property
from typing import override

from toolcalls.shapes import About, Call
from toolcalls.shapes.tags.form import TagForm
from toolcalls.shapes.tags.opening_tag import named_tag
from toolcalls.shapes.tags.tag_patterns import Tags, spelt
from toolcalls.shapes.words import LEAKED
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="invoke",
    written_by="Claude, as a leak",
    source="senpi PR#770",
    example="""\
antml:invoke name="read_file">
<parameter name="path">src/a.ts</parameter>
</invoke>
</function_results>""",
)

_NAMESPACES = tuple(f"{name}:" for name in ("antml", "tml"))


class _Angleless(TagForm):
    """The form without the first bracket."""

    @override
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The wrapper's tag, and a call's up to its name; the wrapper may have its bracket."""
        wrappers = (*spelt(_NAMESPACES, "function_calls>"), *spelt("<", ("", *_NAMESPACES), "function_calls>"))
        return (*wrappers, *spelt(_NAMESPACES, "invoke name="))

    @cached_property
    def wrapper_tag(self) -> Tags:
        """The wrapper's opening tag, with or without its bracket."""
        return Tags(wrapper=[(("<", ""), ("", *_NAMESPACES), "function_calls", ">")])

    @cached_property
    def call_tag(self) -> Tags:
        """A call's opening tag without its bracket."""
        return Tags(call=[(_NAMESPACES, "invoke")])

    @cached_property
    def _quoted_tag(self) -> Tags:
        """A whole call's tag in a value."""
        return Tags(call=[self.opening(self.call)])

    def call_at(self, scan: Scanner, ahead: int) -> Step[int]:
        """With the bracket, since nothing else is looked at in a value."""
        tag = yield from named_tag(scan, self._quoted_tag, ahead)
        if tag is None or tag.empty or not (yield from self.body_follows(scan, ahead + tag.length)):
            return 0
        return tag.length

    @override
    def write_call(self, call: Call, tools: Toolbox) -> str:
        return super().write_call(call, tools).replace("<", _NAMESPACES[0], 1)


DIALECT = _Angleless(
    "invoke_angleless",
    wrappers=("function_calls",),
    prefix=(("", *_NAMESPACES),),
    orphans=("function_results",),
    around="none",
    stray_words=LEAKED,
    place="start",
)
