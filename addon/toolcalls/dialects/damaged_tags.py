"""`damaged_tags`: tags that have lost every `<` and `</`, or whose call and parameters are of two forms.

`invoke name="N">`, `parameter name="K">V/parameter>`, `/invoke>`; the same of function tags and of elements named
after the tool; parameters of another form than their call's, or after nothing but the tool's name in `<tool_call>`;
closers with an escaped slash (`<\\/parameter>`), without it (`<parameter>`), or with neither bracket nor slash
(`Vparameter>`). All of it could be prose, so it counts only at the start of a line, with the name of a declared tool,
and directly in front of a parameter. The forms without damage are asked first.
"""

import re
from functools import partial

from toolcalls.shapes import About, Call, CallSink, Grammar
from toolcalls.shapes.arguments import Arguments
from toolcalls.shapes.tags.value_end import closed_value
from toolcalls.shapes.words import check_name
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members, to_text
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="invoke",
    written_by="servers and models that lose parts of tags",
    source="public reports (QwenLM/qwen-code #10700, kdeps/kdeps #872)",
    example="""\
invoke name="read_file">
parameter name="path">src/a.ts/parameter>
/invoke>""",
)

_PREFIX = "(?:(?:antml|tml):)?"
_PARAMETERS = "(?:parameter|param|argument|arg)"
_CALLS = "(?:invoke|function|tool_call|tool_use|tool-use|function_call|tool|parameter)"
_WRAPPERS = ("function_calls", "tool_calls", "tool_call", "tools")
_BARE = ("tool_call", "tool_use", "function_call")  # tags in which a name may be alone
_NAME = r"[\w.:/-]{1,200}"
_SPACE = r"[^\S\n]"  # inside a tag, which ends on its line
_WORDS = frozenset(("parameter", "param", "argument", "arg"))
_ENDS = frozenset(
    (*["invoke", "function", "tool_call", "tool_use", "tool-use", "function_call", "tool", "parameter"], *_WRAPPERS)
)
_BEGINS = re.compile(rf"[<\\/]*+{_PREFIX}([\w.-]*+)")
_WRAPPER = re.compile(rf"<?{_PREFIX}(?:{'|'.join(_WRAPPERS)})>\s*")
_HEAD = re.compile(
    rf"""<?(?:{_PREFIX}{_CALLS}{_SPACE}+)?name=(["']?)(?P<named>{_NAME})\1{_SPACE}*>|"""
    rf"""<?{_CALLS}=(["']?)(?P<assigned>{_NAME})\3{_SPACE}*>|(?P<element>{_NAME})>"""
)
_BARE_HEAD = re.compile(rf"<(?:{'|'.join(_BARE)})>\s*(?P<name>{_NAME})\s*(?=<)")
_BARE_BEGUN = re.compile(rf"<(?:{'|'.join(_BARE)})>\s*[\w.:/-]{{0,200}}\s*")
_PARAMETER = re.compile(
    rf"<?{_PREFIX}{_PARAMETERS}(?:{_SPACE}+name{_SPACE}*)?={_SPACE}*"
    rf"""(["']?)(?P<key>[^"'<>=\n]{{1,200}})\1{_SPACE}*>"""
)
_END = rf"(?:</|<\\/|/){_PREFIX}(?:{_CALLS}|{'|'.join(_WRAPPERS)})>|<(?:invoke|function|function_calls|tool_calls)>"
_BARE_END = rf"(?:{_CALLS}|{'|'.join(_WRAPPERS)})>"
_SHARED = tuple(f"{prefix}:invoke name=" for prefix in ("antml", "tml"))  # `invoke_angleless` is asked first
_MAX_TAG = 512
_MARKS = 24  # characters of a closer beside the name in it


class _Ends:
    """What ends a call of this name: its closers as patterns, with their bracket and without it."""

    def __init__(self, name: str) -> None:
        own = re.escape(name)
        self.patterns = tuple(re.compile(f"{each}|</?{own}>|/?{own}>") for each in (_END, _BARE_END))
        self.words = _ENDS.union((name,))


class _Damaged(Grammar):
    name = "damaged_tags"
    place = "start"

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """What is left of the tags of each declared tool, the tags that may hold parameters of another form."""
        heads = ('invoke name="', "invoke name='", 'name="', "function=")
        left = [f"{before}{name}" for name in names for before in heads]
        left += [f'<parameter name="{name}"' for name in names]
        elements = [f"{name}>{end}" for name in names for end in ("\n", "\r\n")]
        wrappers = [f"{wrapper}>{end}" for wrapper in _WRAPPERS for end in ("\n", "\r\n")]
        bare = [f"<{tag}>" for tag in _BARE]
        return (*left, *elements, *wrappers, *bare, "<invoke ", "<function=", *_SHARED)

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One call with what is left of its wrapper."""
        bare = yield from self._bare(scan, tools)
        if bare is not None:
            name, size, keys = bare
            scan.take(size)
            sink.begin(name)
            sink.note_repair("missing_opener")
            return (yield from self._body(scan, sink, Arguments(sink, tools, name), name, keys))
        ahead = 0
        wrapper = yield from _at(scan, _WRAPPER, 0, _ENDS)
        if wrapper is not None:
            ahead = yield from scan.space(wrapper)
        head = yield from _found(scan, _HEAD, ahead, _ENDS.union(("name",), tools.names))
        if head is None:
            return False
        name = next(filter(None, head.group("named", "assigned", "element")))
        if name not in tools:
            return False
        keys = tools.keys(name) if head["element"] else ()
        body = yield from scan.space(ahead + len(head.group()))
        if (yield from _parameter(scan, keys, body)) is None:
            return False
        scan.take(body)
        sink.begin(name)
        sink.note_repair("damaged_tag")
        return (yield from self._body(scan, sink, Arguments(sink, tools, name), name, keys))

    def _bare(self, scan: Scanner, tools: Toolbox) -> Step[tuple[str, int, tuple[str, ...]] | None]:
        """The tool whose name is alone in a call's tag, the length up to its first parameter, and the elements.

        None where none stands. The parameters are elements of these names; () for tags.
        """
        while True:
            text = scan.text[scan.pos : scan.pos + _MAX_TAG]
            found = _BARE_HEAD.match(text)
            if found is not None or scan.ended or len(text) == _MAX_TAG or not _is_beginning(text):
                break
            yield
        name = tools.resolve(found["name"]) if found else ""
        if found is None or name not in tools:
            return None
        size = len(found.group())
        for keys in ((), tools.keys(name)):
            parameter = yield from _parameter(scan, keys, size)
            if parameter is not None and (keys or parameter[0] in tools.keys(name)):
                return name, size, keys
        return None

    def _body(
        self, scan: Scanner, sink: CallSink, arguments: Arguments, name: str, keys: tuple[str, ...]
    ) -> Step[bool]:
        """The parameters, and the closers. `keys`: they are elements of these names; () for tags."""
        own = "|".join(map(re.escape, keys)) if keys else _PARAMETERS
        closer = re.compile(rf"(?:</|<\\/|/|<|(?<=\n)){_PREFIX}(?:{own})>")
        bare = re.compile(rf"(?:</|<\\/|/|<|){_PREFIX}(?:{own})>")
        ends = _Ends(name)
        damaged = False  # the latest parameter's tag, so all brackets are lost
        while True:
            space = yield from scan.space()
            line = damaged or "\n" in scan.text[scan.pos : scan.pos + space]
            end = yield from _end(scan, ends, space, line=line)
            if end is not None:
                while end is not None:
                    scan.take(space + end)
                    space = yield from scan.space()
                    line = damaged or "\n" in scan.text[scan.pos : scan.pos + space]
                    end = yield from _end(scan, ends, space, line=line)
                break
            parameter = yield from _parameter(scan, keys, space)
            if parameter is None:  # the reply has ended here
                sink.note_repair("missing_closer")
                scan.take(scan.rest())
                break
            damaged = not scan.text.startswith("<", scan.pos + space)
            scan.take(space + parameter[1])
            ends_with = bare if damaged else closer
            if not (yield from self._value(scan, sink, arguments, parameter[0], ends_with, ends, keys)):
                return False
        arguments.end()
        return True

    def _value(
        self,
        scan: Scanner,
        sink: CallSink,
        arguments: Arguments,
        key: str,
        closer: re.Pattern[str],
        ends: _Ends,
        keys: tuple[str, ...],
    ) -> Step[bool]:
        """One value with its closer. Returns False where the reply ends before a closer that counts."""
        value = arguments.value(key)
        longest = max(map(len, keys), default=0) + _MARKS
        closed = yield from closed_value(scan, sink, closer, longest, partial(_goes_on, scan, ends, keys))
        if closed is None:
            return False
        text, line = closed.text, closed.closer[0] not in "</"  # as on a line of its own
        own_lines = text.startswith(("\n", "\r\n"))
        if own_lines:
            text = text.removeprefix("\r").removeprefix("\n")
        if (own_lines or line) and text.endswith("\n"):
            text = text.removesuffix("\n").removesuffix("\r")
        value.add(text)
        value.end()
        return True

    def write_call(self, call: Call, tools: Toolbox) -> str:  # noqa: ARG002 - the schema types what is read
        check_name(call.name, "in a tag")
        lines = [f'invoke name="{call.name}">']
        for key, raw in members(call.arguments):
            text, _ = to_text(raw)
            inner = f"\n{text}\n" if "\n" in text or "\r" in text else text
            lines.append(f'parameter name="{key}">{inner}/parameter>')
        return "\n".join((*lines, "/invoke>"))


def _is_beginning(text: str) -> bool:
    """Whether more may make of `text` a call's tag with a name alone in it."""
    tag = text.partition(">")[0] + ">"
    return any(f"<{name}>".startswith(text) for name in _BARE) or (
        tag[1:-1] in _BARE and _BARE_BEGUN.fullmatch(text) is not None
    )


def _found(scan: Scanner, pattern: re.Pattern[str], ahead: int, words: frozenset[str]) -> Step[re.Match[str] | None]:
    """What `pattern`, which ends with a bracket, matches `ahead` characters from here. `words`: how it begins."""
    while True:
        at = scan.pos + ahead
        text = scan.text[at : at + _MAX_TAG]
        found = pattern.match(text)
        if found is not None or scan.ended or len(text) == _MAX_TAG or ">" in text or "\n" in text:
            return found
        begin = _BEGINS.match(text)
        if begin is not None and begin.end() < len(text) and begin[1] not in words:
            return None
        yield


def _at(scan: Scanner, pattern: re.Pattern[str], ahead: int, words: frozenset[str]) -> Step[int | None]:
    found = yield from _found(scan, pattern, ahead, words)
    return None if found is None else len(found.group().rstrip())


def _parameter(scan: Scanner, keys: tuple[str, ...], ahead: int) -> Step[tuple[str, int] | None]:
    """The key in a parameter's tag that is here, and the tag's length. `keys`: elements of these names."""
    pattern = re.compile(f"<?(?P<key>{'|'.join(map(re.escape, keys))})>") if keys else _PARAMETER
    found = yield from _found(scan, pattern, ahead, frozenset(keys) or _WORDS)
    return None if found is None else (found["key"], len(found.group()))


def _end(scan: Scanner, ends: _Ends, ahead: int, *, line: bool) -> Step[int | None]:
    """The length of a call's or a wrapper's closer that is here; without its bracket on a line of its own only."""
    for pattern in ends.patterns if line else ends.patterns[:1]:
        if (found := (yield from _at(scan, pattern, ahead, ends.words))) is not None:
            return found
    return None


def _goes_on(scan: Scanner, ends: _Ends, keys: tuple[str, ...], closer: str) -> Step[bool]:
    """Whether the call's end, a parameter or the end of the reply follows this closer, which is here."""
    space = yield from scan.space(len(closer))
    line = closer[0] not in "</" or "\n" in scan.text[scan.pos + len(closer) : scan.pos + space]
    if (yield from _end(scan, ends, space, line=line)) is not None:
        return True
    if (yield from _parameter(scan, keys, space)) is not None:
        return True
    return scan.ended and not scan.cut and scan.rest() == space


DIALECT = _Damaged()
