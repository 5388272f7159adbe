"""Calls in forms that no dialect has: a declared tool's name in marks, with one of its parameters in marks behind it.

Two signs make one. The tool's name stands in marks: in a tag, in quotes in JSON, before a bracket, behind a label
(`Tool: NAME`). And behind it one of that tool's parameters stands as a key does: `"path":`, `path=`, `<path>`,
`<arg path>`, `>path<`. Between them are marks and a few words at most, where prose has a sentence. A tag that says by
its own name that it is a call (`<tool: NAME>`) needs no parameter, and neither do the brackets of a tool without any.

What programs and schemas are made of is none: a definition, an assignment, a string literal that holds markup, a
parameter whose value is the name of a type. The text is searched once, and at most `_LOOKS` names are looked at.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from toolcalls.shapes.json.call_keys import ARGUMENTS
from toolcalls.values.toolbox import Toolbox

_LOOKS = 400  # names in one text, each with what stands around it
_KEYS = 8  # places behind a name at which its parameters are named
_REACH = 1200  # characters behind a name in which its first parameter begins
_BEFORE = 300  # characters of a name's line in front of it
_WORDS, _STRINGS = 4, 10  # between a name and its first parameter
_EDGE = 1000  # from its beginning or its end, within which a long reply has a call in its sentences
_SHOWN = 3  # mark characters on each side of a name or a parameter

# A name with what may be in front of it: `functions.NAME`, `mcp__server__NAME`.
_NAME = re.compile(r"[^\W\d](?:[\w-]|[.:/](?=[^\W\d])){1,127}")
_PREFIX_END = re.compile(r".*(?:[.:/]|__)")
_CALLS_PREFIX = re.compile(r"(?:functions?|default_api|tools?|api|multi_tool_use|mcp\w*)(?:[.:/]|__)\Z", re.IGNORECASE)
_LABEL_ENDS, _BRACKETS = ":>|=]})", "{[<("
_NAME_OPENS, _NAME_CLOSES = "<>\"'|=@[({:`*#$~/!^%\\", "({[<>|@:="
# A mark, whatever it is: no word, and nothing that sentences have. One is in front of the name, too.
_MARK = re.compile(r"[^\w\s.,;!?'\"`-]")
_MARK_BEFORE = re.compile(rf"{_MARK.pattern}[\w \t=:-]{{0,32}}\Z")
# What a line of a program has in front of a call that it makes, defines or quotes.
_PROGRAM = re.compile(
    r"[\w\])][ \t]*[-+:]?=[ \t]|\w\((?!\{)|[\"'`][<{\[(]"
    r"|^[ \t]*(?://|#[ \t]|\*/?[ \t]|(?:assert|return|raise|if|for)\b)"
)
_DEFINES = re.compile(
    r"\b(?:def|function|class|fn|func|fun|sub|proc|interface|type|import|from|new|await|return|const|let|var)[ \t]+\Z"
)
_KEY_OPENS = "\"'`<{([,;|>=:@ \t\r\n\\-*"
_QUOTES = "\\\"'`"
# Behind a parameter of a schema: `: {"type": …`, `: string`.
_TYPE = re.compile(
    r"""[\\"']*[ \t]*:\s*(?:\{\s*)?\\?["']?"""
    r"""(?:type\\?["']?\s*:|(?:string|integer|boolean|number|object|array|str|int|bool|float)\b)"""
)
_SCHEMA = re.compile(r"""["']?\b(?:properties|inputSchema|input_schema|schema|required)\\?["']?\s*:""")
_ARGUMENTS = re.compile(
    rf"""["'](?:\w{{0,24}}_)?(?:{"|".join(ARGUMENTS)})\\?["']\s*:\s*(?:\{{|\\?"\\?\{{)""", re.IGNORECASE
)
_TAG = re.compile(r"<[^<>]{1,160}(?:>|\Z)")
_STRING = re.compile(r""""(?:[^"\\]|\\.){0,600}+"|'(?:[^'\\\n]|\\.){0,80}+'""")
_WORD = re.compile(r"[^\W\d_]{2,}")
# A tag or a token that says that it is a call, in front of the name or around it.
_SAYS_CALL = re.compile(
    r"[<\[](?:\||!)?[\w.-]*(?:tool|call|func|invoke|action)[\w:-]*[ :=\"'|]*(?:[>\]]\s*)?\Z", re.IGNORECASE
)
_CLOSES = re.compile(r"\s*(?:</|<\||\[/|/>)|[^<]{0,1000}</[\w.-]*(?:tool|call|func|invoke|action)", re.IGNORECASE)
_LABEL = re.compile(r"\W{0,8}(?:tool|call|func|invoke|action|to\b|name)\w{0,16}\W{0,8}", re.IGNORECASE)
_NO_ARGUMENTS = re.compile(r"\(\s*(?:\{\s*\})?\s*\)[ \t;]*(?:\Z|[\r\n])|\s*/>|>\s*</|\s*\{\s*\}")


@dataclass(frozen=True, slots=True)
class UnknownForm:
    """A call in a form that no dialect has.

    tool     the declared tool
    at, end  where its name begins, and what is known to belong to it ends, in characters of the text
    marks    the name and its first parameter with the marks around them: `@@read_file@@{ … {path=`
    in_sentence   words that are no label of a call stand in front of it on its line
    """

    tool: str
    at: int
    end: int
    marks: str
    in_sentence: bool


class UnknownForms:
    """Finds such calls of these tools."""

    def __init__(self, tools: Toolbox) -> None:
        self._tools = tools
        letters = {tool[-1:] for tool in tools.names}
        self._last_letters = "".join(letters) + "".join(letters).swapcase()
        self._parameters: dict[str, re.Pattern[str]] = {}

    def in_text(self, text: str, *, ahead: int = 0, behind: int = 0) -> Iterator[UnknownForm]:
        """Those of a text, in order. `ahead`, `behind`: characters of its reply in front of it and after it."""
        looks, known = 0, dict[str, str]()  # words, and the tools that they name
        for found in _NAME.finditer(text):
            if text[found.end() - 1] not in self._last_letters:
                continue
            word = found[0]
            if word not in known:
                known[word] = self._tools.named_by(word)
            tool = known[word]
            if not tool:
                continue
            looks += 1
            if looks > _LOOKS:
                return
            form = self._at(text, tool, found.start(), found.end())
            if form is None:
                continue
            edge = min(ahead + form.at, behind + len(text) - form.at)
            if edge <= _EDGE or ahead + len(text) + behind <= 2 * _EDGE or not form.in_sentence:
                yield form

    def _at(self, text: str, tool: str, start: int, end: int) -> UnknownForm | None:
        """The call of this tool whose name stands there."""
        line = max(text.rfind("\n", 0, start) + 1, start - _BEFORE)
        before = text[line:start]
        if _PROGRAM.search(before) is not None:
            return None
        sign = _sign(text, before, start, end)
        if not sign:
            return None
        shown, inside = _with_marks(text, start, end), _in_sentence(before)
        keys = self._tools.keys(tool)
        key = self._key(text, tool, end) if keys else None
        if key is not None:
            return UnknownForm(tool, start, key[1], f"{shown} … {_with_marks(text, *key)}", inside)
        stop = end + _REACH
        given = _ARGUMENTS.search(text, end, stop) if sign == "quoted" else None
        if given is not None and _is_short(text[end : given.start()]) and not _SCHEMA.search(text, given.end(), stop):
            return UnknownForm(tool, start, given.end(), f"{shown} … {_with_marks(text, *given.span())}", inside)
        says = _SAYS_CALL.search(before) is not None and _CLOSES.match(text, end) is not None
        if says or (not keys and _NO_ARGUMENTS.match(text, end) is not None):
            return UnknownForm(tool, start, end, shown, inside)
        return None

    def _key(self, text: str, tool: str, end: int) -> tuple[int, int] | None:
        """Where the first parameter of a tool stands as a key, behind its name; None for nowhere near."""
        if tool not in self._parameters:
            keys = sorted(filter(None, self._tools.keys(tool)), key=len, reverse=True)
            self._parameters[tool] = re.compile(rf"(?<![\w.$])(?:{'|'.join(map(re.escape, keys))})(?![\w])")
        for place, found in enumerate(self._parameters[tool].finditer(text, end, end + _REACH)):
            if place >= _KEYS or not _is_short(text[end : found.start()]):
                return None
            if _is_key(text, *found.span()):
                return None if _TYPE.match(text, found.end()) else found.span()
        return None


def _sign(text: str, before: str, start: int, end: int) -> str:
    """How a name stands in marks; "" where it does not."""
    left, right = before[-1:], text[end : end + 1]
    behind = text[end : end + 8].lstrip(_QUOTES)
    next_ = behind.lstrip(" \t")[:1]
    if next_ == "(" and _DEFINES.search(before) is not None:
        return ""
    if "<" in before.rpartition(">")[2]:
        return "tag"
    if left and left in "\"'":
        outside = before.rstrip(_QUOTES).rstrip(" \t")[-1:]
        is_string = right == left or right == "\\"
        is_value = outside in (":", "=", "[")
        return "quoted" if is_string and (is_value or (next_ == ":" and outside in ("{", ",", "[", ""))) else ""
    if right == "(":
        prefix = _PREFIX_END.match(text, start, end)
        if prefix is not None and _CALLS_PREFIX.match(prefix[0]) is None:
            return ""
        return "call" if not left or left in " \t[`*>:=/" else ""
    outside = before.rstrip(" \t")[-1:]
    if (left and left in _NAME_OPENS) or (outside and outside in _LABEL_ENDS):
        return "marks"
    if right and (right in _NAME_CLOSES or (_MARK.match(right) and _MARK_BEFORE.search(before))):
        return "marks"
    return "line" if not outside and next_ and next_ in _BRACKETS else ""


def _in_sentence(before: str) -> bool:
    """Whether words stand in front of a name on its line that are no label of a call."""
    words = _WORD.findall(_STRING.sub(" ", _TAG.sub(" ", before)))
    return bool(words) and _LABEL.fullmatch(before) is None


def _is_key(text: str, start: int, end: int) -> bool:
    """Whether the word that stands there does so as a key."""
    left = text[start - 1 : start] or "\n"
    if left not in _KEY_OPENS:
        return False
    behind = text[end : end + 8].lstrip(_QUOTES)
    is_quoted = behind != text[end : end + 8]
    in_tag = "<" in text[max(0, start - 60) : start].rpartition(">")[2]
    if is_quoted and in_tag and text[max(0, start - 4) : start].rstrip(_QUOTES)[-1:] == "=":
        return True
    behind = behind.lstrip(" \t")
    match behind[:1]:
        case ":" | "=":
            return behind[:2] not in {"==", "::", "=>"}
        case ">":
            return in_tag
        case "<":
            return left == ">"
        case "|":
            return left in "|>"
        case "]":
            return left == "[" and not is_quoted
        case "'" | '"':
            return not is_quoted and (left in ":-(" or text[max(0, start - 2) : start] == "--")
    return False


def _is_short(between: str) -> bool:
    """Whether what is between a name and a parameter is marks, strings and a few words, and no schema."""
    if _SCHEMA.search(between) is not None:
        return False
    bare, strings = _STRING.subn(" ", _TAG.sub(" ", between))
    return strings <= _STRINGS and len(_WORD.findall(bare)) <= _WORDS


def _with_marks(text: str, start: int, end: int) -> str:
    """A word with the marks right around it."""
    first, last = start, end
    while first > max(0, start - _SHOWN) and _is_mark(text[first - 1]):
        first -= 1
    while last < min(len(text), end + _SHOWN) and _is_mark(text[last]):
        last += 1
    return text[first:last]


def _is_mark(char: str) -> bool:
    return not (char.isalnum() or char.isspace())
