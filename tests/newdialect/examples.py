"""The cases of a new dialect: the pasted reply, and what every dialect must do with parts of it.

What a case must say is derived from the reply and the rules, and not from what the dialect makes of it: where the two
differ, the case fails, and says so.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from support.caseedits import flow, literal
from support.caseoutcomes import call_said
from toolcalls.own_dialects.trial import Trial
from toolcalls.request import Tool
from toolcalls.shapes import Call

UNDECLARED = "not_declared"
TRUNCATED = "a reply that is cut off inside a value"


def header(name: str, tools: Sequence[Tool]) -> str:
    """The beginning of a case file: a remark, and the tools that its requests declare."""
    lines = [f"  {flow(tool.name)}: {_short(tool)}" for tool in tools]
    return "\n".join([f"# Cases of the dialect `{name}`. ../README.md documents the format.", "", "tools:", *lines])


def _short(tool: Tool) -> str:
    schema: Any = tool.schema
    if not schema:
        return ""
    properties = schema.get("properties", {})
    plain = all(set(about) == {"type"} and isinstance(about["type"], str) for about in properties.values())
    if plain and set(schema) <= {"type", "properties"}:
        return flow({key: about["type"] for key, about in properties.items()})
    return json.dumps(schema if "properties" in schema else {**schema, "properties": {}}, ensure_ascii=False)


@dataclass(frozen=True)
class Example:
    """A case: its keys with their values, in order. `lawful`: whether an outcome is one that the rules allow."""

    keys: Mapping[str, Any]
    lawful: Callable[[Mapping[str, Any]], bool]

    def __str__(self) -> str:
        lines = [f"- title: {flow(self.keys['title'])}"]
        for key, value in self.keys.items():
            if key != "title":
                has_lines = isinstance(value, str) and "\n" in value.strip("\n")
                spelt = (literal(value, 2) if has_lines else None) or flow(value)
                lines.append(f"  {key}: {spelt}")
        return "\n".join(lines)


def examples(text: str, trial: Trial) -> list[Example]:
    """The cases of a reply that a dialect reads."""
    calls = [call_said(*call) for call in trial.calls]
    around = text.replace(trial.block, " ", 1)
    found = [
        _called("the reply that the dialect was made from", text, around, calls),
        _called("text in front of the call and behind it", f"I look.\n\n{trial.block}\n\nSo.", "I look. So.", calls),
        _quoted(trial),
    ]
    cut = _middle(trial.block, trial.calls[-1])
    if cut:
        found.append(_truncated(trial, cut))
    if len(trial.calls) == 1:
        found.append(_undeclared(trial))
    return found


def _called(title: str, text: str, shown: str, calls: list[dict[str, Any]]) -> Example:
    """All calls are made, and what is shown is the text around them, white space aside."""

    def lawful(case: Mapping[str, Any]) -> bool:
        default = "" if case.get("calls") else case["text"]
        return case.get("calls") == calls and case.get("shown", default).split() == shown.split()

    keys: dict[str, Any] = {"title": title, "text": text}
    return Example({**keys, **({"shown": shown} if shown.strip() else {}), "calls": calls}, lawful)


def _no_calls(case: Mapping[str, Any], status: str) -> bool:
    verdicts = case.get("verdicts", [])
    return not case.get("calls") and "shown" not in case and all(line.startswith(status) for line in verdicts)


def _quoted(trial: Trial) -> Example:
    verdicts = [f"declined fenced {call.name}" for call in trial.calls]
    text = f"As in\n\n```\n{trial.block}\n```\n"
    return Example(
        {"title": "a fence quotes it", "text": text, "verdicts": verdicts},
        lambda case: _no_calls(case, "declined fenced"),
    )


def _undeclared(trial: Trial) -> Example:
    """The name is one that nobody declares, wherever it stands: the call is text."""
    text = trial.block.replace(trial.calls[0].name, UNDECLARED)
    keys = {"title": "a tool that nobody declared", "text": text, "verdicts": [f"declined undeclared {UNDECLARED}"]}
    return Example(keys, lambda case: _no_calls(case, "declined undeclared"))


def _middle(block: str, call: Call) -> int:
    """A place in the middle of the last call's longest value, 0 for none."""
    values = [value for value in json.loads(call.arguments).values() if isinstance(value, str) and len(value) > 1]
    for value in sorted(values, key=len, reverse=True):
        for spelt in (value, json.dumps(value, ensure_ascii=False)[1:-1], json.dumps(value)[1:-1]):
            at = block.rfind(spelt)
            if at >= 0:
                middle = at + len(spelt) // 2
                return middle + block[middle - 1].isspace()
    return 0


def _truncated(trial: Trial, cut: int) -> Example:
    """A reply that met its limit inside the last call.

    Either nothing of that call is shown, since it had begun as one, or all of it, since it had not; never a part.
    """
    whole, last = trial.calls[:-1], trial.calls[-1]
    text = f"I look.\n{trial.block[:cut]}"
    calls = [call_said(*call) for call in whole]

    def lawful(case: Mapping[str, Any]) -> bool:
        shown: str = case["shown"]
        rest = shown.removeprefix("I look.\n").strip()
        as_text = bool(rest) and text.endswith(rest) and last.name in rest
        return (not rest or as_text) and case.get("calls", []) == calls and case["verdicts"][-1].startswith("truncated")

    keys: dict[str, Any] = {"title": TRUNCATED, "finish": "length", "text": text, "shown": "I look.\n"}
    verdicts = [*(f"lifted {call.name}" for call in whole), f"truncated cut_off {last.name}"]
    return Example({**keys, **({"calls": calls} if calls else {}), "verdicts": verdicts}, lawful)


def written(trial: Trial) -> Example:
    """The case of writing."""
    calls = [call_said(*call) for call in trial.calls]
    keys = {"title": "as the model writes it", "calls": calls, "text": trial.written}
    return Example(keys, lambda case: "refused" not in case)


def unread(text: str, called: str) -> Example:
    """A case that fails until its author has written a grammar and the arguments."""
    keys = {"title": "the pasted reply", "text": text, "shown": "", "calls": [{"name": called, "arguments": {}}]}
    return Example(keys, lambda _: False)
