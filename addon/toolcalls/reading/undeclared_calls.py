"""Calls of tools that nobody declared, in dialects that begin with a tool's name: they know the declared ones alone.

What such a dialect begins a call with, for any name, is what its grammar says for one name (`Dialect.openers`). Where a
text has that, it is read once more as though these names were declared, with the parameters that stand behind them;
what would be a call then is one of a tool that nobody declared. Elements that are named after the tool and that nothing
else says to be a call (`tagged`, `morph_xml`) are not among them: every element of a page would be one. An element
without arguments, or with attributes, is such an element, too.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from toolcalls.dialects import all_dialects
from toolcalls.events import CallPiece, Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Tool
from toolcalls.shapes import OpenerPlace
from toolcalls.text.markdown import Position
from toolcalls.values.toolbox import Toolbox

DIALECTS = (
    *("bare_calls", "damaged_tags", "function_tags_stripped", "functionary_v32", "glm_naked", "header_stripped"),
    *("kimi_k2_stripped", "module_calls", "tool_element", "yaml_xml"),
)
_ANY = "toolname"  # stands for any name
_ATTRIBUTES = tuple(f"{begin}{_ANY}{end}" for begin in ("<", "< ") for end in (" ", "/", "\n"))
_NAME = r"(?P<name>[A-Za-z_][\w-]{1,63})"
_BEGINS: dict[OpenerPlace, str] = {"message": r"\A\s*", "line": r"^[ \t]*", "start": r"^[ \t]*", "anywhere": ""}
_KEY = re.compile(r"""["'](\w{1,64})["']\s*:|\b(\w{1,64})\s*=|^\s*(\w{1,64}):""", re.MULTILINE)
_REACH = 400  # characters behind a name in which its parameters are looked for
_MOST = 16  # names of one text


@lru_cache
def _openers(dialect: str) -> re.Pattern[str]:
    """What a call begins with in a dialect, for any name."""
    grammar = all_dialects()[dialect]
    openers = [one for one in grammar.openers((_ANY,)) if _ANY in one and not one.endswith(_ATTRIBUTES)]
    forms = {re.escape(one).replace(_ANY, _NAME) for one in openers}
    single = [f"(?:{form.replace('?P<name>', f'?P<n{number}>')})" for number, form in enumerate(sorted(forms))]
    return re.compile(f"{_BEGINS[grammar.place]}(?:{'|'.join(single)})", re.MULTILINE)


def undeclared_calls(text: str, at: int, call_policy: CallPolicy, tools: Toolbox) -> Iterator[Verdict]:
    """The verdicts of such calls in a text, where none of its candidates has one.

    at   where the text begins in its reply's
    """
    chosen = call_policy.route.dialects
    found: dict[str, dict[str, dict[str, str]]] = {}
    read: list[str] = []
    for dialect in DIALECTS if chosen is None else [name for name in DIALECTS if name in chosen]:
        names = {name: keys for name, keys in _names(dialect, text) if not tools.means_tool(name)}
        found |= names
        read += [dialect] if names else []
    if not read:
        return
    known = frozenset(found)
    declared = (*call_policy.request.tools, *(Tool(name, {"properties": keys}) for name, keys in found.items()))
    policy = replace(
        call_policy,
        request=replace(call_policy.request, tools=declared, quotable=()),
        route=replace(call_policy.route, dialects=tuple(read), tools=(), allowed_tools=None),
        lift=True,
        open_calls=False,
        may_start_in_reasoning=False,
        first=(),
    )
    reader = Reader(policy, tools=Toolbox(declared), place=Position())
    given: set[int] = set()  # calls with arguments
    for event in [*reader.feed(text), *reader.finish(cut=False)]:
        if isinstance(event, CallPiece) and event.json.strip("{} \t\r\n"):
            given.add(event.index)
        if not isinstance(event, Verdict) or event.status != "lifted" or event.name not in known:
            continue
        if event.index in given or not text.startswith("<", event.start):
            yield Verdict("declined", "undeclared", event.dialect, event.name, at + event.start, at + event.end)


def _names(dialect: str, text: str) -> Iterator[tuple[str, dict[str, dict[str, str]]]]:
    """The names that a call may begin with, each with what may be its parameters."""
    for number, found in enumerate(_openers(dialect).finditer(text)):
        if number == _MOST:
            return
        behind = text[found.end() : found.end() + _REACH]
        yield next(filter(None, found.groups())), {key: {} for keys in _KEY.findall(behind) for key in keys if key}
