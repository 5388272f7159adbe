"""Calls as a name with pairs of key and value: `OPEN N (<arg_key>K</arg_key><arg_value>V</arg_value>)* CLOSE`.

Nothing is escaped and no line end is layout: a value is what is between its tags, to the last character. `value_end`
says which of the tags in it ends it: its closer counts where another pair follows, or the call's closer, or the next
call. White space between tags means nothing. `pair_heads` reads what is in front of a value, also where half of its
tags are missing.

`OPEN` is often shared with other dialects, so a call begins only where the name is followed by a whole key or at once
by the closer. That much is looked at before anything is said.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import override

from toolcalls.shapes import Call, CallSink, OpenerPlace, Unwritable
from toolcalls.shapes.json.json_arguments import OBJECT_STARTS
from toolcalls.shapes.spaced_closers import accept
from toolcalls.shapes.tags.call_body import CallBody
from toolcalls.shapes.tags.call_end import calls_follow, read_block
from toolcalls.shapes.tags.content import opened_as_text, opened_verbatim
from toolcalls.shapes.tags.jsonbody import json_body
from toolcalls.shapes.tags.opening_tag import Tag
from toolcalls.shapes.tags.pair_heads import STRAYS, WORD, Key, PairTags, gap, glued, head_of, take_gap
from toolcalls.shapes.tags.rest_of_call import CALL, CLOSES, OPENS, RestOfCall, Seen
from toolcalls.shapes.tags.tag_patterns import Tags
from toolcalls.shapes.tags.value_end import CALL_END, CLOSER, HEAD, REOPENED, GoesOn
from toolcalls.shapes.tags.wrapped import LeftOut
from toolcalls.shapes.words import MAX_WORD, NAME, word
from toolcalls.shapes.writable import plain_text
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox

_BEHIND_VALUE = STRAYS - {"value_end"}  # after a value, one more closer of its own is `duplicate_closer`
_OPENERS = frozenset({"key"})


class Pairs:
    """What the values of one call are in (`value_end.Surroundings`), and which it has so far.

    first   a call that begins so many characters from here, None for none
    """

    element = ""
    layout = staticmethod(gap)

    def __init__(
        self,
        tags: PairTags,
        tools: Toolbox,
        name: str,
        first: Callable[[Scanner, int, Toolbox | None], Step[Tag | None]],
    ) -> None:
        self.inside = tags.inside
        self.marks = tags.inside.marks
        self.closer = tags.closing[tags.value]
        self.behind = tags.behind
        self.key = ""
        self.rest = RestOfCall(self)
        self._tags = tags
        self._tools = tools
        self._name = name
        self._first = first
        self._given = set[str]()
        self._begun = False

    def given(self, written: str) -> str:
        """The key of a pair, which the call has from now on."""
        key = self._tools.key(self._name, written)
        self._given.add(key)
        self._begun = True
        self.key = key
        return key

    def lacks(self, written: str) -> bool:
        """Whether this is a parameter of the call that it does not have so far."""
        key, declared = self._tools.key(self._name, written), self._tools.keys(self._name)
        if not key or key in self._given:
            return False
        return key in declared if declared else WORD.fullmatch(written) is not None

    def head(
        self, scan: Scanner, ahead: int = 0, *, damaged: bool = False, strays: frozenset[str] = STRAYS
    ) -> Step[Tag | None]:
        """What is in front of a value, None where nothing does.

        damaged   also where the key's opening tag or the value's is missing, and the call lacks this key
        strays    the tags that may come before it in that case
        """
        key = yield from self._tags.whole_key(scan, ahead)
        if key is None and damaged:
            key = yield from self._unopened_key(scan, ahead)
        if key is None and damaged:
            key = yield from self._behind_strays(scan, ahead, strays)
        if key is None:
            return (yield from self._assigned_key(scan, ahead)) if damaged else None
        start, string = yield from self._tags.value_opening(scan, key)
        if start:
            return head_of(key, start - ahead, string=string)
        if not damaged or not key.closed or not self.lacks(key.word):
            return None
        space = yield from scan.space(key.end)
        start = yield from self._tags.damaged_opening(scan, space)
        if start:
            return head_of(key, start - ahead, string=string, repairs=("stray_tag",))
        if not (yield from self._tags.unopened_value(scan, space, begun=self._begun)):
            return None
        line_end = yield from scan.among(("\r\n", "\n"), key.end)
        return head_of(key, key.end + len(line_end or "") - ahead, string=string, repairs=("unopened_value",))

    def _behind_strays(self, scan: Scanner, ahead: int, strays: frozenset[str]) -> Step[Key | None]:
        """A key after tags that mean nothing there, of those that the call lacks."""
        start = yield from self._tags.past_strays(scan, ahead, strays)
        key = (yield from self._tags.whole_key(scan, start)) if start > ahead else None
        if key is None and start > ahead:
            key = yield from self._unopened_key(scan, start)
            key = key and key._replace(repairs=())  # the tag is there, in another's place
        if key is None or not key.closed or not self.lacks(key.word):
            return None
        return key._replace(repairs=(*key.repairs, "stray_tag"))

    def ends_behind_strays(self, scan: Scanner, ahead: int, strays: frozenset[str] = STRAYS) -> Step[int]:
        """How far away the call's closer comes after tags that mean nothing there; 0 where none does.

        So does the end of the reply, where the tool takes nothing.
        """
        start = yield from self._tags.past_strays(scan, ahead, strays)
        kind, _ = yield from self._tags.ends.at(scan, start)
        over = self.over_at_end(scan, start)
        return start if start > ahead and (kind == CALL_END or over) else 0

    def over_at_end(self, scan: Scanner, ahead: int) -> bool:
        """Whether the reply ends here, also inside a closer, and the tool takes nothing."""
        return self._tools.takes_nothing(self._name) and not scan.cut and self._tags.ends.stops_short(scan, ahead)

    def _assigned_key(self, scan: Scanner, ahead: int) -> Step[Tag | None]:
        """A key with an equals sign in the place of the two tags behind it, of those that the call lacks."""
        _, length = yield from self._tags.opening[self._tags.key].at(scan, ahead)
        if not length:
            return None
        start = yield from scan.space(ahead + length)
        key = yield from word(scan, WORD, start)
        if not key or not self.lacks(key) or not (yield from scan.starts("=", start + len(key))):
            return None
        return Tag(key, start + len(key) + 1 - ahead, repairs=("unclosed_key", "unopened_value"))

    def _unopened_key(self, scan: Scanner, ahead: int) -> Step[Key | None]:
        """A key without its opening tag, of those that the call lacks."""
        key = yield from word(scan, WORD, ahead)
        if not key or not self.lacks(key):
            return None
        space = yield from scan.space(ahead + len(key))
        _, length = yield from self._tags.closing[self._tags.key].at(scan, space)
        return Key(key, space + length, closed=True, repairs=("unopened_key",)) if length else None

    # `value_end.Surroundings`

    def goes_on(self, scan: Scanner, ahead: int) -> Step[GoesOn]:
        """Another pair, a closer, the next call, or the end of the reply. A value without a key is one too many."""
        space = yield from gap(scan, ahead)
        if (yield from self._tags.ends.at(scan, space))[1]:
            return GoesOn.YES
        head = yield from self._following(scan, space)
        if head is not None:
            return GoesOn.YES if self.lacks(head.name) else GoesOn.ASK
        if (yield from self._over(scan, ahead, space)):
            return GoesOn.YES
        return GoesOn.ASK if (yield from self._tags.opening[self._tags.value].at(scan, space))[1] else GoesOn.NO

    def _following(self, scan: Scanner, ahead: int) -> Step[Tag | None]:
        return (yield from self.head(scan, ahead, damaged=True, strays=_BEHIND_VALUE))

    def _over(self, scan: Scanner, ahead: int, space: int) -> Step[bool]:
        if (yield from self.ends_behind_strays(scan, space, _OPENERS)):
            return True
        if (yield from self._next_call(scan, space)):
            return True
        return not scan.cut and self._tags.ends.stops_short(scan, ahead)

    def keyless(self, scan: Scanner) -> Step[Tag | None]:
        """A value that no key comes before. The value before it has the key, so this one is left out."""
        _, length = yield from self._tags.opening[self._tags.value].at(scan)
        return Tag("", length, repairs=("left_out",)) if length and self._begun else None

    def _next_call(self, scan: Scanner, ahead: int) -> Step[bool]:
        wrapper = self._tags.opening.get(self._tags.wrapper)
        if wrapper is not None:
            _, length = yield from wrapper.at(scan, ahead)
            ahead = (yield from scan.space(ahead + length)) if length else ahead
        return (yield from self._first(scan, ahead, self._tools)) is not None

    def block_ends(self, scan: Scanner, ahead: int) -> Step[bool]:
        """The block's closers, and then another call or the end of the reply."""
        return (yield from calls_follow(scan, ahead, self._tags.ends, self._next_call))

    def quotes(self, scan: Scanner, ahead: int) -> Step[int]:
        opening = yield from self._first(scan, ahead, None)
        return opening.length if opening else 0

    def begins_next(self, scan: Scanner, ahead: int, *, first: bool) -> Step[bool]:  # noqa: ARG002 - a head is whole
        """Another value of this call, one that it lacks so far."""
        if not scan.text.startswith("<", scan.pos + ahead):
            return False
        head = yield from self._following(scan, ahead)
        return head is not None and self.lacks(head.name)

    def repeats(self, scan: Scanner, ahead: int) -> Step[bool]:
        """A pair whose key was given, or a value without a key."""
        space = yield from gap(scan, ahead)
        head = yield from self.head(scan, space)
        if head is None:
            return (yield from self._tags.opening[self._tags.value].at(scan, space))[1] > 0
        return self._tools.key(self._name, head.name) in self._given

    # `rest_of_call.Grammar`

    def seen(self, scan: Scanner, ahead: int) -> Step[Seen | None]:
        kind, length = yield from self.inside.at(scan, ahead)
        if kind == CLOSER:
            return Seen(CLOSES, length)
        if kind == REOPENED:
            return Seen(OPENS, length)
        if kind == CALL_END:
            return Seen(CALL_END, length)
        if kind == CALL:
            length = yield from self.quotes(scan, ahead)
            return Seen(CALL, length) if length else None
        head = (yield from self._following(scan, ahead)) if kind == HEAD else None
        return None if head is None else Seen(OPENS, head.length, key=self._tools.key(self._name, head.name))

    def call_over(self, scan: Scanner, ahead: int) -> Step[bool]:
        space = yield from gap(scan, ahead)
        kind, _ = yield from self._tags.ends.at(scan, space)
        if kind:
            return kind != CALL_END
        if (yield from self._following(scan, space)) is not None:
            return False
        return (yield from self._over(scan, ahead, space))


@dataclass(frozen=True)
class PairForm:
    """The form with the names of its elements filled in.

    wrapper     what is around all calls of a turn, "" for nothing
    bare        whether a call may stand without its wrapper
    separator   an empty element that comes after the name, "" for none
    kind        what may be between a key and its value and names the value's type, "" for nothing
    suffixed    each tag may carry a suffix that the model's tokenizer knows (`<tool_call:x1>`)
    line        the line end that is written between tags; any white space is read there
    json        whether one object may be in the place of the pairs, in parentheses or without them
    lost        brackets and slashes of its tags may be lost, and the call's own tag missing: a call begins only with
                the name of a declared tool and in front of a key
    """

    name: str
    call: str = "tool_call"
    key: str = "arg_key"
    value: str = "arg_value"
    wrapper: str = ""
    bare: bool = False
    separator: str = ""
    kind: str = ""
    suffixed: bool = False
    line: str = ""
    json: bool = False
    lost: bool = False
    stray_words: tuple[str, ...] = ()
    place: OpenerPlace = "line"

    @cached_property
    def tags(self) -> PairTags:
        return PairTags(
            self.call, self.key, self.value, self.wrapper, self.separator, self.kind, self.suffixed, self.lost
        )

    @property
    def ends(self) -> Tags:
        return self.tags.ends

    damaged_ends = Tags()

    @property
    def wrapper_closers(self) -> tuple[str, ...]:
        return (f"</{self.wrapper}>",)

    def next_call(self, scan: Scanner, ahead: int) -> Step[bool]:
        return (yield from self.first(scan, ahead)) is not None

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        """The wrapper's tag, and the call's where it may stand without."""
        elements = filter(None, (self.wrapper, self.call if self.bare or not self.wrapper else ""))
        return tuple(f"<{element}{end}" for element in elements for end in (">:" if self.suffixed else ">"))

    # Reading

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One wrapper with its calls, or one call where none is around it."""
        wrappers = 0
        while self.wrapper and wrappers < 2:  # a model may begin twice
            _, length = yield from self.tags.opening[self.wrapper].at(scan)
            if not length:
                break
            wrappers += 1
            scan.take(length)
            scan.take((yield from scan.space()))
        if self.wrapper and not wrappers and not self.bare:
            return False
        return (yield from read_block(scan, sink, self, lambda: self.one(scan, sink, tools), wrappers=wrappers))

    def one(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool | None]:
        """One call, and whether it is complete; None where none is here."""
        opening = yield from self.first(scan, 0, tools)
        if opening is None:
            return None
        scan.take(opening.length)
        name = sink.begin(opening.name)
        for repair in opening.repairs:
            sink.note_repair(repair)
        return (yield from self.body(scan, sink, tools, name))

    def first(self, scan: Scanner, ahead: int = 0, tools: Toolbox | None = None) -> Step[Tag | None]:
        """A call's opening tag and name `ahead` characters from here, None where no call follows from it.

        tools   a pair of which half is missing counts as well, after the name of one of these; None: it does not
        """
        if self.lost:
            return (yield from self._lost(scan, ahead, tools.names if tools is not None else ()))
        _, length = yield from self.tags.opening[self.call].at(scan, ahead)
        if not length:
            return None
        start = yield from scan.space(ahead + length)
        if tools is not None:
            _, again = yield from self.tags.opening[self.call].at(scan, start)
            start = (yield from scan.space(start + again)) if again else start
        name = yield from word(scan, NAME, start)
        end = start + len(name)
        if not name:
            return None
        if self.separator:
            space = yield from gap(scan, end)
            _, length = yield from self.tags.opening[self.separator].at(scan, space)
            if not length:
                return None
            end = space + length
        if (yield from self.body_follows(scan, end, self.pairs(tools, name))):
            return Tag(name, end - ahead)
        tool = glued(name, tools) if tools is not None and not self.separator else ""
        pairs = self.pairs(tools, tool)
        at = start + len(tool)
        if not tool or pairs is None or (yield from pairs.head(scan, at, damaged=True)) is None:
            return None
        return Tag(tool, at - ahead)

    def _lost(self, scan: Scanner, ahead: int, names: tuple[str, ...]) -> Step[Tag | None]:
        """What is left of a call's opening tag, and the name of one of these tools, in front of a key."""
        _, length = yield from self.tags.opening[self.call].at(scan, ahead)
        start = (yield from scan.space(ahead + length)) if length else ahead
        name = yield from scan.among(names, start)
        if name is None:
            return None
        end = start + len(name)
        head = yield from self.tags.head(scan, (yield from scan.space(end)))
        return Tag(name, end - ahead, repairs=("damaged_tag",)) if head is not None else None

    def pairs(self, tools: Toolbox | None, name: str) -> Pairs | None:
        """The pairs of a call of this tool, None where it is not declared."""
        tool = tools.resolve(name) if tools is not None else ""
        return Pairs(self.tags, tools, tool, self.first) if tools is not None and tool in tools else None

    def body_follows(self, scan: Scanner, ahead: int, pairs: Pairs | None = None) -> Step[bool]:
        """Whether a whole key, an object where one may be, or at once the call's closer is here."""
        space = yield from gap(scan, ahead)
        kind, _ = yield from self.ends.at(scan, space)
        if kind == CALL_END:
            return True
        if pairs is not None:
            if (yield from pairs.head(scan, space, damaged=True)) is not None:
                return True
            if (yield from pairs.ends_behind_strays(scan, space)) > 0 or pairs.over_at_end(scan, ahead):
                return True
        elif (yield from self.tags.head(scan, space)) is not None:
            return True
        return self.json and (yield from self._object_at(scan, space))

    def _object_at(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether an object is here, in parentheses or without them, or behind what is left of a tag."""
        if (yield from scan.among(("(", ">"), ahead)):
            ahead = yield from gap(scan, ahead + 1)
        return (yield from scan.among(OBJECT_STARTS, ahead)) is not None

    def body(self, scan: Scanner, sink: CallSink, tools: Toolbox, name: str) -> Step[bool]:
        """The pairs or the object, and the call's closer. Returns whether the call is complete."""
        space = yield from gap(scan)
        if not self.json or (yield from scan.among((*OBJECT_STARTS, "(", ">"), space)) is None:
            return (yield from _PairBody(self, scan, sink, tools, name).read())
        yield from take_gap(scan, sink)
        if (yield from accept(scan, ">")):
            yield from take_gap(scan, sink)
            sink.note_repair("stray_tag")
        in_parentheses = yield from accept(scan, "(")
        if in_parentheses:
            yield from take_gap(scan, sink)
            sink.note_repair("other_brackets")
        return (yield from json_body(scan, sink, self.ends, self.quotes, in_parentheses=in_parentheses))

    def quotes(self, scan: Scanner, ahead: int) -> Step[int]:
        """The length of a call's opening tag and name with a body after it, 0 for none."""
        opening = yield from self.first(scan, ahead)
        return opening.length if opening else 0

    # Writing

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """The calls one after the other, in their wrapper where the form has one; "" for no calls."""
        if not calls:
            return ""
        written = self.line.join(self._write_call(call, tools) for call in calls)
        return f"<{self.wrapper}>{self.line}{written}{self.line}</{self.wrapper}>" if self.wrapper else written

    def _write_call(self, call: Call, tools: Toolbox) -> str:
        name = call.name
        if not name or len(name) >= MAX_WORD or not NAME.fullmatch(name):
            raise Unwritable(f"{name!r} cannot be written as a name before a tag")
        parts = [f"<{self.call}>{name}{f'<{self.separator}>' if self.separator else ''}"]
        for key, raw in members(call.arguments):
            if not key or key != key.strip() or len(key) >= MAX_WORD or "<" in key:
                raise Unwritable(f"{name}: the key {key!r} does not survive between tags")
            parts.append(f"<{self.key}>{key}</{self.key}>")
            parts.append(f"<{self.value}>{plain_text(name, key, raw, tools)}</{self.value}>")
        return self.line.join([*parts, f"</{self.call}>"])


class _PairBody(CallBody):
    """The pairs of a call."""

    def __init__(self, form: PairForm, scan: Scanner, sink: CallSink, tools: Toolbox, name: str) -> None:
        super().__init__(scan, sink, tools, name)
        self.ends = form.ends
        self.pairs = Pairs(form.tags, tools, name, form.first)
        self.rest = self.pairs.rest
        self._opener = f"<{form.value}>"

    @override
    def take_layout(self) -> Step[None]:
        yield from take_gap(self.scan, self.sink)
        stray = yield from self.pairs.ends_behind_strays(self.scan, 0)
        if stray:
            self.sink.note_repair("stray_tag")
            self.scan.take(stray)

    @override
    def parameter(self) -> Step[Tag | None]:
        head = yield from self.pairs.head(self.scan, damaged=True)
        return head if head is not None else (yield from self.pairs.keyless(self.scan))

    @override
    def take_parameter(self, tag: Tag) -> Step[bool | None]:
        self.take_tag(tag)
        if not tag.name:
            literal = yield from self.take_value(LeftOut(), self.pairs, self._opener, opened_verbatim)
            return False if literal is None else None
        value = self.arguments.value(self.pairs.given(tag.name))
        start = opened_as_text if tag.attributes else opened_verbatim
        literal = yield from self.take_value(value, self.pairs, self._opener, start, tag.name)
        return False if literal is None else None
