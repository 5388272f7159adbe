"""`gemini_interactions`: Gemini's Interactions API, streamed (named SSE events) and whole.

https://ai.google.dev/api/interactions-api, https://ai.google.dev/gemini-api/docs/interactions/streaming. An interaction
is a row of steps: thoughts, the model's output, calls of the client's functions (`function_call`), and the calls and
results of tools that Google runs. In a stream each step is started, sent in pieces and stopped, as a content block is
in the Messages API; `interaction.completed` says how it ended (`requires_action` where the client has calls to run).

So the codec is a translation around that of `anthropic`, which is asked for by its name: each event becomes one of
Messages, and what has become of that is said in the words of this API again. What Messages has no word for goes along
as it came, and an event that nothing changes is not translated back. In a whole reply each content of a `model_output`
is a block of its own; those that stay beside each other are one step again.

A piece of output that is no text (an image) gets a step of its own where its step has no text by then, since a text
without text is not sent.

    streamed      events of a stream, in the words of Messages and back
    whole         a whole reply, likewise
    codec         the codec and the answer around those of Messages
"""

from urllib.parse import urlsplit

from toolcalls.wires import Wire
from toolcalls.wires.gemini_interactions import codec


class _Interactions(Wire):
    """The wire."""

    def is_retrieval(self, path: str) -> bool:
        """An interaction by its id: one that was made in the background, or a stream that is resumed."""
        before, _, id_ = urlsplit(path).path.rstrip("/").rpartition("/")
        return id_.startswith("v1_") and before.endswith(self.path)


WIRE = _Interactions(
    "gemini_interactions", "/interactions", codec.Stream, codec.TRANSLATION.whole,
    answer=codec.answer, answering=codec.Answering,

    event_name="event_type", sequential_lanes=True, says_calls=True,
)  # fmt: skip
