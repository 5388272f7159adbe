"""What mends the values of calls, by the tools that a request declares."""

from toolcalls.values.json_schema import SchemaCheck
from toolcalls.values.toolbox import Toolbox
from toolcalls.values.type_mending import ToolSchema
from toolcalls.values.value_mending import Held, ValueMending


class ToolValues:
    """What mends the values of one reply's calls, or of a history's."""

    def __init__(self, tools: Toolbox, held: Held, *, types: bool, json: bool) -> None:
        self._tools = tools
        self._held = held
        self._types = types
        self._json = json
        self._schemas: dict[str, ToolSchema | None] = {}

    def of_call(self, name: str, instead: str) -> ValueMending | None:
        """What mends the values of a call of this tool, None for nothing."""
        schema = self._schema(self._tools.resolve(name)) if self._types else None
        if schema is None and not self._json and not instead:
            return None
        return ValueMending(self._held, schema=schema, json=self._json, instead=instead)

    def _schema(self, tool: str) -> ToolSchema | None:
        if tool not in self._schemas:
            tools, validator = self._tools, self._tools.validator(tool)
            self._schemas[tool] = None
            if validator is not None:
                check = SchemaCheck(validator.schema)
                self._schemas[tool] = ToolSchema(validator, check, lambda path: tools.types(tool, *path))
        return self._schemas[tool]
