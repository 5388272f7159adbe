"""What became of the native calls of a whole reply: each stays, is replaced by another call, or is gone.

A wire whose replies are rows (of blocks, of items) asks this when it writes such a row again. This module knows nothing
of JSON: a wire's own kind of `WholeCall` says what a call is in the wire's form, and which item it came as.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Withdrawn


class WholeCall:
    """A call of a whole reply, with its events as they came, each with its lane."""

    def __init__(self, start: CallStart, lane: int = 0) -> None:
        self.start = start
        self.parts: list[tuple[int, Event]] = [(lane, start)]
        self.pieces: list[str] = []
        self.complete = False

    def take(self, lane: int, event: CallPiece | CallEnd) -> None:
        self.parts.append((lane, event))
        if isinstance(event, CallPiece):
            self.pieces.append(event.json)
        else:
            self.complete = True

    @property
    def arguments(self) -> str:
        """Its argument JSON, as far as it came."""
        return "".join(self.pieces)

    def is_unchanged(self, item: Any) -> bool:
        """Whether this is the native call of `item`, with the same name and arguments."""
        raise NotImplementedError


class Replacements[Call: WholeCall]:
    """What is in the place of each native call of some items, in their order.

    Processors answer for each native call, in order: the call itself, or `Withdrawn` and perhaps another call. Where
    calls become text, only those come that could not, without their order. These are found by their content: no id
    tells calls apart, for some servers give none, or one id to several.

    items      of the native calls, as they came
    parts      what became of them, each event with its lane; other events may be among these
    call_type  the wire's kind of call

    in_order     there is an answer for each call
    unplaced     calls that have no place
    other_parts  the parts that are of no native call
    """

    def __init__(self, items: Sequence[Any], parts: Iterable[tuple[int, Event]], call_type: type[Call]) -> None:
        self.other_parts: list[tuple[int, Event]] = []
        self.unplaced: list[Call] = []
        self._call_type = call_type
        answers = self._answers(parts)
        self.in_order = len(answers) == len(items)
        if not self.in_order:
            self.unplaced = [call for call in answers if call is not None]
            answers = [self._matching(item) for item in items]
        self._places = iter(answers)

    def next(self) -> Call | None:
        """The call in the place of the next item, None for none."""
        return next(self._places)

    def _matching(self, item: Any) -> Call | None:
        """The first unplaced call that equals an item, taken from the unplaced ones; None for none."""
        found = next((place for place, call in enumerate(self.unplaced) if call.is_unchanged(item)), None)
        return None if found is None else self.unplaced.pop(found)

    def _answers(self, parts: Iterable[tuple[int, Event]]) -> list[Call | None]:
        answers: list[Call | None] = []
        calls: dict[tuple[int, int], Call] = {}
        before: Event | None = None
        withdrawn = -1
        for lane, event in parts:
            if isinstance(event, Withdrawn):
                answers += [None] if event.index != withdrawn else []
                withdrawn = event.index
            elif isinstance(event, CallStart) and (event.dialect is None or isinstance(before, Withdrawn)):
                calls[lane, event.index] = call = self._call_type(event, lane)
                if event.dialect is None:
                    answers.append(call)
                    withdrawn = -1
                else:
                    answers[-1] = call  # a processor changed it
            elif isinstance(event, CallPiece | CallEnd) and (lane, event.index) in calls:
                calls[lane, event.index].take(lane, event)
            else:
                self.other_parts.append((lane, event))
            before = event
        return answers
