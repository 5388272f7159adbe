"""Calls that are found again by what they mean: by their name and arguments, without a look at each of the others.

Nothing is read of a call before one of its name is asked for, and then once. So n calls and m questions cost what their
arguments are long, and not n times m.
"""

from collections import Counter
from hashlib import blake2b

from toolcalls.values.call_meaning import meaning
from toolcalls.values.toolbox import Toolbox


class CallIndex:
    """Calls of these tools, by name and meaning. The same call may be held several times."""

    __slots__ = ("_left", "_longest", "_meanings", "_tools", "_unread")

    def __init__(self, tools: Toolbox) -> None:
        self._tools = tools
        self._left: Counter[str] = Counter()  # how many calls of a name there are
        self._longest: dict[str, int] = {}
        self._unread: dict[str, list[str]] = {}
        self._meanings: dict[str, Counter[bytes]] = {}

    def add(self, name: str, arguments: str) -> None:
        """One more call, with its argument JSON."""
        self._left[name] += 1
        self._longest[name] = max(self._longest.get(name, 0), len(arguments))
        self._unread.setdefault(name, []).append(arguments)

    def __contains__(self, name: str) -> bool:
        """Whether a call of this name is held."""
        return self._left[name] > 0

    def longest(self, name: str) -> int:
        """How many characters the longest arguments of a name had that were ever held; 0 for none."""
        return self._longest.get(name, 0)

    def has(self, name: str, arguments: str) -> bool:
        """Whether a call that means the same is held."""
        return name in self and self._read(name)[self._digest(name, arguments)] > 0

    def take(self, name: str, arguments: str) -> bool:
        """The same, and it is held once less then."""
        if not self.has(name, arguments):
            return False
        self._left[name] -= 1
        self._meanings[name][self._digest(name, arguments)] -= 1
        return True

    def take_any(self, name: str) -> bool:
        """Whether a call of this name is held; one is held less then."""
        if name not in self:
            return False
        self._left[name] -= 1
        return True

    def _read(self, name: str) -> Counter[bytes]:
        meanings = self._meanings.setdefault(name, Counter())
        meanings.update(self._digest(name, arguments) for arguments in self._unread.pop(name, ()))
        return meanings

    def _digest(self, name: str, arguments: str) -> bytes:
        said = meaning(arguments, self._tools.declared(name))
        return blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).digest()
