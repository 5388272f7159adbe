"""Errors that quote the call which their model made, as the reply that it was meant to be (`mend: [errors]`).

An error is a payload of a stream, the body of a reply, or all that came with the status of an error. What is made of it
is in its place, as if the upstream had sent it, so everything else reads it like any reply: rules, the loop guard,
reactors, a text client's writer. Only one error of a reply is answered, and only where the reply has no call yet.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from toolcalls.events import Note
from toolcalls.ids import call_id
from toolcalls.mending.quoted_replies import QuotedReply
from toolcalls.values import rawjson
from toolcalls.values.usage import tokens_of
from toolcalls.wires import Wire
from toolcalls.wires.answers import Answer, AnsweredCall, Answering
from toolcalls.wires.frames import FRAMES, Form, Frame, event

_FAILED = "response.failed"


class AnsweredErrors:
    """The errors of one reply.

    read    what the body of an error quotes, as a reply
    seed    tells the exchange from others; asked for when ids are needed
    built   a new frame like another one
    model   as the request names it
    moment  when the reply came: seconds since 1970, and the same as ISO 8601 has it; None where nobody knows
    note    says what was answered; None while nothing was
    """

    def __init__(
        self,
        wire: Wire,
        read: Callable[[bytes], QuotedReply | None],
        *,
        streamed: bool,
        seed: Callable[[], bytes],
        built: Callable[[bytes, bytes], bytes],
        model: str,
        moment: tuple[int, str] | None,
    ) -> None:
        self.note: Note | None = None
        self._wire = wire
        self._read = read
        self._streamed = streamed
        self._seed = seed
        self._built = built
        self._model = model
        self._moment = moment
        self._answering: Answering | None = None if wire.answering is None else wire.answering()
        self._begun = False  # a payload came that was no error

    def waits_for(self, payload: bytes) -> bool:
        """Whether a payload is to be answered, if it can be. Any other one is remembered."""
        if self._answering is None or self.note is not None:
            return False
        if _is_error(payload) or self._answering.refuses(payload):
            return True
        self._begun = True
        if not self._answering.answered:
            self._answering.saw(payload)
        return False

    def instead_of(self, frame: Frame) -> list[Frame] | None:
        """The frames in the place of one that waits for an answer; None where it stays as it came."""
        if frame.data is None or (payloads := self._payloads(frame.data)) is None:
            return None
        if not self._streamed:
            return [Frame(payload, payload) for payload in payloads]
        return [Frame(self._built(payload, frame.raw), payload) for payload in payloads]

    def body_for(self, error: bytes, form: Form, status: int) -> bytes | None:
        """A whole body in the place of an error's with this status; None where there is none."""
        quoted = self._read(error)
        if quoted is None or self._answering is None or self._wire.answer is None:
            return None
        answer = self._answer(quoted, error)
        payloads = self._answering.rest(answer) if self._streamed else [self._wire.answer(answer)]
        self._noted(quoted, f"`{quoted.where}` in an error with status {status}")
        return _body(self._wire, payloads or (), form)

    def _payloads(self, payload: bytes) -> Iterable[bytes] | None:
        quoted = self._read(payload)
        if quoted is None or self._answering is None or self._wire.answer is None:
            return None
        answer = self._answer(quoted, payload)
        payloads: Iterable[bytes] | None
        if self._answering.refuses(payload):
            made = self._answering.in_place(payload, answer)
            payloads = None if made is None else [made]
            rule = "malformed_function_call"
        else:
            payloads = self._answering.rest(answer) if self._streamed else [self._wire.answer(answer)]
            rule = "call_in_error"
        if payloads is not None:
            self._noted(quoted, f"`{quoted.where}`", rule)
        return payloads

    def _noted(self, quoted: QuotedReply, where: str, rule: str = "call_in_error") -> None:
        many = "a call" if len(quoted.calls) == 1 else f"{len(quoted.calls)} calls"
        said = f"{where} quotes {many}; the client was given a reply with it instead"
        self.note = Note(rule, said, warns=True, mended=True)

    def _answer(self, quoted: QuotedReply, error: bytes) -> Answer:
        seed = b"error " + self._seed()
        calls = tuple(
            AnsweredCall(call_id(seed, 0, index, name, prefix=self._wire.call_id_prefix), name, arguments)
            for index, (name, arguments) in enumerate(quoted.calls)
        )
        digest = call_id(seed, 0, len(calls), "reply", prefix="")
        answer = Answer(calls, digest, model=self._model, tokens=tokens_of([error]))
        if self._moment is not None:
            answer = replace(answer, created=self._moment[0], created_at=self._moment[1])
        if self._begun:  # what was before the call has been sent
            return answer
        return replace(answer, text=quoted.text, reasoning=quoted.reasoning)


def _is_error(payload: bytes) -> bool:
    """Whether a payload says that the reply has failed."""
    if b'"error"' not in payload and _FAILED.encode() not in payload:
        return False
    members = rawjson.fields(payload)
    kind = rawjson.word(members, "type")
    return kind in {"error", _FAILED} or ("error" in members and rawjson.value(members["error"]) not in (None, ""))


def _body(wire: Wire, payloads: Iterable[bytes], form: Form) -> bytes:
    """The payloads as one body in this form."""
    if form == "sse":
        names = ((payload, rawjson.word(rawjson.fields(payload), wire.event_name)) for payload in payloads)
        return b"".join(event(one, b"data: \n\n", name=name or None) for one, name in names)
    if form in {"eventstream", "eventstream_chunks"}:
        frames = FRAMES[form]()
        return b"".join(frames.build(payload, b"", keep=False, name=None) for payload in payloads)
    if form == "ndjson":
        return b"".join(payload + b"\n" for payload in payloads)
    return b"[" + b",\r\n".join(payloads) + b"]" if form == "json_array" else b"".join(payloads)
