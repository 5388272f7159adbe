"""`openai_responses`: the Responses API, streamed (`response.*` over SSE, or one a WebSocket message) and whole.

https://platform.openai.com/docs/api-reference/responses. A reply is a row of output items: messages, calls, reasoning,
what hosted tools did. The same text stands in five places of a stream (the delta, the ends of the text, of the part and
of the item, and the whole response at the end), so the codec follows what its client has been told from the first frame
on. A lane is a text part of a message; native calls belong to the text part before them, those before the first text to
that one.

Items follow each other and never nest. A call that is made in the middle of a message's text closes that message; text
behind the call stands in a message of its own, with an id of its own. A message that would show nothing is not shown:
the frames that open it only leave with its first text. Items behind get other places, events other numbers. A call that
broke off gets no end (`arguments.done`, `output_item.done`): the response is then `incomplete`, as if it had met its
limit. Calls that become text stand in a message of their own at the end.

The item of a native call that goes (`Withdrawn`) goes with all frames about it and from the whole response; what stands
in its place, a message or a call made anew, is an item of ours there. One that had begun to leave is told nothing more,
like any call that broke off. A call that only the whole response holds is read there. In a whole reply such text stands
with the message before the calls, or in the place of the first that goes.

Reasoning that stood in the text becomes a reasoning item with `reasoning_text`, as servers of open models write it.
Every call that the client makes is one of the hub's (`calls`), with a form of its own where it is no function's: a
custom tool that is called in text becomes a `custom_tool_call`. What hosted tools and MCP did passes untouched.

    calls      the kinds of items that are calls of the client's
    items      messages, reasoning, the response around them
    request    what a request says
    reading    a stream's frames as events
    client     what the client of a stream is told
    stream     what becomes of a stream's frames
    replacement what stands in the places of native calls that came whole
    whole      a reply that comes as one body
"""

from urllib.parse import urlsplit

from toolcalls.wires import Wire
from toolcalls.wires.openai_responses.reading import Events
from toolcalls.wires.openai_responses.request import request_of
from toolcalls.wires.openai_responses.stream import Stream
from toolcalls.wires.openai_responses.whole import Whole


class _OpenAIResponses(Wire):
    """The wire. Other paths below `/responses` (`/compact`, `/input_tokens`, `/{id}/cancel`) have other replies."""

    def is_retrieval(self, path: str) -> bool:
        """A response by its id: one that was made in the background, or a stream that is resumed."""
        before, _, id_ = urlsplit(path).path.rstrip("/").rpartition("/")
        return id_.startswith("resp_") and before.endswith("/responses")


WIRE = _OpenAIResponses(
    "openai_responses", "/responses", request_of, Stream, Whole, Events, has_event_names=True, sequential_lanes=True
)
