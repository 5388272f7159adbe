"""`anthropic`: the Messages API, streamed (named SSE events) and whole.

https://docs.anthropic.com/en/api/messages, https://docs.anthropic.com/en/docs/build-with-claude/streaming. A reply is a
row of content blocks: text, thinking, calls of the client's tools (`tool_use`), what the provider's own tools did. In a
stream each block is opened, told in pieces and closed before the next one opens. A lane is a text block with the native
calls behind it; those before the first text belong to that one.

A call that is made in the middle of a text closes its block; text behind the call stands in a block of its own. A text
block that would show nothing is not shown: the event that opens it, and a `ping` behind that, only leave with its first
text. Blocks behind get other indices, so from the first change on the codec follows what its client has been told, and
every frame goes through `encode`. A call that broke off is closed like any block, as the provider itself does where a
reply meets its limit: its JSON stays unfinished, and `stop_reason` says `max_tokens`. In a whole reply `input` is an
object, which cannot be unfinished; there such a call stays text. Calls that become text stand in a text block behind
the calls, an empty line before the next text block's text, since clients join them. White space alone before a call is
not shown: the API refuses a block of it in the next request.

Clients take the blocks that `message_start` brings along as whole ones before all others (where code that runs at the
provider calls a tool, the API is said to send such). Where one of them changes, all are told event by event.

The block of a native call that goes (`Withdrawn`) goes with all that is told of it; what stands in its place, a text or
a call made anew, follows from there. One that had begun to leave is told nothing more, like any call that broke off. In
a whole reply such text stands with the text before the calls, or in the place of the first that goes.

Reasoning that stood in the text becomes a thinking block with an empty signature, as servers of open models write it.
Thinking, redacted thinking, signatures, citations and the blocks of the provider's tools pass untouched.

    blocks     the content of a message, and why it ended
    request    what a request says
    reading    a stream's frames as events
    client     what the client of a stream is told
    stream     what becomes of a stream's frames
    replacement what stands in the places of native calls that came whole
    whole      a reply that comes as one body
"""

from urllib.parse import urlsplit

from toolcalls.wires import Wire
from toolcalls.wires.anthropic.request import request_of
from toolcalls.wires.anthropic.stream import Stream
from toolcalls.wires.anthropic.whole import Whole


class _Anthropic(Wire):
    """The wire. On Vertex AI its path names one of Anthropic's models: `publishers/anthropic/models/M:rawPredict`."""

    def matches(self, path: str) -> bool:
        """Any path of the API, behind a gateway's prefix or not, and Vertex AI's."""
        plain = urlsplit(path).path.rstrip("/").replace("%3A", ":").replace("%3a", ":")
        if "/publishers/anthropic/models/" in plain:
            model, _, method = plain.rpartition("/")[2].rpartition(":")
            return method in {"rawPredict", "streamRawPredict"} and model != "count-tokens"
        return plain.endswith(self.path)


WIRE = _Anthropic(
    "anthropic", "/v1/messages", request_of, Stream, Whole,
    has_event_names=True, sequential_lanes=True, call_id_prefix="toolu_",
)  # fmt: skip
