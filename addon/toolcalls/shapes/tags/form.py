"""A form of calls with names in their tags, as data: `TagForm`. A dialect fills in the strings.

`<invoke name="N"><parameter name="K">V</parameter></invoke>` has names in attributes, `<function=N>
<parameter=K>V</parameter></function>` has them behind an equals sign (`FunctionTags`). Neither is XML: values hold
anything, unescaped. `opening_tag` says what an opening tag may look like, `value_end` which of the tags in a value ends
it, `call_end` what ends a call; each names the repairs that it makes. What is between a value's tags (layout, CDATA,
entities, marked types) is its `Content`. Models also put one object of JSON in the place of the parameters.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from toolcalls.shapes import Call, CallSink, OpenerPlace, Unwritable
from toolcalls.shapes.json.json_arguments import OBJECT_STARTS
from toolcalls.shapes.tags.call_body import read_call
from toolcalls.shapes.tags.call_end import Parameters, block_end, leaked_word
from toolcalls.shapes.tags.content import Content, Escaped, Printed
from toolcalls.shapes.tags.entities import escape_attribute
from toolcalls.shapes.tags.opening_tag import (
    ASSIGNS,
    Head,
    Tag,
    assignable,
    assigned_call,
    assigned_parameter,
    escaped_tag,
    lost_tag,
    named_tag,
)
from toolcalls.shapes.tags.tag_patterns import (
    FOREIGN_CALLS,
    FOREIGN_PREFIXES,
    FOREIGN_WRAPPERS,
    Parts,
    Tags,
    other_than,
    spelt,
    unbracketed,
    unslashed,
)
from toolcalls.shapes.tags.value_end import (
    CALL,
    CALL_END,
    CLOSER,
    FOREIGN,
    FOREIGN_OPENER,
    NEXT,
    UNBRACKETED,
    UNSLASHED,
)
from toolcalls.shapes.writable import check_resolved
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox

BULLETS = ("●", "⏺")

_MOST_TEXT = 16384
_LONGEST_END = 32  # characters of what ends a call in front of text, at most


@dataclass(frozen=True)
class TagForm:
    """The form with its names filled in. Where there are several, all are read and the first one is written.

    wrappers     the element around calls, () for none
    names        where a name is: in an attribute, `name="N"`, or behind an equals sign
    named_in     the attributes that name a call and a parameter
    misspelt     other names of the call's element
    respelt      other names of the parameter's
    prefix       what may come before any element's name, part by part
    orphans      elements whose closer goes with a call that comes before it
    content      how a value is between its tags
    bare         whether a call may stand without a wrapper
    line         the line end that is written between tags; any white space is read there
    hollow       what is written between the tags of a call without arguments
    around       what is written in a wrapper: all calls in one, each call in its own, or none
    opened_by    attributes with which a bare call's tag begins, where without them it may be another form's
    escaped      its tags were escaped for HTML: `&lt;` and `&gt;`
    json         whether one object may be in the place of the parameters
    closed       False: replies end after the last parameter, and that closes the call
    compact      a block is this dialect's only when nothing is between its first tags
    bulleted     one of `stray_words` must come before a bare call on its line
    heads        a call is opened by what is left of its tag, so only with the name of a declared tool and in front of a
                 parameter; () for a form whose calls have their tags
    """

    name: str
    wrappers: tuple[str, ...] = ("function_calls",)
    call: str = "invoke"
    parameter: str = "parameter"
    names: Literal["attribute", "assigned"] = "attribute"
    named_in: tuple[str, str] = ("name", "name")
    misspelt: tuple[str, ...] = ()
    respelt: tuple[str, ...] = ()
    prefix: tuple[str | tuple[str, ...], ...] = ()
    foreign: tuple[str, ...] = ()
    orphans: tuple[str, ...] = ()
    content: Content = Escaped()  # noqa: RUF009 - it has no state
    bare: bool = True
    line: str = "\n"
    hollow: str = ""
    around: Literal["all", "each", "none"] = "all"
    opened_by: tuple[str, ...] = ()
    escaped: bool = False
    json: bool = True
    closed: bool = True
    compact: bool = False
    bulleted: bool = False
    heads: tuple[Head, ...] = ()
    stray_words: tuple[str, ...] = ()
    place: OpenerPlace = "line"

    @property
    def special(self) -> bool:
        return self.place == "anywhere"

    # Tags

    @property
    def parameters(self) -> tuple[str, ...]:
        """The elements that a parameter may be."""
        return self.parameter, *self.respelt

    def opening(self, *elements: str) -> Parts:
        """An opening tag up to its name, or to its attributes."""
        start: Parts = (self._brackets[0], *self.prefix, elements)
        return (*start, ASSIGNS) if self.names == "assigned" else start

    def closing(self, *elements: str) -> Parts:
        """A whole closing tag."""
        return self._brackets[0], "/", *self.prefix, elements, self._brackets[1]

    def _foreign(self, *elements: str) -> tuple[Parts, ...]:
        """A whole closing tag of another form."""
        return (("<", "/", self.foreign, elements, ">"),) if self.foreign else ()

    @property
    def _foreign_call_end(self) -> tuple[Parts, ...]:
        return self._foreign(self.call, *FOREIGN_CALLS)

    @property
    def _foreign_wrapper_end(self) -> tuple[Parts, ...]:
        return self._foreign(*FOREIGN_WRAPPERS)

    @property
    def _brackets(self) -> tuple[str, str]:
        return ("&lt;", "&gt;") if self.escaped else ("<", ">")

    def _spelt(self, start: str, elements: str | tuple[str, ...], end: str = "") -> tuple[str, ...]:
        """The spellings of a tag, each without blanks."""
        less, greater = self._brackets
        return spelt(start.replace("<", less), *self.prefix, elements, end.replace(">", greater))

    @cached_property
    def wrapper_tag(self) -> Tags:
        """The wrapper's opening tag."""
        return Tags(wrapper=self._wrapper)

    @property
    def _wrapper(self) -> tuple[Parts, ...]:
        less, greater = self._brackets
        return ((less, *self.prefix, self.wrappers, greater),) if self.wrappers else ()

    @cached_property
    def wrapper_closers(self) -> tuple[str, ...]:
        return self._spelt("</", self.wrappers, ">")

    @cached_property
    def call_tag(self) -> Tags:
        """A call's opening tag."""
        if self.names == "assigned":
            return Tags(call=[self.opening(self.call)])
        slips: list[Parts] = [self.opening(name) for name in self.misspelt]
        slips[:0] = [] if self.escaped else [("< ", *self.prefix, (self.call, *self.misspelt))]
        return Tags(misspelt=slips, call=[self.opening(self.call)])

    @cached_property
    def parameter_tag(self) -> Tags:
        """A parameter's opening tag; the bracket that it begins with may be lost."""
        whole = self.opening(*self.parameters)
        return Tags(next=[whole], misspelt=[whole[1:]] if whole[0] == "<" else ())

    @cached_property
    def _behind_name(self) -> Tags:
        """What tells that a call's tag without its bracket is one."""
        return Tags(closer=[self.closing(self.call)], parameter=[self.opening(*self.parameters)])

    @cached_property
    def closer(self) -> Tags:
        return Tags(closer=[self.closing(*self.parameters)])

    @cached_property
    def call_end(self) -> Parts:
        return self.closing(self.call, *self.misspelt)

    @cached_property
    def wrapper_ends(self) -> tuple[Parts, ...]:
        """The closing tags that end a wrapper."""
        return (self.closing(*self.wrappers, *self.orphans),) if self.wrappers or self.orphans else ()

    @cached_property
    def ends(self) -> Tags:
        call_end = [self.call_end, *self._foreign_call_end]
        return Tags(call_end=call_end, wrapper_end=self.wrapper_ends, foreign_end=self._foreign_wrapper_end)

    @cached_property
    def damaged_ends(self) -> Tags:
        wrapper_end = unslashed(*self.wrapper_ends) + unbracketed(*self.wrapper_ends)
        return Tags(call_end=unslashed(self.call_end) + unbracketed(self.call_end), wrapper_end=wrapper_end)

    @cached_property
    def inside(self) -> Tags:
        closer, next_ = self.closing(*self.parameters), self.opening(*self.parameters)
        kinds: dict[str, tuple[Parts, ...]] = {CLOSER: (closer,), CALL_END: (self.call_end,)}
        kinds |= {UNSLASHED: unslashed(closer), UNBRACKETED: unbracketed(closer)}
        if self.foreign:
            kinds |= {CALL_END: (self.call_end, *self._foreign_call_end)}
            kinds |= {FOREIGN: self._foreign(*self.parameters, "parameter")}
            kinds |= {FOREIGN_OPENER: (("<", self.foreign, ("parameter", *FOREIGN_CALLS)),)}
        if self.names == "assigned":  # a name in an attribute is another form's, which has the same closer
            kinds[NEXT] = (next_, (*next_[:-1], "name"))
        else:
            kinds[NEXT] = ((*next_, other_than(self._brackets[1])),)  # with it at once it is `UNSLASHED`
        return Tags(**kinds, **{CALL: [self.opening(self.call, *self.misspelt)]})

    @cached_property
    def behind(self) -> Tags:
        ends = [self.call_end, *self.wrapper_ends, self.closing(*self.parameters)]
        ends += (*self._foreign_call_end, *self._foreign_wrapper_end)
        return Tags(end=ends, tag=[self.opening(*self.parameters, self.call, *self.misspelt), *self._wrapper])

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The wrapper's tag, and the call's where it may be bare, or what is left of it."""
        wrappers = self._spelt("<", self.wrappers, ">")
        if self.heads:
            parameter = f"\n{self._start(self.parameter, '')[:-1]}"
            return (*wrappers, *(head.opener(name, parameter) for name in names for head in self.heads))
        if not self.bare:
            return wrappers
        if self.names == "assigned":
            lost = (f"<{self.call}{mark}{name}>" for name in names for mark in (" ", ":", ": "))
            return (*wrappers, *spelt(("<", "< "), self.call, ("=", " =")), *lost)
        tags = self._spelt("<", (self.call, *self.misspelt))
        if self.opened_by:
            return (*wrappers, *(f"{tag} {key}=" for tag in tags for key in self.opened_by))
        plain, *others = tags
        slips = spelt("< ", *self.prefix, self.call)
        return (
            *wrappers,
            *(plain + behind for behind in (*" \t\r\n>/", "name=")),
            *(f"{tag} " for tag in (*others, *slips)),
        )

    # Reading

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One wrapper with its calls, or one bare call with a wrapper closer that lost its opener."""
        # The reader has just consumed the stray word before the opener, "" for none.
        if self.bulleted and not scan.taken[-1].startswith(self.stray_words):
            return False
        wrappers = yield from self._wrappers(scan)
        begun = False
        while (tag := (yield from self.next_tag(scan, tools, compact=self.compact and not begun))) is not None:
            begun = True
            if not (yield from self.one(scan, sink, tools, tag)):
                return False
            if not wrappers:
                break
            scan.take((yield from scan.space()))
        if self.around != "each" and len(wrappers) != len(set(wrappers)):
            sink.note_repair("stray_tag")
        return begun and (yield from block_end(scan, sink, self, wrappers=len(wrappers)))

    def next_tag(self, scan: Scanner, tools: Toolbox, *, compact: bool) -> Step[Tag | None]:
        """The opening tag of the block's next call, or what is left of it."""
        if self.heads:
            return (yield from lost_tag(scan, self.heads, tools, self.follows))
        return (yield from self.first(scan, compact=compact))

    def follows(self, scan: Scanner, ahead: int, name: str, tools: Toolbox) -> Step[bool]:  # noqa: ARG002
        """Whether a parameter with its bracket is here, which shows that a call of this tool begins."""
        first = yield from self.parameter_here(scan, ahead)
        return first is not None and "damaged_tag" not in first.repairs and first.name != name

    def _wrappers(self, scan: Scanner) -> Step[list[str]]:
        """Take the wrapper's tag, which models may begin twice, and a leaked word between it and a call's."""
        taken: list[str] = []
        while len(taken) < 2:
            _, length = yield from self.wrapper_tag.at(scan)
            if not length:
                break
            taken.append(scan.take(length))
            if not self.compact:
                scan.take((yield from scan.space()))
        word = (yield from scan.among(self.stray_words)) if taken and not self.bulleted else None
        if word is not None:
            space = yield from scan.space(len(word))
            if (yield from self.first(scan, space)) is not None:
                scan.take(space)
        return taken

    def one(self, scan: Scanner, sink: CallSink, tools: Toolbox, tag: Tag) -> Step[bool]:
        return read_call(self, scan, sink, tools, tag)

    def keyed(self, tag: Tag, values: Parameters) -> Tag | None:  # noqa: ARG002 - for other forms
        return tag

    def wraps(self, key: str, declared: tuple[str, ...]) -> bool:  # noqa: ARG002 - for other forms
        return False

    # What is ahead

    def first(self, scan: Scanner, ahead: int = 0, *, compact: bool = False) -> Step[Tag | None]:
        """A call's opening tag `ahead` characters from here, None where no call follows from it.

        It does where the tag closes itself, or where a parameter, an object or at once a closer of the call comes next.

        compact   nothing may be between it and what comes next
        """
        tag = yield from self.call_here(scan, ahead)
        if tag is None or (tag.empty and self.names == "attribute"):
            return tag
        if compact and tag.is_open:
            return None
        behind = ahead + tag.length
        if (yield from self.body_follows(scan, behind, compact=compact)):
            return tag
        written = scan.text[scan.pos + ahead : scan.pos + behind]
        if not (yield from scan.starts(written, behind)):
            return None
        doubled = tag._replace(length=2 * tag.length, repairs=(*tag.repairs, "stray_tag"))
        return doubled if (yield from self.body_follows(scan, ahead + doubled.length, compact=compact)) else None

    def body_follows(self, scan: Scanner, ahead: int, *, compact: bool = False) -> Step[bool]:
        """Whether what can only be a call's body is here."""
        space = ahead if compact else (yield from scan.space(ahead))
        if (yield from self.ends.at(scan, space))[1] or (yield from self.parameter_at(scan, space)):
            return True
        if self.json and (yield from scan.among(OBJECT_STARTS, space)):
            return True
        if self.closed:
            word = 0 if compact else (yield from leaked_word(scan, self, space))
            return word > 0 and bool((yield from self.parameter_at(scan, space + word)))
        bullet = yield from scan.among(self.stray_words, space)
        if bullet and (yield from self.call_here(scan, (yield from scan.space(space + len(bullet))))) is not None:
            return True
        return not scan.cut and self.ends.stops_short(scan, ahead)

    def call_here(self, scan: Scanner, ahead: int = 0) -> Step[Tag | None]:
        """The call's opening tag that is here, whatever comes after it."""
        if self.names == "assigned":
            return assigned_call(scan, self.call_tag, self._behind_name, ahead)
        if self.escaped:
            return escaped_tag(scan, self.call_tag, ahead)
        return named_tag(scan, self.call_tag, ahead, self.named_in[0])

    def parameter_here(self, scan: Scanner, ahead: int = 0) -> Step[Tag | None]:
        if self.names == "assigned":
            return assigned_parameter(scan, self.parameter_tag, ahead)
        if self.escaped:
            return escaped_tag(scan, self.parameter_tag, ahead)
        return named_tag(scan, self.parameter_tag, ahead, self.named_in[1])

    def parameter_at(self, scan: Scanner, ahead: int) -> Step[str]:
        tag = yield from self.parameter_here(scan, ahead)
        return tag.name if tag else ""

    def call_at(self, scan: Scanner, ahead: int) -> Step[int]:
        tag = yield from self.first(scan, ahead)
        return 0 if tag is None or tag.empty else tag.length

    def next_call(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether another call begins here, after a bullet, or a wrapper with one."""
        bullet = (yield from scan.among(self.stray_words, ahead)) if self.bulleted else None
        lead = len(bullet) if bullet else (yield from self.wrapper_tag.at(scan, ahead))[1]
        if lead:
            ahead = yield from scan.space(ahead + lead)
        return (yield from self.first(scan, ahead)) is not None

    def ends_before_text(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Without closers a call does, if the text up to the next call holds no closer that would be this value's.

        Where `_MOST_TEXT` characters do not tell, the call goes on.
        """
        seen = 0
        while not self.closed:
            start, stop = scan.pos + ahead + seen, scan.pos + ahead + _MOST_TEXT
            found = self._closer_or_bullet.search(scan.text, start, stop)
            if found is not None or scan.ended:
                return not scan.cut if found is None else found["call"] is not None
            if len(scan.text) >= stop:
                return False
            seen = max(seen, scan.rest() - ahead - _LONGEST_END)
            yield
        return False

    @cached_property
    def _closer_or_bullet(self) -> re.Pattern[str]:
        blanks = r"[ \t]{0,8}"
        call = rf"[{''.join(BULLETS)}]{blanks}<{blanks}{self.call}"
        return re.compile(rf"<{blanks}/{blanks}{self.parameter}|(?P<call>{call})")

    # Writing

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """The calls in their wrappers; "" for no calls."""
        written = [self.write_call(call, tools) for call in calls]
        if self.around == "each":
            return "\n".join(map(self._wrapped, written))
        return self._wrapped(self.line.join(written)) if calls else ""

    def _wrapped(self, calls: str) -> str:
        if not self.wrappers or self.around == "none":
            return calls
        opener, closer = self._spelt("<", self.wrappers[0], ">")[0], self._end(self.wrappers[0])
        return self.line.join((calls, closer) if self.heads else (opener, calls, closer))

    def write_call(self, call: Call, tools: Toolbox) -> str:
        name = call.name
        if self.names == "attribute":
            check_resolved(name, tools)
        elif not assignable(name) or tools.resolve(name) != name:
            raise Unwritable(f"the name {name!r} does not survive in a tag")
        parts, end = [], self._end(self.parameter)
        for key, raw in members(call.arguments):
            survives = assignable(key) if self.names == "assigned" else key and key == key.strip()
            if not survives or tools.key(name, key) != key:
                where = "a tag" if self.names == "assigned" else "an attribute"
                raise Unwritable(f"{name}: the key {key!r} does not survive in {where}")
            more, text = self.content.write(name, key, raw, tools, self.inside)
            parts.append(f"{self._start(self.parameter, key, more)}{text}{end}")
        body = self.line.join(("", *parts, "")) if parts else self.hollow
        bullet = f"{self.stray_words[0]} " if self.bulleted else ""
        closer = self._end(self.call) if self.closed or self.line else ""
        start = name.join(self.heads[0][:2]) if self.heads else self._start(self.call, name)
        return f"{bullet}{start}{body}{closer}"

    def _start(self, element: str, name: str, attributes: str = "") -> str:
        start = self._spelt("<", element)[0]
        if self.names == "assigned":
            return f"{start}={name}>"
        named = self.named_in[element != self.call]
        return f'{start} {named}="{escape_attribute(name)}"{attributes}{self._brackets[1]}'

    def _end(self, element: str) -> str:
        return self._spelt("</", element, ">")[0]


@dataclass(frozen=True)
class FunctionTags(TagForm):
    """`<function=N> <parameter=K>V</parameter> … </function>`, as models with this form have them as a rule."""

    wrappers: tuple[str, ...] = ()
    call: str = "function"
    names: Literal["attribute", "assigned"] = "assigned"
    content: Content = Printed()  # noqa: RUF009 - it is immutable
    hollow: str = "\n"
    around: Literal["all", "each", "none"] = "each"
    foreign: tuple[str, ...] = FOREIGN_PREFIXES
    json: bool = False
