"""Elements named after a declared tool, with parameters that the tool does not declare.

Models write them from memory of another agent's tools. Nobody can say what they mean, so they are no calls; but
`lenient` takes them, and the agent reports the mistake to the model. Every element in one must be whole, and none
declared.
"""

import re

from toolcalls.shapes import CallSink
from toolcalls.text.scanner import SPACE, Scanner, Step
from toolcalls.values.conversion import quote
from toolcalls.values.toolbox import Toolbox

_FIRST = re.compile(r"<([\w.-]{1,64})>")
_BEGINS = re.compile(r"(?:<[\w.-]{0,64})?\Z")
_MAX_BODY = 16384  # characters, which are looked at whole


def undeclared_elements(scan: Scanner, sink: CallSink, tools: Toolbox, opener: str) -> Step[bool]:
    """One such element, whose tag `opener` is here. Returns whether it was one."""
    name, closer = opener[1:-1], f"</{opener[1:]}"
    space = yield from scan.space(len(opener))
    searched = 0
    while True:
        text = scan.text[scan.pos : scan.pos + len(opener) + _MAX_BODY]
        first = _FIRST.match(text, space)
        if first is None and _BEGINS.match(text, space) is None:
            return False
        end = text.find(closer, max(space, searched - len(closer)))
        searched = len(text)
        if end >= 0 or scan.ended or len(text) == len(opener) + _MAX_BODY:
            break
        yield
    pairs = _elements(text[space:end]) if end >= 0 else []
    keys = tools.keys(name)
    if not pairs or not keys or any(tools.key(name, key) in keys for key, _ in pairs):
        return False
    scan.take(end + len(closer))
    sink.begin(name, "undeclared_arguments")
    sink.piece("{" + ",".join(f"{quote(key)}:{quote(value)}" for key, value in pairs) + "}")
    sink.end()
    return True


def _elements(body: str) -> list[tuple[str, str]]:
    """The elements that a text is made of, with nothing but white space between them; [] for any other text."""
    pairs = []
    at = 0
    while body[at:].strip(SPACE):
        at += len(body[at:]) - len(body[at:].lstrip(SPACE))
        first = _FIRST.match(body, at)
        end = body.find(f"</{first[1]}>", first.end()) if first else -1
        if first is None or end < 0:
            return []
        pairs.append((first[1], body[first.end() : end]))
        at = end + len(first[1]) + 3
    return pairs
