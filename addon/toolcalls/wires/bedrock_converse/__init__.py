"""`bedrock_converse`: Amazon Bedrock's Converse API, streamed (binary events) and whole.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html, `…_ConverseStream.html`. A reply is a
message of content blocks as in the Messages API, in other words: an object has one member, whose name says what it is,
where Messages has a `type`. In a stream that is the name of an event; `contentBlockStart` comes for calls alone, and a
text begins with its first piece. `metadata` ends a stream, `messageStop` says why the message ended. A service that
fails in the middle sends an exception.

So the codec is a translation around that of `anthropic`, which is asked for by its name: each event becomes one of
Messages, and what has become of that is said in Converse's words again. What Messages has no word for (citations,
images, the provider's own tools, padding) goes along as it came. An event that nothing changes is not translated back.

    streamed      events of a stream, in the words of Messages and back
    whole         a whole reply, likewise
    codec         the codec and the answer around those of Messages
"""

from typing import ClassVar

from toolcalls.wires.bedrock_converse import codec
from toolcalls.wires.bedrock_runtime import BedrockRuntime
from toolcalls.wires.frames import Form


class _Converse(BedrockRuntime):
    """The wire."""

    stream_path: ClassVar[str] = "/converse-stream"
    stream_form: ClassVar[Form] = "eventstream"


WIRE = _Converse(
    "bedrock_converse", "/converse", codec.Stream, codec.TRANSLATION.whole,
    answer=codec.answer, answering=codec.Answering,
    sequential_lanes=True, says_calls=True,
    call_id_prefix="tooluse_", form_in_path=True,
)  # fmt: skip
