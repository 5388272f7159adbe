"""`openai_chat`: Chat Completions, streamed (`chat.completion.chunk` over SSE) and whole.

https://platform.openai.com/docs/api-reference/chat. What clients insist on beyond it: name and id in the first chunk of
a call and nowhere else, `index` in every chunk of it, arguments appended, `{}` and never an empty string, a chunk with
`finish_reason` always. A lane is a choice.

Frames are decoded with types, only the fields that matter. A changed frame keeps its other fields as raw JSON, so no
number or unknown field is re-spelled; new chunks carry those outer fields of the reply's own first chunk that every
chunk repeats.

The older form of a call (`function_call` beside the content, one a message, without an id) is one like the others.
To a client that declares its tools as `functions`, the first lifted call of a message is written like that.

    calls         the forms of a call, and how each is written
    choices       the content of a choice, and why it ended
    entry_places  where SDKs put the entries of `tool_calls`
    decoding      a reply's frames as events
    answer        a reply of our own making, for an error that quotes a call
    stream        a stream's chunks, written again
    whole         a reply that comes as one body
"""

from toolcalls.wires import Wire
from toolcalls.wires.openai_chat import answer
from toolcalls.wires.openai_chat.stream import Stream
from toolcalls.wires.openai_chat.whole import Whole
from toolcalls.wires.vertex import publisher_of

_ON_VERTEX = frozenset({"ai21", "mistralai"})


class _OpenAIChat(Wire):
    """The wire. On Vertex AI two publishers' models take its bodies: `publishers/mistralai/models/M:rawPredict`."""

    def matches(self, path: str) -> bool:
        """Any path of the API, behind a gateway's prefix or not, and Vertex AI's of two publishers."""
        return super().matches(path) or publisher_of(path) in _ON_VERTEX


WIRE = _OpenAIChat(
    "openai_chat", "/chat/completions", Stream, Whole,
    answer=answer.whole, answering=answer.Answering,
    shows_open_calls=True, says_calls=True, stop_names_choice=True,
)  # fmt: skip
