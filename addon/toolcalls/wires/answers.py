"""A reply of our own making: what the client is given where the upstream's error quotes the call that its model made.

Each API that has a place for calls writes such a reply in a file `answer` of its own, whole or as a stream. Where a
stream has begun before its error came, only the rest is written, after what the client has already.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Reasoning, Text
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.values.usage import Tokens

_UNCOUNTED = Tokens()


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A call. `arguments`: its argument JSON, one object."""

    id: str
    name: str
    arguments: str

    @property
    def object(self) -> object:
        """The arguments as a member of JSON."""
        return rawjson.json_text(self.arguments)


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply with calls.

    text, reasoning   what comes before the calls; "" for none
    digest            tells the reply from others: what the ids in it are made of
    model             as the request names it
    created           seconds since 1970, 0 where nobody knows; `created_at` is the same moment as ISO 8601 has it
    tokens            what the error says of them
    """

    calls: tuple[AnsweredCall, ...]
    digest: str
    text: str = ""
    reasoning: str = ""
    model: str = ""
    created: int = 0
    created_at: str = "1970-01-01T00:00:00Z"
    tokens: Tokens = _UNCOUNTED

    def events(self) -> Iterator[Event]:
        """What the reply holds, as events of a text."""
        if self.reasoning:
            yield Reasoning(self.reasoning, moved=True)
        if self.text:
            yield Text(self.text)
        for index, call in enumerate(self.calls):
            yield CallStart(index, call.name, id=call.id, dialect="")
            yield CallPiece(index, call.arguments)
            yield CallEnd(index)


class Answering:
    """Writes the rest of one stream, and finds calls that the API has refused in frames of its own.

    answered   the stream has a call, has ended, or is several replies side by side: no answer goes on with it
    """

    def __init__(self) -> None:
        self.answered = False

    def saw(self, payload: bytes) -> None:
        """A payload of a stream that is not `answered`, in front of the error; the same one may come twice."""

    def rest(self, answer: Answer) -> Sequence[bytes] | None:
        """The payloads that go on with the stream and end it; None where it has a call already, or has ended."""
        raise NotImplementedError

    def refuses(self, payload: bytes) -> bool:  # noqa: ARG002 - most APIs say so in an error
        """Whether a frame that is no error says that a call was refused, and quotes it."""
        return False

    def in_place(self, payload: bytes, answer: Answer) -> bytes | None:
        """Such a frame with the calls instead; None where it has calls already."""
        raise NotImplementedError


def counted(tokens: Tokens, input_: str, output: str) -> Fields:
    """A usage object, with what the server counted under these names; {} for nothing."""
    found = {input_: tokens.input, output: tokens.output}
    return {name: count for name, count in found.items() if count is not None}
