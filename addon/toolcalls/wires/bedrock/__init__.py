"""`bedrock`: Amazon Bedrock's `InvokeModel`, streamed (binary events) and whole: bodies of the models' own APIs.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html and
`…_InvokeModelWithResponseStream.html`. Each event of a stream is a `chunk` that holds a payload of the model's API in
base64; `wires.frames` unwraps it. What the API is shows in the first payload:

    Claude               the Messages API (`anthropic`)
    Nova                 the Converse API (`bedrock_converse`), with the names of events in the payloads
    gpt-oss, Qwen, …     Chat Completions; observed only, as its choices are no parts of one reply
    Llama, Mistral, …    completions of a prompt, which have no place for calls; observed only

The codec and the answer are those of that API, whose wire is asked for by its name. An exception in the
middle of a stream ends the reply.

    bodies        which API a body belongs to
    codec         the codec and the answer of that API
    completions   the texts of completions
"""

from functools import partial
from typing import ClassVar

from toolcalls.request import Request
from toolcalls.wires.bedrock import codec
from toolcalls.wires.bedrock.bodies import api_of_reply
from toolcalls.wires.bedrock_runtime import BedrockRuntime
from toolcalls.wires.frames import FRAMES, Form


class _Invoke(BedrockRuntime):
    """The wire."""

    stream_path: ClassVar[str] = "/invoke-with-response-stream"
    stream_form: ClassVar[Form] = "eventstream_chunks"

    def unasked(self, body: bytes, form: Form) -> Request | None:
        """The first payload that says whose it is says whether it has a place for calls."""
        payloads = [body] if form == "whole" else [frame.data or b"" for frame in FRAMES[form]().feed(body)]
        api = next(filter(None, map(api_of_reply, payloads)), None)
        return None if api is None else Request(carries_calls=api in codec.WITH_CALLS)


WIRE = _Invoke(
    "bedrock", "/invoke", partial(codec.Codec, streamed=True), partial(codec.Codec, streamed=False),
    answer=codec.answer, answering=codec.Answering,

    sequential_lanes=True, says_calls=True, call_id_prefix="toolu_bdrk_", form_in_path=True,
)  # fmt: skip
