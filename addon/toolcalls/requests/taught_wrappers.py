"""Elements that a system prompt shows around its calls: `<toolbridge_calls>` with an `<invoke>` in it.

What is between an element's tags must begin as a whole call of some dialect. Elements that dialects or quotations
have for themselves are none.
"""

import re
from functools import cache, lru_cache

from toolcalls.dialects import all_dialects
from toolcalls.request import Request, Tool
from toolcalls.requests.prompt_tools import tools_in
from toolcalls.requests.spoken_dialects import begins_with_call
from toolcalls.text.quoting_marks import QUOTING_TAGS, RAW_TAGS, REASONING_TAGS
from toolcalls.values.schema import declared_keys
from toolcalls.values.toolbox import Toolbox

_TEXT = 1 << 18  # characters of a prompt that are searched
_CALLS = 1 << 13  # characters that an element with calls may have
_MOST = 32  # elements of a prompt that are looked into
_REMEMBERED = 64  # prompts: a session sends them again with each request

_QUOTING = frozenset((*QUOTING_TAGS, *RAW_TAGS, *(tag.strip("<>[]") for tag in REASONING_TAGS)))
_ELEMENT = re.compile(r"<([A-Za-z][\w.:-]{1,60})>\s*(?=[<\[])")


def wrappers_in(request: Request) -> tuple[str, ...]:
    """The names of the elements that the system prompt shows around calls, () for none."""
    prompt = request.system[:_TEXT]
    if "</" not in prompt or _ELEMENT.search(prompt) is None:
        return ()
    return _wrappers_in(prompt, tuple((tool.name, declared_keys(tool.schema)) for tool in request.tools))


@lru_cache(maxsize=_REMEMBERED)
def _wrappers_in(prompt: str, tools: tuple[tuple[str, tuple[str, ...]], ...]) -> tuple[str, ...]:
    declared = (Tool(name, {"properties": {key: {} for key in keys}}) for name, keys in tools)
    box = Toolbox((*tools_in(prompt), *declared), textual=True)
    tried, found = set[str](), list[str]()
    for element in _ELEMENT.finditer(prompt):
        name = element[1]
        end = prompt.find(f"</{name}>", element.end(), element.end() + _CALLS)
        if end < 0 or name in tried or name in box or _is_other(name):
            continue
        if len(tried) == _MOST:
            break
        if begins_with_call(prompt[element.end() : end], box):
            found.append(name)
        tried.add(name)
    return tuple(found)


@cache
def _is_other(name: str) -> bool:
    """Whether a dialect begins with such an element, or the element quotes what is in it."""
    return name.lower() in _QUOTING or any(f"<{name}>" in one.openers(()) for one in all_dialects().values())
