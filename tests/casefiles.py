"""The case files of `tests/cases`, read into what a test needs. Their format is told in `tests/cases/README.md`.

Strategy: a case is written for people, so nearly everything has a default, and the defaults stand here and nowhere
else. Every case is turned into a Chat Completions request and a `Route`; the reader and the whole exchange are then run
on the same terms. A mistake in a case file is a ValueError that names the case.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from toolcalls.route import Route

CASES = Path(__file__).parent / "cases"

type Finish = Literal["stop", "length", "broken"]

_ROUTE_KEYS = {
    "policy",
    "allowed_tools",
    "dialects",
    "multiple_calls",
    "infer_types",
    "max_buffer_bytes",
    "drop_invented_results",
}
_CASE_KEYS = {
    "title",
    "text",
    "tools",
    "finish",
    "request",
    "shown",
    "reasoning",
    "calls",
    "verdicts",
    "repairs",
    "split",
}


class _Loader(yaml.SafeLoader):
    """YAML in which a key that comes twice is a mistake: a case must not lose half of what it says."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    keys = [loader.construct_object(key) for key, _ in node.value]
    twice = [key for key in keys if keys.count(key) > 1]
    if twice:
        raise ValueError(f"{node.start_mark}: the key {twice[0]!r} comes twice")
    return dict(loader.construct_pairs(node, deep=True))


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


@dataclass(frozen=True)
class Case:
    """One text and its outcome.

    request    the Chat Completions request that the text answers
    calls      (name, canonical or exact argument JSON, whether it is to be compared exactly), in order
    verdicts   (status, reason, dialect, name), in order
    repairs    all repairs of all verdicts, in order
    reasoning  what went from the text to the reasoning field
    """

    title: str
    text: str
    request: Mapping[str, Any]
    route: Route
    finish: Finish
    shown: str
    calls: tuple[tuple[str, str, bool], ...]
    verdicts: tuple[tuple[str, str | None, str | None, str | None], ...]
    repairs: tuple[str, ...]
    reasoning: str = ""


@dataclass(frozen=True)
class Written:
    """Calls and the text that they are written as; `refused` is what the refusal says where they cannot be."""

    title: str
    tools: list[dict[str, Any]]
    calls: tuple[tuple[str, str], ...]
    text: str | None
    refused: str | None


def canonical(arguments: str) -> str:
    """Argument JSON with one spelling for each value: order, number types and nulls stay apart, white space goes."""
    return json.dumps(json.loads(arguments), ensure_ascii=False)


def openai_tools(short: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tools in OpenAI form, from the short form `Bash: {command: string}` or from whole schemas with `properties`."""
    tools = []
    for name, about in short.items():
        schema = about if about is None or "properties" in about else {"type": "object", "properties": _short(about)}
        function = {"name": name} if schema is None else {"name": name, "parameters": schema}
        tools.append({"type": "function", "function": function})
    return tools


def _short(keys: Mapping[str, Any]) -> dict[str, Any]:
    return {key: {"type": kind} if isinstance(kind, str) else kind for key, kind in keys.items()}


def load(kind: str, name: str) -> dict[str, Any]:
    """A case file as it stands."""
    data = yaml.load((CASES / kind / f"{name}.yaml").read_text(encoding="utf-8"), Loader=_Loader)
    return dict(data)


def dialect_cases(name: str) -> Iterator[Case]:
    """The reading cases of a dialect."""
    data = load("dialects", name)
    for case in data["cases"]:
        yield _case(case, name, data["tools"])


def written_cases(name: str) -> Iterator[Written]:
    """The writing cases of a dialect."""
    data = load("dialects", name)
    for case in data["written"]:
        tools = openai_tools(case.get("tools", data["tools"]))
        calls = tuple((call["name"], _arguments(call)[0]) for call in case["calls"])
        yield Written(case["title"], tools, calls, case.get("text"), case.get("refused"))


def _arguments(call: Mapping[str, Any]) -> tuple[str, bool]:
    if "json" in call:
        return call["json"], True
    return json.dumps(call.get("arguments", {}), ensure_ascii=False), False


def _case(case: Mapping[str, Any], dialect: str, tools: Mapping[str, Any]) -> Case:
    unknown = set(case) - _CASE_KEYS - _ROUTE_KEYS
    if unknown:
        raise ValueError(f"{dialect}: {case.get('title')}: unknown {sorted(unknown)}")
    calls = tuple((call["name"], *_arguments(call)) for call in case.get("calls", ()))
    settings = {key: tuple(case[key]) if isinstance(case[key], list) else case[key] for key in _ROUTE_KEYS & set(case)}
    lines = case.get("verdicts", [f"lifted {name}" for name, _, _ in calls])
    text = case["text"].replace("␍", "\r")
    declared = openai_tools(case.get("tools", tools) or {})
    return Case(
        title=case["title"],
        text=text,
        request={"messages": [], **({"tools": declared} if declared else {}), **case.get("request", {})},
        route=Route(client="native", upstream="text", **settings),
        finish=case.get("finish", "stop"),
        shown=case.get("shown", "" if calls else text).replace("␍", "\r"),
        calls=calls,
        verdicts=tuple(_verdict(line, dialect) for line in lines),
        repairs=tuple(case.get("repairs", ())),
        reasoning=case.get("reasoning", ""),
    )


def _verdict(line: str, dialect: str | None) -> tuple[str, str | None, str | None, str | None]:
    """`lifted Bash`, `declined fenced Bash`, `declined not_a_call -`.

    ` (tagged)` behind it for another dialect, ` (-)` for none.
    """
    words = line.split()
    if words[-1].startswith("("):
        dialect = words.pop().strip("()-") or None
    status, *reason, name = words
    return status, reason[0] if reason else None, dialect, None if name == "-" else name
