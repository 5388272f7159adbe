"""`openai_responses`: the Responses API, streamed (`response.*` over SSE, or one a WebSocket message) and whole.

https://platform.openai.com/docs/api-reference/responses. A reply is a row of output items: messages, calls, reasoning,
and the items of hosted tools. A stream has the same text in five places (the delta, the ends of the text, of the part
and of the item, and the whole response at the end), so the codec follows what its client got from the first frame on.
A lane is a text part of a message; native calls belong to the text part before them, those before the first text to
that one.

Items follow each other and never nest. A call in the middle of a message's text closes that message, and text after
the call is in a message of its own, with an id of its own. A message without text is not sent: the frames that open it
wait for its first text. Later items get other places, events other numbers. A call that broke off gets no end
(`arguments.done`, `output_item.done`): the response is then `incomplete`, as if it had met its limit. Calls that become
text are in a message of their own at the end.

The item of a withdrawn native call (`Withdrawn`) is left out of the stream and of the whole response; what replaces it,
a message or another call, is an item of ours in its place. Where its beginning was sent before, nothing more of it is,
like any call that broke off. A call that only the whole response holds is read there. In a whole reply such text is
with the message before the calls, or in the place of the first withdrawn call.

Reasoning from the text becomes a reasoning item with `reasoning_text`, as servers of open models write it. Every call
that the client makes is one of the hub's (`calls`), with a form of its own where it is no function's: a custom tool
that is called in text becomes a `custom_tool_call`. The items of hosted tools and MCP pass untouched.

    calls           the kinds of items that are calls of the client's
    items           messages, reasoning, the response around them
    mending         damaged native calls, as they should have come
    answer          a reply of our own making, for an error that quotes a call
    decoding        a stream's frames as events
    stream          a stream's frames, encoded from changed events, by the handlers in
    message_frames    text, its parts and messages
    item_frames       items and the arguments of native calls
    final_frame       the whole response at the end, and what only that holds
    upstream_items  what the client has got of each of the upstream's items
    client_stream   what the client of a stream has got, and new frames for it
    repeated_texts  what the client of a stream is given again of a text, where rules may block
    whole           a reply that comes as one body: it is encoded as the last frame of a stream without any other
    replacement     calls that only the last frame holds
"""

from urllib.parse import urlsplit

from toolcalls.wires import Wire
from toolcalls.wires.openai_responses import answer
from toolcalls.wires.openai_responses.decoding import Events
from toolcalls.wires.openai_responses.mending import StreamMender, WholeMender
from toolcalls.wires.openai_responses.stream import Stream
from toolcalls.wires.openai_responses.whole import Whole


class _OpenAIResponses(Wire):
    """The wire. Other paths below `/responses` (`/compact`, `/input_tokens`, `/{id}/cancel`) have other replies."""

    def is_retrieval(self, path: str) -> bool:
        """A response by its id: one that was made in the background, or a stream that is resumed."""
        before, _, id_ = urlsplit(path).path.rstrip("/").rpartition("/")
        return id_.startswith("resp_") and before.endswith("/responses")


WIRE = _OpenAIResponses(
    "openai_responses",
    "/responses",
    Stream,
    Whole,
    Events,
    answer=answer.whole,
    answering=answer.Answering,
    mends_stream=StreamMender,
    mends_whole=WholeMender,
    event_name="type",
    sequential_lanes=True,
    shows_open_calls=True,
)
