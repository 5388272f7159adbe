"""How deep a JSON text nests that arrives in pieces, without reading it: brackets outside of strings are counted."""

import re
import sys

_SIGN = re.compile(r'[\[{]|[\]}]|"')
_STRING = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)


class Nesting:
    """One strict JSON text, or the beginning of one.

    max_depth  how many containers may be open
    to_close   stops where the first container is closed

    depth      how many containers are open
    in_string  whether the last piece ended inside a string, and not in the middle of an escape
    """

    __slots__ = ("_escaped", "_max_depth", "_to_close", "depth", "in_string")

    def __init__(self, max_depth: int = sys.maxsize, *, to_close: bool = False) -> None:
        self.depth = 0
        self._max_depth = max_depth
        self._to_close = to_close
        self.in_string = False
        self._escaped = False  # the last piece ended after a backslash

    def feed(self, piece: str) -> int:
        """Read the next piece. Returns the offset where it stops, -1 where it does not.

        It stops in front of the bracket that opens one container too many, and after the one that closes the first.
        """
        at, end = 0, len(piece)
        while at < end:
            if self.in_string or self._escaped:
                at = _STRING.match(piece, at + self._escaped).end()  # type: ignore[union-attr] # it matches anything
                self._escaped = at < end and piece[at] == "\\"  # only the last character can be a lone one
                self.in_string = at == end
                if self.in_string or self._escaped:
                    return -1
                at += 1
            found = _SIGN.search(piece, at)
            if found is None:
                return -1
            at = found.end()
            sign = found[0]
            if sign == '"':
                self.in_string = True
            elif sign in "]}":
                self.depth -= 1
                if self._to_close and self.depth <= 0:
                    return at
            elif self.depth == self._max_depth:
                return found.start()
            else:
                self.depth += 1
        return -1
