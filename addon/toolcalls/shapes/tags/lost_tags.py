"""Calls with names in their tags that have lost every `<` and `</`, or whose tags are of several forms: `LostTags`.

`invoke name="N">`, `parameter name="K">V/parameter>`, `/invoke>`, and the same of function tags; parameters of another
form than their call's, or elements of their own names (`K>V/K>`); closers with an escaped slash (`<\\/parameter>`),
without it (`<parameter>`), or with neither bracket nor slash (`Vparameter>`). All of it could be prose, so a call
begins only with the name of a declared tool and directly in front of a parameter.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import override

from toolcalls.shapes import CallSink, OpenerPlace
from toolcalls.shapes.tags.call_body import read_call
from toolcalls.shapes.tags.content import Content, Printed
from toolcalls.shapes.tags.form import TagForm
from toolcalls.shapes.tags.opening_tag import Tag, assigned_call, assigned_parameter, lost_tag, named_tag
from toolcalls.shapes.tags.tag_patterns import END_OF_NAME, Parts, Tags, lost, other_than, unbracketed, unslashed
from toolcalls.shapes.tags.value_end import CALL, CALL_END, CLOSER, NEXT, UNBRACKETED, UNSLASHED
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox


@dataclass(frozen=True)
class LostTags(TagForm):
    """The form with its names filled in. Names are in attributes or behind an equals sign.

    elements   the parameters are elements of these names
    """

    elements: bool = False
    content: Content = Printed("block", {})  # noqa: RUF009 - it is immutable
    json: bool = False
    place: OpenerPlace = "start"

    @override
    def opening(self, *elements: str) -> Parts:
        return lost(("<", *self.prefix, elements, END_OF_NAME))

    @override
    def closing(self, *elements: str) -> Parts:
        return lost(super().closing(*elements))

    @cached_property
    def call_tag(self) -> Tags:
        """A call's opening tag, which may say that it is a parameter's."""
        return Tags(call=[self.opening(self.call, *self.misspelt, self.parameter)])

    @cached_property
    def parameter_tag(self) -> Tags:
        return Tags(next=[self.opening(*self.parameters)])

    @cached_property
    def _assigned_call(self) -> Tags:
        return Tags(call=[(*self.opening(self.call, *self.misspelt), "=")])

    @cached_property
    def _assigned_parameter(self) -> Tags:
        return Tags(next=[(*self.opening(*self.parameters), "=")])

    @cached_property
    def wrapper_tag(self) -> Tags:
        return Tags(wrapper=[lost(tag) for tag in self._wrapper])

    @cached_property
    def ends(self) -> Tags:
        """A closer that may be a wrapper's is one."""
        return Tags(wrapper_end=self.wrapper_ends, call_end=[self.call_end])

    @cached_property
    def damaged_ends(self) -> Tags:
        """What lost its slash and has its bracket."""
        return Tags(
            call_end=unslashed(super().closing(self.call, *self.misspelt)),
            wrapper_end=unslashed(super().closing(*self.wrappers, *self.orphans)) if self.wrappers else (),
        )

    @cached_property
    def inside(self) -> Tags:
        whole = super().closing(*self.parameters)
        kinds: dict[str, tuple[Parts, ...]] = {CLOSER: (lost(whole),), CALL_END: (self.call_end,)}
        kinds |= {UNSLASHED: unslashed(whole), UNBRACKETED: unbracketed(whole)}
        kinds |= {NEXT: ((*self.opening(*self.parameters), ">" if self.elements else other_than(">")),)}
        return Tags(**kinds, **{CALL: [self.opening(self.call, *self.misspelt)]})

    @override
    def call_here(self, scan: Scanner, ahead: int = 0) -> Step[Tag | None]:
        tag = yield from named_tag(scan, self.call_tag, ahead)
        if tag is None:
            tag = yield from assigned_call(scan, self._assigned_call, self._behind_name, ahead)
        return tag

    @override
    def parameter_here(self, scan: Scanner, ahead: int = 0) -> Step[Tag | None]:
        if self.elements:
            key = yield from scan.among(self._opened, ahead)
            return None if key is None else Tag(key.lstrip("<")[:-1], len(key))
        tag = yield from named_tag(scan, self.parameter_tag, ahead)
        if tag is None:
            tag = yield from assigned_parameter(scan, self._assigned_parameter, ahead)
        return tag

    @cached_property
    def _opened(self) -> tuple[str, ...]:
        return tuple(f"{bracket}{key}>" for key in self.parameters for bracket in ("<", ""))

    @override
    def next_tag(self, scan: Scanner, tools: Toolbox, *, compact: bool) -> Step[Tag | None]:
        tag = yield from self.call_here(scan)
        if tag is None or tag.empty or tag.is_open or tag.name not in tools:
            return (yield from lost_tag(scan, self.heads, tools, self.follows))
        space = yield from scan.space(tag.length)
        follows = yield from self.follows(scan, space, tag.name, tools)
        return Tag(tag.name, space, repairs=("damaged_tag",)) if follows else None

    @override
    def follows(self, scan: Scanner, ahead: int, name: str, tools: Toolbox) -> Step[bool]:
        """Whether a parameter is here, whatever its form."""
        first = yield from self.parameter_here(scan, ahead)
        if first is not None:
            return first.name != name
        elements = self._of(name, tools)
        return elements is not None and (yield from elements.parameter_here(scan, ahead)) is not None

    def _of(self, name: str, tools: Toolbox) -> "LostTags | None":
        """The form of a call of this tool with elements, None where the tool declares no parameters."""
        keys = tools.keys(name)
        return _with_elements(self, name, keys) if keys else None

    @override
    def one(self, scan: Scanner, sink: CallSink, tools: Toolbox, tag: Tag) -> Step[bool]:
        form = self if (yield from self.parameter_here(scan, tag.length)) is not None else self._of(tag.name, tools)
        return (yield from read_call(form or self, scan, sink, tools, tag))


@lru_cache(maxsize=256)
def _with_elements(form: LostTags, name: str, keys: tuple[str, ...]) -> LostTags:
    misspelt = (*form.misspelt, name)
    return replace(form, misspelt=misspelt, parameter=keys[0], respelt=keys[1:], prefix=(), elements=True)
