"""The stream that the client gets, in the words of this API: contents, and calls, which are numbered apart."""

from toolcalls.events import CallStart
from toolcalls.values.rawjson import Fields
from toolcalls.wires.cohere import streamed
from toolcalls.wires.content_blocks import Block, BlockStream

# What contents of our own are called.
_KINDS = {"text": "text", "reasoning": "thinking"}


class ClientStream(BlockStream):
    """The client's side of one reply. A call has the hub's index."""

    def _index_of(self, call: CallStart | None) -> int:
        return self.take_place() if call is None else call.index

    def started(self, block: Block, call: CallStart | None) -> Fields:
        if call is not None:
            return streamed.call_start(block.index, call.id, call.name)
        return streamed.content_start(block.index, _KINDS[block.kind])

    def said(self, block: Block, text: str) -> Fields:
        if block.kind == "call":
            return streamed.call_delta(block.index, text)
        return streamed.content_delta(block.index, _KINDS[block.kind], text)

    def stopped(self, block: Block) -> Fields:
        return streamed.call_end(block.index) if block.kind == "call" else streamed.content_end(block.index)

    def text_in(self, event: Fields) -> str:
        return streamed.text_in(event)

    def reworded(self, block: Block, event: Fields, text: str) -> Fields:  # noqa: ARG002
        return streamed.with_text(event, text)
