"""The dialects' cases: replies as text, and the calls and the text that each must come out as.

They are the files that the project tests itself with (`tests/cases/dialects`, whose README says what their keys mean).
A wheel carries its own copy of the same files. Nearly every key has a default, and the defaults are here and nowhere
else: the tests take them from here.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from toolcalls.streams import BadInput

# Keys that are the route's, by their names in a configuration.
ROUTE_KEYS = frozenset(
    {
        "policy",
        "allowed_tools",
        "dialects",
        "multiple_calls",
        "infer_types",
        "max_buffer_bytes",
        "max_held_call_bytes",
        "drop_invented_results",
    }
)
_RETURN = "␍"  # what a carriage return is written as
_SMALL = 300  # characters of a text that is also given one at a time


@dataclass(frozen=True)
class DialectCase:
    """A case with the defaults of what its author does not say.

    source    file and line, for people
    tools     in OpenAI form
    calls     (name, argument JSON, whether it is compared as text), in order
    verdicts  lines as `lifted Bash`; those of another dialect end with it in parentheses
    request   more of the Chat Completions request: `messages`, `tool_choice`
    route     what it says of the route
    finish    stop, length or broken
    cuts      places in the text at which it was cut when it failed; none for a case that any cut shows
    """

    dialect: str
    title: str
    source: str
    text: str
    shown: str
    tools: list[dict[str, Any]]
    calls: tuple[tuple[str, str, bool], ...]
    verdicts: tuple[str, ...]
    repairs: tuple[str, ...]
    reasoning: str
    request: Mapping[str, Any]
    route: Mapping[str, Any]
    finish: str
    cuts: tuple[int, ...]


def folder() -> Path:
    """Where the cases are: the repository's own, else those that an installed wheel holds."""
    package = Path(__file__).resolve().parents[2]
    checkout = package.parents[1] / "tests" / "cases" / "dialects"
    return checkout if checkout.is_dir() else package / "_cases"


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


def canonical(arguments: str) -> str:
    """Argument JSON with one spelling for each value: order, number types and nulls stay apart, white space goes."""
    return json.dumps(json.loads(arguments), ensure_ascii=False)


def arguments_of(call: Mapping[str, Any]) -> tuple[str, bool]:
    """The argument JSON of a call as a case writes it, and whether it is compared as text."""
    if "json" in call:
        return call["json"], True
    return json.dumps(call.get("arguments", {}), ensure_ascii=False), False


def completed(case: Mapping[str, Any], dialect: str, tools: Mapping[str, Any], source: str) -> DialectCase:
    """A case as its author wrote it, with its defaults. `tools` are those of its file."""
    calls = tuple((call["name"], *arguments_of(call)) for call in case.get("calls", ()))
    text = case["text"].replace(_RETURN, "\r")
    return DialectCase(
        dialect=dialect,
        title=case["title"],
        source=source,
        text=text,
        shown=case.get("shown", "" if calls else text).replace(_RETURN, "\r"),
        tools=openai_tools(case.get("tools", tools) or {}),
        calls=calls,
        verdicts=tuple(case.get("verdicts", [f"lifted {name}" for name, _, _ in calls])),
        repairs=tuple(case.get("repairs", ())),
        reasoning=case.get("reasoning", ""),
        request=case.get("request", {}),
        route={key: case[key] for key in case if key in ROUTE_KEYS},
        finish=case.get("finish", "stop"),
        cuts=tuple(case.get("cuts", ())),
    )


def ways(case: DialectCase) -> list[list[int]]:
    """Ways in which the text may arrive, each the places at which it is cut: whole, its own, one character at a time.

    All must give the same. A long text comes in pieces of 16 instead of single characters.
    """
    length = len(case.text)
    found = [[], [*case.cuts], [*range(1, length)] if length <= _SMALL else [*range(16, length, 16)]]
    return [way for place, way in enumerate(found) if way not in found[:place]]


def pieces(text: str, cuts: Sequence[int]) -> list[str]:
    """The text, cut at these places."""
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def cases_in(path: Path) -> Iterator[DialectCase]:
    """The cases of a file, whose name is that of the dialect. Raises BadInput, with the line."""
    try:
        written = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise BadInput(f"{path}: the file cannot be read: {why}") from error
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(written)
    name = _source(path)
    try:
        root = loader.get_single_node()
        if not isinstance(root, yaml.MappingNode):
            raise BadInput(f"{name}:1: a case file is a mapping with `tools` and `cases`")
        sections = {key.value: node for key, node in root.value}
        tools = loader.construct_object(sections["tools"], deep=True) if "tools" in sections else None
        listed = sections.get("cases")
        for node in listed.value if isinstance(listed, yaml.SequenceNode) else ():
            source = f"{name}:{node.start_mark.line + 1}"
            case = loader.construct_object(node, deep=True)
            try:
                yield completed(case, path.stem, tools or {}, source)
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                raise BadInput(
                    f"{source}: this is no case of a dialect ({type(error).__name__}: {error}); its keys are those of "
                    "tests/cases/README.md"
                ) from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BadInput(f"{name}:{line}: this is no YAML: {error.problem}") from error
    finally:
        loader.dispose()


def _source(path: Path) -> str:
    """A file as people name it: from the repository's root where it is there."""
    own = folder()
    return f"tests/cases/dialects/{path.name}" if path.parent == own else str(path)
