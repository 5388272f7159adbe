"""An example as a dialect case (YAML, `tests/cases/README.md`) and as a paste for an issue (Markdown)."""

import json
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from toolcalls import __version__
from toolcalls.events import Verdict
from toolcalls.flows.cases.example import Example, Outcome

_FINISH = {"broken": "cut"}
_RETURN = ("\r", "␍")
_WIDTH = 120


class _Block(str):
    """A text that is written in lines."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    """YAML as the cases are written: texts of several lines as blocks."""


def _block(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    # A block cannot hold white space at the end of a line: such a text is written in quotes.
    style = "|" if "\n" in text and not re.search(r"[ \t]\n|[ \t]\Z|\A[ \t\n]", text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(_Block, _block)


def case_of(example: Example, outcome: Outcome, title: str, dialect: str) -> dict[str, Any]:
    """The case, by the keys of the format. All that it can leave out is left out."""
    made: dict[str, Any] = {
        "title": title,
        "tools": {name: _short(schema) for name, schema in example.tools},
        "text": _written(example.text),
    }
    if example.request:
        messages = [{"role": role, "content": _Block(text)} for role, text in example.messages]
        made["request"] = {**example.request, **({"messages": messages} if messages else {})}
    for key, value in example.settings:
        made[key] = list(value) if isinstance(value, tuple) else value
    if example.cuts:
        made["cuts"] = list(example.cuts)
    made |= expected(outcome, dialect)
    is_cut = example.finish != "stop" or any(one.status == "truncated" for one in outcome.verdicts)
    if is_cut:
        made["finish"] = example.finish  # a case that was cut off says how, and what is shown of it
    if is_cut or outcome.shown != ("" if outcome.calls else example.text):
        made["shown"] = _written(outcome.shown)
    return made


def expected(outcome: Outcome, dialect: str) -> dict[str, Any]:
    """What came out: calls, verdicts, repairs, reasoning."""
    made: dict[str, Any] = {}
    if outcome.calls:
        made["calls"] = [_call(name, arguments) for name, arguments in outcome.calls]
    lines = [verdict_line(one, dialect) for one in outcome.verdicts]
    if lines != [f"lifted {name}" for name, _ in outcome.calls]:
        made["verdicts"] = lines
    if repairs := [repair for one in outcome.verdicts for repair in one.repairs]:
        made["repairs"] = repairs
    if outcome.reasoning:
        made["reasoning"] = _written(outcome.reasoning)
    return made


def verdict_line(verdict: Verdict, dialect: str) -> str:
    """`declined fenced Bash`, with ` (hermes)` after it where that is not the file's dialect."""
    words = [verdict.status, *([verdict.reason] if verdict.reason else []), verdict.name or "-"]
    elsewhere = "" if verdict.dialect == dialect else f" ({verdict.dialect or '-'})"
    return " ".join(words) + elsewhere


def as_yaml(case: Mapping[str, Any]) -> str:
    """A file with this one case."""
    data = {"tools": {}, "cases": [case]}
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH, default_flow_style=None)


def as_paste(case_yaml: str, example: Example, about: Sequence[str], dialect: str) -> str:
    """Markdown for an issue: what it is about, the case, and a line that shows it again."""
    job: dict[str, Any] = {
        "text": example.text,
        "tools": example.openai_tools,
        "finish": _FINISH.get(example.finish, example.finish),
    }
    if example.cuts:
        job["chunks"] = example.pieces
        del job["text"]
    if example.request:
        job["request"] = {"messages": [], **example.request}
    settings = dict(example.settings)
    for key, name in (("policy", "policy"), ("allowed_tools", "allowed_tools"), ("dialects", "dialect")):
        if settings.get(key) is not None:
            job[name] = settings[key]
    line = json.dumps(job, ensure_ascii=True)
    parts = [
        *about,
        "",
        f"toolcalls {__version__}, Python {platform.python_version()}, {sys.platform}",
        "",
        f"As a case of the dialect `{dialect}`:",
        "",
        *fenced(case_yaml, "yaml"),
        "",
        "As a job for `toolcalls parse --jsonl`:",
        "",
        *fenced(line, "json"),
    ]
    return "\n".join(parts) + "\n"


def fenced(text: str, language: str) -> list[str]:
    """A code block whose fence the text cannot close."""
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", text.rstrip("\n"), fence]


def _written(text: str) -> _Block:
    return _Block(text.replace(*_RETURN))


def _short(schema: dict[str, Any] | None) -> Any:
    """The short form of a tool's parameters where it says the same, else the schema; None for a tool without one."""
    if schema is None:
        return None
    properties = schema.get("properties")
    if set(schema) <= {"type", "properties"} and isinstance(properties, dict) and "properties" not in properties:
        return {key: _type(value) for key, value in properties.items()}
    return schema if "properties" in schema else {**schema, "properties": {}}


def _type(schema: Any) -> Any:
    """A parameter's type where that is all that its schema says."""
    plain = isinstance(schema, dict) and set(schema) == {"type"} and isinstance(schema["type"], str)
    return schema["type"] if plain else schema


def _call(name: str, arguments: str) -> dict[str, Any]:
    """A call, its JSON as values where these say the same, else as text."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return {"name": name, "json": arguments}
    same = isinstance(value, dict) and json.dumps(value, ensure_ascii=False, separators=(",", ":")) == re.sub(
        r"([,:]) ", r"\1", arguments
    )
    return {"name": name, "arguments": value} if same else {"name": name, "json": arguments}
