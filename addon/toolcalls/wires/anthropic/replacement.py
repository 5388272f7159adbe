"""Calls of a whole reply as blocks of this API (`wires.replacement`)."""

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires.anthropic.blocks import input_of
from toolcalls.wires.replacement import WholeCall


class BlockCall(WholeCall):
    """A call of a whole reply, as far as it came."""

    def block(self) -> Fields:
        """The call as a content block."""
        named = {"id": rawjson.string(self.start.id), "name": rawjson.string(self.start.name)}
        return {"type": "tool_use", **named, "input": rawjson.json_text(self.arguments or "{}")}

    def is_unchanged(self, item: Fields) -> bool:
        is_same = (self.start.name, self.arguments) == (rawjson.word(item, "name"), input_of(item))
        return is_same and self.start.dialect is None and rawjson.word(item, "id") in {"", self.start.id}
