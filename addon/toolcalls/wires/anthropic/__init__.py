"""`anthropic`: the Messages API, streamed (named SSE events) and whole.

https://docs.anthropic.com/en/api/messages, https://docs.anthropic.com/en/docs/build-with-claude/streaming. A reply is a
row of content blocks: text, thinking, calls of the client's tools (`tool_use`), and the provider's own tools. In a
stream each block is opened, sent in pieces and closed before the next one opens. A lane is a text block with the native
calls after it; calls before the first text belong to the first lane.

A call in the middle of a text closes the text's block, and text after the call is in a block of its own. A text block
without text is not sent: the event that opens it, and a `ping` after that, wait for its first text. Later blocks get
other indices, so from the first change on the codec follows what its client got, and every frame goes through `encode`.
A call that broke off is closed like any block, as the provider itself does where a reply meets its limit: its JSON
stays unfinished, and `stop_reason` says `max_tokens`. In a whole reply `input` is an object, which cannot be
unfinished: there such a call stays text. Calls that become text are in a text block after the calls, with an empty
line before the text of the next block, since clients join them. White space alone before a call is not sent: the API
refuses a block of it in the next request.

Clients take the blocks in `message_start` as whole blocks before all others (the API is said to send such where code
that runs at the provider calls a tool). Where one of them changes, all are sent event by event.

The block of a withdrawn native call (`Withdrawn`) is left out with all events about it; what replaces it, a text or
another call, follows in its place. Where its beginning was sent before, nothing more of it is, like any call that broke
off. In a whole reply such text is with the text before the calls, or in the place of the first withdrawn call.

Reasoning from the text becomes a thinking block with an empty signature, as servers of open models write it. Thinking,
redacted thinking, signatures, citations and the blocks of the provider's tools pass untouched.

    blocks         the content of a message, and why it ended
    block_places   to which block clients add a piece of arguments
    decoding       a stream's frames as events
    answer         a reply of our own making, for an error that quotes a call
    stream         a stream's frames, encoded from changed events
    client_stream  what the client of a stream has got, and new frames for it
    whole          a reply that comes as one body: its stream, folded
    replacement    calls of a whole reply as blocks
"""

from toolcalls.wires import Wire
from toolcalls.wires.anthropic import answer
from toolcalls.wires.anthropic.stream import Stream
from toolcalls.wires.anthropic.whole import Whole
from toolcalls.wires.vertex import publisher_of


class _Anthropic(Wire):
    """The wire. On Vertex AI its path names one of Anthropic's models: `publishers/anthropic/models/M:rawPredict`."""

    def matches(self, path: str) -> bool:
        """Any path of the API, behind a gateway's prefix or not, and Vertex AI's of Anthropic's models."""
        return super().matches(path) or publisher_of(path) == "anthropic"


WIRE = _Anthropic(
    "anthropic", "/v1/messages", Stream, Whole,
    answer=answer.whole, answering=answer.Answering,
    event_name="type", sequential_lanes=True, says_calls=True,
    call_id_prefix="toolu_",
)  # fmt: skip
