"""Calls as text, for a text client: those that were read from text in its dialect, native ones at the reply's end.

A call that was read from text stays as it is where that is the client's own dialect (`RoundTrip`). Native calls are
written as blocks; those that the dialect cannot hold stay native, in their place between them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import msgspec

from toolcalls.dialects import grammar
from toolcalls.events import (
    FUNCTION_FORMS,
    CallEnd,
    CallPiece,
    CallStart,
    Event,
    Markup,
    Note,
    Repair,
    Text,
    Verdict,
    Withdrawn,
)
from toolcalls.mending.defects import defects_of
from toolcalls.replies.calls import Calls, ClientCall
from toolcalls.replies.stages import ITEMS, End, Item, Native, Stage
from toolcalls.route import Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.text.markdown import Position
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.behind import TextBefore
from toolcalls.writing.for_client import whole_for_client, write_for_client
from toolcalls.writing.roundtrip import WITHHELD, ClientText, RoundTrip
from toolcalls.writing.writer import held


class Write(Stage):
    """Writes a lane's calls for a text client."""

    looks_at = ITEMS

    def __init__(
        self,
        calls: Calls,
        client: ClientText,
        tools: Toolbox,
        route: Route,
        *,
        acts: bool = True,
        place: Position | None = None,
        structured: bool = False,
    ) -> None:
        """`place`, `structured`: as in `TextBefore`."""
        self._calls = calls
        self._client = client
        self._tools = tools
        self._route = route
        self._acts = acts
        self._has_written = False  # native calls
        self._before = TextBefore(place, structured=structured)  # what the client has
        self._trip = self.round_trip()
        # Texts of our own, for a client whose calls are a whole message: there they are alone or not at all.
        alone = client.dialect is not None and grammar(client.dialect).place == "message"
        self._texts: list[str] | None = [] if alone else None

    def round_trip(self) -> RoundTrip:
        """A round trip whose calls are written like this lane's."""
        return RoundTrip(self._client, self._tools, self._dialect, self._held, self._apart, acts=self._acts)

    @property
    def streams(self) -> bool:
        """Whether the call that is being read stays as it stands, so that `streamed` may take its next piece."""
        return self._trip.streams

    def streamed(self, markup: Markup, piece: CallPiece) -> Text:
        """`feed` for the usual two events inside such a call."""
        self._trip.streamed(markup.text, piece)
        self._shows(markup.text)
        return Text(markup.text)

    @property
    def holds_nothing(self) -> bool:
        """Whether the next text leaves as it is. If it does, `passed` must be called."""
        return self._trip.holds_nothing

    def passed(self, piece: str) -> bool:
        self._before.add(piece)
        self._shows(piece)
        return self._trip.passes()

    @property
    def adds_at_end(self) -> bool:
        return self._trip.adds_at_end or bool(self._texts)

    def feed(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items as text, without the events of native calls that will be written."""
        for item in items:
            if isinstance(item, Native):
                yield Native(tuple(self._native(item.parts)))
                continue
            if isinstance(item, str) and self._texts is not None:
                self._texts.append(item)
                continue
            if isinstance(item, Text | str):
                self._before.add(item if isinstance(item, str) else item.text)
            if isinstance(item, Text) and self._trip.passes():
                self._shows(item.text)
                yield item
                continue
            yield from map(self._leaving, self._trip.feed(item))

    def release(self) -> Iterator[Item]:
        """Markup that is held is text, or layout around a call that was written anew."""
        return self._trip.release()

    def finish(self, end: End) -> Iterator[Item]:
        """Write the native calls, unless the reply broke off."""
        yield from map(self._leaving, self._trip.finish())
        if end.reason is not None and self._calls.natives and self._client.dialect is not None:
            yield from self._written_natives()
        if self._texts:
            yield from self._texts_alone(self._texts)
            self._texts = []

    def _texts_alone(self, texts: Sequence[str]) -> Iterator[Item]:
        """Texts of our own at the end of a message that holds no call, or a note that they were left out."""
        if self._trip.has_call or self._has_written:
            said = f"a text was left out beside calls, which are a whole message in {self._client.dialect}"
            yield Note("steering", said, True)
        else:
            yield from texts

    def _leaving(self, outcome: Event | str) -> Event | str:
        """An outcome of the round trip, as it leaves."""
        if isinstance(outcome, Text | str):
            self._shows(outcome if isinstance(outcome, str) else outcome.text)
        elif isinstance(outcome, Verdict) and outcome.status == "blocked" and outcome.reason in WITHHELD:
            self._calls.withhold(outcome.index)
            return msgspec.structs.replace(outcome, index=None)
        return outcome

    def _shows(self, text: str) -> None:
        self._before.ends_with(text)

    def _native(self, parts: Sequence[Event | str]) -> Iterator[Event | str]:
        """What leaves already of a native call's events."""
        for part in parts:
            if isinstance(part, str) and self._texts is not None:
                self._texts.append(part)
                continue
            if isinstance(part, str):
                self._before.add(part)
                self._shows(part)
            elif isinstance(part, Withdrawn):
                continue
            elif isinstance(part, CallStart | CallPiece | CallEnd):
                call = self._calls.native_at.get(part.index)
                if call is None:
                    continue
                if isinstance(part, CallStart):
                    call.stays = None if self._client.dialect is None else "unwritable"
                    call.room = call.room if self.leaves(call) else None  # all of it is needed for its text
                if not self.leaves(call):
                    continue
            yield part

    def leaves(self, call: ClientCall) -> bool:
        """Whether a native call leaves while it comes.

        No tool that the client declared could hold it, or it is not known which dialect the client reads.
        """
        if self._client.dialect is None:
            return True
        return call.form not in FUNCTION_FORMS and not self._tools.keys(call.name)

    def _fits(self, call: ClientCall) -> bool:
        """Whether the client knows a call as text: a function's, or one that a tool that it has declared can hold."""
        if call.form in FUNCTION_FORMS:
            return True
        declared = self._tools.keys(call.name)
        try:
            return all(key in declared for key, _ in members(call.arguments))
        except ValueError:
            return False  # no dialect can hold it either

    def _dialect(self) -> str:
        dialect = self._client.dialect or next(iter(self._client.dialects), None)
        if dialect is None:
            raise Unwritable("it is not known which dialect the client reads")
        return dialect

    def _held(self, call: Call) -> tuple[Call, tuple[Repair, ...]]:
        """A call as the client's dialect can hold it, and what had to change for that. Raises `Unwritable`."""
        kept, repairs = held(self._dialect(), call, self._tools)
        return whole_for_client(self._dialect(), kept, self._tools), repairs

    def _apart(self, text: str, calls: Sequence[Call], closer: str = "") -> str:
        """A block of calls, which may still lack its closer, as it comes after what the client has.

        Raises `Unwritable`.
        """
        return self._before.placed(self._dialect(), text, calls, self._tools, self._route, closer=closer)

    def _written(self, *calls: Call) -> str:
        return self._apart(write_for_client(self._dialect(), calls, self._tools), calls)

    def _is_writable(self, *calls: Call) -> bool:
        try:
            self._written(*calls)
        except Unwritable:
            return False
        return True

    def _writable(self, calls: dict[int, Call]) -> dict[int, Call]:
        """The calls that the dialect can hold side by side: those that it can hold alone, or the first few of them.

        Some dialects hold one call a message. The work grows with the calls: what is tried grows by doubling.
        """
        if self._is_writable(*calls.values()):
            return calls
        alone = [(index, call) for index, call in calls.items() if self._is_writable(call)]
        if len(alone) < 2 or (len(alone) < len(calls) and self._is_writable(*(call for _, call in alone))):
            return dict(alone)
        fits, over = 1, len(alone)  # so many can be written, so many cannot
        while over - fits > 1:
            count = min(2 * fits, (fits + over) // 2)
            fits, over = (count, over) if self._is_writable(*(call for _, call in alone[:count])) else (fits, count)
        return dict(alone[:fits])

    def _withhold_others(self, lowered: Mapping[int, Call]) -> Iterator[Item]:
        """Withhold the whole native calls after the one that is written, or after the first where none can be."""
        whole = [index for index, call in self._calls.natives.items() if call.complete and not self.leaves(call)]
        if not self._trip.has_call:
            order = list(self._calls.natives)
            kept = next(iter(lowered or whole), None)
            behind = order[order.index(kept) + 1 :] if kept is not None else []
            whole = [index for index in whole if index in behind]
        for index in whole:
            call = self._calls.natives.pop(index)
            self._calls.withhold(call.index)
            yield self._calls.mark(index, Verdict("blocked", "multiple_calls", None, call.name, 0, 0))

    def _written_natives(self) -> Iterator[Item]:
        natives = self._calls.natives
        kept = {
            index: held(self._dialect(), Call(call.name, call.arguments), self._tools)
            for index, call in natives.items()
            if self._fits(call)
        }
        lowered = self._writable({index: call for index, (call, _) in kept.items()})
        if self._client.one_call:
            lowered = {} if self._trip.has_call else dict(list(lowered.items())[:1])
            yield from self._withhold_others(lowered)
        starts = {next(iter(block)): text for block, text in self._in_blocks(lowered)}
        stay = [index for index in natives if index not in lowered]
        for index, call in list(natives.items()):
            if index in starts:
                self._has_written = True
                self._shows(starts[index])
                yield starts[index]
            if index in lowered:
                yield self._lowered(index, kept[index][1])
            elif not self.leaves(call):  # else it has left
                place = stay.index(index)
                mended, entry = call.mended, call.entry if call.mended else -1  # else it is found by what it says
                yield CallStart(place, call.name, None, call.id, call.form, call.space, entry=entry, mended=mended)
                yield CallPiece(place, call.arguments, entry=entry, mended=mended)
                if call.complete:
                    yield CallEnd(place)
        self._calls.all_lowered = not natives

    def _in_blocks(self, lowered: Mapping[int, Call]) -> list[tuple[Mapping[int, Call], str]]:
        """The calls as text: a block for each run of them that no other native call interrupts, so that they keep their
        order. All are one block where such blocks would not be read back one after the other.
        """
        if not lowered:
            return []
        blocks: list[dict[int, Call]] = []
        for staying, run in groupby(self._calls.natives, key=lambda index: index not in lowered):
            if not staying:
                blocks.append({index: lowered[index] for index in run})
        before, out = self._before, list[tuple[Mapping[int, Call], str]]()
        self._before = before.copy()
        try:
            for block in blocks:
                text = self._written(*block.values())
                self._before.add(text)
                self._shows(text)
                out.append((block, text))
        except Unwritable:
            out = []
        finally:
            self._before = before
        return out or [(lowered, self._written(*lowered.values()))]

    def _lowered(self, index: int, repairs: tuple[Repair, ...]) -> Verdict:
        """The verdict of a native call that became text, which is one no more."""
        call = self._calls.natives.pop(index)
        defects = defects_of(call.name, call.arguments, self._tools, undeclared=True)
        reason = defects[0].code if defects else None
        dialect = self._client.dialect and str(self._client.dialect)
        verdict = Verdict("lowered", reason, dialect, call.name, 0, 0, repairs, call.index, defects=defects)
        return self._calls.mark(index, verdict)
