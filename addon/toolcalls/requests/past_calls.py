"""How calls of a request's history and their results are handed over to be changed: `Conversation.with_changes`.

Nothing is read but what is around a call or a result. Where none of them changes, nothing is written: what leaves
is what came. A changed body holds everything else as it was written.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields


@dataclass(frozen=True, slots=True)
class CallForm:
    """Where a call has its parts.

    id         the member with its id
    inside     the member that holds name and arguments; "" where they are beside the id
    arguments  the member with the arguments; "" where they are no function's and stay
    as_text    they are JSON in a string, else the object itself
    asks_id    each call needs an id; else only one that has the member
    """

    id: str
    inside: str = ""
    arguments: str = ""
    as_text: bool = False
    asks_id: bool = True


@dataclass(frozen=True, slots=True)
class ResultForm:
    """Where a result names the call that it answers: by its id, and by the tool's name ("" for none)."""

    id: str
    name: str = ""


class Changes(Protocol):
    """What is done to calls and results, in the order of the history. A member that stays is given back as it is."""

    def call(self, members: Fields, form: CallForm) -> Fields:
        """The call's members as they should be."""

    def result(self, members: Fields, form: ResultForm) -> Fields:
        """The result's members as they should be."""


type Edit = Callable[[Fields], Fields]


def edited_list(members: Fields, key: str, edit: Edit) -> Fields:
    """An object whose list `key` has objects that are edited; the same where none is."""
    came = rawjson.items(members.get(key))
    made: list[Any] = []
    for raw in came:
        was = rawjson.fields(raw)
        now = edit(was) if was else was
        made.append(raw if now is was else now)
    return members if all(one is raw for one, raw in zip(made, came, strict=True)) else {**members, key: made}


def edited_member(members: Fields, key: str, edit: Edit) -> Fields:
    """An object whose member `key`, an object, is edited."""
    was = rawjson.fields(members[key])
    now = edit(was) if was else was
    return members if now is was else {**members, key: now}
