"""Calls between tags, put together again from what a dialect writes: its tags around values of any text.

Nothing is escaped here, so that a value may hold the dialect's own tags, balanced or not.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from support.damaged import tool
from toolcalls.dialects import all_dialects
from toolcalls.shapes import Call
from toolcalls.shapes.tags.form import TagForm
from toolcalls.shapes.tags.pair_form import PairForm
from toolcalls.shapes.tags.tool_elements import ToolElements
from toolcalls.values.toolbox import Toolbox

KEYS = ("path", "content", "mode")
TOOLS = (tool("Write", path="string", content="string", mode="string"),)
_MARKS = {key: f"Z{key}Z" for key in KEYS}
_TAG = re.compile(r"\s*<[^<>]*>")

# Forms that hold JSON, whose tags are escaped or half lost, or that are another's within a message.
_OTHERS = {"named_tags", "invoke_escaped", "function_tags_stripped", "bullet_function", "glm_naked", "invoke_angleless"}


@dataclass(frozen=True)
class Tags:
    """A dialect's tags around a call of `Write` and around its values.

    elements        parameters are elements of their own name
    closes_itself   an opening tag may
    """

    head: str
    tail: str
    gap: str
    opener: str
    closer: str
    elements: bool
    closes_itself: bool

    def open(self, key: str) -> str:
        """What is in front of the value of `key`."""
        return self.opener.replace("content", key)

    def close(self, key: str) -> str:
        """What is behind it."""
        return self.closer.replace("content", key)

    def element(self, key: str, text: str) -> str:
        """A whole parameter."""
        return f"{self.open(key)}{text}{self.close(key)}"

    @property
    def end(self) -> str:
        """The call's closer, "" where the reply's end is one."""
        found = _TAG.match(self.tail)
        return found[0].strip() if found else ""

    def call(self, *parts: str) -> str:
        """A call with these parameters."""
        return f"{self.head}{self.gap.join(parts)}{self.tail}"

    def of(self, values: Mapping[str, str]) -> str:
        """A call with these values."""
        return self.call(*(self.element(key, text) for key, text in values.items()))


@cache
def tags_of(name: str) -> Tags:
    """The tags of the dialect `name`."""
    dialect = all_dialects()[name]
    text = dialect.write([Call("Write", json.dumps(_MARKS))], Toolbox(TOOLS))
    behind = {}
    for key, mark in _MARKS.items():
        start = text.index(mark) + len(mark)
        found = _TAG.match(text, start)
        assert found is not None
        behind[key] = (start, found.end())
    between = text[behind["path"][1] : text.index(_MARKS["content"])]
    opener = between.lstrip()
    head = text[: text.index(_MARKS["path"])].removesuffix(opener.replace("content", "path"))
    closer = text[slice(*behind["content"])]
    return Tags(
        head,
        text[behind["mode"][1] :],
        between[: len(between) - len(opener)],
        opener,
        closer,
        "content" in closer,
        opener.count("<") == 1
        and ("content" in closer or (isinstance(dialect, TagForm) and dialect.names == "attribute")),
    )


def dialects(*shapes: type) -> Sequence[str]:
    """The dialects with tags around values, those of these shapes."""
    wanted = shapes or (TagForm, PairForm, ToolElements)
    return [name for name, one in all_dialects().items() if isinstance(one, wanted) and name not in _OTHERS]


def own_tags(tags: Tags, key: str, other: str) -> dict[str, str]:
    """Values of `key` that hold tags of their form. The call has a parameter `other`."""
    opener, closer = tags.open(key), tags.close(key)
    inner = tags.element(other, "y")
    return {
        "an element of its own": f"a {tags.element(key, 'x')} b",
        "two of them": f"{tags.element(key, 'x')}\n{tags.element(key, 'z')} b",
        "one in the other": f"a {opener}x{tags.element(key, 'z')}{closer} b",
        "one alone": tags.element(key, "x"),
        "another parameter": f"see {inner} there",
        "another parameter at its end": f"see {inner}",
        "one that is not declared": f"see {tags.element('note', 'y')} there",
        "an opener": f"the tag {opener} opens it",
        "another's opener": f"the tag {tags.open(other)} opens it",
        "an opener at a line's start": f"so:\n{opener}\nand on",
        "a closer": f"the tag {closer} closes it",
        "both closers": f"the tags {closer} and {tags.end} end it",
        "a call": f"Write:\n{tags.of({'path': 'p', 'content': 'c'})}\nso.",
        "a call at its end": f"Write:\n{tags.of({'content': 'c', 'mode': 'm'})}",
        "two calls": f"{tags.of({'path': 'p'})}\n{tags.of({'content': 'c'})}\n",
    }
