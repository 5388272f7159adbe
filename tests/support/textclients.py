"""How clients that read calls from text read them: Cline's and OpenHands' rules, written down from what they do.

Neither decodes anything, both end a value at its first closing tag and strip it, and neither knows what a grammar could
go on with. Values are text.
"""

import re
from collections.abc import Iterable

_FUNCTION = re.compile(r"<function=([^>]+)>\n(.*?)</function>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>]+)>(.*?)</parameter>", re.DOTALL)


def cline(text: str, name: str, parameters: Iterable[str]) -> dict[str, str] | None:
    """The parameters of the first call of the tool; None where there is none that ends."""
    start = text.find(f"<{name}>")
    if start < 0:
        return None
    at = start = start + len(name) + 2
    found: dict[str, str] = {}
    tags = [f"<{key}>" for key in parameters]
    while at < len(text):
        if text.startswith(f"</{name}>", at):
            first, last = text.find("<content>", start, at), text.rfind("</content>", start, at)
            if name == "write_to_file" and 0 <= first < last:
                found["content"] = text[first + len("<content>") : last].strip()
            return found
        tag = next((tag for tag in tags if text.startswith(tag, at)), None)
        if tag is None:
            at += 1
            continue
        end = text.find(f"</{tag[1:]}", at)
        if end < 0:
            return None
        found[tag[1:-1]] = text[at + len(tag) : end].strip()
        at = end + len(tag) + 1
    return None


def openhands(text: str) -> tuple[str, dict[str, str]] | None:
    """The first call; None where there is none."""
    call = _FUNCTION.search(text)
    return call and (call[1], {key: value.strip() for key, value in _PARAMETER.findall(call[2])})
