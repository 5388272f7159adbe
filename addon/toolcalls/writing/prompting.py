"""What a model reads in a dialect: which tools there are and how one is called, and what a tool answered.

A dialect's file says in `RESULT` how the model's own template writes an answer; without one it is the words that agents
use. The tools are declared as the templates do, one JSON object a line in `<tools>`, but for the dialects whose agents
teach sections; the example call is written by the dialect's own writer, so what is taught is what is read.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from toolcalls.dialects import declared
from toolcalls.request import Tool
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.conversion import quote
from toolcalls.values.schema import declared_keys, required_keys
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import write

_AGENTS = "[{name}] Result:\n{text}"
_PLACES = re.compile(r"\{(name|id|text)\}")
# What an agent adds after its results in the same message.
_BEHIND = re.compile(r"<(?:environment_details|feedback|user_message|task)>")
_PLAIN = re.compile(r"[\w.-]+")
_WORDS = re.compile(r"[\w\s]*")  # no markup
# Dialects whose agents declare tools as sections of Markdown and not as JSON.
_SECTIONS = frozenset({"tagged", "morph_xml"})


def template(dialect: str) -> str:
    """How results are written in a dialect, with the places `{name}`, `{id}` and `{text}`."""
    return str(declared(dialect, "RESULT") or _AGENTS)


def result(dialect: str, name: str, text: str, id_: str = "") -> str:
    """One tool's answer as the model expects to read it. Braces in the values are theirs."""
    values = {"name": name, "id": id_, "text": text}
    return _PLACES.sub(lambda place: values[place[1]], template(dialect))


@dataclass(frozen=True, slots=True)
class Found:
    """Answers in a user's message: their texts, how many blocks they fill, and what the next one goes on with."""

    results: tuple[str, ...]
    blocks: int
    rest: str = ""


def results_in(dialect: str, blocks: Sequence[str | None]) -> Found | None:
    """The answers at the beginning of a message, None when it begins with none. None is a block that is no text."""
    head, tail = _pattern(dialect)
    found: list[str] = []
    for number, text in enumerate(blocks):
        at = 0
        while text is not None and at < len(text):
            match = head.match(text, _past_space(text, at))
            if match is not None and tail:
                end = text.find(tail, match.end())
                if end < 0:
                    return None
                found.append(text[match.end() : end])
                at = end + len(tail)
            elif match is not None:
                at = _open_end(text, match.end(), head)
                found.append(text[match.end() : at].rstrip("\n"))
            elif found and not tail and at == 0 and not _BEHIND.match(text):
                found[-1] = f"{found[-1]}\n{text}" if found[-1] else text  # agents put the answer in a block of its own
                at = len(text)
            else:
                break
        if text is None or at < len(text):
            rest = "" if text is None or not at else text[at:].lstrip("\n")
            return Found(tuple(found), number + (1 if at else 0), rest) if found else None
    return Found(tuple(found), len(blocks)) if found else None


def prompt(dialect: str, tools: Sequence[Tool]) -> str:
    """The part of a system prompt that declares `tools` and teaches the dialect.

    Raises `Unwritable` where it can hold a call of none of them.
    """
    declared = _sections(tools) if dialect in _SECTIONS else _lines(tools)
    name, example = _taught(dialect, tools)
    answer = result(dialect, name, "what the tool answered", "1")
    return (
        f"# Tools\n\n{declared}\n\n"
        f"To call a tool, write the call into your reply exactly in this form and nothing behind it:\n\n{example}\n\n"
        f"What it answers comes in the next message:\n\n{answer}"
    )


def _lines(tools: Sequence[Tool]) -> str:
    lines = [
        json.dumps(
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
            },
            ensure_ascii=False,
        )
        for tool in tools
    ]
    return "\n".join(["These tools may be called, each as a JSON object on a line:", "<tools>", *lines, "</tools>"])


def _sections(tools: Sequence[Tool]) -> str:
    """As `prompts.tools_in` reads them."""
    sections = []
    for tool in tools:
        required = set(required_keys(tool.schema))
        properties = tool.schema.get("properties")
        about = properties if isinstance(properties, dict) else {}
        lines = [f"## {tool.name}", f"Description: {tool.description}", "Parameters:"]
        for key in declared_keys(tool.schema):
            schema = about.get(key)
            text = schema.get("description", "") if isinstance(schema, dict) else ""
            lines.append(f"- {key}: ({'required' if key in required else 'optional'}) {text}".rstrip())
        sections.append("\n".join(lines))
    return "\n\n".join(sections)


def callable_in(dialect: str, tool: Tool) -> bool:
    """Whether the dialect can hold a call of the tool."""
    return _example(dialect, tool.name, json.dumps(tool.schema)) is not None


def stops_calls(dialect: str, tools: Sequence[Tool], stop: str) -> bool:
    """Whether generation that stops at a text stops in a call of the dialect: it is in the markup of one."""
    if _WORDS.fullmatch(stop):
        return False
    try:
        return stop in _taught(dialect, tools)[1]
    except Unwritable:
        return False


def _taught(dialect: str, tools: Sequence[Tool]) -> tuple[str, str]:
    """The first tool that the dialect can hold a call of, and that call."""
    for tool in tools:
        call = _example(dialect, tool.name, json.dumps(tool.schema))
        if call is not None:
            try:
                return tool.name, write(dialect, [call], Toolbox(tools))
            except Unwritable:  # beside the other tools it would be read as something else
                continue
    raise Unwritable(f"{dialect} can hold no call of {', '.join(tool.name for tool in tools)}")


@lru_cache(maxsize=4096)  # agents declare the same tools in every request
def _example(dialect: str, name: str, schema: str) -> Call | None:
    """A call of a tool, its schema as JSON; None where the dialect can hold none."""
    tool = Tool(name, json.loads(schema))
    types = Toolbox([tool])
    required = required_keys(tool.schema)
    for keys in [required] if required else [*([key] for key in declared_keys(tool.schema)), []]:
        members = [f"{quote(key)}:{_sample(types.types(name, key), key)}" for key in keys]
        call = Call(name, f"{{{','.join(members)}}}")
        try:
            write(dialect, [call], types)
        except Unwritable:
            continue
        return call
    return None


def _sample(types: frozenset[str] | None, key: str) -> str:
    samples = {"integer": "1", "number": "1.5", "boolean": "true", "array": "[]", "object": "{}", "null": "null"}
    if types is None or "string" in types:
        return quote(f"the {key}" if _PLAIN.fullmatch(key) else "a value")
    return next((samples[kind] for kind in samples if kind in types), "null")


@lru_cache(maxsize=256)  # a configuration that is read again brings forms anew
def _pattern(dialect: str) -> tuple[re.Pattern[str], str]:
    """What a result begins with, and the text that ends it; "" where only the next one or the end does."""
    head, _, tail = template(dialect).partition("{text}")
    parts = _PLACES.split(head)
    # Agents put the first argument after the name: `[read_file for 'a.txt'] Result:`.
    holes = {"name": r"[\w.:-]+(?: for '[^\n]*?')?", "id": r"[^\s\]]*"}
    pattern = "".join(holes[part] if number % 2 else re.escape(part) for number, part in enumerate(parts))
    if head.endswith("\n"):
        pattern = pattern.removesuffix(re.escape("\n")) + r"\n?"
    return re.compile(pattern), tail


def _open_end(text: str, at: int, head: re.Pattern[str]) -> int:
    """Where an answer ends that nothing closes."""
    while (line := text.find("\n", at)) >= 0:
        at = line + 1
        if head.match(text, at) or _BEHIND.match(text, at):
            return at
    return len(text)


def _past_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at
