"""Processors: what may happen to calls and to text between what was read and what leaves.

They work on the hub's events inside a lane, so they act the same for native and text clients, for every dialect and
wire, streamed and whole, live and replayed. In this order, which `docs/processors.md` states:

    access    rules for calls: decided by name at once, by an argument as soon as it is final
    loops     the guard against circles: the same call, the same result, rounds, a passage of text
    reactors  functions of the user's own, on complete calls; what they changed goes through the rules once more
    filters   replacements in text, and in calls only where asked
    steering  the text in the place of a call that does not leave

A call is held until its fate is known and no longer, and what comes behind it waits behind it. Each call's own look
goes on while it waits, so nothing is looked at twice. Text and calls that pass are the same objects that came.

This is also what the files of reactors import: `Call`, and `Keep`, `Drop`, `Edit`, `Say`.
Past 300 lines, because a call's fate and the order of what leaves are one state.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal, Protocol

import msgspec

from toolcalls.events import (
    CallEnd,
    CallPiece,
    CallStart,
    Change,
    Event,
    Gone,
    Markup,
    Note,
    Removed,
    Text,
    Told,
    Verdict,
)
from toolcalls.processors.access import Gate, Judgement, Refusal
from toolcalls.processors.arguments import Arguments
from toolcalls.processors.filters import Filters
from toolcalls.processors.loops import Circle, Circles, Made, Passages
from toolcalls.processors.reactors import Answer, Call, Drop, Edit, Keep, Reactors, Runner, Say, rewritten
from toolcalls.processors.steering import Said, Voice, notice
from toolcalls.route import Loops, Reactor, Route
from toolcalls.values import members, to_text

__all__ = [
    "Answer", "Call", "Chain", "Drop", "Edit", "Keep", "Made", "Processing", "Processors", "Reply", "Say", "Watch",
]  # fmt: skip

# What leaves a chain: True and what has become of the next native event that came, in order; or False and one event
# or text of our own that stands in the reply's text.
type Left = tuple[Literal[True], tuple[Event | str, ...]] | tuple[Literal[False], Event | str]

_CROWDED = "max_frame_bytes"  # what a call is blocked by that must not be held any longer
_Fate = Literal["open", "passed", "made", "gone", "cut"]


class Processing(Protocol):
    """One lane's processors, as the lane sees them."""

    def quiet(self, piece: str) -> bool:
        """Whether nothing can happen to a piece of plain text. If it then passes, `passed` is told."""

    def passed(self, piece: str) -> bool:
        """A quiet piece of text has left; always True."""

    def streams(self, piece: CallPiece) -> bool:
        """Whether the next piece of a call in text leaves as it is, its markup with it. If so, it has been seen."""

    def read(self, events: Sequence[Event]) -> list[Left]:
        """The next events that were read from text."""

    def native(self, event: CallStart | CallPiece | CallEnd) -> list[Left]:
        """The next event of a native call."""

    def let_go(self) -> list[Left]:
        """No more can be held: calls that are not decided are taken for ones that will never be whole."""

    def finish(self) -> list[Left]:
        """Nothing follows: everything is decided now."""

    def judged(self, index: int, verdict: Verdict) -> Verdict:
        """The verdict of a native call that was let through, with what happened to it here."""

    @property
    def stopped(self) -> bool:
        """Whether the reply was stopped: nothing of it leaves any more."""


class Processors:
    """What a route's processors need to know of one exchange.

    agent     the client's User-Agent
    history   the calls of the conversation so far
    said      what the model said in it, a text each
    run       runs a reactor within its time limit; only the host has a clock, so without one there is none
    """

    def __init__(
        self,
        route: Route,
        *,
        model: str = "",
        agent: str = "",
        history: tuple[Made, ...] = (),
        said: tuple[str, ...] = (),
        run: Runner,
    ) -> None:
        self.route = route
        self.loops = route.loops if route.loops is not None and route.loops.takes_part else None
        self.gate = Gate(route.access, model=model, agent=agent) if route.access else None
        self.history = history
        self.said = said
        self.reactors = Reactors(route.reactors, run, model=model) if route.reactors else None

    @property
    def blocks(self) -> bool:
        """Whether a rule was written to block: then what fails must not let anything through."""
        access = self.route.access
        return access is not None and (access.default == "deny" or any(r.action == "block" for r in access.rules))

    def reply(self, *, whole: bool, as_text: bool) -> "Reply":
        """The processors of one reply, which make a chain for each of its lanes.

        whole     the reply comes as one body, whose native calls are read first
        as_text   the client is given calls as text, so a call's markup may have to stay where it stands
        """
        return Reply(self, whole=whole, as_text=as_text)


class Reply:
    """What the lanes of one reply share: the row of calls, the passages, what was said, whether it was stopped.

    A reply is what one client reads as one: all blocks or items of it, but only one of several choices.
    """

    def __init__(self, of: Processors, *, whole: bool, as_text: bool) -> None:
        loops = of.loops
        self.of = of
        self.whole = whole
        self.as_text = as_text
        self.circles = Circles(loops, of.history) if loops else None
        self.passages = Passages(loops.message, of.said) if loops and loops.message else None
        self.speaker: Chain | None = None  # whose text the passages heard last
        self.said = Said()
        self.replaced: dict[str, int] = {}  # by filter
        self.given_up: set[str] = set()  # filters whose pattern took too long
        self.stopped_by = ""  # the circle that nothing leaves behind any more
        self.silent = False  # the text of lanes that begin from here on is taken away
        self.chains: list[Chain] = []

    def chain(self) -> "Chain":
        """The processors of one lane."""
        made = Chain(self)
        self.chains.append(made)
        return made

    def screen(self) -> "Chain | None":
        """The rules alone, for a second look at a lane's text; None where none may block."""
        of = self.of
        if of.gate is None or not of.blocks:
            return None
        rules = Processors(replace(of.route, loops=None, reactors=(), filters=()), run=direct)
        rules.gate = of.gate
        second = Reply(rules, whole=self.whole, as_text=True)
        second.said.texts = self.said.texts  # each is said once
        return second.chain()

    def notes(self) -> list[Note]:
        """What is said of the whole reply, at its end."""
        said = "its pattern took too long, so it was left out for the rest of the reply"
        return [
            *(
                Note(name, f"replaced {count} place{'' if count == 1 else 's'}")
                for name, count in self.replaced.items()
            ),
            *(Note(name, said, True) for name in sorted(self.given_up)),
        ]


class Watch:
    """A loop guard that stands in no reply's way: it is asked when one has ended.

    history   the calls of the conversation so far, if calls of these names may close a circle with them
    """

    def __init__(self, loops: Loops, history: Callable[[frozenset[str]], tuple[Made, ...]]) -> None:
        self._loops = loops
        self._history = history

    def notes(self, calls: Iterable[tuple[str, str]]) -> list[Note]:
        """What is noticed of a reply's whole calls, each its name and argument JSON: the last of each kind and tool."""
        row = list(calls)
        names = frozenset(name for name, _ in row)
        circles = Circles(self._loops, self._history(names) if row else ())
        found: dict[tuple[str, str], Note] = {}
        for name, arguments in row:
            circle = circles.closes(name, arguments)
            circles.add(name, arguments)
            if circle is not None:
                found[circle.what, name] = _noted(circle, self._loops)
        return list(found.values())


class _Held:
    """One call on its way."""

    __slots__ = (
        "arguments", "besides", "changes", "collects", "counted", "fate", "held", "judgement", "learned", "left",
        "made", "native", "pieces", "refusal", "start", "texts", "told", "unnamed", "waits",
    )  # fmt: skip

    def __init__(self, start: CallStart, *, native: bool) -> None:
        self.start = start
        self.native = native
        self.fate: _Fate = "open"
        self.unnamed = False  # more of its name may come
        self.besides: list[str] = []  # pieces of its name, which some clients take for all of it
        self.judgement: Judgement | None = None
        self.waits = False  # for the whole of it
        self.collects = False  # its pieces are kept
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

    @property
    def call(self) -> tuple[str, str]:
        """Its name and argument JSON, as the model made it and as far as it came."""
        return self.start.name, "".join(self.pieces)


class Chain:
    """One lane's processors (`Processing`)."""

    def __init__(self, reply: Reply) -> None:
        of = reply.of
        route = of.route
        self._reply = reply
        self._of = of
        self._loops = of.loops
        self._acts = of.loops is not None and of.loops.acts
        self._circles = reply.circles
        self._passages = reply.passages
        self._filters = Filters(route.filters, reply.replaced, reply.given_up) if route.filters else None
        self._inside = any(filter_.calls for filter_ in route.filters)
        self._notices = route.steering == "request"
        self._voice = Voice(reply.said)
        self._silent = reply.silent  # the text from here on is taken away
        self._whole = reply.whole
        self._as_text = reply.as_text
        self._direct = not (reply.whole or reply.as_text)  # a call's markup goes, whatever becomes of the call
        self._alone = False  # only events of the call at its head stand in the queue
        self._late: list[str] = []
        self._calls: dict[tuple[bool, int], _Held] = {}
        self._queue: deque[tuple[bool, Event, _Held | None]] = deque()
        self._notes: list[Note] = []
        self._lead: Markup | None = None  # what stands before a call, if one begins behind it
        self._reading: _Held | None = None  # the call whose text is being read, up to its verdict
        self._out: list[Left] = []

    @property
    def stopped(self) -> bool:
        """Whether the reply was stopped: nothing of it leaves any more."""
        return bool(self._reply.stopped_by)

    # Text that just passes

    def quiet(self, piece: str) -> bool:
        """Whether nothing can happen to a piece of plain text."""
        if self._queue or self._silent or not self._voice.quiet:
            return False
        return not (self._acts and self._passages) and (self._filters is None or self._filters.quiet(piece))

    def passed(self, piece: str) -> bool:
        """A quiet piece of text has left; always True."""
        self._voice.heard(piece)
        if self._filters is not None:
            self._filters.passed(piece)
        if self._passages is not None and self._repeats(piece) is not None:
            self._note(self._passages.circle)
        return True

    def streams(self, piece: CallPiece) -> bool:
        """Whether the next piece of a call in text leaves as it is, its markup with it. If so, it has been seen."""
        if self._queue:
            return False
        call = self._calls[False, piece.index]
        if call.fate != "passed":
            return False
        if call.arguments is not None:  # which must not be asked twice
            return False
        if call.collects:
            call.pieces.append(piece.json)
        return True

    # In

    def read(self, events: Sequence[Event]) -> list[Left]:
        """The next events that were read from text."""
        for event in events:
            self._take(event, native=False)
        return self._left()

    def native(self, event: CallStart | CallPiece | CallEnd) -> list[Left]:
        """The next event of a native call."""
        self._take(event, native=True)
        return self._left()

    def let_go(self) -> list[Left]:
        """No more can be held: what a rule or a reactor that may block has not decided is blocked, the rest passes."""
        for call in self._calls.values():
            if call.fate == "open" and call.waits and self._of.reactors is not None:
                self._block(call, Refusal(_CROWDED, "undecided", ""))
            elif call.fate == "open":
                self._over(call)
        self._flow()
        return self._left()

    def finish(self) -> list[Left]:
        """Nothing follows: everything is decided now."""
        for call in self._calls.values():
            if call.fate == "open":
                self._over(call)
        self._flow()
        self._flush()
        for text in self._late:
            self._say(text)
        for call in self._calls.values():
            if call.native and call.fate == "gone" and not call.told:
                call.told = True
                self._out.append((False, self._marked(call, Verdict("blocked", None, None, call.start.name, 0, 0))))
        self._out.extend((False, note) for note in self._notes)
        self._notes.clear()
        return self._left()

    def judged(self, index: int, verdict: Verdict) -> Verdict:
        """The verdict of a native call that was let through, with what happened to it here."""
        call = self._calls.get((True, index))
        return verdict if call is None else self._marked(call, verdict)

    def _take(self, event: Event, *, native: bool) -> None:
        call = None
        if isinstance(event, CallStart):
            call = self._calls[native, event.index] = _Held(event, native=native)
            call.unnamed = bool(event.more) and (event.more == "likely" or self._refuses(event.name))
            if not call.unnamed:
                self._begin(call)
        elif isinstance(event, CallPiece):
            call = self._calls[native, event.index]
            if event.told is not None:
                self._told(call, event.told)
            if call.unnamed and event.json:
                self._begin(call)
            if call.collects:
                call.pieces.append(event.json)
            if call.arguments is not None:
                self._look(call, call.arguments, event.json)
        elif isinstance(event, CallEnd):
            call = self._calls[native, event.index]
            if call.unnamed:
                self._begin(call)
            self._ended(call)
        elif isinstance(event, Verdict) and event.index is not None:
            call = self._calls[native, event.index]
            if call.fate == "open":
                self._over(call)
        queue = self._queue
        if queue and self._alone and self._held_alone(event, call, queue[0][2]):
            return
        self._alone = self._direct and not native and not queue and isinstance(event, CallStart)
        queue.append((native, event, call))
        self._flow()
        if self._alone and queue:  # what stands before a call whose fate is open is decided
            self._flush()
            self._led()

    def _held_alone(self, event: Event, call: _Held | None, head: _Held | None) -> bool:
        """The next event of the only call in the queue: its markup goes at once, its pieces wait with its beginning."""
        if isinstance(event, Markup):
            self._out.append((False, event))
            return True
        if isinstance(event, CallPiece) and call is head and call is not None:
            call.held.append(event.json)
            if call.fate != "open":
                self._flow()
            return True
        return False

    # A call's fate

    def _refuses(self, name: str) -> bool:
        """Whether the rules refuse a name as it is, which may be only the beginning of one."""
        return self._of.gate is not None and self._of.gate.never(name) is not None

    def _told(self, call: _Held, told: Told) -> None:
        """More of a call's name, or what its wire says of it in the end, which a client may take instead."""
        if told.arguments is None:
            call.start = msgspec.structs.replace(call.start, name=told.name)
            call.besides.append(told.piece)
        if call.unnamed or self._of.gate is None or call.fate not in {"open", "passed"}:
            return
        judgement = self._of.gate.judge(told.name, [*call.besides, told.piece])
        readable = True
        try:
            for key, raw in members(told.arguments or ""):
                judgement.learn(key, raw)
        except ValueError:
            readable = False
        judgement.end(whole=readable or not judgement.watches)
        if judgement.refusal is not None:
            said = "the end of its call says otherwise than its beginning, so it is never complete"
            self._notes.extend([Note(judgement.refusal.rule, said, True)] if call.fate == "passed" else [])
            self._block(call, judgement.refusal)

    def _begin(self, call: _Held) -> None:
        """A call's name is final."""
        name = call.start.name
        call.unnamed = False
        if call.fate != "open":  # the reply was stopped before
            return
        if self._reply.stopped_by:
            self._block(call, Refusal(self._reply.stopped_by, "loop", ""))
            return
        of = self._of
        if of.gate is not None:
            call.judgement = of.gate.judge(name, call.besides)
            if call.judgement.refusal is not None:
                self._block(call, call.judgement.refusal)
                return
        circles = self._circles
        counted = circles is not None and circles.watches(name)
        closes = self._acts and circles is not None and circles.may_close(name)
        call.waits = (of.reactors is not None and of.reactors.watches(name)) or self._inside
        call.collects = counted or call.waits or (call.judgement is not None and call.judgement.watches)
        if call.waits or (counted and self._acts) or (call.judgement is not None and call.judgement.watches):
            call.arguments = Arguments()
        if not (call.waits or closes) and (call.judgement is None or call.judgement.decided):
            call.fate = "passed"

    def _look(self, call: _Held, arguments: Arguments, piece: str) -> None:
        """A piece of a call that is looked at: what became final in it may decide."""
        found = arguments.feed(piece)
        judgement = call.judgement
        if arguments.broken and judgement is not None:
            judgement.spoil()
            if judgement.refusal is not None:
                self._block(call, judgement.refusal)
                return
        if not found:
            return
        call.learned.extend(found)
        if judgement is not None:
            for key, raw in found:
                judgement.learn(key, raw)
            if judgement.refusal is not None:
                self._block(call, judgement.refusal)
                return
        if arguments.whole and not arguments.broken:
            self._count(call)
        undecided = call.waits or (judgement is not None and not judgement.decided)
        if call.fate == "open" and not undecided and (call.counted or not self._may_close(call)):
            call.fate = "passed"

    def _may_close(self, call: _Held) -> bool:
        circles = self._circles
        return self._acts and circles is not None and circles.may_close(call.start.name, tuple(call.learned))

    def _ended(self, call: _Held) -> None:
        """All of a call is here."""
        read = call.arguments is not None and call.arguments.whole and not call.arguments.broken
        if call.judgement is not None and call.fate in {"open", "passed"}:
            call.judgement.end(whole=read or not call.judgement.watches)
            if call.judgement.refusal is not None:
                self._block(call, call.judgement.refusal)
        self._count(call)
        if call.fate == "open":
            self._react(call, readable=read)

    def _count(self, call: _Held) -> None:
        """A call is whole: the loop guard counts it, once."""
        circles = self._circles
        if circles is None or call.counted or not circles.watches(call.start.name):
            return
        call.counted = True
        circle = None if call.fate in {"gone", "cut"} else circles.closes(*call.call)
        circles.add(*call.call)
        if circle is not None:
            self._note(circle)
            if self._acts and call.fate == "open":
                self._break(call, circle)

    def _over(self, call: _Held) -> None:
        """A call will not be whole. What needs the whole of it leaves it as it is; a rule that blocks does not."""
        if call.unnamed:
            self._begin(call)
        if call.judgement is not None:
            call.judgement.end(whole=False)
            if call.judgement.refusal is not None:
                self._block(call, call.judgement.refusal)
        if call.fate == "open":
            call.fate = "passed"

    def _block(self, call: _Held, refusal: Refusal) -> None:
        """The call does not leave; one that has begun to is never completed."""
        if call.fate in {"gone", "cut"}:
            return
        call.refusal = refusal
        call.fate = "cut" if call.fate == "passed" else "gone"
        call.collects = True
        if refusal.text:
            texts = self._late if call.fate == "cut" else call.texts
            texts.append(notice(refusal.rule) if self._notices else refusal.text)

    def _break(self, call: _Held, circle: Circle) -> None:
        loops = self._loops
        text = loops.text.replace("{what}", circle.text) if loops else ""
        self._block(call, Refusal(circle.what, "loop", text))
        if loops is not None and loops.action == "stop":
            self._stop(circle, silence=not (call.native and self._whole))  # there the text stands before the calls
            for chain in self._reply.chains:
                chain.give_up(circle, besides=call)

    def _stop(self, circle: Circle, *, silence: bool) -> None:
        """Nothing more of the reply leaves. `silence`: the text of its lanes that have begun, too."""
        self._reply.stopped_by = circle.what
        self._silence(begun=silence)

    def _silence(self, *, begun: bool = True) -> None:
        self._reply.silent = True
        for chain in self._reply.chains if begun else ():
            chain._silent = True

    def give_up(self, circle: Circle, *, besides: "_Held") -> None:
        """The reply was stopped: no call leaves that has not begun to."""
        for other in self._calls.values():
            if other is not besides and not other.left:
                other.fate = "open" if other.fate == "passed" else other.fate
                self._block(other, Refusal(circle.what, "loop", ""))

    def _react(self, call: _Held, *, readable: bool) -> None:
        """The user's own functions, and the filters that are asked into calls; then the rules once more."""
        before = name, arguments = call.call
        if readable and self._of.reactors is not None and self._of.reactors.watches(name):
            reacted = self._of.reactors.react(name, arguments, call.start.dialect)
            call.texts.extend(reacted.texts)
            self._notes.extend(Note(rule, f"{why}; the call of {name} stays", True) for rule, why in reacted.failures)
            for rule, after in reacted.changes:
                call.changes.append(Change(rule, before, after))
                before = after or before
            if reacted.call is None:
                call.fate = "gone"
                call.refusal = Refusal(reacted.changes[-1][0], "dropped", "")
                return
        if readable and self._inside and self._filters is not None:
            after = before[0], _filtered(before[1], self._filters)
            if after != before:
                call.changes.append(Change("filters", before, after))
                before = after
        call.made = before
        call.fate = "made" if call.changes else "passed"
        if call.changes and self._of.gate is not None:
            judgement = self._of.gate.judge(before[0])
            for key, raw in members(before[1]):
                judgement.learn(key, raw)
            judgement.end(whole=True)
            if judgement.refusal is not None:
                self._block(call, judgement.refusal)

    def _note(self, circle: Circle) -> None:
        if self._loops is not None:
            self._notes.append(_noted(circle, self._loops))

    # Out

    def _left(self) -> list[Left]:
        if not self._queue:
            self._led()
        out, self._out = self._out, []
        return out

    def _flow(self) -> None:
        """Let out what stands behind no call whose fate is open."""
        queue = self._queue
        while queue:
            native, event, call = queue[0]
            if call is not None and call.fate == "open":
                return
            queue.popleft()
            if isinstance(event, CallStart) and call is not None:
                self._flush()
                self._leave(call, event, native=native)
                continue
            self._led()
            if isinstance(event, Markup):
                self._flush()
                self._lead = event
                if self._reading is not None and self._reading.fate in {"gone", "cut"}:
                    self._led(gone=True)
            elif isinstance(event, Text):
                self._text(event)
            elif isinstance(event, Verdict):
                self._reading = None if call is self._reading else self._reading
                self._out.append((False, event if call is None else self._marked(call, event)))
            elif call is None:
                self._flush()
                self._out.append((False, event))
            else:
                self._leave(call, event, native=native)

    def _led(self, *, gone: bool = False) -> None:
        """Let the latest markup out. `gone`: its call does not leave."""
        if self._lead is not None:
            self._out.append((False, Removed(self._lead.text) if gone else self._lead))
            if self._as_text and not gone:
                self._voice.heard(self._lead.text)
            self._lead = None

    def _leave(self, call: _Held, event: Event, *, native: bool) -> None:
        """One event of a call whose fate is known."""
        out: list[Event | str] = []
        if isinstance(event, CallStart):
            call.left = True
            texts = call.texts
            if native and self._whole:
                self._late.extend(texts)
                texts = []
            said = [text for text in map(self._voice.say, texts) if text]
            if call.fate == "passed":
                self._out.extend((False, text) for text in said if not native)
                out = [*(said if native else ()), event]
                if call.held:
                    out.append(CallPiece(event.index, "".join(call.held)))
            else:
                out = [Gone(call.start.index), *said, *(_made(call) if call.fate == "made" else ())]
            self._led(gone=call.fate == "gone" and not native)
            self._reading = self._reading if native else call
        elif call.fate == "passed":
            out.append(event)
        elif isinstance(event, CallPiece) and (native or call.fate == "cut"):
            out.append(Gone(call.start.index))
        if native:
            self._out.append((True, tuple(out)))
        else:
            self._out.extend((False, one) for one in out)

    def _marked(self, call: _Held, verdict: Verdict) -> Verdict:
        """A verdict with what happened to its call here."""
        changes = tuple(call.changes)
        if call.refusal is None:
            return msgspec.structs.replace(verdict, changes=changes) if changes else verdict
        refusal = call.refusal
        if not changes or changes[-1].after is not None:
            before = (changes[-1].after if changes else None) or call.call
            changes = (*changes, Change(refusal.rule, before, None))
        index = verdict.index if call.fate == "cut" else None
        return msgspec.structs.replace(
            verdict, status="blocked", reason=refusal.reason, rule=refusal.rule, index=index, changes=changes
        )

    def _text(self, event: Text) -> None:
        text = event.text
        if self._silent:
            self._out.append((False, Removed(text)))
            return
        at = self._repeats(text) if self._passages is not None else None
        if at is not None and self._passages is not None:
            circle = self._passages.circle
            self._note(circle)
            if self._acts and self._loops is not None:
                self._show(text[:at])
                self._flush()
                self._say(notice(circle.what) if self._notices else self._loops.text.replace("{what}", circle.text))
                if self._loops.action == "stop":
                    self._stop(circle, silence=True)
                else:
                    self._silence()
                if text[at:]:
                    self._out.append((False, Removed(text[at:])))
                return
        self._show(text)

    def _repeats(self, text: str) -> int | None:
        """Where in `text` a passage has come too often."""
        reply, passages = self._reply, self._passages
        if passages is None:
            return None
        if reply.speaker is not self:  # another block: a line begins
            reply.speaker = self
            passages.apart()
        return passages.feed(text)

    def _show(self, text: str) -> None:
        """Text of the model's, through the filters."""
        if not text:
            return
        apart = self._voice.before(text)
        if apart:
            self._out.append((False, apart))
        shown: list[Event | str] = [Text(text)] if self._filters is None else self._filters.feed(text)
        self._shown(shown)

    def _flush(self) -> None:
        if self._filters is not None:
            self._shown(self._filters.flush())

    def _shown(self, outcomes: Sequence[Event | str]) -> None:
        for outcome in outcomes:
            if isinstance(outcome, Text | str):
                self._voice.heard(outcome if isinstance(outcome, str) else outcome.text)
            self._out.append((False, outcome))

    def _say(self, text: str) -> None:
        said = self._voice.say(text)
        if said:
            self._out.append((False, said))


def _noted(circle: Circle, loops: Loops) -> Note:
    return Note(circle.what, circle.text, loops.action != "observe")


def _made(call: _Held) -> Iterator[Event]:
    """A call as processors made it anew."""
    name, arguments = call.made
    index = call.start.index
    same = name == call.start.name
    yield CallStart(index, name, "", call.start.id, call.start.form if same else "", call.start.space if same else "")
    yield CallPiece(index, arguments)
    yield CallEnd(index)


def _filtered(arguments: str, filters: Filters) -> str:
    """Argument JSON with the filters' replacements in its strings, of objects and lists only those at the top."""
    values: dict[str, str] = {}
    for key, raw in members(arguments):
        text, is_string = to_text(raw)
        new = filters.rewrite(text) if is_string else text
        if is_string and new != text:
            values[key] = new
    if not values:
        return arguments
    return rewritten(arguments, values, rest=True)


def direct(reactor: Reactor, call: Call) -> Answer:
    """A runner for hosts without reactors: there is nobody to load their files."""
    raise LookupError(f"{reactor.function} of {reactor.file} is not loaded; {call.name} stays")
