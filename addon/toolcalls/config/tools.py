"""The key `tools`: tools that a route knows beside those of the request."""

from typing import Any

from toolcalls.config.keys import Keys
from toolcalls.config.mistakes import Mistake, quote
from toolcalls.config.nodes import Node
from toolcalls.config.readers import Reader, as_list, as_mapping, as_text, as_word, flag, one_of, plain_value
from toolcalls.request import Tool


def _parameters(node: Node, where: str) -> dict[str, Any]:
    as_mapping(node, where)
    return {"schema": plain_value(node)}


class ToolKeys:
    """The reader of the key."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    def tools(self, node: Node, where: str) -> dict[str, Any]:
        """A list of tools, each name once."""
        tools: dict[str, Tool] = {}
        for i, item in enumerate(as_list(node, where, "a list of tools")):
            tool = self._tool(item, f"{where}[{i}]")
            if tool.name in tools:
                raise Mistake(item.line, f"{where}[{i}]: the tool {quote(tool.name)} is given twice; expected it once")
            tools[tool.name] = tool
        return {"tools": tuple(tools.values())}

    def _tool(self, node: Node, where: str) -> Tool:
        """A tool, flat or in the form of an OpenAI request (https://platform.openai.com/docs/api-reference/chat)."""
        fields = as_mapping(node, where)
        kind = one_of("type", ("function",))
        if "function" in fields:
            self._keys.read_mapping(node, where, {"type": kind, "function": lambda _node, _where: {}})
            node, where = fields["function"][1], f"{where}.function"
            fields = as_mapping(node, where)
        if "name" not in fields:
            raise Mistake(node.line, f'{where}: expected a tool with the key "name"; found none')
        readers: dict[str, Reader] = {
            "name": lambda node, where: {"name": as_word(node, where, "a name")},
            "description": lambda node, where: {"description": as_text(node, where)},
            "parameters": _parameters,
            "type": kind,
            "strict": flag("strict"),
        }
        found = self._keys.read_mapping(node, where, readers)
        return Tool(found.get("name", where), found.get("schema", {}), found.get("description", ""))
