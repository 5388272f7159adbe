"""Steering: what a model is told where its call was blocked, or where it runs in circles.

The text stands either in the reply, in the place of the call, or in the next request, before the turn that follows the
reply; never in both. For the second the reply holds a short notice with the rule's name in the call's place, and the
request's own history is all that is asked: the same request always gets the same text in the same place, and a place
that has it already does not get it twice.
"""

import re
from collections.abc import Mapping

from toolcalls.route import Route

_NOTICE = re.compile(r"\[blocked: ([^\]\n]{1,200})\]")


def notice(rule: str) -> str:
    """What stands in a reply in the place of a call whose text goes into the next request."""
    return f"[blocked: {_label(rule)}]"


def _label(rule: str) -> str:
    """A rule's name as a notice holds it, whose end a bracket would be."""
    return rule.replace("]", ")")


def noticed(text: str) -> list[str]:
    """The rules whose notices stand in a text, each once, in order."""
    return list(dict.fromkeys(_NOTICE.findall(text)))


def texts_of(route: Route) -> Mapping[str, str]:
    """What is said for each rule, without the tool's name, which a history does not tell."""
    found: dict[str, str] = {}
    if route.loops is not None:
        for what in ("same_call", "same_result", "cycle", "message"):
            found[what] = route.loops.text.replace("{what}", what)
    if route.access is not None:
        said = [("default", None), *((rule.name, rule.message) for rule in route.access.rules)]
        for name, message in said:
            text = message or route.access.message
            found[_label(name)] = text.replace("{tool}", "the tool").replace("{rule}", name)
    return found


class Said:
    """What a reply's client was told by us: the `texts`, and whether nothing parts the latest from what follows."""

    __slots__ = ("glued", "texts")

    def __init__(self) -> None:
        self.texts: set[str] = set()
        self.glued = False


class Voice:
    """The texts that one lane's client is given, parted from what stands around them, also in the reply's next lane.

    `said` are those of the whole reply, each of which is said once.
    """

    __slots__ = ("_last", "_said")

    def __init__(self, said: Said) -> None:
        self._said = said
        self._last = ""  # the latest text that was shown

    @property
    def quiet(self) -> bool:
        """Whether the next text needs nothing before it."""
        return not self._said.glued

    def heard(self, text: str) -> None:
        """The model's own text was shown."""
        self._last = text

    def before(self, text: str) -> str:
        """What parts the model's `text` from one of ours before it, "" for nothing."""
        glued, self._said.glued = self._said.glued, False
        return "\n\n" if glued and text and not text[0].isspace() else ""

    def say(self, text: str) -> str:
        """`text` as it is to be shown here; "" when it was said before."""
        if not text or text in self._said.texts:
            return ""
        self._said.texts.add(text)
        apart = "" if not self._last or self._last[-1] == "\n" else "\n\n"
        self._last, self._said.glued = text, True
        return apart + text
