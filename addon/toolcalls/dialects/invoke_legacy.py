"""`invoke_legacy`: the form of Claude 2's prompt documentation, names as elements.

`</function_calls>` was a stop sequence, so it may be missing. Values are raw on the line of their tags or on lines of
their own. A parameter is an element that the tool declares; where it declares none, any element. One without its closer
ends where a declared one begins that the call lacks, or at the call's closers.
"""

import re
from functools import lru_cache
from typing import override

from toolcalls.shapes import About, Call, CallSink, Grammar, Unwritable
from toolcalls.shapes.tags.call_body import CallBody
from toolcalls.shapes.tags.call_end import calls_follow, read_block
from toolcalls.shapes.tags.content import opened_on_lines
from toolcalls.shapes.tags.jsonbody import skip
from toolcalls.shapes.tags.opening_tag import Tag
from toolcalls.shapes.tags.raw import delimited
from toolcalls.shapes.tags.rest_of_call import CLOSES, OPENS, RestOfCall, Seen
from toolcalls.shapes.tags.tag_patterns import Parts, PatternPart, Tags, unbracketed
from toolcalls.shapes.tags.value_end import CALL, CALL_END, CLOSER, OTHER, REOPENED, UNBRACKETED, GoesOn
from toolcalls.shapes.words import MAX_WORD, NAME, check_name, word
from toolcalls.shapes.writable import check_resolved, plain_text
from toolcalls.text.scanner import SPACE, Scanner, Step
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="invoke",
    written_by="Claude 2",
    source="the prompt documentation of Claude 2",
    example="""\
<function_calls>
<invoke>
<tool_name>read_file</tool_name>
<parameters>
<path>src/a.ts</path>
</parameters>
</invoke>
</function_calls>""",
)

_KEY = re.compile(r"[A-Za-z_][\w.-]*")
_WRAPPER = Tags(wrapper=[("<", "function_calls", ">")])
_PARAMETERS_END = Tags(parameters=[("<", "/", "parameters", ">")])
_INVOKE = Tags(call=[("<", "invoke", ">")])
_TOOL_NAME, _TOOL_NAME_END = Tags(name=[("<", "tool_name", ">")]), Tags(name=[("<", "/", "tool_name", ">")])
_PARAMETERS = Tags(parameters=[("<", "parameters", ">")])
_ENDS = Tags(
    parameters=[("<", "/", "parameters", ">")],
    call_end=[("<", "/", "invoke", ">")],
    wrapper_end=[("<", "/", "function_calls", ">")],
)

_END_OF_BOTH: Parts = (
    "<",
    "/",
    "parameters",
    ">",
    PatternPart(rf"[{SPACE}]{{0,8}}<", rf"[{SPACE}]{{0,8}}", "<"),
    "/",
    "invoke",
    ">",
)
_CALL_ENDS = Tags(call_end=[("<", "/", "invoke", ">")], wrapper_end=[("<", "/", "function_calls", ">")])


class _Legacy(Grammar):
    name = "invoke_legacy"
    opening = "<function_calls>", "<invoke>"
    before, after = "<function_calls>\n", "\n</function_calls>"
    ends = _CALL_ENDS
    damaged_ends = Tags()
    wrapper_closers = ("</function_calls>",)

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One wrapper with its calls, or one bare call."""
        _, wrapper = yield from _WRAPPER.at(scan)
        if wrapper:
            scan.take(wrapper)
            scan.take((yield from scan.space()))
        return (yield from read_block(scan, sink, self, lambda: _call(scan, sink, tools), wrappers=int(wrapper > 0)))

    def next_call(self, scan: Scanner, ahead: int) -> Step[bool]:
        return (yield from _opening(scan, ahead)) is not None

    def write_call(self, call: Call, tools: Toolbox) -> str:
        check_name(call.name, "in an element")
        check_resolved(call.name, tools)
        lines = ["<invoke>", f"<tool_name>{call.name}</tool_name>", "<parameters>"]
        for key, raw in members(call.arguments):
            if not _KEY.fullmatch(key) or len(key) > MAX_WORD:
                raise Unwritable(f"{call.name}: {key!r} is not a name that a tag can have")
            lines.append(f"<{key}>{delimited(plain_text(call.name, key, raw, tools))}</{key}>")
        return "\n".join((*lines, "</parameters>", "</invoke>"))


def _call(scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool | None]:
    """One call, and whether it is complete; None where none begins here."""
    opening = yield from _opening(scan)
    if opening is None:
        return None
    written, size = opening
    scan.take(size)
    return (yield from _Body(scan, sink, tools, sink.begin(written)).read())


def _opening(scan: Scanner, ahead: int = 0) -> Step[tuple[str, int] | None]:
    """A call's name and the place after its `<parameters>`, or after the name where it closes at once."""
    _, length = yield from _INVOKE.at(scan, ahead)
    if not length:
        return None
    space = yield from scan.space(ahead + length)
    _, length = yield from _TOOL_NAME.at(scan, space)
    if not length:
        return None
    start = yield from scan.space(space + length)
    name = yield from word(scan, NAME, start)
    space = yield from scan.space(start + len(name))
    _, length = yield from _TOOL_NAME_END.at(scan, space)
    if not name or not length:
        return None
    end = space + length
    space = yield from scan.space(end)
    _, length = yield from _PARAMETERS.at(scan, space)
    if length:
        return name, space + length
    kind, _ = yield from _ENDS.at(scan, space)
    return (name, end) if kind in {"call_end", "wrapper_end"} else None


def _element(scan: Scanner, declared: tuple[str, ...], ahead: int) -> Step[str]:
    """The parameter whose opening tag is here, "" for none."""
    if declared:
        tag = yield from scan.among(tuple(f"<{key}>" for key in declared), ahead)
        return tag[1:-1] if tag else ""
    if not (yield from scan.starts("<", ahead)):
        return ""
    key = yield from word(scan, NAME, ahead + 1)
    return key if _KEY.fullmatch(key) and (yield from scan.starts(">", ahead + 1 + len(key))) else ""


class _Body(CallBody):
    """The parameters, and the closers of `<parameters>` and of the call."""

    ends = _CALL_ENDS

    def __init__(self, scan: Scanner, sink: CallSink, tools: Toolbox, name: str) -> None:
        super().__init__(scan, sink, tools, name)
        self._declared = tools.keys(name)
        self._given: set[str] = set()
        self.rest = RestOfCall(_Value("", self._declared, frozenset()))
        self._closed = False  # something comes after `<parameters>`, and all of it is closed

    @override
    def take_layout(self) -> Step[None]:
        while True:
            self.scan.take((yield from self.scan.space()))
            _, length = yield from _PARAMETERS_END.at(self.scan)
            if not length:
                return
            self.scan.take(length)
            self._closed = True

    @override
    def parameter(self) -> Step[Tag | None]:
        key = yield from _element(self.scan, self._declared, 0)
        return Tag(key, len(key) + 2) if key else None

    @override
    def take_parameter(self, tag: Tag) -> Step[bool | None]:
        self._closed = True
        self._given.add(tag.name)
        place = _Value(tag.name, self._declared, frozenset(self._given))
        opener = self.take_tag(tag)
        literal = yield from self.take_value(self.arguments.value(tag.name), place, opener, opened_on_lines, tag.name)
        return False if literal is None else None

    @override
    def end_early(self) -> Step[bool]:
        scan = self.scan
        wrapper_end, _ = yield from _ENDS.at(scan)
        if wrapper_end or (self._closed and not scan.cut and _ENDS.stops_short(scan)):
            self.sink.note_repair("missing_closer")
            scan.take(0 if wrapper_end else scan.rest())
            self.end()
            return True
        if scan.ended and ">" not in scan.text[scan.pos :]:  # inside a tag, or before one
            scan.take(scan.rest())
            return False
        self.sink.fail()
        yield from skip(scan, _CALL_ENDS)
        return False


@lru_cache(maxsize=256)
def _inside(key: str, lacking: tuple[str, ...]) -> tuple[Tags, Tags]:
    closer: Parts = ("<", "/", key, ">")
    kinds: dict[str, list[Parts]] = {
        CLOSER: [closer],
        UNBRACKETED: [*unbracketed(closer)],
        REOPENED: [("<", key, ">")],
        CALL: [("<", "invoke", ">")],
        CALL_END: [("<", "/", "invoke", ">"), _END_OF_BOTH],
        OTHER: [("<", lacking, ">")] if lacking else [],
    }
    return Tags(**kinds), Tags(closer=[closer])


class _Value:
    """The place of one parameter's value."""

    behind = _ENDS
    key = ""
    marks = "<"

    def __init__(self, key: str, declared: tuple[str, ...], given: frozenset[str]) -> None:
        self._lacking = tuple(other for other in declared if other not in given)
        self.inside, self.closer = _inside(key, self._lacking)
        self.element = key
        self.rest = RestOfCall(self)
        self._declared = declared
        self._given = tuple(given)

    def goes_on(self, scan: Scanner, ahead: int) -> Step[GoesOn]:
        """Another parameter, a closer, or the end of the reply."""
        space = yield from scan.space(ahead)
        if (yield from _ENDS.at(scan, space))[1] or (yield from self.call_over(scan, ahead)):
            return GoesOn.YES
        key = yield from _element(scan, self._declared, space)
        return GoesOn.NO if not key else GoesOn.ASK if key in self._given else GoesOn.YES

    def layout(self, scan: Scanner, ahead: int) -> Step[int]:
        """White space, and the closer of `<parameters>`."""
        space = yield from scan.space(ahead)
        _, length = yield from _PARAMETERS_END.at(scan, space)
        return (yield from scan.space(space + length)) if length else space

    def call_over(self, scan: Scanner, ahead: int) -> Step[bool]:
        """The wrapper or the reply ends."""
        kind, _ = yield from _ENDS.at(scan, (yield from self.layout(scan, ahead)))
        return kind == "wrapper_end" or (not scan.cut and _ENDS.stops_short(scan, ahead))

    def block_ends(self, scan: Scanner, ahead: int) -> Step[bool]:
        """All closers, and then the next call or the end of the reply."""
        return (yield from calls_follow(scan, ahead, _ENDS, DIALECT.next_call))

    def quotes(self, scan: Scanner, ahead: int) -> Step[int]:
        opening = yield from _opening(scan, ahead)
        return opening[1] - ahead if opening else 0

    def begins_next(self, scan: Scanner, ahead: int, *, first: bool) -> Step[bool]:  # noqa: ARG002
        """A declared parameter that the call lacks."""
        return bool(self._lacking) and bool((yield from _element(scan, self._lacking, ahead)))

    def repeats(self, scan: Scanner, ahead: int) -> Step[bool]:
        return bool((yield from _element(scan, self._given, (yield from scan.space(ahead)))))

    # `rest_of_call.Grammar`

    def lacks(self, key: str) -> bool:
        return bool(key) and key not in self._given

    def seen(self, scan: Scanner, ahead: int) -> Step[Seen | None]:
        kind, length = yield from _ENDS.at(scan, ahead)
        if kind == CALL_END:
            return Seen(CALL_END, length)
        length = yield from self.quotes(scan, ahead)
        if length:
            return Seen(CALL, length)
        key = yield from _element(scan, self._declared, ahead)
        if key:
            return Seen(OPENS, len(key) + 2, key, key)
        tag = yield from scan.among(tuple(f"</{key}>" for key in self._declared or (self.element,)), ahead)
        return Seen(CLOSES, len(tag), tag[2:-1]) if tag else None


DIALECT = _Legacy()
