"""`mistral_fim`: Mistral fills the gap between a prompt and a suffix (`/fim/completions`). Observed only.

https://docs.mistral.ai/api/endpoint/fim. A reply has the form of Chat Completions, so the wire of that API reads it. A
request cannot declare tools, so nothing is ever changed; the verdicts say what a call would have become.
"""

from functools import partial

from toolcalls.request import Request
from toolcalls.values import rawjson
from toolcalls.wires import Codec, ObservedCodec, Wire, all_wires
from toolcalls.wires.session_ids import session_in


def _codec(*, streamed: bool) -> Codec:
    return ObservedCodec(all_wires()["openai_chat"].decoder(streamed=streamed))


def request_of(body: bytes) -> Request:
    """The texts before and after the gap."""
    fields = rawjson.loaded(body)
    if not isinstance(fields, dict):
        raise ValueError("the request body is not an object")
    model, *texts = (fields.get(key) for key in ("model", "prompt", "suffix"))
    return Request(
        model=model if isinstance(model, str) else "",
        quotable=tuple(text for text in texts if isinstance(text, str) and text),
        carries_calls=False,
        session=session_in(fields),
    )


WIRE = Wire(
    "mistral_fim", "/fim/completions", request_of, partial(_codec, streamed=True), partial(_codec, streamed=False)
)
