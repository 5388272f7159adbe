"""One call on its way through a lane's processors: what is known of it, how it was decided, and what is sent for it."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from toolcalls.events import CallEnd, CallPiece, CallStart, Change, Event, Status, Verdict
from toolcalls.processors.access import Judgement, Refusal
from toolcalls.processors.arguments import Arguments

SHOWN = 64 * 1024  # characters of a blocked call's arguments that are kept to be shown

# undecided    nothing of it is sent yet
# passed       sent as the model made it
# replaced     processors changed it: `replacement` is sent
# dropped      not sent
# broken_off   its beginning was sent before it was blocked: it never gets an end
type CallState = Literal["undecided", "passed", "replaced", "dropped", "broken_off"]


class PendingCall:
    """One call on its way.

    name_open        more of its name may come
    name_pieces      pieces of its name, which some clients take for all of it
    needs_whole      it is decided only when all of it is here
    keeps_pieces     its pieces are kept, `room` more characters of them
    known_arguments  those that are final, as key and raw JSON
    unreadable       its arguments are no JSON object, and not for want of an end
    unsent           pieces that are sent together with its beginning
    counted          the loop guard has counted it
    begun            its beginning was sent, or what replaces it
    texts            texts for the client, in front of it or in its place
    replacement      its name and argument JSON as processors changed them
    reported         its verdict was sent
    """

    __slots__ = (
        "arguments", "begun", "changes", "counted", "judgement", "keeps_pieces", "known_arguments", "name_open",
        "name_pieces", "native", "needs_whole", "pieces", "refusal", "replacement", "reported", "room", "start",
        "state", "texts", "unreadable", "unsent",
    )  # fmt: skip

    def __init__(self, start: CallStart, *, native: bool) -> None:
        self.start = start
        self.native = native
        self.state: CallState = "undecided"
        self.name_open = False
        self.name_pieces: list[str] = []
        self.judgement: Judgement | None = None
        self.needs_whole = False
        self.keeps_pieces = False
        self.room = SHOWN
        self.arguments: Arguments | None = None
        self.known_arguments: list[tuple[str, str]] = []
        self.unreadable = False
        self.pieces: list[str] = []
        self.unsent: list[str] = []
        self.counted = False
        self.begun = False
        self.refusal: Refusal | None = None
        self.texts: list[str] = []
        self.replacement: tuple[str, str] = ("", "")
        self.changes: list[Change] = []
        self.reported = False

    def keep(self, json: str) -> None:
        """Keep the next piece of its arguments, as far as there is room."""
        if self.room >= 0:
            self.room -= len(json)
            self.pieces.append(json if self.room >= 0 else json[: self.room])
        if self.room < 0 and self.refusal is not None:
            self.arguments = None  # nobody asks for more of them

    @property
    def too_long(self) -> bool:
        """Whether some of its arguments were not kept."""
        return self.room < 0

    @property
    def is_valid(self) -> bool:
        """Whether all of its arguments were read, and are one JSON object."""
        return self.arguments is not None and self.arguments.whole and not self.arguments.broken

    @property
    def call(self) -> tuple[str, str]:
        """Its name and argument JSON, as the model made it and as far as they were kept."""
        return self.start.name, "".join(self.pieces)

    def replacement_events(self) -> Iterator[Event]:
        """The events of the call as processors changed it."""
        name, arguments = self.replacement
        index = self.start.index
        same = name == self.start.name
        yield CallStart(
            index, name, "", self.start.id, self.start.form if same else "", self.start.space if same else ""
        )
        yield CallPiece(index, arguments)
        yield CallEnd(index)

    def annotated(self, verdict: Verdict) -> Verdict:
        """Its verdict, with what processors did to it."""
        changes = tuple(self.changes)
        if self.refusal is None:
            return msgspec.structs.replace(verdict, changes=changes) if changes else verdict
        refusal = self.refusal
        if not changes or changes[-1].after is not None:
            before = (changes[-1].after if changes else None) or self.call
            changes = (*changes, Change(refusal.rule, before, None))
        index = verdict.index if self.state == "broken_off" else None
        status: Status = "blocked"
        reason = refusal.reason
        if reason == "undecided" and (self.unreadable or verdict.status == "malformed"):
            status, reason = "malformed", "bad_arguments"
        return msgspec.structs.replace(
            verdict, status=status, reason=reason, rule=refusal.rule, index=index, changes=changes
        )
