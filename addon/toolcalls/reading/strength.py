"""What each policy asks of a sign, by its strength: the weaker it is, the more it must show.

Ninety forms are read at once, and some of them are a word and a bracket: a line `nav>ul>li` must not call a tool
`nav`. Each dialect's file says how strong its sign is (`About.sign`), and this table what is asked beyond the seven
conditions. A route that names the dialect asks nothing more, and so does `lenient`.
"""

from typing import Literal, get_args

from toolcalls.events import Reason
from toolcalls.route import PolicyName
from toolcalls.shapes import Sign, Strength
from toolcalls.text.scanner import SPACE
from toolcalls.values.json_tokenizer import Marks, decoded
from toolcalls.values.toolbox import Toolbox

# What a call shows:
#   parameter   at least one declared parameter, unless its tool has none
#   arguments   the same, or empty arguments that are written (`Sign.empty`)
#   own         at least one declared parameter, also where its tool has none and whatever the policy takes
#   required    the values of all required parameters have begun; where it ends before, it is one all the same
#   complete    all of it is there, with all required parameters
#   last        nothing but calls is behind it in its message
#   known       one more sign: nobody else writes what it begins with, the model is known for it, an earlier turn has it
#   unfenced    it is not JSON in a fence
Shown = Literal["parameter", "arguments", "own", "required", "complete", "last", "known", "unfenced"]

_FORM: tuple[Shown, ...] = ("parameter", "required")
_REST: tuple[Shown, ...] = ("parameter", "complete", "last", "known")
ASKED: dict[PolicyName, dict[Strength, tuple[Shown, ...]]] = {
    "standard": {"mark": (), "form": _FORM, "rest": _REST},
    "strict": {"mark": (), "form": (*_FORM, "unfenced"), "rest": _REST},
    "lenient": {"mark": (), "form": (), "rest": ()},
}
STRENGTHS: tuple[Strength, ...] = get_args(Strength)

_LONGEST_KEY = 256


class OpenedKeys:
    """Which members of an argument object have a value that has begun, as its JSON arrives."""

    __slots__ = ("_depth", "_key", "_marks", "_pending", "keys")

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self._marks = Marks("[]{}:,")
        self._depth = 0
        self._key: list[str] | None = None  # what came of a key
        self._pending: str | None = None  # a key whose value has not begun

    def feed(self, piece: str) -> None:
        """Read the next piece."""
        at = start = 0
        while (end := self._marks.next(piece, at)) > 0:
            mark = piece[end - 1]
            if mark == ":" and self._key is not None:
                self._pending = decoded("".join((*self._key, piece[start : end - 1])).strip(SPACE)[1:-1])
                self._key = None
            elif mark in "{[" or (mark == "," and self._depth == 1):
                self._begin(piece[at : end - 1] if mark == "," else mark)
                self._depth += mark != ","
                if self._depth == 1:
                    self._key, start = [], end
            elif mark in "}]":
                self._begin(piece[at : end - 1])
                self._depth -= 1
            at = end
        self._begin(piece[at:])
        if self._key is not None and sum(map(len, self._key)) < _LONGEST_KEY:
            self._key.append(piece[start:])

    def _begin(self, text: str) -> None:
        """This text comes where the value of a key is expected."""
        if self._pending is not None and text.strip(SPACE):
            self.keys.add(self._pending)
            self._pending = None


def asked(policy: PolicyName, sign: Sign, opener: str) -> tuple[Shown, ...]:
    """What a policy asks of a call with this sign that begins with this opener."""
    shown = ASKED[policy][sign.of(opener)]
    return tuple("arguments" if one == "parameter" else one for one in shown) if sign.empty else shown


def lacking(name: str, keys: set[str], shown: tuple[Shown, ...], tools: Toolbox) -> Reason | None:
    """Why a call with these arguments shows no declared parameter where it must; None where it need not or does.

    shown   what it must show (`asked`)
    """
    own = "own" in shown
    if not own and "parameter" not in shown and ("arguments" not in shown or not keys):
        return None
    declared = tools.keys(name)
    if not (declared or own) or not keys.isdisjoint(declared):
        return None
    return "undeclared_arguments" if keys else "no_arguments"
