"""What the most careless parser of a client's dialect makes of the text that the client is given (law 13).

Such a parser takes the first opener up to the first closer or the last one, skips what it does not know, takes the last
of two values, and runs a call that never ends. So from an opener on each parameter counts, however far after it and in
whichever block of the message, in every reading at once: a value up to its first closer and up to its last one, a call
up to its first closer and a later one. What would make a forbidden call of any reading does not leave.

The text of a call is held until its first closer, or until it is longer than `PATIENCE`, as where a tool is only
mentioned. From then on only parameters that a rule may ask for are held, and JSON, which may be all of a call whose
tag is far before it and is never closed. If a held call is forbidden, all of it goes; otherwise the parameter or the
closer goes without which no reading has it. All limits are places in the text, so it does not matter in which pieces it
comes.
"""

from collections.abc import Sequence

from toolcalls.processors.access import Gate, Judgement, Refusal
from toolcalls.processors.careless_calls import Candidate, Decided, Element, Forbidden, Hidden, refused_objects
from toolcalls.processors.careless_tags import LONGEST, NESTED, Tag, Tags, as_json
from toolcalls.processors.careless_text import LINGERS, KeptText

PATIENCE = 2000  # characters of a call, or after one that was removed, that are held though no rule asks for them
_CANDIDATES = 64  # calls that are open at once
_CLOSERS = 16  # further closers of a value that are tried


class CarelessReading:
    """The text of one reply, whatever its blocks are, as it is shown.

    hidden  why no more text is shown, "" where it is
    owner   who fed the latest text
    """

    def __init__(self, gate: Gate, tags: Tags) -> None:
        self._gate = gate
        self._tags = tags
        self._candidates: list[Candidate] = []
        self._elements: list[Element] = []
        self._refused: tuple[Candidate, int] | None = None
        self._begun = 0  # the place of a tag that has begun, that of the end for none
        self._signs = ""  # one of them must come before that tag can end, if it is long; else ""
        self._unread = False  # none of them has come in the latest text
        self._handled: set[tuple[str, int, int]] = set()  # tags inside of that tag, which are read once
        self._end = 0  # of the text so far
        self._decided = 0  # up to here
        self._without_json = 0  # up to here, from the place on that was decided then
        self._kept = KeptText()
        self._out: list[Decided | Forbidden] = []
        self.owner: object = None
        self.hidden = ""

    @property
    def removing(self) -> bool:
        """Whether the rest of a call that was removed is waited for."""
        return self._refused is not None

    def passes(self, text: str) -> bool:
        """Whether the next text is shown at once. If so, it has been read."""
        if self._begun < self._end or self.hidden or self._elements or self._refused or "<" in text:
            return False
        if any(call.held or call.ended is None for call in self._candidates):
            return False
        self._store(text)
        self._decided = self._begun = self._end
        return True

    def feed(self, text: str) -> list[Decided | Forbidden]:
        """What is decided with the next text. Raises Hidden, after which nothing is decided any more."""
        if self.hidden:
            raise Hidden(self.hidden)
        self._store(text)
        self._unread = bool(self._signs) and not any(sign in text for sign in self._signs)
        if not self._unread:
            self._read()
        return self._taken()

    def _read(self) -> None:
        """Find the tags in the text that is not read yet."""
        base = self._begun
        work = self._kept.text(base, self._end) or ""
        ends = self._kept.ends(base, self._end)
        found = self._tags.found_apart(work, [place - base for place in ends]) if ends else self._tags.found(work)
        begun = self._tags.begun(work)
        handled, self._handled = self._handled, set()
        for tag in found:
            place = (tag.kind, base + tag.start, base + tag.end)
            if place not in handled:
                self._handle(tag, base)
            if tag.start >= begun:
                self._handled.add(place)
        self._begun = base + begun
        is_long = len(work) - begun >= LONGEST
        self._signs = self._tags.signs_of_end(work[begun : begun + LONGEST]) if is_long else ""
        self._settle(self._begun)

    def boundary(self) -> list[Decided | Forbidden]:
        """What is decided where a block ends, and perhaps the reply. Some parsers run what they have by then."""
        if self._unread:
            self._unread = False
            self._read()
        for call in list(self._candidates):
            if call.ended is None and call in self._candidates:
                self._judge_open(call)
        self._refused = None
        self._show(self._end)
        for call in self._candidates:
            call.held, call.again = call.held and call.objects, False
            call.held_from = self._end
        self._kept.boundary()
        return self._taken()

    def _taken(self) -> list[Decided | Forbidden]:
        out, self._out = self._out, []
        return out

    def _store(self, text: str) -> None:
        """Keep the next text, and forget what no reading needs."""
        kept = self._kept
        kept.add(text)
        self._end = kept.end
        if not kept.is_large and self._candidates:
            return
        recent = self._end - LINGERS
        self._candidates = [call for call in self._candidates if call.ended is None or call.ended > recent]
        open_ = [element.inside for element in self._elements]
        open_ += [call.inside for call in self._candidates if call.objects and call.ended is None]
        values = [value[0] for call in self._candidates for value in call.closed.values() if value[0] > recent]
        kept.forget(min([self._begun, *open_, *values]))

    # What leaves

    def _show(self, place: int) -> None:
        if place > self._decided:
            self._out.append(Decided(place - self._decided, not self.hidden))
            self._decided = place

    def _drop(self, place: int) -> None:
        if place > self._decided:
            self._out.append(Decided(place - self._decided, False))
            self._decided = place

    def _settle(self, place: int) -> None:
        """Show what no reading needs any more, when all up to `place` was read."""
        if self._refused is not None and place > self._refused[1] + PATIENCE:
            self._refused = None
        for element in self._elements:
            if element.asked is None and (begun := (self._kept.text(element.inside, place) or "").strip()):
                element.asked = begun[0] in "{["
        asked = [element.start for element in self._elements if element.asked is not False]
        for call in self._candidates:
            if call.held and place > call.held_from + PATIENCE and self._may_pass(call, asked):
                call.held = False
        self._hold_objects(place)
        waits = [call.held_from for call in self._candidates if call.held]
        if self._refused is not None:
            waits.append(self._refused[1])
        self._show(min([place, *waits, *asked]))

    def _hold_objects(self, place: int) -> None:
        """Hold the text again in which JSON begins, however far behind the tag of its call."""
        calls = [call for call in self._candidates if call.objects and call.ended is None and not call.held]
        start = max(self._decided, self._without_json)
        text = self._kept.text(start, place) if calls else None
        if text is None:
            return
        brace = text.find("{")
        if brace < 0:
            self._without_json = max(start, place)
            return
        for call in calls:
            call.held, call.again, call.held_from = True, True, start + brace

    def _may_pass(self, call: Candidate, asked: Sequence[int]) -> bool:
        """Whether what came of a call is permitted, and may be a mention."""
        if call.objects:
            return "{" not in (self._kept.text(call.inside, call.held_from + PATIENCE) or "{")
        if any(call.start <= start <= call.start + PATIENCE for start in asked):
            return False
        return call.judgement.only_blocks or (call.judgement.decided and call.judgement.refusal is None)

    def _refuse(self, call: Candidate, refusal: Refusal, cause: int, end: int) -> None:
        """A reading is forbidden: all that is held of the call goes, up to `end`, or what stands from `cause` on."""
        start = call.held_from if call.held else cause
        others = [
            other
            for other in self._candidates
            if other.held and other.held_from < start and not other.judgement.only_blocks
        ]
        start = min([start, *(other.held_from for other in others)])
        shows_part = start < self._decided < end or (call.objects and call.start < call.held_from and not call.again)
        self._show(start)
        self._drop(end)
        self._out.append(Forbidden(call.names[0], refusal, start, end, tuple(call.learned)))
        if call.held and call.ended is None and not call.again:
            self._refused = (call, end)
        for other in self._candidates:
            if other.again and other.held and other.held_from >= start:
                other.restart(end)  # its tag has left, and no JSON behind that
        self._elements = [element for element in self._elements if element.start < start]
        self._candidates = [other for other in self._candidates if not (other.held and other.held_from >= start)]
        if shows_part:
            self.hidden = "a call goes on behind a block's end"

    def _judged(self, call: Candidate, learned: Sequence[tuple[str, str]]) -> Judgement:
        judgement = self._gate.judge(call.names[0], call.names[1:])
        for key, raw in learned:
            judgement.learn(key, raw)
        return judgement

    # Tags

    def _handle(self, tag: Tag, base: int) -> None:
        start, end = base + tag.start, base + tag.end
        self._settle(start)
        data = next((element for element in reversed(self._elements) if element.data), None)
        if data is not None and not self._ends(tag, data):
            return
        if self.hidden:
            return
        if tag.kind in {"end", "objects end"}:
            self._end_of_calls(tag, start, end)
        elif tag.kind in {"call", "objects"}:
            self._call(tag, start, end)
        elif tag.kind == "value":
            self._value(tag, start, end)
        elif tag.kind == "given":
            for call in list(self._candidates):
                self._learn(call, tag.names, [tag.value], start, end)
        else:
            self._closer(tag, start, end)

    def _ends(self, tag: Tag, element: Element) -> bool:
        """Whether a tag ends a value in which no other one counts."""
        if tag.kind == "closer":
            return element.bare if not tag.names else not element.bare and tag.names[0] in element.keys
        if tag.kind == "end":
            return any(call.ended is None and self._is_end(tag, call) for call in self._candidates) or (
                self._refused is not None and self._is_end(tag, self._refused[0])
            )
        return False

    @staticmethod
    def _is_end(tag: Tag, call: Candidate) -> bool:
        if tag.kind == "objects end" or call.objects:
            return call.objects and tag.kind == "objects end"
        return call.bare if not tag.names else not call.bare and tag.names[0] == call.names[0]

    def _call(self, tag: Tag, start: int, end: int) -> None:
        self._refused = None
        self._settle(start)
        bare, objects = tag.bare, tag.kind == "objects"
        self._candidates = [
            call
            for call in self._candidates
            if call.ended is None or call.objects != objects or (not bare and call.names[0] != tag.names[0])
        ]
        names = tag.names or ("",)
        call = Candidate(names, start, start, end, self._gate.judge(names[0], names[1:]), bare, objects)
        same = [other for other in self._candidates if other.names == names and not other.held and not other.learned]
        if same and objects is False:
            self._candidates = [other for other in self._candidates if other not in same[1:]]
        if len(self._candidates) >= _CANDIDATES:
            self.hidden = "max_candidates"
            return
        self._candidates.append(call)
        if objects:
            return
        judgement = call.judgement
        if judgement.decided and judgement.refusal is not None:
            self._refuse(call, judgement.refusal, start, end)
        elif judgement.decided and not judgement.watches:
            call.held = False

    def _value(self, tag: Tag, start: int, end: int) -> None:
        calls = [call for call in self._candidates if not call.objects]
        if not calls:
            return
        bare = tag.bare
        current = next((call for call in reversed(calls) if call.ended is None), None)
        data = current is not None and (bare or self._tags.is_data(current.names[0], tag.names[0]))
        data = data and not (tag.foreign or self._kept.is_split(start, end))
        asked = any(call.judgement.asks(key) or key in NESTED for call in calls for key in tag.names)
        self._elements.append(Element(tag.names, start, end, bare, data, True if asked else None))
        if len(self._elements) > _CANDIDATES:
            self.hidden = "max_depth"

    def _closer(self, tag: Tag, start: int, end: int) -> None:
        for place in range(len(self._elements) - 1, -1, -1):
            element = self._elements[place]
            if (element.bare and not tag.names) or (not element.bare and tag.names and tag.names[0] in element.keys):
                ended, self._elements = self._elements[place:], self._elements[:place]
                for one in reversed(ended):
                    self._end_of_value(one, start, end)
                return
        name = tag.names[0] if tag.names else ""
        for call in list(self._candidates):
            if name not in call.closed or call not in self._candidates:
                continue
            inside, keys, tries = call.closed[name]
            call.closed[name] = (inside, keys, tries + 1)
            if any(call.judgement.asks(key) or key in NESTED for key in keys):
                self._learn(call, keys, None if tries > _CLOSERS else self._kept.values(inside, start), start, end)

    def _end_of_value(self, element: Element, start: int, end: int) -> None:
        name = "" if element.bare else element.keys[0]
        values = self._kept.values(element.inside, start) if element.asked is not False else []
        for call in list(self._candidates):
            if call in self._candidates and not call.objects:
                call.closed[name] = (element.inside, element.keys, 0)
                self._learn(call, element.keys, values, element.start, end)

    def _learn(self, call: Candidate, keys: Sequence[str], values: Sequence[str] | None, cause: int, end: int) -> None:
        """A reading gives a call an argument. `values`: None where it is not kept any more."""
        judgement = call.judgement
        if call.objects or call.poisoned is not None:
            return
        if values is None:
            judgement.mark_invalid()
        before = len(call.learned)
        for value in values or ():
            for key in keys:
                raw = as_json(value)
                call.learned.append((key, raw))
                judgement.learn(key, raw)
        if judgement.refusal is None:
            return
        if call.ended is None:
            self._refuse(call, judgement.refusal, cause, end)
            del call.learned[before:]  # where the call stays open, the client has it without them
            call.judgement = self._judged(call, call.learned)
        else:
            call.poisoned = judgement.refusal

    def _end_of_calls(self, tag: Tag, start: int, end: int) -> None:
        if self._refused is not None and self._is_end(tag, self._refused[0]):
            self._drop(end)
            self._refused = None
        for call in [call for call in self._candidates if self._is_end(tag, call)]:
            if call not in self._candidates:
                continue
            if call.objects:
                self._judge_objects(call, start, end)
                continue
            if call.ended is not None:
                if call.poisoned is not None:
                    self._refuse(call, call.poisoned, start, end)
                    call.poisoned = None
                continue
            self._judge_open(call, start, end)
            if call not in self._candidates:
                continue
            call.judgement.end(whole=True)
            if call.judgement.refusal is not None:
                self._refuse(call, call.judgement.refusal, start, end)
                continue
            call.ended, call.held = None if self._kept.is_split(start, end) else end, False
        self._elements = [element for element in self._elements if self._open_before(element)]

    def _open_before(self, element: Element) -> bool:
        """Whether a call that began before a parameter is still open."""
        return any(call.ended is None and call.start < element.start for call in self._candidates)

    def _judge_open(self, call: Candidate, start: int | None = None, end: int | None = None) -> None:
        """A call ends, or its block does, in the middle of what it is: values end there, too."""
        at, behind = self._end if start is None else start, self._end if end is None else end
        if call.objects:
            self._judge_objects(call, at, behind)
            return
        probe = self._judged(call, call.learned)
        cause = at
        for element in self._elements:
            for value in self._kept.values(element.inside, at) or () if element.asked is not False else ():
                for key in element.keys:
                    probe.learn(key, as_json(value))
            cause = min(cause, element.start)
            if end is not None:
                call.closed["" if element.bare else element.keys[0]] = (element.inside, element.keys, 0)
        if end is None or probe.refusal is not None:
            probe.end(whole=True)
        if probe.refusal is not None:
            self._refuse(call, probe.refusal, min(max(cause, self._decided), behind), behind)

    def _judge_objects(self, call: Candidate, start: int, end: int) -> None:
        """The calls in JSON between two tags, of which a later one may be the last."""
        inside, keys, tries = call.closed.get("", (call.inside, (), 0))
        call.closed[""] = (inside, keys, tries + 1)
        text = None if tries > _CLOSERS else self._kept.text(inside, start)
        for name, learned, refusal in refused_objects(self._gate, text):
            call.names, call.learned = (name,), learned
            self._refuse(call, refusal, start, end)
            return
        if call.ended is None and end != start and not self._kept.is_split(start, end):
            call.ended, call.held = end, False
