"""Calls and the ways to quote them: the cases of quoting.yaml."""

from functools import cache

import yaml

from casefiles import CASES
from toolcalls.dialects import all_dialects
from toolcalls.request import Tool
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import write

COMMAND = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
CONTENT = {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}}
TOOLS = (Tool("run_shell", COMMAND), Tool("write_file", CONTENT))
CALL = Call("run_shell", '{"command": "rm -rf build"}')
CASE = yaml.safe_load((CASES / "quoting.yaml").read_text(encoding="utf-8"))


@cache
def written(dialect: str, call: Call = CALL) -> str:
    """A call as a dialect writes it; "" where it cannot."""
    try:
        return write(dialect, (call,), Toolbox(TOOLS))
    except Unwritable:
        return ""


def filled(text: str, call: str) -> str | None:
    """A text with the call in its places; None where the call has lines and the place has room for one."""
    if "{line}" in text and "\n" in call:
        return None
    lines = call.split("\n")
    places = {
        "{call}": call,
        "{line}": call,
        "{indented}": "\n".join(f"    {line}" for line in lines),
        "{quoted}": "\n".join(f"> {line}" for line in lines),
        "{half}": call[: call.find("rm -rf") + 3],
    }
    for place, filling in places.items():
        text = text.replace(place, filling)
    return text


# What is escaped is quoted, to `strict`.
DIALECTS = [name for name in all_dialects() if written(name) and name != "invoke_escaped"]
# In `standard` the words behind the call come too late.
TOO_LATE = {"Q19-hermes"}
