"""Reasoning that a message begins with, in tags, goes to the field that the API has for it (`mend: [reasoning]`).

Only at the very beginning of a message: elsewhere the tag may be spoken of. The tags and the white space around the
thought go; each piece of the thought leaves as it comes, but for what may begin the closing tag. A thought that is not
closed is one to the message's end. After anything but text nothing is moved any more.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Literal

from toolcalls.events import Note, Reasoning, Removed, Text, Verdict
from toolcalls.mending.reply_watch import MessageWatch
from toolcalls.replies.stages import ITEMS, End, Item, Stage
from toolcalls.text.quoting_marks import REASONING_TAGS

_MOST_BLANKS = 64  # in front of the tag
_LINE_END = re.compile(r"(?:\r?\n|\r)\Z")


class Thoughts(Stage):
    """Moves the reasoning at the beginning of a message. `done`: from here on nothing is moved.

    message     what is known of the message as a whole: moved reasoning is none of its text
    elsewhere   the upstream has reasoning in that field already, so a tag is only text
    """

    looks_at = ITEMS

    def __init__(self, message: MessageWatch) -> None:
        self.done = self.elsewhere = False
        self._message = message
        self._at: Literal["start", "inside", "behind"] = "start"
        self._closer = ""
        self._held = ""  # text that is undecided
        self._thinks = False  # some of the thought has left

    @property
    def holds(self) -> bool:
        """Whether text is held."""
        return bool(self._held)

    def feed(self, items: Iterable[Item]) -> Iterator[Item]:
        """Text as reasoning, while it is."""
        for item in items:
            if self.done:
                yield item
            elif isinstance(item, Text):
                self._held += item.text
                yield from self._decide()
            elif isinstance(item, Verdict | Note):
                yield item
            else:
                yield from self._stop()
                yield item

    def release(self) -> Iterator[Item]:
        """What is held is what it seems to be; a thought goes on."""
        if self._at == "start":
            yield from self._stop()
        elif not self.done:
            yield from self._held_now()

    def _stop(self) -> Iterator[Item]:
        """What is held is what it seems to be, and what follows is text."""
        yield from self._held_now()
        self.done = True

    def _held_now(self) -> Iterator[Item]:
        held, self._held = self._held, ""
        if self._at == "inside":
            yield from self._thought(held)
        elif self._at == "behind":
            yield from [Removed(held)] if held else []
        elif held:
            yield Text(held)

    def finish(self, end: End) -> Iterator[Item]:  # noqa: ARG002 - it ends in any case
        if not self.done:
            yield from self._stop()

    def _decide(self) -> Iterator[Item]:
        """What of the held text is certain."""
        if self._at == "start":
            yield from self._open()
        if self._at == "inside":
            yield from self._inside()
        if self._at == "behind":
            yield from self._behind()

    def _open(self) -> Iterator[Item]:
        begins = self._held.lstrip()
        blanks = len(self._held) - len(begins)
        tag = next((tag for tag in REASONING_TAGS if begins.startswith(tag)), None)
        if self.elsewhere or blanks > _MOST_BLANKS:
            yield from self._stop()
        elif tag is not None:
            size = blanks + len(tag)
            taken, self._held = self._held[:size], self._held[size:]
            self._at, self._closer = "inside", REASONING_TAGS[tag].lower()
            self._message.moves = True
            self._message.says = False
            yield Removed(taken)
            yield Note(
                "reasoning_in_text",
                f"{tag} began the text; the reasoning was moved to its field",
                warns=True,
                mended=True,
            )
        elif begins and not any(tag.startswith(begins) for tag in REASONING_TAGS):
            yield from self._stop()

    def _inside(self) -> Iterator[Item]:
        if not self._thinks and (thought := self._held.lstrip()) != self._held:
            yield Removed(self._held[: len(self._held) - len(thought)])
            self._held = thought
        at = self._held.lower().find(self._closer)
        if at >= 0:
            thought, behind = self._held[:at], self._held[at + len(self._closer) :]
            kept = _LINE_END.sub("", thought)
            yield from self._thought(kept)
            yield Removed(self._held[len(kept) : at + len(self._closer)])
            self._at, self._held = "behind", behind
            return
        size = self._certain()
        thought, self._held = self._held[:size], self._held[size:]
        yield from self._thought(thought)

    def _certain(self) -> int:
        """How many characters of the held text are thought: not its last line end, nor what may begin the closer."""
        held = self._held.lower()
        most = min(len(self._closer) - 1, len(held))
        begun = next((size for size in range(most, 0, -1) if self._closer.startswith(held[len(held) - size :])), 0)
        found = _LINE_END.search(held, 0, len(held) - begun)
        return len(held) - begun if found is None else found.start()

    def _behind(self) -> Iterator[Item]:
        text, held = self._held.lstrip(), self._held
        self._held = ""
        if len(text) < len(held):
            yield Removed(held[: len(held) - len(text)])
        if text:
            self.done = self._message.says = True
            yield Text(text)

    def _thought(self, text: str) -> Iterator[Item]:
        if text:
            self._thinks = True
            self._message.thought(text)
            yield Removed(text)
            yield Reasoning(text, moved=True)
