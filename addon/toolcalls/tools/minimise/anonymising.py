"""Names and values that do not matter become neutral ones: whoever gets the example sees nothing of the project.

Strategy: each word of the text, of the tools' names and parameters and of the messages is replaced everywhere at once,
and stays replaced where the example still shows it. The words of a grammar (`invoke`, `parameter`, `arguments`) stay by
that alone. Numbers become 1, other letters x.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from toolcalls.flows.cases.example import Example
from toolcalls.tools.minimise.search import Clock
from toolcalls.tools.minimise.showing import Shows

_WORD = re.compile(r"[^\W\d_][\w.-]*\w|[^\W\d_]", re.UNICODE)
_NUMBER = re.compile(r"\d[\d.]*\d|\d")
_MOST = 400  # words that are tried


def anonymised(example: Example, shows: Shows, clock: Clock) -> Example:
    """The example with neutral names and values, as far as it then still shows it."""
    taken = {name for name, _ in example.tools}
    for name, neutral in _names(example, taken):
        example = _tried(example, name, neutral, shows)
        if clock.over:
            return example
    for _, schema in example.tools:
        letters = iter("abcdefghijklmnopqrstuvw")
        for key, letter in zip([*(schema or {}).get("properties", {})], letters, strict=False):
            if key != letter:
                example = _tried(example, key, letter, shows)
    known = {key for _, schema in example.tools for key in (schema or {}).get("properties", {})}
    known |= {name for name, _ in example.tools} | {"x", "1"}
    written = "\n".join([example.text, *(text for _, text in example.messages)])
    for pattern, neutral in ((_WORD, "x"), (_NUMBER, "1")):
        for word in list(dict.fromkeys(pattern.findall(written)))[:_MOST]:
            if word not in known and not clock.over:
                example = _tried(example, word, neutral, shows)
    return example


def _names(example: Example, taken: set[str]) -> Iterator[tuple[str, str]]:
    """The tools' names, each with a neutral one."""
    numbers = count(1)
    for name, _ in example.tools:
        if re.fullmatch(r"tool(_\d+)?", name):
            continue
        neutral = "tool"
        while neutral in taken:
            neutral = f"tool_{next(numbers)}"
        taken.add(neutral)
        yield name, neutral


def _tried(example: Example, word: str, neutral: str, shows: Shows) -> Example:
    """The example with a word replaced everywhere, if that still shows it."""
    if word == neutral:
        return example
    whole = re.compile(rf"(?<![\w]){re.escape(word)}(?![\w])")

    def new(text: str) -> str:
        return whole.sub(lambda _: neutral, text)

    # Places of cuts move with the text in front of them.
    texts = [new(piece) for piece in example.pieces]
    cuts, at = [], 0
    for piece in texts[:-1]:
        at += len(piece)
        cuts.append(at)
    tools = tuple((new(name), _replaced(schema, new)) for name, schema in example.tools)
    messages = tuple((role, new(text)) for role, text in example.messages)
    choice = example.tool_choice if example.tool_choice in {"auto", "none", "required"} else new(example.tool_choice)
    made = replace(example, text="".join(texts), cuts=tuple(cuts), tools=tools, messages=messages, tool_choice=choice)
    return made if made != example and shows(made) else example


def _replaced(schema: dict[str, Any] | None, new: Any) -> dict[str, Any] | None:
    """A schema with the names of its parameters replaced; JSON Schema's own words stay."""
    if not schema:
        return schema
    made = json.loads(json.dumps(schema))
    if isinstance(made.get("properties"), dict):
        made["properties"] = {new(key): value for key, value in made["properties"].items()}
    if isinstance(made.get("required"), list):
        made["required"] = [new(key) for key in made["required"] if isinstance(key, str)]
    return made  # type: ignore[no-any-return]
