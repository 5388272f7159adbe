"""`cohere`: Cohere's API for chat, version 2, streamed (named SSE events) and whole.

https://docs.cohere.com/v2/reference/chat, https://docs.cohere.com/v2/docs/streaming. A reply is a message as in Chat
Completions, in other words: a list of contents (texts and thinking), calls whose arguments are a text, and a plan,
which is what the model thought before its calls. A stream begins and ends each content and each call; contents and
calls are numbered apart.

So what a reply holds, and what of it is damaged, is read by the codec of `openai_chat`, which is asked for by its name.
A call that was given no arguments is one without any: here that is no damage. A stream is written anew from
the hub's events: contents and calls follow each other and never nest, so text after a call is in a content of its own,
and a content without text is not sent. In a whole reply there is one text, as clients read the first one. A call that
broke off has no object for arguments, as it would where the reply met its limit.

Citations, plans, thinking and events that nobody knows pass as they came.

    streamed       events in the words of Chat Completions, and new ones
    stream         the codec of a stream
    client_stream  what the client of a stream has got
    whole          a reply that comes as one body
    answer         a reply of our own making, for an error that quotes a call
"""

from toolcalls.wires import Wire
from toolcalls.wires.cohere import answer
from toolcalls.wires.cohere.stream import Stream
from toolcalls.wires.cohere.whole import TRANSLATION

WIRE = Wire(
    "cohere", "/v2/chat", Stream, TRANSLATION.whole,
    answer=answer.whole, answering=answer.Answering,
    event_name="type", shows_open_calls=True, says_calls=True,
)  # fmt: skip
