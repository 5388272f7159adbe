"""To which block a client adds a piece of arguments.

The official SDKs keep the blocks in a list as they come, and look for one at the place `index` of it, from behind where
that is negative (`_accumulate_event` in anthropic-python). Some agents take the latest call for every piece.
"""


class BlockPlaces:
    """The blocks of a message in order: the call of each, None for a block that is no call."""

    def __init__(self) -> None:
        self._blocks: list[object | None] = []
        self._latest: int | None = None  # the index of the latest block, where that takes pieces of arguments

    def came(self, index: int, kind: str, call: object | None) -> None:
        """Note a block that begins. The provider's own tools take arguments, too."""
        self._blocks.append(call)
        self._latest = index if kind.endswith("tool_use") else None

    def agree(self, index: int, call: object | None) -> bool:
        """Whether every client adds a piece with this index to the same block, which is this call."""
        blocks = self._blocks
        placed = blocks[index] if -len(blocks) <= index < len(blocks) else None
        return index == self._latest and (placed is None or placed is call)
