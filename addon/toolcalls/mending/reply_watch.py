"""What leaves a client without the call that it needs, although no call of the reply says so: a watch over one reply.

In go facts as they come: that there is text and how it begins, reasoning, calls, finish reasons, payloads that were no
part of the reply. At the end out come notes. Nothing is held or changed for it, and what is
remembered is bounded: the end of the reasoning, the beginning of the text, the last payloads.

A reply is one message: a choice, or all blocks and items of a reply that has these.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from toolcalls.events import Note, ReplyDefect
from toolcalls.mending.error_texts import note_of
from toolcalls.text.quoting_marks import REASONING_TAGS
from toolcalls.values.usage import tokens_of

_HEAD = 32  # characters of the text's beginning that are kept
_REASONING = 256 * 1024  # characters of reasoning that are kept: the last ones, after which the call would stand
_BEGINNING = 4096  # bytes of a payload in which an error says that it is one
_CALLS = (b'"tool_calls":[{', b'"tool_calls": [{', b'"function_call"', b'"functionCall"', b'"tool_use"')
_PAYLOADS = 4  # the last ones, of which one has the usage
_CUT = frozenset({"length", "content_filter", "failed"})
_NO_ANSWER = frozenset({"content_filter", "load", "unload"})  # a refusal; Ollama, when it was asked for no reply

MARKS_REMOVED = "marks of the model's template were removed from the text, which makes no call"

type CallsIn = Callable[[str], list[str]]


class MessageWatch:
    """One message of a reply."""

    def __init__(self) -> None:
        self.head = ""
        self.says = False  # there is text that is more than white space
        self.closed_nothing = False  # its text closes reasoning that nothing opened
        self.drafts: list[str] = []  # calls that were made of such reasoning before it was known to be some
        self.lost_marks = False  # marks of the model's template were taken from its text
        self.natives = 0  # native calls, also those without a name
        self.lifted = 0  # calls that were made of its text
        self.moves = False  # reasoning at its beginning is moved to its field, and whoever does it says what is text
        self.has_other = False  # content that is neither text nor a call: a refusal, a picture, a server's own call
        self.finishes: list[str] = []
        self.reasoning: deque[str] = deque()
        self.reasoned = 0  # characters of reasoning in all
        self._kept = 0

    def text(self, piece: str) -> bool:
        """The next piece of text; returns whether more of it is of interest."""
        if self.moves:
            return False
        if not self.says:
            piece = piece.lstrip()
            self.says = bool(piece)
            self.forget_reasoning()
        self.head += piece[: _HEAD - len(self.head)]
        return not self.head or (self.head[0] in "<[" and len(self.head) < _HEAD)

    def thought(self, text: str) -> None:
        self.reasoned += len(text)
        if self.says or self.natives:
            return
        self.reasoning.append(text)
        self._kept += len(text)
        while self._kept > _REASONING and len(self.reasoning) > 1:
            self._kept -= len(self.reasoning.popleft())

    def ended(self, reason: str) -> None:
        """Note a finish reason; some servers send one with every frame."""
        if self.finishes[-1:] != [reason]:
            self.finishes = [*self.finishes[-8:], reason]

    @property
    def stopped(self) -> bool:
        """Whether it ended where the model ended it, without a call, as far as its finish reason says."""
        return bool(self.finishes) and self.finishes[-1] not in {*_CUT, "tool_calls"}

    def called(self) -> None:
        """Note a native call that begins, or an entry that begins none."""
        self.natives += 1
        self.forget_reasoning()

    def forget_reasoning(self) -> None:
        """Drop the reasoning: nobody will look for a call in it."""
        if self.says or self.natives:
            self.reasoning.clear()
            self._kept = 0

    @property
    def only_reasons(self) -> bool:
        """Whether the message is nothing but reasoning so far, and all of that is kept."""
        silent = not (self.says or self.natives or self.has_other)
        return silent and bool(self.reasoning) and self._kept == self.reasoned

    @property
    def all_reasoning(self) -> str:
        """The reasoning that is kept."""
        return "".join(self.reasoning)

    @property
    def begins_with_reasoning(self) -> bool:
        """Whether the text begins with a tag that opens reasoning."""
        return any(self.head.startswith(tag) for tag in REASONING_TAGS)


@dataclass(slots=True, eq=False)
class ReplyWatch:
    """All messages of one reply.

    calls_in        the tools that a text calls, if it were the reply's
    says_calls      whether the API has a finish reason for calls
    stop_answers    whether `stop` is how it ends a reply with calls: the request's choice names the tool
    carries_calls   whether it has a place for calls, and so for reasoning
    is_error        the reply has the status of an error: there is no message
    """

    calls_in: CallsIn
    says_calls: bool = field(kw_only=True)
    stop_answers: bool = field(kw_only=True)
    carries_calls: bool = field(kw_only=True)
    is_error: bool = field(default=False, kw_only=True)
    _messages: dict[int, MessageWatch] = field(default_factory=dict, init=False)
    _payloads: deque[bytes] = field(default_factory=lambda: deque(maxlen=_PAYLOADS), init=False)
    _error: bytes | None = field(default=None, init=False)
    _unread: bool = field(default=False, init=False)  # a payload that cannot be read may hold a call
    _passed_over: bool = field(default=False, init=False)  # something of the reply was not read, which may be its end

    def message(self, number: int) -> MessageWatch:
        found = self._messages.get(number)
        if found is None:
            found = self._messages[number] = MessageWatch()
        return found

    def payload(self, payload: bytes, *, known: bool) -> None:
        """Note a payload. `known`: it holds events of the reply."""
        self._payloads.append(payload)
        if not known and any(word in payload for word in _CALLS):
            self._unread = True
        if not known and (self.is_error or b'"error"' in payload[:_BEGINNING]):
            self._error = payload

    def passed_over(self) -> None:
        """Some of the reply is not read: it was left out, or is forwarded unparsed. What is missed may be there."""
        self._unread = self._passed_over = True

    @property
    def may_lose_calls(self) -> bool:
        """Whether a call may have been meant in a text: it is a reply's, and all of it was read."""
        return self.carries_calls and not self.is_error and not self._unread

    def notes(self) -> Iterator[tuple[int, Note]]:
        """The notes on a reply that has ended as it should, each with its message's number."""
        quoted = self._quoted()
        if quoted is not None:
            yield min(self._messages, default=0), quoted
        if self.is_error:
            return
        if not self._messages and self._payloads and self._error is None and not self._unread:
            self.message(0)
        for number, message in self._messages.items():
            for note in self._of_message(message):
                yield number, note

    def _quoted(self) -> Note | None:
        """The note on a call in an error: a payload that is one, or the last ones of a reply that failed."""
        failed = any(message.finishes[-1:] == ["failed"] for message in self._messages.values())
        errors = [self._error] if self._error is not None else [*self._payloads] if failed else []
        return next((note for error in errors if (note := note_of(error)) is not None), None)

    def _of_message(self, message: MessageWatch) -> Iterator[Note]:
        reasons = [reason for reason in message.finishes if reason]
        latest = reasons[-1] if reasons else ""
        calls = message.natives + message.lifted
        if self.carries_calls:
            if not message.finishes or (not reasons and self.says_calls):
                if self._error is None and not self._passed_over and (calls or message.says or not message.has_other):
                    yield _note("no_finish")
            elif message.natives and self._denies(reasons, latest):
                yield _note("finish_denies_calls", f"it says {_word(latest)}")
            elif not (self._unread or any(one.natives + one.lifted for one in self._messages.values())) and (
                "tool_calls" in reasons
            ):
                yield _note("finish_promises_calls")
            if message.lost_marks and not message.lifted:
                yield Note("marks_removed", MARKS_REMOVED, mended=True)
            if message.closed_nothing:
                drafts = f"; {message.drafts[0][:80]} was called in it, and stays called" if message.drafts else ""
                yield _note("reasoning_in_text", f"{_UNOPENED}{drafts}")
            elif message.begins_with_reasoning:
                yield _note("reasoning_in_text")
        silent = not (calls or message.says or message.has_other or self._unread)
        if not silent or self._error is not None or latest in _NO_ANSWER:
            return
        if self.carries_calls and message.reasoning and (names := self.calls_in(message.all_reasoning)):
            yield _note("call_in_reasoning", ", ".join(name[:80] for name in names[:4]))
        yield _note("empty", self._said(message, latest))

    def _denies(self, reasons: list[str], latest: str) -> bool:
        """Whether the finish reasons of a message with calls say that there are none."""
        if "tool_calls" in reasons or latest in _CUT:
            return False
        if latest == "stop":
            return self.says_calls and not self.stop_answers
        return latest != "pause_turn"

    def _said(self, message: MessageWatch, latest: str) -> str:
        """What the server said of an empty message."""
        tokens = tokens_of([*self._payloads]).output
        counted = "tokens unknown" if tokens is None else f"{tokens:,} output tokens"
        return f"finish {_word(latest)}, {counted}, {message.reasoned:,} characters of reasoning"


def says_unopened(note: Note) -> bool:
    """Whether a note says that the text closes reasoning that nothing in it opened."""
    return note.rule == "reasoning_in_text" and note.text.startswith(_UNOPENED)


def _word(reason: str) -> str:
    return reason[:40] or "none"


def _note(code: ReplyDefect, more: str = "") -> Note:
    return Note(code, more or _TEXTS[code], warns=True)


_UNOPENED = "the text closes reasoning that nothing in it opened"
_TEXTS: dict[ReplyDefect, str] = {
    "no_finish": "the reply ended without a finish reason",
    "finish_promises_calls": "the finish reason is that of calls, and there is none",
    "reasoning_in_text": "the text holds reasoning, in tags",
}
