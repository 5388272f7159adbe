"""What a value in a case file must be.

A check takes a value and answers with what is wrong with it, as the end of a sentence that begins with the key; "" when
nothing is.
"""

import json
import re
from collections.abc import Callable
from typing import Any, get_args

from toolcalls.events import Reason, Repair, Status

type Check = Callable[[Any], str]

STATUSES = frozenset(get_args(Status))
REASONS = frozenset(get_args(Reason))
REPAIRS = frozenset(get_args(Repair))
CUT = ("length", "broken")  # how a reply ends that was cut off


def text(value: Any) -> str:
    return "" if isinstance(value, str) else f"must be a text, not {_kind(value)}; put it in quotes"


def flag(value: Any) -> str:
    return "" if isinstance(value, bool) else f"must be true or false, not {value!r}"


def number(value: Any) -> str:
    return "" if type(value) is int else f"must be a whole number, not {value!r}"


def false(value: Any) -> str:
    return "" if value is False else f"can only be false, not {value!r}"


def mapping(value: Any) -> str:
    return _as_json(value) if isinstance(value, dict) else f"must be a mapping, not {_kind(value)}"


def rows(value: Any) -> str:
    return _as_json(value) if isinstance(value, list) else f"must be a list, not {_kind(value)}"


def texts(value: Any) -> str:
    return listed(value, text)


def places(value: Any) -> str:
    """Places in a text, in order."""
    if not isinstance(value, list) or any(type(place) is not int or place < 1 for place in value):
        return "must be a list of whole numbers from 1"
    return "" if value == sorted(set(value)) else "must be in order, each place once"


def one_of(*words: str) -> Check:
    return lambda value: "" if value in words else f"must be one of {', '.join(words)}, not {value!r}"


def either(*checks: Check) -> Check:
    def check(value: Any) -> str:
        wrong = [check(value) for check in checks]
        return "" if "" in wrong else " or ".join(wrong)

    return check


def listed(value: Any, check: Check) -> str:
    if not isinstance(value, list):
        return f"must be a list, not {_kind(value)}"
    wrong = ((place, check(item)) for place, item in enumerate(value, 1))
    return next((f"item {place} {said}" for place, said in wrong if said), "")


def tools(value: Any) -> str:
    """`Bash: {command: string}`, a schema with `properties`, or nothing for a tool without a schema."""
    if value is None:
        return ""
    if not isinstance(value, dict):
        return f"must map names of tools to their parameters, not {_kind(value)}"
    for name, about in value.items():
        if not isinstance(name, str):
            return f"has the tool {name!r}, whose name must be a text; put it in quotes"
        if about is not None and not isinstance(about, dict):
            return f"must map {name!r} to its parameters, as in `{name}: {{path: string}}`, not to {_kind(about)}"
        if about is not None and "properties" not in about:
            wrong = [key for key, schema in about.items() if not isinstance(schema, str | dict)]
            if wrong:
                return f"must give the parameter {wrong[0]!r} of {name!r} a type or a schema"
    return _as_json(value)


def calls(value: Any) -> str:
    return listed(value, _call("name", "arguments", "json"))


def calls_with(*more: str) -> Check:
    return lambda value: listed(value, _call("name", "arguments", "json", *more))


def _call(*keys: str) -> Check:
    def check(call: Any) -> str:
        if not isinstance(call, dict) or not isinstance(call.get("name"), str):
            return "must be a call, as in {name: Bash, arguments: {command: ls}}"
        unknown = sorted(set(call) - set(keys))
        if unknown:
            return f"has the unknown key {unknown[0]!r}; a call has {', '.join(keys)}"
        if "json" in call and "arguments" in call:
            return "has both `arguments` and `json`; keep one"
        if "json" in call:
            return text(call["json"]) or _json_text(call["json"])
        arguments = call.get("arguments", {})
        return _as_json(arguments) if isinstance(arguments, dict) else "needs a mapping as `arguments`"

    return check


def open_calls(value: Any) -> str:
    """Calls that were never completed: the argument JSON as far as it came."""

    def check(call: Any) -> str:
        right = isinstance(call, dict) and set(call) == {"name", "json"}
        return "" if right else """must be {name: Bash, json: '{"comm'}, with the JSON as far as it came"""

    return listed(value, check)


def turns(value: Any) -> str:
    """Calls as `{Bash: {command: ls}}`, each a tool's name and its arguments, and texts."""

    def check(item: Any) -> str:
        call = isinstance(item, dict) and len(item) == 1 and isinstance(next(iter(item.values())), dict)
        return "" if isinstance(item, str) or call else "must be a text or a call, as in {Bash: {command: ls}}"

    return listed(value, check) or _as_json(value)


def history(value: Any) -> str:
    def check(item: Any) -> str:
        right = isinstance(item, list) and len(item) == 3 and isinstance(item[1], dict)
        return "" if right else "must be [tool, arguments, result], as in [Bash, {command: ls}, a.txt]"

    return listed(value, check)


def verdicts(value: Any) -> str:
    return listed(value, verdict)


def verdict(line: Any) -> str:
    """`status [reason] name [(dialect)]`."""
    words = line.split() if isinstance(line, str) else []
    if words and re.fullmatch(r"\([\w-]+\)", words[-1]):
        words.pop()
    if len(words) not in {2, 3}:
        return f"must read `status [reason] name [(dialect)]`, as in `declined fenced Bash`, not {line!r}"
    status, *reason, _ = words
    if status not in STATUSES:
        return f"has the status {status!r}; the statuses are {', '.join(get_args(Status))}"
    if reason and reason[0] not in REASONS:
        return f"has the reason {reason[0]!r}, which is none (see `Reason` in addon/toolcalls/events.py)"
    return ""


def outcomes(value: Any) -> str:
    """What processors made of each call: `passed Bash`, or with the rule `blocked Bash no-shell`."""
    words = STATUSES | {"passed", "changed"}

    def check(line: Any) -> str:
        right = isinstance(line, str) and line.split()[:1] and line.split()[0] in words
        return (
            "" if right else f"must begin with a status, `passed` or `changed`, as in `blocked Bash rule`, not {line!r}"
        )

    return listed(value, check)


def repairs(value: Any) -> str:
    def check(name: Any) -> str:
        return "" if name in REPAIRS else f"is no repair: {name!r} (see `Repair` in addon/toolcalls/events.py)"

    return listed(value, check)


def _kind(value: Any) -> str:
    kinds = {"NoneType": "nothing", "dict": "a mapping", "list": "a list", "str": "a text", "bool": repr(value)}
    return kinds.get(type(value).__name__, f"{value!r}")


def _as_json(value: Any) -> str:
    try:
        json.dumps(value)
    except TypeError as error:
        return f"holds what JSON cannot ({error}); put it in quotes"
    return ""


def _json_text(value: str) -> str:
    try:
        json.loads(value)
    except ValueError as error:
        return f"has a `json` that is no JSON: {error}"
    return ""
