"""Whether the writer of a session's calls escapes the values between its tags, as XML does.

A call that the system prompt shows does so with any entity in a value that holds nothing raw. The model's own earlier
calls do where an operator of a program is an entity: it may as well have written about a page of HTML.
"""

import re
from functools import lru_cache

from toolcalls.request import Request
from toolcalls.route import Route
from toolcalls.shapes.tags.entities import ENTITIES, has_operator
from toolcalls.values.schema import declared_keys

_TEXT = 1 << 18  # characters of a text that are searched
_MOST = 64  # earlier turns that are looked at, the latest first
_REMEMBERED = 256  # texts: a session sends them again with each request
_TAGS = r"(?:[\w-]{1,40}:)?(?:parameter|param|argument|arg|arg_value)"
_LONGEST = 8192  # characters of a value that is looked at
_ENTITY = re.compile("|".join(map(re.escape, ENTITIES)))


def escapes_values(route: Route, request: Request) -> bool | None:
    """Whether values between tags are escaped: as the route says, else as calls of the request show; None: unknown."""
    if route.escaped_values is not None:
        return route.escaped_values
    shown = ((request.system, True), *((text, False) for text in request.assistant[-_MOST:]))
    texts = [(text[:_TEXT], any_entity) for text, any_entity in shown if _may_show(text[:_TEXT])]
    if not texts:
        return None
    names = frozenset(key for tool in request.tools for key in declared_keys(tool.schema))
    return any(_escaped_in(text, names, any_entity) for text, any_entity in texts) or None


def _may_show(text: str) -> bool:
    return "&" in text and "</" in text and ";" in text


@lru_cache(maxsize=_REMEMBERED)
def _escaped_in(text: str, names: frozenset[str], any_entity: bool) -> bool:
    """Whether a value between tags of calls is escaped in this text, and none is raw."""
    found = False
    tags = "|".join([_TAGS, *(re.escape(name) for name in sorted(names) if f"<{name}>" in text)])
    for value in re.finditer(rf"<({tags})\b[^<>]{{0,200}}>([^<]{{1,{_LONGEST}}})</\1\s*>", text):
        if "&" in value[2]:
            left = _ENTITY.sub("", value[2])
            if "&" in left:
                return False
            found = found or any_entity or has_operator(value[2])
    return found
