"""What `toolcalls parse` prints on a terminal: the calls, what became of every candidate and why, the rest of the text.

In a pipe it prints JSON.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from toolcalls.insight.vocabulary.reasons import with_remedy


def lines_of(result: Mapping[str, Any]) -> Iterator[str]:
    """The lines for what `parse.parsed` returns."""
    for call in result["calls"]:
        yield f"call  {call['name']} ({call['dialect']})"
        yield from _arguments(call["arguments"])
    for verdict in result["verdicts"]:
        name = verdict["name"] or "a call"
        place = f"characters {verdict['start']} to {verdict['end']}"
        reason = verdict["reason"]
        why = f": {with_remedy(reason)}" if reason else ""
        repairs = f" (mended: {', '.join(verdict['repairs'])})" if verdict["repairs"] else ""
        yield f"{verdict['status']}  {name} ({verdict['dialect']}), {place}{why}{repairs}"
    if not result["verdicts"]:
        yield "nothing in this text looks like a call"
    for kind in ("reasoning", "text"):
        if result.get(kind, "").strip():
            yield f"{kind} that is left:" if kind == "text" else f"{kind}:"
            yield from (f"    {line}" for line in result[kind].strip("\n").splitlines())


def _arguments(text: str) -> Iterator[str]:
    """The members of the arguments, code as lines; the JSON text where it is no object."""
    try:
        members = json.loads(text, parse_int=str, parse_float=str)
    except ValueError:
        members = None
    if not isinstance(members, dict):
        yield f"    {text}"
        return
    for name, value in members.items():
        said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        first, *more = said.split("\n")
        yield f"    {name}: {first}" if not more else f"    {name}:"
        if more:
            yield from (f"        {line}" for line in (first, *more))
