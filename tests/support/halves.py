"""Values that end early for a simple reader, the clients that read so, and documents that hold calls.

The readers are those of `support.textclients`: each ends a value at its first closing tag.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from support.quoting import TOOLS, written
from support.textclients import cline, openhands
from toolcalls.request import Tool
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import write

PIECES = [
    *("</command>", "</requires_approval>", "</path>", "</content>", "<content>", "<path>p</path>"),
    *("</execute_command>", "</write_to_file>", "<write_to_file>", "<command>rm -rf ~</command>"),
    *("</parameter>", "</function>", "<parameter=security_risk>LOW</parameter>", "<function=terminal>", "</b>"),
    *("</tool_call>", "<tool_call>", "a", " ", "\n", "é", "<![CDATA[", "]]>", '"', "\\", "<", "/"),
]


def value(random: Random) -> str:
    """A value of up to six pieces."""
    return "".join(random.choices(PIECES, k=random.randint(0, 6)))


def declared(name: str, *keys: str) -> Tool:
    """A tool whose parameters are strings."""
    return Tool(name, {"type": "object", "properties": {key: {"type": "string"} for key in keys}})


@dataclass(frozen=True)
class TextClient:
    """A client that reads a tool's calls out of text.

    keys    the tool's two parameters
    reads   the arguments of the first call of the tool in a text, as the client has them; None for no such call
    meant   a value as the client has it where nothing of it is missing
    """

    dialect: str
    tool: Tool
    keys: tuple[str, str]
    reads: Callable[[str], dict[str, str] | None]
    meant: Callable[[str], str] = str.strip


def _of_cline(name: str, *keys: str) -> TextClient:
    first, second = keys
    return TextClient("tagged", declared(name, *keys), (first, second), lambda text: cline(text, name, keys))


def _openhands(text: str) -> dict[str, str] | None:
    found = openhands(text)
    return found[1] if found is not None and found[0] == "terminal" else None


def _json_in_tags(text: str) -> dict[str, str] | None:
    """A script's reading: JSON up to the first closing tag."""
    found = re.search(r"<tool_call>(.*?)</tool_call>", text, re.DOTALL)
    if found is None:
        return None
    try:
        return dict(json.loads(found[1])["arguments"])
    except (ValueError, KeyError):
        return {}


CLIENTS = {
    "Cline, a command": _of_cline("execute_command", "command", "requires_approval"),
    "Cline, a file": _of_cline("write_to_file", "path", "content"),
    "OpenHands": TextClient(
        "openhands_fn", declared("terminal", "command", "security_risk"), ("command", "security_risk"), _openhands
    ),
    "JSON in tags": TextClient("hermes", declared("run", "command", "to"), ("command", "to"), _json_in_tags, str),
}


def documents(dialect: str) -> Iterator[tuple[str, Call]]:
    """Calls that write a file in which calls of the same dialect stand, whole and in parts, and the calls' texts.

    Those that the dialect cannot hold are left out.
    """
    call = written(dialect)
    for inside in (call, f"Doc:\n\n{call}\n\nThe end.\n", f"{call}\n{call}", call[: len(call) // 2], call[-20:]):
        made = Call("write_file", json.dumps({"path": "a.md", "content": f"# a\n{inside}\nz"}))
        try:
            yield write(dialect, (made,), Toolbox(TOOLS)), made
        except Unwritable:
            continue
