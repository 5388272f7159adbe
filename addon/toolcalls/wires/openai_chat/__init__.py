"""`openai_chat`: Chat Completions, streamed (`chat.completion.chunk` over SSE) and whole.

https://platform.openai.com/docs/api-reference/chat. What clients insist on beyond it: name and id in the first chunk of
a call and nowhere else, `index` in every chunk of it, arguments appended, `{}` and never an empty string, a chunk with
`finish_reason` always. A lane is a choice.

Frames are decoded with types, only the fields that matter. A changed frame keeps its other fields as raw JSON, so no
number or unknown field is re-spelled; new chunks carry those outer fields of the reply's own first chunk that every
chunk repeats.

The older form of a call (`function_call` beside the content, one a message, without an id) is one like the others.
To a client that declares its tools as `functions`, the first lifted call of a message is written like that.

    calls      the forms of a call, and how each is written
    choices    the content of a choice, and why it ended
    asked      what a request says
    reading    a reply's frames as events
    stream     a stream's chunks, written again
    whole      a reply that comes as one body
"""

from urllib.parse import urlsplit

from toolcalls.request import Request
from toolcalls.wires import Codec, form_of
from toolcalls.wires.frames import Form
from toolcalls.wires.openai_chat.declared import request_of
from toolcalls.wires.openai_chat.stream import Stream
from toolcalls.wires.openai_chat.whole import Whole


class _OpenAIChat:
    """The wire."""

    name = "openai_chat"
    has_event_names = False
    sequential_lanes = False
    calls_are_whole = False
    call_id_prefix = "call_"

    def form(self, path: str, content_type: str) -> Form | None:  # noqa: ARG002 - what it is, its type says
        """An event stream, or one JSON object."""
        return form_of(content_type)

    def matches(self, path: str) -> bool:
        """Any path that ends in `/chat/completions`: gateways and local servers put their own prefixes before it."""
        return urlsplit(path).path.rstrip("/").endswith("/chat/completions")

    def codec(self, *, streamed: bool) -> Codec:
        """A codec for one reply."""
        return Stream() if streamed else Whole()

    def request(self, body: bytes) -> Request:
        """What a request says. Raises ValueError for what is none."""
        return request_of(body)


WIRE = _OpenAIChat()
