"""Elements around calls that no grammar takes: those of agents' own prompts, and closers that words come before.

A prompt may show its calls in an element of its own (`<toolbridge_calls>`), and models make some up (`<x:tool_calls>`).
Right in front of a call, at the start of a line, its tag goes with the call, and so does its closer after it. So does
the tag of a dialect in front of a call in another form (`<tool_call>` around Cline's elements), where its own grammar
reads no call from there. A grammar that knows its wrapper stops at text or at a call that is none; the closer of the
wrapper, of which the opener is gone, goes then as well (law 8), once.
"""

from collections.abc import Iterable
from typing import NamedTuple

from toolcalls.reading.candidate import Candidate
from toolcalls.reading.ledger import Ledger
from toolcalls.text.scanner import Scanner

# Wrappers that agents teach in prompts which a request may not show, and those that models make up.
_NAMES = ("tool_calls", "toolcalls", "tool-calls", "function_calls")
_NAMESPACES = (
    *"abcdefghijklmnopqrstuvwxyz",
    "ns",
    "xml",
    "tool",
    "tools",
    "mcp",
    "ai",
    "llm",
    "api",
    "agent",
    "claude",
)
KNOWN = (
    "toolbridge_calls",
    "toolcalls",
    "tool-calls",
    "function-calls",
    *(f"{space}:{name}" for space in _NAMESPACES for name in _NAMES),
)
_KNOWN = {f"<{name}>": f"</{name}>" for name in KNOWN}
_KNOWN_TAGS = tuple(_KNOWN)
# Those of dialects that models put around calls in other forms.
_OF_DIALECTS = {f"<{name}>": f"</{name}>" for name in ("tool_call", "tool_calls", "tool_use", "function_calls")}


class Held(NamedTuple):
    """An opening tag that goes with the call after it, if one follows.

    closer      what closes it
    candidate   what the tag is where no call follows; None for text
    """

    closer: str
    candidate: Candidate | None


class Wrappers:
    """The wrappers of one text.

    tags      their opening tags
    held      the tag that was read last, until it is known what follows
    closers   the closing tags of the one that is open, () for none
    """

    def __init__(self, names: Iterable[str], *, remove: bool) -> None:
        """`names`: the elements that the request's prompt shows around calls. `remove`: False, and all stay text."""
        self._remove = remove
        own = {f"<{name}>": f"</{name}>" for name in names}
        self._closer_of = (_KNOWN | own if own else _KNOWN) if remove else {}
        self.tags = tuple(self._closer_of) if own or not remove else _KNOWN_TAGS
        self.closers: tuple[str, ...] = ()
        self._call: Candidate | None = None
        self.held: Held | None = None

    @property
    def stray(self) -> tuple[str, ...]:
        """The closing tags, which go with a call that is right before one."""
        return tuple(self._closer_of.values())

    def hold(self, scan: Scanner, ledger: Ledger, tag: str, candidate: Candidate | None = None) -> None:
        """Take an opening tag, which goes with a call if one follows. `candidate`: what it is where none does."""
        scan.take(len(tag))
        ledger.text.hold()
        self.held = Held(self._closer_of.get(tag) or _OF_DIALECTS[tag], candidate)

    def may_hold(self, tag: str) -> bool:
        """Whether `tag`, from which no dialect reads a call, may be around one in another form."""
        return self._remove and tag in _OF_DIALECTS

    def begin_block(self) -> Held | None:
        """A block of calls begins. Returns the tag that was held in front of it."""
        held, self.held = self.held, None
        return held

    def leave_open(self, closers: tuple[str, ...], call: Candidate | None) -> None:
        """A block has ended before its closer; `call` is its first one. () where the closer was read."""
        self.closers, self._call = closers if self._remove else (), call

    def end_block(self, held: Held | None, call: Candidate | None) -> None:
        """A block has ended that `held` was before."""
        if held is not None:
            self.leave_open((held.closer,), call)

    def show(self, ledger: Ledger) -> None:
        """No block follows what is held, if anything is: what was consumed is text."""
        held = self.begin_block()
        if held is None or held.candidate is None:
            ledger.show()
        else:
            ledger.no_call(held.candidate)

    def close(self, scan: Scanner, ledger: Ledger, closer: str, *, quoted: bool) -> bool:
        """Take the closer of the wrapper that is open. Returns whether it goes with the calls before it."""
        scan.take(len(closer))
        call = self._call
        if quoted or call is None or (call.index is None and not call.waits):
            ledger.show()
            return False
        if call.waits:
            ledger.text.hold()
        else:
            ledger.text.take()
            ledger.text.hold()
        self.closers = ()
        return True
