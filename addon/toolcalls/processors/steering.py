"""Steering: texts for the model where its call was blocked, or where it loops.

A text is either in the reply, in the place of the call, or in the next request, before the turn that follows the reply;
never in both. For the second, the reply holds a short notice with the rule's name in the call's place. Only the notices
in the request's own history count: the same request always gets the same text in the same place, and no text twice.
"""

import re
from collections.abc import Mapping

from toolcalls.route import Route

_NOTICE = re.compile(r"\[blocked: ([^\]\n]{1,200})\]")


def notice(rule: str) -> str:
    """The notice in a reply in the place of a call whose text goes into the next request."""
    return f"[blocked: {_label(rule)}]"


def _label(rule: str) -> str:
    """A rule's name as a notice holds it, whose end a bracket would be."""
    return rule.replace("]", ")")


def rules_in_notices(text: str) -> list[str]:
    """The rules named by the notices in a text, each once, in order."""
    return list(dict.fromkeys(_NOTICE.findall(text)))


def steering_texts(route: Route) -> Mapping[str, str]:
    """The text for each rule, without the tool's name, which the history does not hold."""
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


class InsertedTexts:
    """The texts of our own that a reply's client was sent.

    needs_separator  the latest one is the last thing that the client was sent
    """

    __slots__ = ("needs_separator", "texts")

    def __init__(self) -> None:
        self.texts: set[str] = set()
        self.needs_separator = False


class TextInserter:
    """Separates texts of our own from the model's text around them, for one lane.

    inserted   those of the whole reply: no text is inserted twice
    """

    __slots__ = ("_inserted", "_last")

    def __init__(self, inserted: InsertedTexts) -> None:
        self._inserted = inserted
        self._last = ""  # the latest text that was shown

    @property
    def quiet(self) -> bool:
        """Whether the next text needs no separator."""
        return not self._inserted.needs_separator

    def shown(self, text: str) -> None:
        """The model's own text was sent."""
        self._last = text

    def separator(self, text: str) -> str:
        """What separates the model's `text` from one of ours before it, "" for nothing."""
        needed, self._inserted.needs_separator = self._inserted.needs_separator, False
        return "\n\n" if needed and text and not text[0].isspace() else ""

    def insert(self, text: str) -> str:
        """`text` as it is to be sent here; "" when the client has it already."""
        if not text or text in self._inserted.texts:
            return ""
        self._inserted.texts.add(text)
        separator = "" if not self._last or self._last[-1] == "\n" else "\n\n"
        self._last, self._inserted.needs_separator = text, True
        return separator + text
