"""The processors of one reply: a chain for each of its lanes."""

from collections.abc import Sequence
from dataclasses import replace

from toolcalls.events import Note
from toolcalls.processors.careless import CarelessReading
from toolcalls.processors.careless_messages import CarelessMessages
from toolcalls.processors.careless_tags import Tags
from toolcalls.processors.careless_words import WORD_FORMS
from toolcalls.processors.chain import Chain
from toolcalls.processors.exchange_processors import Processors
from toolcalls.processors.reactors import unavailable
from toolcalls.processors.reply_state import ReplyState
from toolcalls.processors.steering import InsertedTexts, TextInserter
from toolcalls.values.toolbox import Toolbox


class Reply:
    """What one client reads as one: all blocks or items of it, but only one of several choices.

    whole     the reply comes as one body, whose native calls are read first
    as_text   the client is given calls as text, so a call's markup may have to stay where it stands
    """

    def __init__(self, processors: Processors, *, whole: bool, as_text: bool) -> None:
        self._state = ReplyState(processors, whole=whole, as_text=as_text)
        self._careless: CarelessReading | CarelessMessages | None = None

    def chain(self) -> Chain:
        """The processors of one lane."""
        made = Chain(self._state)
        self._state.lanes.append(made)
        return made

    def screen(self) -> Chain | None:
        """The rules alone, for a second look at a lane's text; None where none may block."""
        of = self._state.processors
        if of.gate is None or not of.blocks:
            return None
        rules = Processors(replace(of.route, loops=None, reactors=(), filters=()), run=unavailable)
        rules.gate = of.gate
        second = Reply(rules, whole=self._state.whole, as_text=True)
        second._state.inserted.texts = self._state.inserted.texts  # each is inserted once
        return second.chain()

    def careless(
        self, dialects: Sequence[str], tools: Toolbox
    ) -> tuple[CarelessReading | CarelessMessages, TextInserter] | None:
        """All text of the reply as a careless parser of these dialects reads it, None where none is known of them.

        What inserts texts of our own into one lane's comes with it.
        """
        of = self._state.processors
        if of.gate is None or of.route.access is None:
            return None
        form = WORD_FORMS.get(dialects[0]) if len(dialects) == 1 else None
        if self._careless is None and form is not None:
            self._careless = CarelessMessages(of.gate, form, tools)
        elif self._careless is None:
            ruled = [tool for rule in of.route.access.rules for tool in rule.tools]
            tags = Tags(dialects, tools, ruled)
            if not tags:
                return None
            self._careless = CarelessReading(of.gate, tags)
        inserted = InsertedTexts()
        inserted.texts = self._state.inserted.texts
        return self._careless, TextInserter(inserted)

    def notes(self) -> list[Note]:
        """What is to be noted of the whole reply, at its end."""
        disabled = "its pattern cost too much, so it was left out for the rest of the reply"
        return [
            *(
                Note(name, f"replaced {count} place{'' if count == 1 else 's'}")
                for name, count in self._state.replaced.items()
            ),
            *(Note(name, disabled, True) for name in sorted(self._state.disabled)),
        ]
