"""The values of options and of job members: tools, dialects, policy, what client and upstream speak.

Each function takes a decoded JSON value. It raises BadInput, which names the member and the values that are known.
"""

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, get_args

from toolcalls.config import ConfigError, default_path, load
from toolcalls.config.mistakes import did_you_mean
from toolcalls.dialects import all_dialects
from toolcalls.own_dialects.loading import Loading
from toolcalls.request import Tool
from toolcalls.requests.conversation import Conversation, conversation_of
from toolcalls.route import Config, Mended, PolicyName, Side
from toolcalls.streams import BadInput, read_json
from toolcalls.tools.jobs import Job
from toolcalls.wires import all_wires

POLICIES: tuple[PolicyName, ...] = get_args(PolicyName)
SIDES: tuple[Side, ...] = get_args(Side)
_LISTED = 12  # names that an error lists; of more it says the nearest
MENDED: tuple[Mended, ...] = get_args(Mended)


def tools_of(value: object) -> tuple[Tool, ...]:
    """Tools in OpenAI form (`{"type": "function", "function": {"name", "parameters"}}`) or bare (`{"name", ...}`).

    Tools that are not functions (a built-in search, say) are ignored: no text can call them.
    """
    if isinstance(value, dict) and "tools" in value:
        value = value["tools"]
    if not isinstance(value, list):
        raise BadInput("tools: expected a list of tools")
    found = []
    for number, item in enumerate(value):
        place = f"tools[{number}]"
        if not isinstance(item, dict):
            raise BadInput(f"{place}: expected a tool, an object with a name")
        if item.get("type", "function") != "function":
            continue
        function = item.get("function", item)
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(name, str) or not name:
            raise BadInput(f"{place}: this tool has no name")
        schema, about = function.get("parameters"), function.get("description")
        if schema is not None and not isinstance(schema, dict):
            raise BadInput(f"{place}.parameters: expected a JSON Schema, an object")
        found.append(Tool(name, schema or {}, about if isinstance(about, str) else ""))
    return tuple(found)


def read_tools(path: str | None) -> tuple[Tool, ...]:
    """The tools in a file; () for no file."""
    if path is None:
        return ()
    job = Job(f'{{"tools": {read_json(path)}}}')
    try:
        return tools_of(job.value("tools"))
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error


def with_tools(own: Iterable[Tool], added: Iterable[Tool]) -> tuple[Tool, ...]:
    """The tools of both, in order. Where a name occurs in both, the added tool wins."""
    return tuple({tool.name: tool for tool in (*own, *added)}.values())


def conversation_in(wire: str, text: str, where: str = "request") -> Conversation:
    """The request of a wire that a text is. `where` is what a message calls it."""
    try:
        return conversation_of(wire, text.encode("utf-8", "surrogatepass"))
    except ValueError as error:
        raise BadInput(f"{where}: {error}") from error


def dialects_of(value: object, where: str = "dialect") -> tuple[str, ...] | None:
    """Dialects by a name or a list of names; None, which means all of them, for "auto" and for None."""
    if value is None or value == "auto":
        return None
    names = value if isinstance(value, list) else [value]
    return tuple(dialect_of(name, where, "auto") for name in names)


def dialect_of(value: object, where: str, *more: str) -> str:
    """The name of a dialect of the package, or of one in a file (`PATH.yaml`) or of an installed package.

    more   words that may stand in its place
    """
    if not isinstance(value, str) or value in more or value in all_dialects():
        return one_of(value, all_dialects(), where, *more)
    loading = Loading()
    try:
        if value.endswith((".yaml", ".yml")):
            return loading.in_file(Path(value), None)
        found = loading.installed(value)
    except ConfigError as wrong:
        raise BadInput(f"{where}: {wrong.errors[0]}") from wrong
    except ValueError as wrong:
        raise BadInput(f"{where}: {wrong}") from wrong
    return one_of(value, all_dialects(), where, *more) if found is None else found


def policy_of(value: object) -> PolicyName:
    """A policy's name."""
    name = one_of(value, POLICIES, "policy")
    return next(policy for policy in POLICIES if policy == name)


def side_of(value: object, where: str) -> tuple[Side, str | None]:
    """What a side speaks, and the dialect if the value names one; a dialect's name means text in that dialect."""
    name = one_of(value, SIDES, where) if value in SIDES else dialect_of(value, where, *SIDES)
    return next(((side, None) for side in SIDES if side == name), ("text", name))


def mended_of(value: object) -> tuple[Mended, ...]:
    """`mend`: the kinds of damage that are mended, a list."""
    if not isinstance(value, list):
        raise BadInput(f"mend: expected a list of {', '.join(MENDED)}, or [] for none")
    names = [one_of(name, MENDED, f"mend[{number}]") for number, name in enumerate(value)]
    return tuple(kind for kind in MENDED if kind in names)


def patterns_of(value: object) -> tuple[str, ...] | None:
    """`allowed_tools`: null (None: all), or a list of regular expressions."""
    if value is None:
        return None
    if not isinstance(value, list):
        raise BadInput("allowed_tools: expected null or a list of regular expressions")
    for number, pattern in enumerate(value):
        try:
            re.compile(pattern)
        except (re.error, TypeError, OverflowError, RecursionError) as error:
            raise BadInput(f"allowed_tools[{number}]: not a regular expression: {error}") from error
    return tuple(value)


def configuration(path: str | None) -> Config:
    """The configuration in a file, or the one that ships. Raises BadInput with its first mistake."""
    try:
        return load(default_path() if path is None else Path(path), all_dialects(), all_wires(), Loading())
    except ConfigError as wrong:
        raise BadInput(wrong.errors[0]) from wrong


def one_of(value: object, known: Collection[str], where: str, *more: str) -> str:
    """`value`, if it is one of the known names. Raises BadInput, which lists them, or of many the nearest."""
    if isinstance(value, str) and value in known:
        return value
    shown: Any = f'"{value[:40]}"' if isinstance(value, str) else repr(value)[:40]
    names = [*more, *known]
    if len(names) <= _LISTED:
        raise BadInput(f"{where}: unknown {shown}; known are {', '.join(names)}")
    near = did_you_mean(value, names) if isinstance(value, str) else ""
    words = [name for name in names if name not in all_dialects()]
    listed = " and ".join(filter(None, (", ".join(words), "what `toolcalls dialects` lists")))
    raise BadInput(f"{where}: unknown {shown}{near}; known are {listed}")
