"""The arguments of one native call, mended in their values while they come: what is no JSON, and what has another type.

Sound arguments pass as they come. From the first character on that is no JSON, or that begins a value of another type
than the schema declares, all is held until the object closes, and then decided at once: mended, or as it came. After a
comma that ends a piece, the next character says whether it is one too many; until then it waits. So does what of a
string says only later how its backslashes were meant. What was cut off, or is longer than is kept, leaves as it came
(law 6).
"""

from dataclasses import dataclass

from toolcalls.events import Repair
from toolcalls.values.json_tokenizer import Nesting
from toolcalls.values.transducer import Transducer
from toolcalls.values.type_mending import ToolSchema, TypeWatch, mended_types
from toolcalls.values.validation import Mismatch

_KEPT = 1_000_000  # characters of one call
_SPACE = " \t\r\n"
_CLOSERS = _SPACE + "]}"


@dataclass(slots=True)
class Held:
    """What is held of one reply's calls, for whoever holds the frames that it came in.

    open     how many calls hold something
    mended   how many times something was mended
    """

    open: int = 0
    mended: int = 0


class ValueMending:
    """Mends the values of one call.

    schema    what its tool asks of types; None: they are not mended
    json      what is no JSON is mended
    instead   the arguments where none come, "" for nothing

    repairs      what was mended
    mismatches   the values that had another type
    unreadable   what came was no JSON
    """

    def __init__(self, held: Held, *, schema: ToolSchema | None, json: bool, instead: str = "") -> None:
        self.repairs: list[Repair] = []
        self.mismatches: tuple[Mismatch, ...] = ()
        self.unreadable = False
        self._held = held
        self._schema = schema
        self._types = None if schema is None else TypeWatch(schema.types_at)
        self._json = json
        self._reader = Transducer(bare_keys=True, only_object=True, escaped_gaps=True, watch=self._types, literal=json)
        self._end = Nesting(to_close=True)  # of what the transducer need not be able to read
        self._instead = instead
        self._came: list[str] = []  # all of the object so far
        self._made: list[str] = []  # the same by the transducer
        self._room = _KEPT
        self._unsent: list[str] = []  # what of it has not left
        self._nothing: list[str] = []  # what came, where that is no arguments yet
        self._marks = ""  # the same without white space
        self._suspicious = False
        self._behind = False  # the object has closed
        self._surplus: list[str] | None = None
        self._holds = False
        self._over = False  # nothing is mended any more

    @property
    def holds(self) -> bool:
        """Whether something is held."""
        return self._holds

    def feed(self, piece: str) -> str:
        """The next piece; returns what of it leaves, and of what was held."""
        if self._over or not piece:
            return piece
        if self._behind:
            return self._after(piece)
        self._room -= len(piece)
        if self._room < 0:
            return self._release(piece)
        if self._instead:
            self._nothing.append(piece)
            self._marks += "".join(piece.split())
            if "{}".startswith(self._marks):
                self._hold()
                return ""
            piece, self._instead, self._nothing = "".join(self._nothing), "", []
        return self._take(piece)

    def end(self, *, cut: bool) -> str:
        """Nothing follows; returns what still leaves. What the reply's end `cut` off is not mended."""
        if self._over:
            return ""
        if self._instead and not cut:
            made, self._over = self._instead, True
            self._mended(["markup_in_name"])
            return made
        if self._surplus is not None and not cut and not "".join(self._surplus).strip(_CLOSERS):
            self._surplus, self.unreadable = None, True
            self._mended(["surplus_bracket"])
            return ""
        return self._release("")

    def give_up(self) -> str:
        """No more may be held; returns what was."""
        return self._release("")

    # --- the object ---------------------------------------------------------------------------------------------------

    def _take(self, piece: str) -> str:
        start = self._reader.read
        end = self._close(piece)
        body = piece if end < 0 else piece[:end]
        self._unsent.append(body)
        self._came.append(body)
        if self._json and self._reader.failed is not None:
            return self._release(piece[len(body) :])
        repaired = self._json and not self._reader.is_strict
        left = ""
        if not self._suspicious and not repaired and self._types is not None and self._types.at is not None:
            at = self._types.at - start
            left, self._unsent = "".join([*self._unsent[:-1], body[:at]]), [body[at:]]
            self._suspicious = True
        self._suspicious = self._suspicious or repaired
        if end >= 0:
            return left + self._decide(piece[end:])
        if not self._suspicious:
            return self._passing()
        self._hold()
        return left

    def _close(self, piece: str) -> int:
        """The offset in a piece after the object, -1 where it goes on."""
        if not self._json:
            if self._types is not None and not self._suspicious and self._reader.is_strict:
                self._reader.feed(piece)
            return self._end.feed(piece)
        made, end = self._reader.feed(piece)
        self._made.append(made)
        return end if self._reader.done else -1

    def _passing(self) -> str:
        """What leaves of a sound object: all that came, but for a comma at its end, and what is undecided."""
        if self._json and self._reader.undecided_from is not None:
            self._hold()
            text = "".join(self._unsent)
            at = max(0, len(text) - (self._reader.read - self._reader.undecided_from))
            self._unsent = [text[at:]]
            return text[:at]
        if not (self._json and self._reader.comma_waits):
            text, self._unsent = "".join(self._unsent), []
            self._let_go()
            return text
        self._hold()
        if len(self._unsent) > 1 and not self._unsent[-1].strip(_SPACE):
            return ""  # it is the comma of before
        text = "".join(self._unsent)
        kept = text.rstrip(_SPACE)[:-1]
        self._unsent = [text[len(kept) :]]
        return kept

    def _decide(self, rest: str) -> str:
        """The object has closed: mend what is to be mended. `rest`: what comes after it."""
        came, tail = "".join(self._came), "".join(self._unsent)
        if self._suspicious and not rest.strip(_CLOSERS):
            made, repairs = self._meant(came)
            following = _tail(made, came[: len(came) - len(tail)])
            if repairs and following is not None:
                tail = following
                self.unreadable = repairs != ["wrong_type"]
                self._mended(repairs)
            else:
                self.mismatches = ()
        self._behind = True
        self._came, self._made, self._unsent = [], [], []
        self._let_go()
        return tail + (self._after(rest) if rest else "")

    def _meant(self, came: str) -> tuple[str, list[Repair]]:
        """The object as it was meant, and what was repaired for that."""
        made, repairs = came, list[Repair]()
        if self._json and self._reader.repairs and not self._reader.is_sound:
            space = came[: len(came) - len(came.lstrip(_SPACE))]
            made, repairs = space + "".join(self._made), list(self._reader.repairs)
        if self._schema is not None:
            try:
                found = mended_types(made, self._schema)
            except ValueError:  # it is no strict JSON, or nested too deep
                found = None
            if found is not None:
                made, self.mismatches = found.text, found.mismatches
                repairs.append("wrong_type")
        return made, repairs

    # --- what comes after it, or in its place -----------------------------------------------------------------------

    def _after(self, piece: str) -> str:
        if self._surplus is None and not (self._json and piece.strip(_SPACE)):
            return piece
        if self._surplus is None:
            self._surplus = []
        self._surplus.append(piece)
        self._hold()
        if piece.strip(_CLOSERS):
            return self._release("")
        return ""

    # --- holding ------------------------------------------------------------------------------------------------------

    def _hold(self) -> None:
        if not self._holds:
            self._holds = True
            self._held.open += 1

    def _let_go(self) -> None:
        if self._holds:
            self._holds = False
            self._held.open -= 1

    def _mended(self, repairs: list[Repair]) -> None:
        self.repairs += [repair for repair in repairs if repair not in self.repairs]
        self._held.mended += 1
        self._let_go()

    def _release(self, piece: str) -> str:
        """Nothing more is mended: what is held leaves as it came, and this piece."""
        left = "".join([*self._nothing, *self._unsent, *(self._surplus or ()), piece])
        self._over = True
        self._came, self._made, self._surplus, self._unsent, self._nothing = [], [], None, [], []
        self._let_go()
        return left


def _tail(made: str, sent: str) -> str | None:
    """What of mended arguments follows on what has left; None where they begin otherwise."""
    if made.startswith(sent):
        return made[len(sent) :]
    place = len(sent) - 1
    if sent.endswith("\\") and made.startswith(sent[:-1]) and made[place : place + 1] == "'":
        return "u0027" + made[len(sent) :]  # the backslash has left already
    return None
