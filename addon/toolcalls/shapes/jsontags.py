"""Calls as a JSON object between tags: `OPEN {"name": N, "arguments": J} CLOSE`.

The object is read member by member with the streaming transducer, so the arguments leave while they arrive, as the
model wrote them where that is strict JSON. They are typed by nothing but their JSON. A tag inside a string is data: the
object ends where its braces say. Where the arguments come before the name, they are held until it is there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from toolcalls.scanner import Scanner, Step
from toolcalls.shapes import Call, Calls, Place, Unwritable
from toolcalls.shapes.jsonvalue import ARGUMENTS, NAMES, mark, payload, string, value
from toolcalls.tools import Toolbox
from toolcalls.values import members, quote


@dataclass(frozen=True)
class JsonTags:
    """The form with its tags filled in; the first of each is written."""

    name: str
    opening: tuple[str, ...]
    closing: tuple[str, ...]
    strays: tuple[str, ...] = ()
    place: Place = "line"

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        """The opening tags."""
        return self.opening

    def speaks(self, text: str) -> bool:
        """Whether `text` shows both tags."""
        return any(tag in text for tag in self.opening) and any(tag in text for tag in self.closing)

    # Reading

    def read(self, scan: Scanner, calls: Calls, tools: Toolbox) -> Step[bool]:
        """One call and its closing tag."""
        opener = yield from scan.among(self.opening)
        if opener is None:
            return False
        space = yield from scan.space(len(opener))
        if not (yield from scan.starts("{", space)):
            return False
        scan.take(space)
        body = _Object(scan, calls, tools)
        if not (yield from body.read()):
            if body.begun and not scan.ended:
                calls.broken()
                yield from self._skip(scan)
            return False
        space = yield from scan.space()
        closer = yield from scan.among(self.closing, space)
        if closer is None and scan.cut and scan.stops_short(self.closing):
            scan.take(scan.rest())
            return False
        body.end()
        if closer is not None:
            scan.take(space + len(closer))
            return True
        calls.repair("missing_closer")
        if scan.stops_short(self.closing):
            scan.take(scan.rest())
            return True
        return False

    def _skip(self, scan: Scanner) -> Step[None]:
        """Consume what is left of a broken call: its payload is never searched for others."""
        while True:
            at = scan.text.find("<", scan.pos)
            scan.take((at if at >= 0 else len(scan.text)) - scan.pos)
            if at >= 0:
                closer = yield from scan.among(self.closing)
                scan.take(len(closer) if closer else 1)
                if closer is not None:
                    return
            elif scan.ended:
                return
            else:
                yield

    # Writing

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        """One block a call, its object on a line of its own; "" for no calls."""
        blocks = []
        for call in calls:
            if not call.name:
                raise Unwritable("a call without a name")
            members(call.arguments)
            body = f'{{"name": {quote(call.name)}, "arguments": {call.arguments}}}'
            blocks.append(f"{self.opening[0]}\n{body}\n{self.closing[0]}")
        return "\n".join(blocks)


class _Object:
    """The object of one call, read member by member."""

    def __init__(self, scan: Scanner, calls: Calls, tools: Toolbox) -> None:
        self._scan = scan
        self._calls = calls
        self._tools = tools
        self._name = ""
        self._arguments: str | None = None  # where they came before the name
        self.begun = False  # the name was told, and the arguments are leaving

    def read(self) -> Step[bool]:
        """Read it with its braces. Returns whether it was a call's object and is complete."""
        scan = self._scan
        scan.take(1)
        while True:
            scan.take((yield from scan.space()))
            if (yield from scan.starts("}")):  # behind a trailing comma, or an empty object
                break
            key = yield from string(scan, self._calls)
            if key is None or not (yield from mark(scan, ":")) or not (yield from self._member(key)):
                return False
            if not (yield from mark(scan, ",")):
                break
        if not self._name or not (yield from mark(scan, "}")):
            return False
        if not self.begun:
            self.begun = True
            self._calls.begin(self._name)
            self._calls.piece(self._arguments or "{}")
        return True

    def end(self) -> None:
        """The call is complete."""
        self._calls.end()

    def _member(self, key: str) -> Step[bool]:
        scan, calls = self._scan, self._calls
        scan.take((yield from scan.space()))
        if key in NAMES and not self._name:
            self._name = self._tools.resolve((yield from string(scan, calls)) or "")
            return bool(self._name)
        if key not in ARGUMENTS or self._arguments is not None or self.begun:
            passed_over: list[str] = []
            return (yield from value(scan, calls, passed_over.append))
        if self._name and (yield from scan.starts("{")):
            self.begun = True
            calls.begin(self._name)
            return (yield from value(scan, calls, calls.piece))
        self._arguments = yield from payload(scan, calls)
        return self._arguments is not None
