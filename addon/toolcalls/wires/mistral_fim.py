"""`mistral_fim`: Mistral fills the gap between a prompt and a suffix (`/fim/completions`). Observed only.

https://docs.mistral.ai/api/endpoint/fim. A reply has the form of Chat Completions, so the wire of that API reads it. A
request cannot declare tools, so nothing is ever changed; the verdicts say what a call would have become.
"""

from functools import partial

from toolcalls.wires import Codec, ObservedCodec, Wire, all_wires


def _codec(*, streamed: bool) -> Codec:
    return ObservedCodec(all_wires()["openai_chat"].decoder(streamed=streamed))


WIRE = Wire("mistral_fim", "/fim/completions", partial(_codec, streamed=True), partial(_codec, streamed=False))
