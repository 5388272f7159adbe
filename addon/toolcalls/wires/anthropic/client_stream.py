"""The stream that the client gets, in the words of this API. A text block that has no text is not sent."""

from toolcalls.events import CallStart
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires.anthropic.blocks import gap
from toolcalls.wires.anthropic.decoding import DELTA, START, STOP
from toolcalls.wires.content_blocks import Block, BlockStream, Kind

# What a block begins with, and what its pieces and their texts are called.
_BEGUN: dict[Kind, Fields] = {
    "text": {"type": "text", "text": ""},
    "reasoning": {"type": "thinking", "thinking": "", "signature": ""},
}
_PIECES: dict[Kind, tuple[str, str]] = {
    "text": ("text_delta", "text"),
    "reasoning": ("thinking_delta", "thinking"),
    "call": ("input_json_delta", "partial_json"),
}


class ClientStream(BlockStream):
    """The client's side of one reply. What is open is a text or a block of ours.

    made                 how many of its calls were made here
    omitted              how many native calls it has not got
    lifted               a call came from text, or from a processor
    broken               a call broke off
    ends_with_call_text  its latest text is calls that became text
    """

    blanks_wait = True

    def __init__(self) -> None:
        super().__init__()
        self.made = 0
        self.omitted = 0
        self.lifted = False
        self.broken = False
        self.ends_with_call_text = False
        self._withdrawn: dict[str, Fields] = {}  # native calls that it has not got, by their ids

    def started(self, block: Block, call: CallStart | None) -> Fields:
        begun = _BEGUN[block.kind] if call is None else self._call(call)
        return {"type": START, "index": block.index, "content_block": begun}

    def _call(self, call: CallStart) -> Fields:
        """The block of a call. One that is native again has what else was in its own."""
        self.made += 1
        self.lifted = self.lifted or call.dialect is not None
        kept = self._withdrawn.get(call.id, {}) if call.dialect is None else {}
        named = {"id": rawjson.string(call.id), "name": rawjson.string(call.name), "input": {}}
        return {"type": "tool_use", **rawjson.without(kept, "type"), **named}

    def said(self, block: Block, text: str) -> Fields:
        kind, key = _PIECES[block.kind]
        return {"type": DELTA, "index": block.index, "delta": {"type": kind, key: rawjson.string(text)}}

    def stopped(self, block: Block) -> Fields:
        return {"type": STOP, "index": block.index}

    def text_in(self, event: Fields) -> str:
        return rawjson.word(rawjson.fields(event.get("delta")), "text")

    def _say(self, block: Block, text: str, event: Fields | None) -> None:
        if block.kind == "text":
            wrote, self.ends_with_call_text = self.ends_with_call_text, False
            if wrote and (between := gap(text)):
                super()._say(block, between, None)
        super()._say(block, text, event)

    def _break_off(self, block: Block) -> None:
        self.broken = True
        super()._break_off(block)

    def begin_block(self, opener: Fields | None) -> None:
        """End what is open, since another block of the upstream's begins.

        opener   the event that opens it, where it is a text: it is sent with the first text
        """
        self.close()
        self.held = opener

    def omit(self, call: Fields) -> None:
        """Leave out a native call's block."""
        self._withdrawn[rawjson.word(call, "id")] = call
        self.omitted += 1
