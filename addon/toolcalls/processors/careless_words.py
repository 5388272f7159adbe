"""Calls in forms that have no closing tags of their own, as careless parsers of text clients find them in a message.

Forge takes `<tool>` up to the first `</tool>` and reads it as XML, in which order, comments and unknown elements do not
matter (`pkg/agent/tools/parser.go` of https://github.com/entrhq/forge). Continue skips lines that it does not know,
finds its words anywhere in a line and in any case, and takes the last of two arguments (`parseSystemToolCall.ts` of
https://github.com/continuedev/continue). ReAct parsers search for `Action:`, whatever comes before it, and take all
that follows `Action Input:`, or JSON in a fence or in the open (the output parsers of LangChain, LlamaIndex, CrewAI).
"""

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from toolcalls.processors.careless_tags import as_json
from toolcalls.processors.careless_xml import blanked, decoded, without_comments
from toolcalls.processors.json_members import Members, members_of
from toolcalls.values.conversion import quote
from toolcalls.values.toolbox import Toolbox

_OBJECTS = 256  # beginnings of objects that turn out to be none, in one text
_MOST = 256  # calls, names or arguments that are looked at in one text
_MUCH = 1 << 23  # characters of all values of one text, each of which may have two ends
_FEW = 8  # names of servers, each of which may belong to each name of a tool
_CALLED = frozenset({"action", "name", "tool", "tool_name", "function", "function_name"})
_GIVEN = frozenset({"action_input", "arguments", "parameters", "args", "input", "kwargs", "params"})


@dataclass(frozen=True, slots=True)
class WordCall:
    """A call that some parser finds between two places: names, of which one counts, and all arguments it may have."""

    start: int
    end: int
    names: tuple[str, ...]
    arguments: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class WordForm:
    """A form: what may begin a call, what may be the beginning of that at a text's end, and the calls in a text.

    `begun` matches at the end of every text, perhaps nothing.
    """

    opener: re.Pattern[str]
    begun: re.Pattern[str]
    calls: Callable[[str, Toolbox], Iterator[WordCall]]


def _bounded[T](several: Iterator[T]) -> Iterator[T]:
    """The items unchanged. Raises ValueError where there are more than are ever looked at."""
    for number, one in enumerate(several):
        if number >= _MOST:
            raise ValueError("too many calls")
        yield one


# Forge

_TOOL_BEGUN = re.compile(r"<\s{0,8}tool[\s>]", re.IGNORECASE)  # its attributes may be as long as a reply
_TOOL = re.compile(r"<\s{0,8}tool(?=[\s>])[^<>]*+>", re.IGNORECASE)
_TOOL_END = re.compile(r"</\s{0,8}tool\s{0,8}>", re.IGNORECASE)
_ELEMENT = re.compile(r"<([\w.:-]++)(?:\s[^<>]*+)?>")
_CLOSER = re.compile(r"</([\w.:-]++)\s*+>")
_NOT_GIVEN = frozenset({"tool", "server_name", "tool_name", "arguments"})


def _forge(text: str, tools: Toolbox) -> Iterator[WordCall]:
    ends = [match.span() for match in _TOOL_END.finditer(text)]
    room = _Room(_MUCH + 16 * len(text))
    for opener in _bounded(_TOOL.finditer(text)):
        first = bisect_left(ends, (opener.end(), 0))
        start, behind = ends[first] if first < len(ends) else (len(text), len(text))
        arguments: list[tuple[str, str]] = []
        names: list[str] = []
        for end in dict.fromkeys((start, ends[-1][0] if first < len(ends) else start)):
            found, given = _elements(text[opener.end() : end], tools, room)
            names += found
            arguments += given
        if names:
            yield WordCall(opener.start(), behind, tuple(dict.fromkeys(names)), arguments)
        # The older form is JSON.
        yield from _objects(text, opener.end(), start, tools)


class _Room:
    """How many characters of values are still looked at: calls may reach over all that follow, and values too."""

    def __init__(self, characters: int) -> None:
        self._left = characters

    def cut(self, text: str, start: int, end: int) -> str:
        """A part of a text. Raises ValueError where that is too much."""
        self._left -= end - start
        if self._left < 0:
            raise ValueError("too much text in values")
        return text[start:end]


def _elements(body: str, tools: Toolbox, room: _Room) -> tuple[list[str], list[tuple[str, str]]]:
    """The names and the arguments between a call's tags. What comments and CDATA hold is no element."""
    plain = blanked(body)
    closers: dict[str, list[int]] = {}
    for closer in _CLOSER.finditer(plain):
        closers.setdefault(closer[1].casefold(), []).append(closer.start())

    def ends(key: str, at: int) -> Sequence[int]:
        """Where a value ends: at its first closer and at its last one, or with the text."""
        places = closers.get(key.casefold(), [])
        first = bisect_left(places, at)
        return tuple(dict.fromkeys((places[first], places[-1]))) if first < len(places) else (len(plain),)

    called: dict[str, list[str]] = {"server_name": [], "tool_name": []}
    for element in _ELEMENT.finditer(plain):
        if (into := called.get(element[1].casefold())) is not None:
            into += [decoded(room.cut(body, element.end(), end)).strip() for end in ends(element[1], element.end())]
    names = called["tool_name"][:_MOST]
    names += [f"{server}.{name}" for server in called["server_name"][:_FEW] for name in names[:_FEW]]
    given: list[tuple[str, str]] = []
    at = 0
    while (found := _ELEMENT.search(plain, at)) is not None:
        key, at = found[1].rpartition(":")[2], found.end()
        if key.casefold() in _NOT_GIVEN:
            continue
        if len(given) > _MOST:
            raise ValueError("too many arguments")
        places = ends(found[1], at)
        for end in places:
            value = without_comments(room.cut(body, at, end))
            given += [(key, raw) for raw in dict.fromkeys((as_json(value), quote(decoded(value).strip())))]
        if any(key in tools.keys(name) and tools.types(name, key) in (None, {"string"}) for name in names):
            at = places[0]
    return names, given


# Continue

_BLOCK = re.compile(r"```tool|tool_?name:", re.IGNORECASE)
_NAME = re.compile(r"tool_?name:(.*)", re.IGNORECASE)
_BEGIN = re.compile(r"begin_?arg:(.*)", re.IGNORECASE)
_END = re.compile(r"end_?arg", re.IGNORECASE)


def _continue(text: str, tools: Toolbox) -> Iterator[WordCall]:  # noqa: ARG001 - the form names its parameters
    lines = re.findall(r"[^\n]*+\n|[^\n]++", text)  # nothing else ends a line for it, and no blank begins its fence
    places = [0, *accumulate(map(len, lines))]
    ends = [number for number, line in enumerate(lines) if _END.search(line)]
    openers = {number: found.start() for number, line in enumerate(lines) if (found := _BLOCK.search(line))}
    behind = 0  # the first line that belongs to no call so far
    for first in _bounded(iter(openers)):
        if first < behind:
            continue
        names, given, number = list[str](), list[tuple[str, str]](), first
        while number < len(lines):
            line = lines[number]
            if number > first and (line.rstrip() == "```" or (names and _BLOCK.search(line))):
                break
            named, begun = _NAME.search(line), _BEGIN.search(line)
            if named is not None or (number == first + 1 and not names):
                names.append((named[1] if named is not None else line).strip())
            number += 1
            if begun is not None:
                at = bisect_left(ends, number)
                closers = (ends[at], ends[-1]) if at < len(ends) else (len(lines),)
                for end in dict.fromkeys(closers):
                    given += [(begun[1].strip(), raw) for raw in _spelt("".join(lines[number:end]).strip())]
                number = closers[0] + 1
                if len(given) > _MOST:
                    raise ValueError("too many arguments")
        behind = min(number, len(lines))
        if any(names):
            yield WordCall(
                places[first] + openers[first], places[behind], tuple(dict.fromkeys(filter(None, names))), given
            )


def _spelt(value: str) -> Iterator[str]:
    """The JSON values that a text may be: the text itself, and the value that it spells."""
    yield as_json(value)
    if value.startswith('"'):
        try:
            json.loads(value)
        except ValueError:
            return
        yield value


# ReAct

# None of them takes back what it has matched, and none begins inside of what another match would have: all are linear.
_ACTION = re.compile(r"Action[\s\d*]*+:", re.IGNORECASE)
_INPUT = re.compile(r"Action[\s\d*]*+Input[\s\d*]*+:[\s*]*+", re.IGNORECASE)
_STOP = re.compile(r"\n[^\S\n]*+(?:Observation|Thought|Action[\s\d*]*+:)", re.IGNORECASE)
_MEMBER = re.compile(r"""(?<![\w.-])([\w.-]++)["']?\s*+:\s*+["']?((?:[^"'{}\n\\]|\\.)*+)""")
_AROUND = " \t\r\n*`\"'[]()"


def _react(text: str, tools: Toolbox) -> Iterator[WordCall]:
    objects = list(_objects(text, 0, len(text), tools))
    yield from objects
    yield from _unclosed(text, max((one.end for one in objects), default=0))
    inputs = [match.span() for match in _INPUT.finditer(text)]
    for action in _bounded(_ACTION.finditer(text)):
        first = bisect_left(inputs, (action.end(), 0))
        if first == len(inputs):
            return
        start, begin = inputs[first]
        said = text[action.end() : start].strip(_AROUND)
        lines = [line for line in said.splitlines() if line.strip(_AROUND)] or [""]
        names = [lines[0].partition("(")[0], lines[0], lines[-1], said, *lines[0].split()[:1]]
        names = list(dict.fromkeys(filter(None, (name.strip(_AROUND) for name in names))))
        stop = _STOP.search(text, begin)
        end = max(begin, len(text[: stop.start()].rstrip())) if stop else len(text)
        readings = [_input(text[begin:until], names, tools) for until in dict.fromkeys((end, len(text)))]
        if names:
            yield WordCall(action.start(), end, tuple(names), [member for one in readings for member in one])


def _input(text: str, names: Sequence[str], tools: Toolbox) -> Iterator[tuple[str, str]]:
    """What an input gives: the members of objects, those of one that breaks off or is mended, or one text.

    A text is the value of whichever parameter the tool has.
    """
    found = [member for _, _, pairs in _outermost(text, 0, len(text)) for member in members_of(pairs)]
    yield from found
    if found:
        return
    if "{" in text:
        for member in _bounded(_MEMBER.finditer(text)):
            yield member[1], quote(member[2].strip())
    value = text.strip().strip("\"'`").strip()
    for name in names:
        for key in tools.keys(name):
            yield key, quote(value)


# JSON

_BRACE = re.compile(r'\{(?=\s*["}])')
_KEYED = re.compile(rf'"(?:{"|".join(sorted(_CALLED))})"\s*:', re.IGNORECASE)


def _outermost(text: str, start: int, end: int) -> Iterator[tuple[int, int, Members]]:
    """The objects that are inside no other one, with their places."""
    decoder = json.JSONDecoder(object_pairs_hook=Members, parse_int=str, parse_float=str, strict=False)
    failed = 0
    brace = _BRACE.search(text, start, end)
    while brace is not None:
        try:
            found, behind = decoder.raw_decode(text, brace.start())
            yield brace.start(), behind, found
        except (ValueError, RecursionError):
            behind, failed = brace.end(), failed + 1
        if failed > _OBJECTS:
            raise ValueError("too many objects")
        brace = _BRACE.search(text, behind, end)


def _objects(text: str, start: int, end: int, tools: Toolbox) -> Iterator[WordCall]:
    """The calls that are objects with a name and arguments, also inside other objects."""
    if _KEYED.search(text, start, end) is None:
        return
    for at, behind, outermost in _outermost(text, start, end):
        pending = [outermost]
        while pending:
            members = pending.pop()
            pending += [value for _, value in members.pairs if isinstance(value, Members)]
            names = [value for key, value in members.pairs if key.casefold() in _CALLED and isinstance(value, str)]
            keys = [key for name in names for key in tools.keys(name)]
            given: list[tuple[str, str]] = []
            for key, value in members.pairs:
                if key.casefold() in _GIVEN:
                    given += members_of(value) or [(one, json.dumps(value)) for one in keys]
            if names:
                yield WordCall(at, behind, tuple(dict.fromkeys(reversed(names))), given)


# A member as JSON writes it, whose value may end with the text. What is in an object is found by itself.
_WRITTEN = re.compile(
    r'(?<=[{,\s])("(?:[^"\\]|\\.)*+")\s*+:\s*+("(?:[^"\\]|\\.)*+"?|\[[^\[\]]*+\]?|[^\s,{}\[\]"]++)', re.DOTALL
)
_ENDS = ("", '"', "]", '"]')  # of which a value may lack one


def _closed(written: str) -> str:
    """A value that may lack its end, as JSON; as a text if it is none."""
    for end in _ENDS:
        try:
            return json.dumps(json.loads(written + end, strict=False), ensure_ascii=False)
        except ValueError:
            continue
    return quote(written)


def _unclosed(text: str, start: int) -> Iterator[WordCall]:
    """A call in an object that the text's end breaks off: LangChain closes it (`parse_partial_json`)."""
    brace = _BRACE.search(text, start)
    if brace is None or _KEYED.search(text, brace.start()) is None:
        return
    names: list[str] = []
    given: list[tuple[str, str]] = []
    for member in _WRITTEN.finditer(text, brace.start()):
        key, value = json.loads(_closed(member[1])), _closed(member[2])
        if key.casefold() not in _CALLED:
            given.append((key, value))
        elif len(names) < _MOST:
            names.append(str(json.loads(value)).strip())
        else:
            raise ValueError("too many names")
    if any(names):
        yield WordCall(brace.start(), len(text), tuple(dict.fromkeys(filter(None, names))), given)


WORD_FORMS = {
    "forge": WordForm(_TOOL_BEGUN, re.compile(r"(?:<\s{0,8}(?:t(?:o(?:ol?)?)?)?)?\Z", re.IGNORECASE), _forge),
    "continue_codeblock": WordForm(
        _BLOCK,
        re.compile(r"(?:`{1,3}(?:t(?:o(?:o)?)?)?|t(?:o(?:o(?:l(?:_?(?:n(?:a(?:me?)?)?)?)?)?)?)?)?\Z", re.IGNORECASE),
        _continue,
    ),
    "react": WordForm(
        re.compile(r"Action(?:[\s\d*]{0,16}:|[\s\d*]{17})|\{", re.IGNORECASE),
        re.compile(r"(?:a(?:c(?:t(?:i(?:o(?:n[\s\d*]{0,16})?)?)?)?)?)?\Z", re.IGNORECASE),
        _react,
    ),
}
