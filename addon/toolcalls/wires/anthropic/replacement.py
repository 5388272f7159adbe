"""Native calls in a whole reply, as blocks of this API (`toolcalls.standing`)."""

from collections.abc import Iterable, Sequence

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part
from toolcalls.wires import replacement as shared
from toolcalls.wires.anthropic.blocks import input_of


class Told(shared.Told):
    """A call in a whole reply, as far as it came."""

    def block(self) -> Fields:
        """It as a block."""
        told = {"id": rawjson.string(self.start.id), "name": rawjson.string(self.start.name)}
        return {"type": "tool_use", **told, "input": rawjson.json_text(self.written or "{}")}

    def stands_in(self, block: Fields) -> bool:
        """Whether it is the native call of this block, as it came."""
        is_same = (self.start.name, self.written) == (rawjson.word(block, "name"), input_of(block))
        return is_same and self.start.dialect is None and rawjson.word(block, "id") in {"", self.start.id}


class Standing(shared.Standing[Told, Fields]):
    """What stands in the places of the native calls of some blocks."""

    def __init__(self, blocks: Sequence[Fields], parts: Iterable[Part]) -> None:
        super().__init__(blocks, parts, Told, Told.stands_in)
