"""When text is a call: the seven conditions, in order, and the reason that the one gives which failed first.

All must hold, else the text passes unchanged. 1 the route lifts; 2 the name is declared and allowed; 3 the opener
is where its dialect allows it; 4 it is not quoted (code, block quote, comment, reasoning); 5 it is not an echo of
the request; 6 the reply does not carry the same native call; 7 it is complete.

This module decides 1 to 4 at the commit point, from what is known there. 5 and 6 need the candidate's whole text and
are the ledger's, and 7 is the grammar's. `CallPolicy.waits` says where a call must be whole before it is one.
"""

from dataclasses import dataclass
from functools import cached_property

from toolcalls.dialects import DAMAGED
from toolcalls.events import Reason
from toolcalls.reading.strength import Shown, asked
from toolcalls.request import Request
from toolcalls.route import PolicyName, Required, Route, Taken
from toolcalls.shapes import Sign
from toolcalls.text.echo import EchoIndex
from toolcalls.text.patterns import Pattern, Work, any_fullmatch, compiled
from toolcalls.text.prefilled_data import begins_data

# What each policy is made of; a route may name its own. Block quotes, comments and reasoning stay closed to all three.
TAKE: dict[PolicyName, tuple[Taken, ...]] = {
    "standard": ("escaped",),
    "strict": (),
    "lenient": (
        "undeclared",
        "escaped",
        "inline",
        "fenced",
        "indented_code",
        "undeclared_arguments",
        "no_arguments",
        "weak_sign",
    ),
}
REQUIRE: dict[PolicyName, tuple[Required, ...]] = {
    "standard": (),
    "strict": ("complete", "arguments", "terminal", "line_start"),
    "lenient": (),
}


@dataclass(frozen=True)
class CallPolicy:
    """What a route and a request say about the calls of one reply.

    lift              False: everything is observed, nothing lifted
    unlifted          the reason that a call has then
    allow_undeclared  undeclared names pass: a text client's tools are not known
    remove_frames     the frames of a dialect's messages (channels) may be removed
    emit_incomplete   a call that was held and turns out incomplete is emitted as an open one, as some clients run it
    open_calls        calls in JSON or Python that are where nobody reads them have verdicts, too
    may_start_in_reasoning   the text may begin inside reasoning that the chat template has opened
    wrappers          elements that the request's prompt shows around calls, by name
    first             the dialects that are asked before all others that share an opener: those of a text client
    alone             a dialect that the route names is read without those that are read with it: as its client does
    tools_known       the client runs no tools but those that are declared: where it declares none, no name counts
    """

    route: Route
    request: Request
    lift: bool = True
    unlifted: Reason = "observed"
    allow_undeclared: bool = False
    remove_frames: bool = True
    emit_incomplete: bool = False
    open_calls: bool = False
    may_start_in_reasoning: bool = False
    wrappers: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    alone: bool = False
    tools_known: bool = False

    @cached_property
    def answers_in_json(self) -> bool:
        """Whether JSON is what the client asked the reply's text for, so that JSON which nothing marks is no call."""
        return self.request.response_format or begins_data("".join(self.request.prefill))

    @cached_property
    def _taken(self) -> frozenset[str]:
        take = self.route.take
        return frozenset(TAKE[self.route.policy] if take is None else take)

    @cached_property
    def _required(self) -> frozenset[str]:
        require = self.route.require
        return frozenset(REQUIRE[self.route.policy] if require is None else require)

    @cached_property
    def echo_index(self) -> EchoIndex:
        """What a reply may repeat, for all lanes of it."""
        return EchoIndex(() if self.takes("echo") else self.request.quotable)

    def add_quotable(self, text: str) -> None:
        """The reply goes on after a text that it may repeat as well."""
        if not self.takes("echo"):
            self.echo_index.add(text)

    @cached_property
    def _declared(self) -> frozenset[str]:
        return frozenset(tool.name for tool in (*self.request.tools, *self.route.tools))

    @cached_property
    def _allowed(self) -> tuple[Pattern, ...] | None:
        allowed = self.route.allowed_tools
        return None if allowed is None else tuple(compiled(pattern) for pattern in allowed)

    @cached_property
    def _work(self) -> Work:
        return Work()

    def declines(self, name: str, place: Reason | None) -> Reason | None:
        """The first condition of 1 to 4 that a call named `name` fails, None when it may be one.

        `place` is the reason that its place gives ("inline", "fenced", ...), None where a call may stand.
        """
        if not self.lift:
            return self.unlifted
        if name not in self._declared and not self.allow_undeclared and not self._takes_undeclared:
            return "undeclared" if self._declared else "no_tools"
        if self._allowed is not None and not any_fullmatch(self._allowed, name, self._work):
            return "not_allowed"
        if self.request.tool_choice == "none":
            return "tool_choice_none"
        if place is not None and not self.takes(place):
            return place
        return None

    @property
    def _takes_undeclared(self) -> bool:
        """`lenient` takes undeclared names of a client that runs tools; a route may say that its client runs any."""
        said = self.route.take is not None
        return self.takes("undeclared") and (said or bool(self._declared) or not self.tools_known)

    def asks(self, dialect: str, sign: Sign, opener: str) -> tuple[Shown, ...]:
        """What a call of this dialect, with this sign and opener, must show beyond the conditions."""
        named = dialect in self.first or dialect in self.route.named
        return () if named or self.takes("weak_sign") else asked(self.route.policy, sign, opener)

    def emits_incomplete(self, dialect: str) -> bool:
        """Whether an incomplete call is emitted. Who runs one reads its tags: no client reads damaged ones."""
        return self.emit_incomplete and dialect not in DAMAGED

    def knows(self, sign: Sign) -> bool:
        """Whether something beside the text tells a rest from what else is written so: the route, or the model."""
        model = self.request.model.lower()
        return sign.alone or self.route.dialects is not None or any(part in model for part in sign.models)

    def takes(self, reason: Reason) -> bool:
        """Whether the condition that gives this reason does not count."""
        return reason in self._taken

    def requires(self, more: Required) -> bool:
        """Whether this is asked of a call beyond the conditions."""
        return more in self._required

    def invented(self, name: str) -> bool:
        """Whether a name is one that nobody declared, where the declared ones are known."""
        return bool(name and self._declared) and name not in self._declared and not self.allow_undeclared

    @property
    def takes_only_calls(self) -> bool:
        """Whether a call in a fence, or in reasoning that never closes, counts where it is all there is.

        A route that names what it takes says so for every place.
        """
        return self.lift and self.route.take is None and self.route.policy == "lenient"

    @property
    def waits_for_message(self) -> bool:
        """Whether calls of a part may have to wait for the end of its message."""
        return self.requires("terminal") or self.takes_only_calls

    def waits(self, place: Reason | None) -> bool:
        """Whether a call that passed 1 to 4 waits until it is complete, instead of streaming from its commit point."""
        return bool(self._required - {"line_start"}) or place is not None
