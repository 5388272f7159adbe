"""The plan: which stages a reply goes through, by the kind of exchange. Here alone kinds and stages meet.

`PLAN` shows all kinds side by side. A kind leaves stages out, and never changes their order.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal

from msgspec.structs import replace as replace_fields

from toolcalls.events import CallPiece, CallStart, Note
from toolcalls.ids import call_id
from toolcalls.processors import LoopWatch, Processors, Reply
from toolcalls.processors.guarded_text import GuardedText
from toolcalls.processors.screening import ScreenedText
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.replies.calls import Calls, ClientCall, SharedCalls
from toolcalls.replies.lane import Lane, MessagePlace
from toolcalls.replies.reading_ahead import reasoning_ends
from toolcalls.replies.reply_mending import ReplyMending
from toolcalls.replies.row import Row
from toolcalls.replies.stages.act import Act
from toolcalls.replies.stages.end import Finishing, FinishMending
from toolcalls.replies.stages.judge import Judge
from toolcalls.replies.stages.number import Number
from toolcalls.replies.stages.reread import Reread
from toolcalls.replies.stages.screen import Screening
from toolcalls.replies.stages.thoughts import Thoughts
from toolcalls.replies.stages.twins import Twins
from toolcalls.replies.stages.write import Write
from toolcalls.requests.evidence import Decision, Kind
from toolcalls.text.markdown import Position
from toolcalls.values.tool_values import ToolValues
from toolcalls.values.toolbox import Toolbox
from toolcalls.values.value_mending import Held
from toolcalls.wires import Part, Wire
from toolcalls.writing.roundtrip import ClientText

# When a stage is in the row: never, always, or where the route has processors (or none), filters, rules that may block,
# or does not take calls that come natively, too.
type _When = Literal["", "always", "processors", "no processors", "filters", "rules", "no duplicates"]

_KINDS: tuple[Kind, ...] = ("observe", "process", "lift", "lower", "roundtrip")
_ROWS: Mapping[str, tuple[_When, _When, _When, _When, _When]] = {
    #           observe   process          lift             lower            roundtrip
    "read":   ("always", "always",        "always",        "always",        "always"),
    "act":    ("",       "processors",    "processors",    "processors",    "processors"),
    "reread": ("",       "",              "",              "filters",       "filters"),
    "twins":  ("",       "",              "no duplicates", "",              "no duplicates"),
    "number": ("always", "always",        "always",        "always",        "always"),
    "write":  ("",       "",              "",              "always",        "always"),
    "judge":  ("always", "always",        "always",        "always",        "always"),
    "screen": ("",       "",              "",              "rules",         "rules"),
    "end":    ("always", "always",        "always",        "always",        "always"),
    # Not a stage: whether undecided text leaves when no more may be held. A text client would make a call in it that
    # no processor has seen.
    "text is released": ("always", "no processors", "always", "no processors", "no processors"),
}  # fmt: skip
PLAN: Mapping[Kind, Mapping[str, _When]] = {
    kind: {name: row[place] for name, row in _ROWS.items()} for place, kind in enumerate(_KINDS)
}


class Plan:
    """Builds the lanes of one exchange.

    guarded      a rule was written to block, so after a fault nothing may pass
    reads_text   the client reads calls from text
    whole_calls  a call is shown when it is complete: one that has no end becomes text again, so its markup is kept
    broken_is_text  a call that broke off is text to the client
    """

    def __init__(
        self,
        wire: Wire,
        call_policy: CallPolicy,
        decision: Decision,
        tools: Toolbox,
        processors: Processors | None,
        watch: LoopWatch | None,
        *,
        streamed: bool,
        mending: ReplyMending | None = None,
    ) -> None:
        self._mending = mending or ReplyMending()
        self._watch = watch
        self._wire = wire
        self._call_policy = call_policy
        self._decision = decision
        self.tools = self._tools = tools
        self._streamed = streamed
        self._when = PLAN[decision.kind]
        self._processors = processors if self._when["act"] else None
        self._replies: dict[int, Reply] = {}
        self._finishes: dict[int, FinishMending] = {}
        self._shared: dict[int, SharedCalls] = {}  # by reply
        self._calling: set[int] = set()  # replies that have native calls, as far as that is known
        self._latest: Lane | None = None
        self._reasoning_ends: Mapping[int, int] = {}
        self._reasons_elsewhere: set[int] = set()  # replies that have reasoning in a field of its own
        self.guarded = self._processors is not None and self._processors.blocks
        self.reads_text = bool(self._when["screen"])
        # A call that processors stopped in its middle is not for the client, as text neither.
        self.whole_calls = not streamed or (wire.calls_are_whole and self._processors is None)
        self.broken_is_text = self.whole_calls and not wire.shows_open_calls

    def lane(self, number: int, seed: Callable[[], bytes]) -> Lane:
        """The lane with this number. `seed` gives what tells the reply from other replies."""
        call_policy, tools, wire = self._call_policy, self._tools, self._wire
        reply = None if self._processors is None else self._reply(self._processors, number)
        processing = None if reply is None else reply.chain()
        rules = None if reply is None or not self._when["screen"] else reply.screen()
        facts: set[_When] = {"always", "no processors" if processing is None else "processors"}
        if processing is not None and call_policy.route.filters:
            facts.add("filters")
        if rules is not None:
            facts.add("rules")
        if not call_policy.takes("duplicate"):
            facts.add("no duplicates")
        row = {name for name, when in self._when.items() if when in facts}
        roundtrip = self._decision.kind == "roundtrip"

        def id_of(index: int, name: str) -> str:
            return call_id(seed(), number, index, name, prefix=wire.call_id_prefix, roundtrip=roundtrip)

        mark = self._mending.mark(self.reply_of(number), None if processing is None else processing.judged)
        calls = Calls(mark, self._shared.setdefault(self.reply_of(number), SharedCalls(tools)))
        if processing is not None:
            processing.mark = self._mending.mark(self.reply_of(number), None)
        decision = self._decision
        client = ClientText(decision.dialect, decision.client_dialects, decision.translates, decision.one_call)
        acts = processing is not None
        begins = self._begins(number, filtered="reread" in row)
        write = None
        if "write" in row:
            place = (begins.filtered or begins.as_it_came).copy()
            request = call_policy.request
            structured = request.response_format and bool(request.tools)  # else JSON may be how it is to call
            write = Write(calls, client, tools, call_policy.route, acts=acts, place=place, structured=structured)
        screen = None
        if write is not None and rules is not None:
            screened: ScreenedText | GuardedText = ScreenedText(call_policy, tools, rules, write.round_trip())
            spoken = client.dialects or tuple(filter(None, (client.dialect,)))
            careless = reply.careless(spoken, tools) if reply is not None else None
            if careless is not None and isinstance(screened, ScreenedText):
                reading, inserter = careless
                notices = call_policy.route.steering == "request"
                screened = GuardedText(screened, reading, inserter, client.dialect, notices=notices)
            screen = Screening(screened, calls, room=call_policy.route.max_call_chars)
        reread = None
        if "reread" in row:
            reread = Reread(Reader(replace(call_policy, lift=True), tools=tools, place=begins.filtered), calls)
        reasoned = None if self._mending.reasoned is None else self._mending.reasoned(self.reply_of(number))
        thoughts = None if reasoned is None or not self._may_move_reasoning(number) else Thoughts(reasoned.message)
        self._latest = Lane(
            self._reader(begins, number),
            Row(
                thoughts=thoughts,
                reasoned=reasoned,
                act=None if processing is None else Act(processing),
                reread=reread,
                twins=self._twins(calls) if "twins" in row else None,
                number=Number(calls, tools, id_of, room=call_policy.route.max_call_chars),
                write=write,
                judge=Judge(calls, tools, undeclared=call_policy.takes("undeclared")),
                screen=screen,
                end=Finishing(
                    calls,
                    as_text=write is not None,
                    broken_is_text=self.broken_is_text,
                    stopped=None if processing is None else processing.is_stopped,
                    mending=self._finish_mending(number, calls),
                ),
                releases_text="text is released" in row,
            ),
            calls,
        )
        return self._latest

    def _may_move_reasoning(self, number: int) -> bool:
        """Whether the next lane may begin with reasoning that belongs into the field that the API has for it."""
        begins = not (self._wire.sequential_lanes and self._latest is not None)
        spoken = self._call_policy.route.starts_in_reasoning or self._call_policy.request.prefill
        elsewhere = self.reply_of(number) in self._reasons_elsewhere
        return begins and not spoken and not elsewhere and self._decision.client == "native"

    def _twins(self, calls: Calls) -> Twins:
        mends = "protocol" in self._call_policy.route.mend
        lacking = None if self._streamed else lambda name: bool(self._tools.required(name))
        return Twins(calls, mends_empty=mends, lacking=lacking)

    def _finish_mending(self, number: int, calls: Calls) -> FinishMending | None:
        """What mends the finish reason of a lane's reply, None where the route does not; it learns of these calls."""
        if "protocol" not in self._call_policy.route.mend:
            return None
        reply = self.reply_of(number)
        mending = self._finishes.setdefault(
            reply,
            FinishMending(
                as_text=bool(self._when["write"]),
                says_calls=self._wire.says_calls,
                named=self._wire.stop_names_choice and self._call_policy.request.names_tool,
                elsewhere=lambda: bool(self._calling - {reply}),
            ),
        )
        mending.calls.append(calls)
        return mending

    def _reader(self, begins: MessagePlace, number: int) -> Reader:
        """Reads the text of a lane that begins there."""
        return Reader(
            self._call_policy,
            tools=self._tools,
            starts_in_reasoning=begins.as_it_came.reason() == "reasoning",
            may_start_in_reasoning=begins.may_be_reasoning,
            reasoning_end=self._reasoning_ends.get(number, 0),
            place=begins.as_it_came,
            values=self._text_values,
        )

    @cached_property
    def _text_values(self) -> ToolValues | None:
        """What mends the values of calls in text, as those of native ones; not for a client that reads the text."""
        if "types" not in self._call_policy.route.mend or self._decision.kind != "lift":
            return None
        return ToolValues(self._tools, Held(), types=True, json=False)

    def calls(self, lane: int) -> None:
        """The upstream calls a tool in this lane."""
        self._calling.add(self.reply_of(lane))

    def read_ahead(self, parts: Sequence[Part]) -> None:
        """All events of a reply that comes whole, before any of them goes through a lane."""
        policy = self._call_policy
        for lane, event in parts:
            if isinstance(event, CallStart):
                self.calls(lane)
        # Where calls wait for the end of the message, they meet such a closer by themselves.
        if policy.lift and not (policy.takes("reasoning") or policy.requires("terminal")):
            self._reasoning_ends = reasoning_ends(
                parts,
                lambda place: Reader(policy, tools=self._tools, place=place),
                self._first_place,
                joined=self._wire.sequential_lanes,
            )

    def reasons_elsewhere(self, number: int) -> None:
        """The reply of this lane has reasoning in a field of its own, so its text did not begin inside any."""
        self._reasons_elsewhere.add(self.reply_of(number))

    def _begins(self, number: int, *, filtered: bool) -> MessagePlace:
        """Where the next lane's text begins: after the lane before it, or after what the request has of its message.

        Blocks of one message are read as if joined: what is quoted in one goes on in the next.
        """
        if self._latest is not None and self._wire.sequential_lanes:
            return self._latest.next_block()
        elsewhere = self.reply_of(number) in self._reasons_elsewhere
        first = self._prefilled if elsewhere else self._first_place
        likely = self._call_policy.may_start_in_reasoning and not elsewhere
        return MessagePlace(first.copy(), self._prefilled.copy() if filtered else None, likely)

    @cached_property
    def _first_place(self) -> Position:
        """The place at which the reply begins: inside reasoning where the route says so."""
        return Position(reasoning=True) if self._call_policy.route.starts_in_reasoning else self._prefilled

    @cached_property
    def _prefilled(self) -> Position:
        """The place after the text with which the request begins the reply."""
        return Position.behind(self._call_policy.request.prefill)

    def notes(self, client_calls: Iterable[tuple[int, ClientCall]]) -> Iterator[tuple[int, Note]]:
        """What is to be noted of whole replies at their end, each note with the number of its lane."""
        for number, reply in self._replies.items():
            yield from ((number, note) for note in reply.notes())
        if self._watch is None:
            return
        rows: dict[int, list[tuple[str, str]]] = {}
        for lane, call in client_calls:
            if call.complete:
                rows.setdefault(self.reply_of(lane), []).append((call.name, call.arguments))
        for lane, row in rows.items():
            yield from ((lane, note) for note in self._watch.notes(row))

    def declared(self, event: CallStart | CallPiece) -> CallStart | CallPiece:
        """A native event with a name as the tools have it, where a namespace tells two of the same name apart."""
        named = event if isinstance(event, CallStart) else event.update
        if named is None or not named.space:
            return event
        named = replace_fields(named, name=self._tools.in_space(named.space, named.name))
        return named if isinstance(named, CallStart) else replace_fields(event, update=named)

    def reply_of(self, lane: int) -> int:
        """The number of the reply that a lane is a part of."""
        return 0 if self._wire.sequential_lanes else lane

    def _reply(self, processors: Processors, lane: int) -> Reply:
        """What processors know of the reply that a lane is a part of."""
        number = self.reply_of(lane)
        if number not in self._replies:
            self._replies[number] = Reply(processors, whole=not self._streamed, as_text=bool(self._when["write"]))
        return self._replies[number]
