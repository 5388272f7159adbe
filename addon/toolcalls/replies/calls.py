"""The calls of one lane: what the stages of its row, the reply's end and the report know of them.

`number` writes it. Nothing else leads backwards in a row: `read`, `reread` and `twins` look here for calls that are
whole, `judge` and `end` for what became of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from toolcalls.events import CallPiece, Defect, Reason, Verdict
from toolcalls.values.call_index import CallIndex
from toolcalls.values.conversion import is_object
from toolcalls.values.json_tokenizer import Nesting
from toolcalls.values.toolbox import Toolbox


@dataclass(slots=True, eq=False)
class ClientCall:
    """A call that the client is given. `index` and `id` are the client's, `dialect` is None for a native call.

    pieces     its argument JSON as far as it came and is kept
    stays      why a native call stays native although the client reads text; None where it need not become text
    complete   all of it is there
    ended      a native call has ended, complete or not
    malformed  a call that was read from text turned out to be none
    room       how many more characters of a native call are kept; below 0 none are; None: all are
    entry      which of the calls of its frame a native one is, and `mended`: its frame says otherwise (`CallStart`)
    """

    index: int
    name: str
    dialect: str | None
    id: str
    form: str = ""
    space: str = ""
    stays: Reason | None = field(default=None, init=False)
    complete: bool = field(default=False, init=False)
    ended: bool = field(default=False, init=False)
    malformed: bool = field(default=False, init=False)
    room: int | None = field(default=None, init=False)
    entry: int = field(default=-1, init=False)
    mended: bool = field(default=False, init=False)
    pieces: list[str] = field(default_factory=list, init=False)
    _begun: bool = field(default=False, init=False)  # some of its arguments came
    # Of the pieces so far; None after the first whole value.
    _nesting: Nesting | None = field(default_factory=Nesting, init=False)
    _examined: int = field(default=0, init=False)  # how many pieces that are

    def take(self, piece: CallPiece) -> None:
        """The next piece of a native call, which may bring more of its name."""
        self._begun = self._begun or not (not piece.json or piece.json.isspace())
        self.mended = self.mended or piece.mended
        if self.room is not None:
            self.room -= len(piece.json)
        if self.room is None or self.room >= 0:
            self.pieces.append(piece.json)
        else:
            self.pieces.clear()
        if piece.update is not None and piece.update.arguments is None:
            self.name = piece.update.name

    def closes(self) -> bool:
        """Whether a native call without an end is whole by now: the object of its arguments has closed.

        True at most once. Each piece is examined once, and all of them once more where the object closes.
        """
        if self._nesting is None or self.complete or self.outgrown:
            return False
        coming, self._examined = self.pieces[self._examined :], len(self.pieces)
        for piece in coming:
            self._nesting.feed(piece)
        if self._nesting.depth or self._nesting.in_string or not any(map(str.strip, coming)):
            return False
        self._nesting = None
        return self.is_object

    def close(self) -> None:
        """All of a call that was read from text is there."""
        self.complete = True
        self.pieces = [self.arguments]

    @property
    def is_open(self) -> bool:
        """Whether more of a native call's arguments must come."""
        return self._begun and not self.ended

    @property
    def is_object(self) -> bool:
        """Whether the arguments so far are one JSON object."""
        return is_object(self.arguments)

    @property
    def outgrown(self) -> bool:
        """Whether a native call grew so long that its arguments are not kept. It passes all the same."""
        return self.room is not None and self.room < 0

    @property
    def arguments(self) -> str:
        """The argument JSON, as far as it came; "" where there was too much of it."""
        return "".join(self.pieces)


class SharedCalls:
    """What the lanes of one message share, so that a call in one is known as the repetition of a call in another.

    tools          those that the request declares
    whole_natives  native calls that have ended with an object of arguments, in order
    repeatable     the whole calls that were made of text, and of which no native repetition has come
    """

    def __init__(self, tools: Toolbox) -> None:
        self.whole_natives: list[ClientCall] = []
        self.repeatable = CallIndex(tools)


class Calls:
    """The calls of one lane.

    mark           adds to a native call's verdict what processors did to it; takes the index that it came with
    client_calls   all that the client is given, in order; without those that were kept from it
    from_text      those read from text, by the reader's index
    natives        native ones without a verdict, by the index that they came with; `native_at` by the client's index
    judged         native ones that have their verdict, for servers that speak of them again
    whole_natives, repeatable   those of all lanes of its message
    begun          native ones that have begun, also those that processors withhold, by the index that they came with
    damages        what the wire noticed of native calls, by the index that they came with
    grown          native ones of which more came since the latest text, by the index that they came with
    renumbers      a native call did not leave, so those after it get new indices
    had_native     a native call began, whatever became of it
    broken_off     what the client was given lacks its end: the reply cannot end as a whole one
    all_lowered    there were native calls, and every one became text or was withheld
    """

    def __init__(
        self, mark: Callable[[int, Verdict], Verdict] | None = None, shared: SharedCalls | None = None
    ) -> None:
        shared = shared or SharedCalls(Toolbox())
        self.mark = mark or _unmarked
        self.client_calls: list[ClientCall] = []
        self.from_text: dict[int, ClientCall] = {}
        self.natives: dict[int, ClientCall] = {}
        self.native_at: dict[int, ClientCall] = {}
        self.judged: dict[int, ClientCall] = {}
        self.whole_natives = shared.whole_natives
        self.repeatable = shared.repeatable
        self.renumbers = False
        self.had_native = False
        self.broken_off = False
        self.all_lowered = False
        self.begun: set[int] = set()
        self.damages: dict[int, list[Defect]] = {}
        self.grown: dict[int, ClientCall] = {}

    def closed(self) -> list[ClientCall]:
        """The native calls that turn out to be whole since the latest text: some APIs end them only with the reply."""
        grown, self.grown = self.grown, {}
        return [call for call in grown.values() if call.closes()]

    def damaged(self, index: int, defect: Defect) -> None:
        """The wire noticed something of the call that came with this index. Each thing counts once in a call."""
        known = self.damages.setdefault(index, [])
        if all(one.code != defect.code for one in known):
            known.append(defect)

    def withhold(self, index: int | None) -> None:
        """The client is not given the call with this index of its own."""
        self.client_calls = [call for call in self.client_calls if call.index != index]

    def judge_natives(self) -> None:
        """Every native call has its verdict."""
        self.judged |= self.natives
        self.natives.clear()
        self.native_at.clear()

    @property
    def native_open(self) -> bool:
        """Whether a native call has begun of whose arguments more must come."""
        return any(call.is_open for call in self.natives.values())

    @property
    def any_open(self) -> bool:
        """Whether a call is not complete yet."""
        return not all(call.complete for row in (self.from_text, self.natives) for call in row.values())


def _unmarked(_: int, verdict: Verdict) -> Verdict:
    return verdict
