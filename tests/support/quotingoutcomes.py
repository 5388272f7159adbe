"""What comes out of the cases of quoting.yaml, quoting_notations.yaml and prompts.yaml, in their own words.

Some of their cases say nothing but a text and what kind of text it is. Such a case holds, or it is not updated.
"""

from collections.abc import Callable
from typing import Any

from support.caseexpectations import Doubtful, Expected
from support.casefiles import Said
from support.quoting import (
    POLICIES,
    check_called,
    check_called_behind,
    check_followed,
    check_other_notation,
    check_quoted,
    in_some,
    read,
    reasons_for,
)
from toolcalls.dialects import all_dialects
from toolcalls.requests.spoken_dialects import taught_in
from toolcalls.writing.writer import calls_in


def quoted(said: Said) -> dict[str, Expected]:
    """The reason, and whether special tokens make a call inside the line."""
    made, _ = reasons_for({**said, "anywhere": False})
    if any(policy == "strict" or all_dialects()[dialect].place != "anywhere" for dialect, policy in made):
        raise Doubtful(f"a call is made of the text ({', '.join(f'{dialect}, {policy}' for dialect, policy in made)})")
    came = {"anywhere": Expected(bool(made), not made), "reason": _reason(said, anywhere=bool(made))}
    _holds(lambda: check_quoted({**said, **{key: value for key, (value, _) in came.items()}}))
    return came


def _reason(said: Said, *, anywhere: bool) -> Expected:
    _, reasons = reasons_for({**said, "anywhere": anywhere})
    wrote = said.get("reason")
    if wrote is None or wrote in reasons:
        return Expected(wrote, wrote is None)
    if len(reasons) == 1:
        return Expected(*reasons, default=False)
    raise Doubtful(f"the dialects do not agree on a reason; common to all are {sorted(reasons) or 'none'}")


def followed(said: Said) -> dict[str, Expected]:
    """Nothing: `strict` takes no call of it."""
    _holds(lambda: check_followed(said))
    return {}


def called(said: Said) -> dict[str, Expected]:
    """Whether dialects whose call is a whole message take it, too."""
    _holds(lambda: [check_called({**said, "whole": False}, policy) for policy in POLICIES])
    try:
        for policy in POLICIES:
            check_called({**said, "whole": True}, policy)
    except AssertionError:
        return {"whole": Expected(value=False, default=True)}
    return {"whole": Expected(value=True, default=False)}


def other_notation(said: Said) -> dict[str, Expected]:
    """The flag: which dialects `standard` takes a call of, and whether it could know better."""
    made = {dialect for dialect, text in in_some(said["text"]) if calls_in(read(text))}
    flag = None
    if made:
        flag = "anywhere" if all(all_dialects()[dialect].place == "anywhere" for dialect in made) else "late"
    _holds(lambda: check_other_notation({**said, "flag": flag}))
    if flag == "late":
        _told_by_what_follows(said["text"])
    return {"flag": Expected(flag, flag is None)}


def _told_by_what_follows(text: str) -> None:
    before, place, _ = text.partition("{call}" if "{call}" in text else "{line}")
    for dialect, without_what_follows in in_some(before + place):
        if place and not calls_in(read(without_what_follows, "strict")):
            raise Doubtful(f"a call is made of the text, and what stands before it says that it is quoted ({dialect})")


def called_behind(said: Said) -> dict[str, Expected]:
    """Nothing: one call is made of it."""
    _holds(lambda: [check_called_behind(said, policy) for policy in POLICIES])
    return {}


def taught(said: Said) -> dict[str, Expected]:
    """The dialects that a prompt names."""
    return {"teaches": Expected(list(taught_in(said["system"])), default=False)}


def _holds(check: Callable[[], Any]) -> None:
    try:
        check()
    except AssertionError as error:
        raise Doubtful("it is not the text that it is said to be: a call is made of it, or none") from error
