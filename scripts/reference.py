"""The tables of the reference that come from code and not from a vocabulary; `scripts/tables.py` writes them.

agents          from the launcher's table
configuration   keys from the readers of `config/`, effects from the comments of config/toolcalls.yaml, and of the
                keys further inside from the docstrings of `route`
options         from `mitm/declared_options.py`
commands        from the parser of `cli`
Python          from `processors`
"""

import argparse
import dataclasses
import inspect
import json
import re
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

from toolcalls import cli, processors, route
from toolcalls.config.keys import Keys
from toolcalls.config.routes import RouteKeys
from toolcalls.mitm.declared_options import OPTIONS
from toolcalls.route import Match, Route
from toolcalls.tools.run.agents import AGENTS, Agent

DEFAULTS = Path(__file__).parents[1] / "config" / "toolcalls.yaml"

# What a value may be, of keys whose readers set several fields of a route or take a mapping.
_TYPES = {
    "version": "1",
    "vtc_client_patterns": "a list of words",
    "prices": "a list of [prices](#a-price)",
    "currency": "text",
    "defaults": "a mapping of the keys below",
    "routes": "a list of [routes](#a-route)",
    "client": "`auto`, `native`, `text` or the name or [file](own-dialects.md) of a dialect",
    "upstream": "`auto`, `native`, `text` or the name or [file](own-dialects.md) of a dialect",
    "client_dialect": "`auto` or the name or [file](own-dialects.md) of a dialect",
    "dialects": "`auto`, the name or [file](own-dialects.md) of a dialect or a list of such",
    "allowed_tools": "null or a list of regular expressions",
    "tools": "a list of tools",
    "marker": "a word or a list of words",
    "access": "null or [access](#keys-of-access)",
    "loops": "null or [loops](#keys-of-loops)",
    "reactors": "a list of [reactors](#a-reactor)",
    "filters": "a list of [filters](#a-filter)",
    "name": "text",
    "match": "a mapping of the keys below",
}
# One for each key; a test reads them all.
EXAMPLES = {
    "version": "version: 1",
    "vtc_client_patterns": "vtc_client_patterns: [cline, my-agent]",
    "prices": 'prices: [{model: "qwen*", input: 0.2, output: 0.8}]',
    "currency": "currency: EUR",
    "defaults": "defaults: {policy: strict}",
    "routes": "routes: [{match: {model: qwen*}, policy: lenient}]",
    "client": "client: tagged",
    "upstream": "upstream: native",
    "client_dialect": "client_dialect: tagged",
    "dialects": "dialects: [hermes, qwen3_xml]",
    "policy": "policy: strict",
    "take": "take: [fenced]",
    "require": "require: [complete]",
    "allowed_tools": "allowed_tools: [read_file, search_.*]",
    "tools": "tools: [{name: read_file, parameters: {type: object, properties: {path: {type: string}}}}]",
    "mend": "mend: [protocol, types]",
    "multiple_calls": "multiple_calls: false",
    "starts_in_reasoning": "starts_in_reasoning: true",
    "infer_types": "infer_types: false",
    "escaped_values": "escaped_values: true",
    "drop_invented_results": "drop_invented_results: true",
    "max_buffer_bytes": "max_buffer_bytes: 131072",
    "max_held_call_bytes": "max_held_call_bytes: 1048576",
    "max_call_chars": "max_call_chars: 1000000",
    "max_depth": "max_depth: 64",
    "max_calls": "max_calls: 20",
    "max_candidates": "max_candidates: 200",
    "max_frame_bytes": "max_frame_bytes: 1048576",
    "max_decoded_bytes": "max_decoded_bytes: 4194304",
    "marker": "marker: [TOOL_CALL, CALL]",
    "max_payload_chars": "max_payload_chars: 0",
    "rewrite_request": "rewrite_request: true",
    "refuse_websocket": "refuse_websocket: true",
    "access": "access: {rules: [{name: no-browser, action: block, tools: browser_.*}]}",
    "loops": "loops: {action: stop, same_call: 5}",
    "reactors": "reactors: [{file: reactors.py, function: no_force_push}]",
    "filters": "filters: [{name: host, literal: build-7.example.com, replace: a build server}]",
    "steering": "steering: reply",
    "prepend_newlines": "prepend_newlines: false",
    "newline_count": "newline_count: 1",
    "name": "name: my-server",
    "match": 'match: {host: "*.example.com", model: "qwen*"}',
}
_INSIDE = (
    ("A price", route.Price),
    ("The match of a route", Match),
    ("Keys of access", route.Access),
    ("An access rule", route.AccessRule),
    ("A condition of a rule", route.Condition),
    ("Keys of loops", route.Loops),
    ("A reactor", route.Reactor),
    ("A filter", route.Filter),
)
# Fields that no key of this name sets.
_NO_KEYS = {"argument"}


# --- agents -----------------------------------------------------------------------------------------------------------


def agents() -> Iterator[Sequence[str]]:
    """A row for each agent: its name, when it was tried and how, what it speaks, how `toolcalls run` leads it."""
    for agent in sorted(AGENTS, key=lambda agent: agent.name.casefold()):
        name = f"[{agent.name}](agents/{agent.page}.md)" if agent.page else agent.name
        yield (name, *_trial(agent), agent.wires, _led(agent))


def _trial(agent: Agent) -> tuple[str, str, str]:
    if agent.trial is None:
        return "not tried", "", ""
    versions = f"{agent.trial.versions}, {agent.trial.month}" + (f"; {agent.trial.but}" if agent.trial.but else "")
    return versions, " and ".join(agent.trial.run), " and ".join(agent.trial.by_hand)


def _led(agent: Agent) -> str:
    if agent.base_urls:
        return ", ".join(f"`{name}`" for name in agent.base_urls)
    return f"its own files: {agent.settings}" if agent.settings else ""


# --- the configuration ------------------------------------------------------------------------------------------------


def config_keys() -> dict[str, list[str]]:
    """The keys of the configuration by where they stand: at the top, in `defaults` and routes, in routes alone."""
    keys = Keys()
    RouteKeys(keys, (), (), Path())
    top, shared, own = (list(keys.places[place]) for place in ("the top level", "defaults or a route", "a route"))
    return {"The top level": top, "Defaults and routes": shared, "A route": [key for key in own if key not in shared]}


def configuration() -> Iterator[str]:
    """A section for each key, and a table for what is further inside."""
    effects = {**_effects(), **_OF_ROUTES}
    hints = {**typing.get_type_hints(Route), "policy": route.PolicyName}
    for place, keys in config_keys().items():
        yield from (f"## {place}", "")
        for key in keys:
            says, default = effects[key]
            kind = _TYPES.get(key) or _type(hints[key])
            yield from (f"### `{key}`", "", f"Type: {kind}. Default: `{default}`.", "", says, "")
            yield from ("```yaml", EXAMPLES[key], "```", "")
    for title, kind in _INSIDE:
        yield from (f"## {title}", "", *_members(kind), "")


_OF_ROUTES = {
    "name": ("Shown in the flow view and in exports.", "routes[0], routes[1], ..."),
    "match": ("Which traffic the route is for. Every key that is given must match; without any, all traffic.", "{}"),
}


def _effects() -> dict[str, tuple[str, str]]:
    """Each key's effect and default, from its comment in the file of defaults. A line of it that begins with a word and
    a colon begins an item of a list.
    """
    known = {key for keys in config_keys().values() for key in keys}
    found: dict[str, tuple[str, str]] = {}
    comment: list[str] = []
    for line in DEFAULTS.read_text(encoding="utf-8").splitlines():
        key = re.match(r" *(?:# )?([a-z_]+):(?: |$)", line)
        if key and key[1] in known and comment and key[1] not in found:
            found[key[1]] = _effect(comment), _default(key[1]) or _stated(comment)
            comment = []
        elif line.strip().startswith("#"):
            comment.append(line.strip().removeprefix("#").strip())
        else:
            comment = []
    return {**found, "defaults": (found["defaults"][0], "{}")}


def _effect(comment: Sequence[str]) -> str:
    says = re.sub(r" ?Default: .*", "", _escaped("\n".join(comment)))
    says = re.sub(r"^([a-z_]+): ", r"\n- `\1`: ", says, flags=re.MULTILINE)
    return re.sub(r"(?<!\n)\n(?!\n|- )", " ", says).replace("\n\n- ", "\n- ").replace("\n- ", "\n\n- ", 1).strip()


def _stated(comment: Sequence[str]) -> str:
    """The default that a comment states, "" for none."""
    return " ".join(comment).partition("Default: ")[2].partition(",")[0].rstrip(".")


def _default(key: str) -> str:
    """The value that the file of defaults gives to a key; "" for one that it does not set."""
    line = re.search(rf"^ *{key}: (.+)$", DEFAULTS.read_text(encoding="utf-8"), re.MULTILINE)
    return line[1].strip() if line else ""


def _escaped(text: str) -> str:
    """Plain text as Markdown; code in it stays code."""
    parts = text.split("`")
    return "`".join(part if number % 2 else re.sub(r"([<*\[])", r"\\\1", part) for number, part in enumerate(parts))


def _members(kind: type) -> Iterator[str]:
    """The table of a dataclass whose fields are keys, with what its docstring says of them."""
    says = _said_of_fields(kind)
    hints = typing.get_type_hints(kind)
    yield "| key | type | default | says |"
    yield "| --- | --- | --- | --- |"
    for one in dataclasses.fields(kind):
        if one.name in _NO_KEYS or (kind is route.Price and one.name == "currency"):
            continue
        default = "" if one.default is dataclasses.MISSING else _value(one.default)
        yield f"| `{one.name}` | {_type(hints[one.name])} | {default or 'required'} | {says[one.name]} |".replace(
            r"\\1", r"\1"
        )


# What is said of keys that many engines have, where the engine's docstring says no more.
_OF_ENGINES = {
    "opening": "what a call begins with",
    "closing": "what a call ends with",
    "place": "where what a call begins with counts: `anywhere`, at the start of a `line`, as the whole `message`",
    "stray_words": "words that models leak alone in front of a call; they go with it",
    "call": "the element of a call",
    "parameter": "the element of a parameter",
    "key": "the element of a parameter's name",
    "value": "the element of a parameter's value",
    "between": "what is written between two calls",
    "header": "the marks between the name and the arguments",
    "known": "tools that are known though nobody declares them: name to parameters",
}


def keys_of(
    kind: type, fields: Mapping[str, "dataclasses.Field[typing.Any]"], needed: Sequence[str], contents: Iterable[str]
) -> Iterator[str]:
    """The table of an engine's keys."""
    says = {**_OF_ENGINES}
    for one in reversed(kind.__mro__):
        says |= _said_of_fields(one) if one.__module__.startswith("toolcalls.shapes") else {}
    hints = typing.get_type_hints(kind)
    yield "| key | takes | default | says |"
    yield "| --- | --- | --- | --- |"
    for name, one in fields.items():
        takes = ", ".join(f"`{word}`" for word in contents) if name == "content" else _taken(hints[name])
        default = "required" if name in needed else _default_of(one)
        what = says.get(name, "").replace("()", "[]").replace("|", r"\|")
        yield f"| `{name}` | {takes} | {default} | {what} |"


def _taken(hint: typing.Any) -> str:
    """What a key of an engine takes."""
    if hint is str or isinstance(hint, type):
        return _PLAIN.get(hint, "text")
    if get_origin(hint) is typing.Literal:
        return ", ".join(f"`{word}`" for word in get_args(hint))
    inner = get_args(hint)
    if get_origin(hint) is tuple and inner == (str, ...):
        return "a list of texts"
    if get_origin(hint) is tuple and set(inner) == {str}:
        return f"a list of {len(inner)} texts"
    if get_origin(hint) in (typing.Union, UnionType):
        return " or ".join(_taken(one) for one in inner if one is not NoneType)
    return "lists in a list" if get_origin(hint) is tuple else "a mapping"


def _default_of(one: "dataclasses.Field[typing.Any]") -> str:
    value = one.default if one.default is not dataclasses.MISSING else None
    if isinstance(value, str | bool | tuple):
        return f"`{json.dumps(value, ensure_ascii=False)}`".replace("|", "\\|")
    return ""


def _said_of_fields(kind: type) -> dict[str, str]:
    """What the list in a docstring says of each field: names, two blanks, words that may go on below."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in (inspect.getdoc(kind) or "").splitlines():
        begins = re.match(r"([a-z_]+(?:, [a-z_]+)*)  +(\S.*)$", line)
        if begins:
            names = begins[1].split(", ")
            found |= dict.fromkeys(names, begins[2])
        elif line.startswith("  ") and names:
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
        else:
            names = []
    return found


def _value(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return f"`[{', '.join(map(str, value))}]`"
    return f'`"{value}"`' if value == "" else f"`{value}`"


_PLAIN = {str: "text", int: "a whole number", float: "a number", bool: "`true` or `false`", NoneType: "null"}


def _type(hint: Any) -> str:
    """A Python type in words."""
    if isinstance(hint, typing.TypeAliasType):
        return _type(hint.__value__)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if get_origin(hint) is Literal:
        return ", ".join(f"`{word}`" for word in get_args(hint))
    if get_origin(hint) is tuple:
        inside = get_args(hint)[0]
        words = {str: "text", route.AccessRule: "[rules](#an-access-rule)"}
        if inside is route.Condition:
            return "a mapping: argument to a regular expression, or to a [condition](#a-condition-of-a-rule)"
        return f"a list of {words.get(inside) or _type(inside)}"
    if get_origin(hint) in (typing.Union, UnionType):
        kinds = [one for one in get_args(hint) if one is not NoneType]
        null = " or null" if len(kinds) < len(get_args(hint)) else ""
        return " or ".join(_type(one) for one in kinds) + null
    raise TypeError(f"no words for the type {hint}")


# --- options, commands, Python ----------------------------------------------------------------------------------------


def options() -> Iterator[Sequence[str]]:
    """A row for each option of mitmproxy's that the addon adds."""
    for option in OPTIONS:
        default = str(option.default).lower() if isinstance(option.default, bool) else option.default
        values = ", ".join(f"`{one}`" for one in option.choices) or ("yes or no" if option.kind is bool else "text")
        yield f"`{option.name}`", values, f"`{default}`" if default else "none", option.help


def commands() -> Iterator[str]:
    """A section for each command of the command line, as its `--help` has it."""
    yield from _commands(cli._parser(), "toolcalls", 2)


def _commands(parser: argparse.ArgumentParser, name: str, level: int) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, command in action.choices.items():
                yield from _command(command, f"{name} {word}", level)


def _command(parser: argparse.ArgumentParser, name: str, level: int) -> Iterator[str]:
    yield from (f"{'#' * level} `{name}`", "", _markdown(parser.description or ""), "")
    told = [action for action in parser._actions if action.dest != "help" and action.help != argparse.SUPPRESS]
    rows = [action for action in told if not isinstance(action, argparse._SubParsersAction)]
    if rows:
        yield from ("| argument | says |", "| --- | --- |")
        for action in rows:
            says = (parser._get_formatter()._expand_help(action) if action.help else "").replace("|", r"\|")
            yield f"| `{_typed(action)}` | {_markdown(says)} |".replace("* |", r"\* |")
        yield ""
    if parser.epilog and (example := parser.epilog.partition("example:\n")[2]):
        yield from ("~~~text", *(line.removeprefix("  ") for line in example.rstrip().splitlines()), "~~~", "")
    yield from _commands(parser, name, level + 1)


def _typed(action: argparse.Action) -> str:
    names = ", ".join(action.option_strings)
    words = r"\|".join(map(str, action.choices)) if action.choices and len(list(action.choices)) < 8 else ""
    value = words or (action.metavar if isinstance(action.metavar, str) else "") or action.dest.upper()
    if not names:
        return value
    return names if action.nargs == 0 else f"{names} {value}"


def _markdown(text: str) -> str:
    """Words of `--help` as Markdown."""
    return _escaped(" ".join(text.split()))


def python_api() -> Iterator[str]:
    """A section for each type that a reactor's file imports."""
    for name in ("Call", "Keep", "Drop", "Edit", "Say"):
        kind = getattr(processors, name)
        yield from (f"## `{name}`", "", " ".join((inspect.getdoc(kind) or "").split()), "")
        hints = typing.get_type_hints(kind)
        fields = dataclasses.fields(kind)
        if fields:
            yield from ("| field | type | default |", "| --- | --- | --- |")
            for one in fields:
                default = "required" if one.default is dataclasses.MISSING else f"`{one.default!r}`"
                yield (
                    f"| `{one.name}` | `{inspect.formatannotation(hints[one.name])}` | {default} |".replace(
                        " | None", r" \| None"
                    )
                    .replace("collections.abc.", "")
                    .replace("typing.", "")
                )
            yield ""
