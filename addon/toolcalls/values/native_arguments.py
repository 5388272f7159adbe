"""The argument JSON of one native call as its API should have sent it, out of the pieces in which it came.

What has exactly one reading is mended: a whole object that comes again, a JSON string that holds the object, and no
arguments at all for a tool that takes none. A sound text passes as it came, each piece at once. From the first
character on that no sound text can have, what may still turn out otherwise is held. Nothing that is missing is added:
what was cut off stays cut off (law 6).
"""

from toolcalls.events import Repair
from toolcalls.values.json_tokenizer import Nesting, StringText

_KEPT = 64 * 1024  # characters that are kept: of longer arguments a repetition is not known
_SPACE = " \t\r\n"
_MOST_SPACE = 1024  # characters in front of an object that is in a string


class NativeArguments:
    """The arguments of one call, as they come.

    takes_nothing   the tool has no parameters, so no arguments are `{}`; known with its name
    mends           False: all of it passes as it came; only what has come is known

    repairs   what was mended of them
    whole     an object has come, and has closed
    begun     something of them has come
    """

    def __init__(self, *, takes_nothing: bool = False, mends: bool = True) -> None:
        self._mends = mends
        self.repairs: list[Repair] = []
        self.whole = False
        self.begun = False
        self.takes_nothing = takes_nothing
        self._end: Nesting | None = None  # of the object that is coming
        self._first: list[str] | None = []  # the object so far; None where it is too long
        self._object = ""  # it as a whole, as long as what follows may repeat it
        self._matched = 0  # how many characters of it have come again
        self._object_room = self._room = _KEPT
        self._again = ""  # the start of what may be a string that holds the object
        self._string: StringText | None = None  # that holds the object, while it goes on
        self._kept: tuple[list[str], list[str]] | None = ([], [])  # the pieces as they came, and as they left

    @property
    def change(self) -> tuple[str, str] | None:
        """The arguments as they came and as they left; None where they are the same, or were not kept."""
        if self._kept is None or not self.repairs:
            return None
        came, left = self._kept
        return "".join(came), "".join(left)

    def takes(self, piece: str) -> bool:
        """Take a piece that stays inside the object, as it came; False: `feed` must take it."""
        if self._end is None or self.whole or self._string is not None or not self._mends or not piece:
            return False
        if "}" in piece:
            return False
        self._keep(piece, self._inside(piece))
        return True

    def feed(self, piece: str) -> str:
        """The next piece; returns what of it leaves."""
        if not piece:
            return piece
        if not self._mends:
            self.begun = self.begun or not piece.isspace()
            self._end = self._end or Nesting(to_close=True)
            self.whole = self.whole or self._end.feed(piece) >= 0
            return piece
        left = self._feed(piece)
        self._keep(piece, left)
        return left

    def end(self, *, cut: bool) -> str:
        """Nothing follows; returns what still leaves. `cut`: the reply was cut off."""
        if not self._mends:
            return ""
        left = self._again + self._object[: self._matched]
        self._again, self._matched, self._object = "", 0, ""
        if not (self.begun or left or cut) and self.takes_nothing:
            self._repaired("empty_arguments")
            self.begun = self.whole = True
            left = self._object = "{}"
        self._keep("", left)
        return left

    def unwrapped(self, repair: Repair) -> None:
        """The API wants them in another form than they came in: a string, say, where an object came."""
        self._repaired(repair)

    def _repaired(self, repair: Repair) -> None:
        if repair not in self.repairs:
            self.repairs.append(repair)

    def _keep(self, came: str, left: str) -> None:
        self._room -= len(came) + len(left)
        if self._room < 0:
            self._kept = None
        if self._kept is not None:
            self._kept[0].append(came)
            self._kept[1].append(left)

    def _feed(self, piece: str) -> str:
        if self._string is not None:
            return self._unquoted(self._string, piece)
        if self.whole:
            return self._behind(piece)
        if self._end is None:
            text = self._again + piece
            start = text.lstrip(_SPACE)
            if not start:
                return piece
            if start.startswith('"'):
                return text[: -len(start)] + self._begins_string(start)
            self._again = ""
            self.begun = True
            self._end = Nesting(to_close=True)
            piece = text
        return self._inside(piece)

    def _inside(self, piece: str) -> str:
        """A piece of the object that is coming."""
        at = self._end.feed(piece) if self._end is not None else -1
        if self._first is not None:
            self._first.append(piece if at < 0 else piece[:at])
            self._object_room -= len(piece)
            if self._object_room < 0:
                self._first = None
        if at < 0:
            return piece
        self.whole = True
        if self._first is not None:
            self._object = "".join(self._first).strip(_SPACE)
            self._first = None
        return piece[:at] + self._behind(piece[at:])

    def _behind(self, piece: str) -> str:
        """A piece after the whole object: the same object again goes."""
        left = ""
        while piece and self._object:
            if not self._matched:
                rest = piece.lstrip(_SPACE)
                left += piece[: len(piece) - len(rest)]
                piece = rest
            size = min(len(piece), len(self._object) - self._matched)
            if not self._object.startswith(piece[:size], self._matched):
                left += self._object[: self._matched]
                self._matched, self._object = 0, ""
                break
            self._matched += size
            piece = piece[size:]
            if self._matched == len(self._object):
                self._matched = 0
                self._repaired("repeated_arguments")
        return left + piece

    def _begins_string(self, text: str) -> str:
        """The arguments begin with a quotation mark: a string, which holds the object where it begins like one."""
        rest = text[1:].lstrip(_SPACE).removeprefix("\\n").removeprefix("\\t")
        is_far = len(text) - len(rest) > _MOST_SPACE
        if rest in {"", "\\"} and not is_far:
            self._again = text
            return ""
        if is_far or not rest.startswith("{"):
            self._again, self.begun, self._first = "", True, None
            self.whole = True  # whatever it is, it is no object, and nothing of it is mended
            return text
        self._repaired("double_encoded")
        self._again, self.begun = "", True
        self._end = Nesting(to_close=True)
        self._string = StringText()
        return self._unquoted(self._string, text[1:])

    def _unquoted(self, string: StringText, piece: str) -> str:
        """A piece of the string that holds the object."""
        inner, end = string.feed(piece)
        left = self._behind(inner) if self.whole else self._inside(inner)
        if end < 0:
            return left
        self._string, self._object, self.whole = None, "", True
        return left + piece[end:]
