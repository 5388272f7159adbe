"""How native calls of a reply are mended: arguments (`values.native_arguments`, `values.value_mending`), names, ids.

An id that is empty, or that another call of the reply has, is replaced by a new one.

The stage `mend` mends the calls as events. The Responses API has a mender of its own, which writes the frames anew in
front of the decoder. Which of these a route wants is in `Mending`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from toolcalls.events import Change, Defect, Repair
from toolcalls.values import rawjson
from toolcalls.values.conversion import members
from toolcalls.values.native_arguments import NativeArguments
from toolcalls.values.toolbox import Named
from toolcalls.values.validation import defect_of, unreadable
from toolcalls.values.value_mending import Held, ValueMending

_KEPT = 64 * 1024  # characters of arguments that are kept to be shown
_OTHERS = frozenset({"name", "markup_in_name", "call_in_error"})  # repairs that are not the protocol's

type ValuesOf = Callable[[str, str], ValueMending | None]


def _unnamed(_: str) -> Named | None:
    return None


@dataclass(frozen=True, slots=True)
class Mending:
    """What menders ask.

    call_id        a new id for the call of this lane, with this index and name
    takes_nothing  whether a tool is declared, and without parameters
    declared       whether a tool is declared
    protocol       what the API says otherwise is mended; False: only names and values are
    named          the tool that a name means which is none; None where it stays
    begins_name    whether a tool is declared whose name begins so, and goes on
    values         mends the values of a call of this tool, which has these arguments if none come; None for nothing
    held           what is held of the reply's calls
    """

    call_id: Callable[[int, int, str], str]
    takes_nothing: Callable[[str], bool]
    declared: Callable[[str], bool]
    protocol: bool = True
    named: Callable[[str], Named | None] = _unnamed
    begins_name: Callable[[str], bool] = bool
    values: ValuesOf | None = None
    held: Held = field(default_factory=Held)

    def begun(self, name: str) -> "Mended":
        """A new call with this name."""
        return Mended(self).take_name(name)

    def whole(self, call: "Mended", text: str, *, cut: bool) -> tuple[str, "CallArguments"]:
        """Arguments that came whole, as they should have come, and what was mended of them."""
        arguments = CallArguments(self)
        arguments.instead = call.arguments.instead
        arguments.take_tool(call.name)
        left = arguments.feed(text)
        return left + arguments.end(cut=cut), arguments


class CallArguments:
    """The arguments of one call as they come: what the API asks of them is mended first, and then their values.

    native    what their JSON is, as it comes
    tool      the tool's name, which is known before they begin
    instead   arguments found in the tool's name, "" for none
    plain     what left of the latest piece before values were mended
    """

    __slots__ = ("_came", "_left", "_mending", "_pending", "_room", "_values", "instead", "native", "plain", "tool")

    def __init__(self, mending: Mending) -> None:
        self._mending = mending
        self.native = NativeArguments(mends=mending.protocol)
        self._values: ValueMending | None = None
        self.tool: str | None = None
        self.instead = self.plain = ""
        self._came: list[str] = []
        self._left: list[str] = []
        self._room = _KEPT
        self._pending = ""  # what was held, and leaves with the next piece

    def take_tool(self, tool: str) -> None:
        """Set the tool's name, as far as it is known."""
        self.tool = tool
        self.native.takes_nothing = self._mending.takes_nothing(tool) and not self.instead

    def may_be_empty(self) -> None:
        """Accept missing arguments as an empty object, as this API does."""
        self.native.takes_nothing = False

    @property
    def takes_nothing(self) -> bool:
        """Whether the tool has no parameters."""
        return self.native.takes_nothing

    @property
    def begun(self) -> bool:
        """Whether some of them have come."""
        return self.native.begun

    @property
    def whole(self) -> bool:
        """Whether an object has come, and has closed."""
        return self.native.whole

    @property
    def repairs(self) -> list[Repair]:
        return self.native.repairs + ([] if self._values is None else self._values.repairs)

    @property
    def defects(self) -> tuple[Defect, ...]:
        """Where they are no JSON, or the values that had another type, with their places in what came."""
        if self._values is None or self._room < 0:
            return ()
        came = "".join(self._came)
        if self._values.unreadable:
            return unreadable(came)
        return tuple(defect_of(mismatch, came) for mismatch in self._values.mismatches)

    @property
    def change(self) -> tuple[str, str] | None:
        """As `NativeArguments.change`, with the values that were mended."""
        if self._values is None or not self._values.repairs:
            return self.native.change
        return self.kept

    @property
    def kept(self) -> tuple[str, str] | None:
        """The arguments as they came and as they left so far; None where they were not kept."""
        return ("".join(self._came), "".join(self._left)) if self._room >= 0 else None

    def takes(self, piece: str) -> bool:
        """Take a piece where only the protocol is mended, and it leaves as it came; False: `feed` must take it."""
        return self._mending.values is None and self.native.takes(piece)

    def feed(self, piece: str) -> str:
        """As `NativeArguments.feed`; where values are mended, what leaves has mended ones."""
        left = self.plain = self.native.feed(piece)
        if self._mending.values is None:
            return left
        if self._values is None and left and not left.isspace():
            self._begin()
        if self._values is not None:
            left = self._values.feed(left)
        self._keep(piece, left)
        left, self._pending = self._pending + left, ""
        return left

    def end(self, *, cut: bool) -> str:
        """As `NativeArguments.end`."""
        left = self.plain = self.native.end(cut=cut)
        if self._mending.values is None:
            return left
        if self._values is None and (left or self.instead):
            self._begin()
        if self._values is not None:
            left = self._values.feed(left) + self._values.end(cut=cut)
        self._keep("", left)
        left, self._pending = self._pending + left, ""
        return left

    def give_up(self, *, drops: bool) -> None:
        """Release what is held. `drops`: it has already left in another way."""
        if self._values is not None and (held := self._values.give_up()):
            self._keep("", held)
            self._pending += "" if drops else held

    def _begin(self) -> None:
        values = self._mending.values
        self._values = values(self.tool or "", self.instead) if values is not None else None

    def _keep(self, came: str, left: str) -> None:
        self._room -= len(came) + len(left)
        if self._room < 0:
            self._came, self._left = [], []
            return
        self._came.append(came)
        self._left.append(left)


class Mended:
    """One native call, and what was mended of it. `came_name` is its name as it came, `name` as it leaves."""

    __slots__ = ("_mending", "arguments", "came_name", "name", "repairs")

    def __init__(self, mending: Mending | None = None) -> None:
        self._mending = mending = mending or _NOTHING
        self.came_name = self.name = ""
        self.arguments = CallArguments(mending)
        self.repairs: list[Repair] = []

    def take_name(self, name: str, *, goes_on: bool = False) -> "Mended":
        """Set its name. `goes_on`: this may only be the beginning of it."""
        self.came_name = self.name = name
        named = self._mending.named(name)
        if named is not None and not (goes_on and self._mending.begins_name(name)):
            self.name = named.name
            self.arguments.instead = named.arguments
            self.repaired(named.repair)
            self._mending.held.mended += 1
        self.arguments.take_tool(self.name)
        return self

    def goes_on(self, piece: str) -> None:
        """Add to the name, whose beginning has left."""
        self.came_name += piece
        self.name += piece
        self.arguments.take_tool(self.name)

    @property
    def new_name(self) -> str | None:
        """The name that it leaves with; None where that is the one it came with."""
        return None if self.name == self.came_name else self.name

    def repaired(self, repair: Repair) -> None:
        """Note a repair, once, unless the route does not want it."""
        ours = self._mending.protocol or repair in _OTHERS
        if ours and repair not in self.repairs:
            self.repairs.append(repair)

    @property
    def all_repairs(self) -> tuple[Repair, ...]:
        return (*self.repairs, *(one for one in self.arguments.repairs if one not in self.repairs))

    @property
    def defects(self) -> tuple[Defect, ...]:
        """What was wrong with it, as far as it has a place."""
        return self.arguments.defects

    @property
    def change(self) -> Change | None:
        """The call before and after, where its arguments or its name are others."""
        change = self.arguments.change
        if change is None and self.new_name is not None:
            change = self.arguments.kept
        if change is None:
            return None
        return Change("mend", (self.came_name, change[0]), (self.name, change[1]))


_NOTHING = Mending(lambda *_: "", lambda _: False, lambda _: False)


class Mender(Protocol):
    """Mends one reply. `calls`: its native calls by lane and index, as the wire's events count them."""

    calls: dict[tuple[int, int], Mended]

    def mend(self, payload: bytes) -> Sequence[bytes] | None:
        """The payloads in the place of a frame's; None where it stays as it is."""


class Ids:
    """The ids of one reply's calls."""

    __slots__ = ("_mending", "_taken")

    def __init__(self, mending: Mending) -> None:
        self._mending = mending
        self._taken: set[str] = set()

    def of(self, given: str, lane: int, index: int, call: Mended) -> str:
        """The id of the next call: its own, unless that is empty or another call's."""
        id_ = given
        if self._mending.protocol and (not given or given in self._taken):
            call.repaired("repeated_id" if given else "no_id")
            id_ = self._mending.call_id(lane, index, call.name)
        self._taken.add(id_)
        return id_


def as_object(given: object, call: Mended, mending: Mending, *, cut: bool) -> msgspec.Raw | None:
    """Arguments as the object that the API has for them, and as they were meant; None where they stay as they are."""
    if call.arguments.instead and rawjson.value(given) is None:
        given = rawjson.raw(b"{}")
    is_object = rawjson.is_object(given)
    text = rawjson.text_of(given) if is_object else rawjson.value(given)
    if is_object and mending.values is None:
        return None
    if text is not None and not isinstance(text, str):
        return None
    if not (is_object or mending.protocol):
        return None
    left, arguments = mending.whole(call, text or "", cut=cut)
    if is_object and left == text:
        return None
    try:
        members(left)
    except ValueError:
        return None
    call.arguments = arguments
    if text and not is_object:
        call.repaired("string_arguments")
    return rawjson.json_text(left)
