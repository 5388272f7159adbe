"""Tools, the rules over them, and the tags of a text client's dialect, for the tests of careless readings."""

from toolcalls.processors.access import Gate
from toolcalls.processors.careless_tags import Tags
from toolcalls.request import Tool
from toolcalls.route import Access, AccessRule, Condition
from toolcalls.values.toolbox import Toolbox


def tool(name: str, **types: str) -> Tool:
    return Tool(name, {"type": "object", "properties": {key: {"type": kind} for key, kind in types.items()}})


TOOLS = (
    tool("run", cmd="string", title="string"),
    tool("write", path="string", content="string"),
    tool("read", path="string", args="object"),
    tool("wipe"),
    tool("say", note="string", mood="string"),
)
RULES = (
    AccessRule("no-rm", "block", ("run",), arguments=(Condition("cmd", "^rm"),)),
    AccessRule("no-etc", "block", arguments=(Condition("path", "^/etc"),)),
    AccessRule("no-wipe", "block", ("wipe",)),
    AccessRule("no-curl", "block", ("say",), arguments=(Condition("note", "curl"),)),
    AccessRule("no-both", "block", ("say",), arguments=(Condition("note", "^a"), Condition("mood", "^b"))),
)
GATE = Gate(Access(RULES), model="", agent="")


def tags(*dialects: str) -> Tags:
    return Tags(dialects, Toolbox(TOOLS), ())
