"""One call on its way through a lane's processors: what is known of it, what became of it, and what leaves for it."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from toolcalls.events import CallEnd, CallPiece, CallStart, Change, Event, Verdict
from toolcalls.processors.access import Judgement, Refusal
from toolcalls.processors.arguments import Arguments

SHOWN = 64 * 1024  # characters of a blocked call's arguments that are kept to be shown

# Not decided; leaves as it came; leaves as processors made it anew; does not leave; is never completed.
type Fate = Literal["open", "passed", "made", "gone", "cut"]


class Held:
    """One call on its way."""

    __slots__ = (
        "arguments", "besides", "changes", "collects", "counted", "fate", "held", "judgement", "learned", "left",
        "made", "native", "pieces", "refusal", "room", "start", "texts", "told", "unnamed", "waits",
    )  # fmt: skip

    def __init__(self, start: CallStart, *, native: bool) -> None:
        self.start = start
        self.native = native
        self.fate: Fate = "open"
        self.unnamed = False  # more of its name may come
        self.besides: list[str] = []  # pieces of its name, which some clients take for all of it
        self.judgement: Judgement | None = None
        self.waits = False  # for the whole of it
        self.collects = False  # its pieces are kept, so many more characters of them
        self.room = SHOWN
        self.arguments: Arguments | None = None
        self.learned: list[tuple[str, str]] = []
        self.pieces: list[str] = []
        self.held: list[str] = []  # what is to leave with its beginning
        self.counted = False  # the loop guard has it in its row
        self.left = False  # its beginning has left, or what stands for it
        self.refusal: Refusal | None = None
        self.texts: list[str] = []
        self.made: tuple[str, str] = ("", "")
        self.changes: list[Change] = []
        self.told = False  # its verdict is given

    def keep(self, json: str) -> None:
        """The next piece of its arguments. Where there is too much of them the rest is not kept."""
        if self.room >= 0:
            self.room -= len(json)
            self.pieces.append(json if self.room >= 0 else json[: self.room])
        if self.room < 0 and self.refusal is not None:
            self.arguments = None  # nobody asks for more of them

    @property
    def outgrown(self) -> bool:
        """Whether its arguments are not all kept."""
        return self.room < 0

    @property
    def is_read(self) -> bool:
        """Whether all of its arguments were looked at, and are a JSON object."""
        return self.arguments is not None and self.arguments.whole and not self.arguments.broken

    @property
    def call(self) -> tuple[str, str]:
        """Its name and argument JSON, as the model made it and as far as it came."""
        return self.start.name, "".join(self.pieces)

    def anew(self) -> Iterator[Event]:
        """The call as processors made it anew."""
        name, arguments = self.made
        index = self.start.index
        same = name == self.start.name
        yield CallStart(
            index, name, "", self.start.id, self.start.form if same else "", self.start.space if same else ""
        )
        yield CallPiece(index, arguments)
        yield CallEnd(index)

    def marked(self, verdict: Verdict) -> Verdict:
        """A verdict of it, with what happened to it here."""
        changes = tuple(self.changes)
        if self.refusal is None:
            return msgspec.structs.replace(verdict, changes=changes) if changes else verdict
        refusal = self.refusal
        if not changes or changes[-1].after is not None:
            before = (changes[-1].after if changes else None) or self.call
            changes = (*changes, Change(refusal.rule, before, None))
        index = verdict.index if self.fate == "cut" else None
        return msgspec.structs.replace(
            verdict, status="blocked", reason=refusal.reason, rule=refusal.rule, index=index, changes=changes
        )
