"""Group: values. What runs is what was written: one row for each class of values and signs that once were read wrong.

Calls of every dialect that has the question, put together from its own marks (`support.taggedcalls`,
`support.jsoncalls`), and texts that hold a tool's name and no call; on every wire, cut anywhere.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from reliability import invariants
from reliability.faults import Faulted
from reliability.invariants import Breach
from reliability.jobs import Job, Tally
from reliability.materials import chosen, seed_of
from reliability.rows import Row
from reliability.said import KEYS, driven_cut, envelope_for, reply_in, saying
from support import jsoncalls, taggedcalls
from support.chatclient import ending, native, stream
from support.taggedcalls import TOOLS, own_tags, tags_of
from toolcalls.dialects import all_dialects
from toolcalls.request import Tool
from toolcalls.route import PolicyName, Route
from toolcalls.shapes import Call
from toolcalls.shapes.tags.form import TagForm
from toolcalls.shapes.tags.pair_form import PairForm
from toolcalls.values.toolbox import Toolbox

PLAIN = {"path": "src/a b.ts", "content": "if a < b:\n  <p>x & y</p>", "mode": "fast"}
THEN = "\n\nThen I wait."
_UNION = {"properties": {"n": {"type": ["string", "number"]}}, "required": ["n"]}
_UNIONS = {"01": "01", "1": 1, "1.": "1.", "+1": "+1", "1e3": 1000.0, "-0.5": -0.5, "0x1": "0x1", "nan": "nan"}
# A word and a bracket, a page's element, a line of a manual, marks of a template that open no message.
_NO_CALLS = (
    "search>index is false because search is 1.",
    "nav>ul>li { color: red; }",
    "<plan>First the tests, then the code.</plan>",
    "TOOL_NAME: search\nis how a call begins.",
    "The format is <|channel|>analysis<|message|>Thinking<|end|> here.",
    "assistantfinal is what is left of the header.",
    "I would search(query) the index, then plan(steps).",
    "<nav>\n<ul><li>search</li></ul>\n</nav>",
)
_WORDS = tuple(Tool(name, {"properties": {"query": {"type": "string"}}}) for name in ("search", "nav", "plan"))
# What asks for JSON as the answer, by the servers' own members.
_STRUCTURED: tuple[Mapping[str, Any], ...] = (
    {"response_format": {"type": "json_object"}},
    {"guided_json": {"type": "object"}},
    {"structured_outputs": {"json": {"type": "object"}}},
    {"guided_regex": ".*"},
    {"json_schema": {"type": "object"}},
    {"grammar": "root ::= object"},
)


@dataclass(frozen=True)
class Said:
    """One text and the calls that it must lead to.

    calls     their arguments; None where every byte stays
    rest      the text that is left
    asked     more members of the request
    client    what the client speaks
    native    arguments of a native call of `Write` behind the text, on Chat Completions
    one       one of `calls` must come of it, whichever
    """

    title: str
    text: str
    calls: tuple[Mapping[str, Any], ...] | None
    rest: str = ""
    dialect: str | None = None
    tools: tuple[Tool, ...] = TOOLS
    asked: Mapping[str, Any] | None = None
    policies: tuple[PolicyName, ...] = ("standard", "strict")
    client: str = "native"
    native: str = ""
    one: bool = False


def jobs(fraction: float, seed: int) -> Iterator[Job]:
    """The parts of this group."""
    for title in CLASSES:
        yield Job(of_a_class, (title, fraction, seed))


def of_a_class(title: str, fraction: float, seed: int) -> Row:
    """One class, on every wire."""
    tally = Tally(f"values: {title}")
    for said in CLASSES[title]():
        on_chat = said.asked is not None or said.native != ""
        for key in [("openai_chat", "sse")] if on_chat else KEYS:
            for policy in said.policies if said.dialect is None else said.policies[:1]:
                name = f"{said.dialect or 'text'}: {said.title} policy={policy} wire={'/'.join(key)} seed={seed}"
                if chosen(name, fraction, seed):
                    tally.count(name, _breaches(said, key, policy, Random(seed_of(seed, name))))
    return tally.row


def _breaches(said: Said, key: Any, policy: PolicyName, random: Random) -> Iterator[Breach]:
    named = None if said.dialect is None else (said.dialect,)
    route = Route(client=said.client, upstream="text", policy=policy, dialects=named, tools=said.tools)
    request = None if said.asked is None else {"messages": [], **said.asked}
    if said.native:
        parts = [said.native[:4], said.native[4:]]
        body = stream([said.text], None) + native(Call("Write", said.native), 0, parts) + ending("tool_calls")
        reply = reply_in("openai_chat", "sse", body, request)
    else:
        reply = saying(envelope_for(key, random), said.text, random, request)
    outcome, pieces = driven_cut(reply, random, route)
    faulted = Faulted(reply.body, tuple(pieces))
    yield from invariants.sound(outcome, faulted)
    if said.calls is None:
        yield from invariants.untouched(outcome, faulted)
        return
    made = [json.loads(arguments) for _, arguments in outcome.complete]
    if made != list(said.calls) and not (said.one and len(made) == 1 and made[0] in said.calls):
        yield Breach("invented" if len(made) > len(said.calls) else "lost", f"calls {made} instead of {said.calls}")


def _tags(held: str) -> Iterator[Said]:
    for name in taggedcalls.dialects():
        tags = tags_of(name)
        for key, other in (("path", "content"), ("content", "mode"), ("mode", "path")):
            values = {**PLAIN, key: own_tags(tags, key, other)[held]}
            yield Said(f"{held} in {key}", tags.of(values) + THEN, (values,), THEN, name)


def _own_tags() -> Iterator[Said]:
    for held in own_tags(tags_of("invoke"), "path", "mode"):
        yield from _tags(held)


def _undeclared() -> Iterator[Said]:
    for name in taggedcalls.dialects():
        tags = tags_of(name)
        parts = [tags.element(key, text) for key, text in PLAIN.items()]
        for at in range(1, len(parts) + 1):
            members = [*PLAIN.items()]
            members.insert(at, ("note", "- [ ] <b>b</b>"))
            values = PLAIN if tags.elements else dict(members)
            text = tags.call(*parts[:at], tags.element("note", "- [ ] <b>b</b>"), *parts[at:])
            yield Said(f"undeclared at {at}", text + THEN, (values,), THEN, name)


def _wrong_closers() -> Iterator[Said]:
    for name in taggedcalls.dialects(TagForm, PairForm):
        tags = tags_of(name)
        _, *rest = (tags.element(key, text) for key, text in PLAIN.items())
        layout = tags.closer[: len(tags.closer) - len(tags.closer.lstrip())]
        yield Said(
            "a closer with the parameter's name",
            tags.call(f"{tags.open('path')}{PLAIN['path']}{layout}</path>", *rest) + THEN,
            (PLAIN,),
            THEN,
            name,
        )


def _closers() -> Iterator[Said]:
    for name in taggedcalls.dialects():
        if name == "invoke_elements":  # a tag that is closed at once is read by `invoke`
            continue
        tags = tags_of(name)
        parts = [tags.element(key, text) for key, text in PLAIN.items()]
        early = f"{tags.head}{tags.end}{tags.gap}{tags.gap.join(parts)}{tags.tail}"
        yield Said("the call's closer too early", early + THEN, (PLAIN,), THEN, name)
        if tags.closes_itself:
            parts[1] = f"{tags.open('content').strip()[:-1]}/>"
            yield Said("closes itself", tags.call(*parts) + THEN, ({**PLAIN, "content": ""},), THEN, name)


def _twice() -> Iterator[Said]:
    values = {"path": "a", "content": "git push\n"}
    for name in ("hermes", "invoke", "qwen3_xml", "mistral"):
        text = all_dialects()[name].write([Call("Write", json.dumps(values))], Toolbox(TOOLS))
        for more in ({}, {"content": "git push"}, {"mode": None}):
            calls = (values, {**values, **more})
            yield Said("as text and natively", text, calls, "", name, native=json.dumps(calls[1]), one=True)
        other = {**values, "content": "git pull"}
        yield Said("two calls", text, (values, other), "", name, native=json.dumps(other))


def _left_alone() -> Iterator[Said]:
    call = json.dumps({"name": "Write", "arguments": {"path": "a", "content": "b"}})
    yield Said("a fence in `strict`", f"```json\n{call}\n```", None, policies=("strict",))
    form = f"<tool_call>\n{call}\n</tool_call>"
    yield Said("no tools are declared", form, None, tools=(), policies=("standard", "strict", "lenient"))
    yield Said("the client's own form", form, None, client="hermes", policies=("standard", "strict", "lenient"))


def _keyless() -> Iterator[Said]:
    for name in taggedcalls.dialects(PairForm):
        tags = tags_of(name)
        value = tags.element("content", "more")
        keyless = value[value.index(">", value.index("content")) + 1 :].lstrip()
        parts = [tags.element(key, text) for key, text in PLAIN.items()]
        for at in range(1, len(parts) + 1):
            yield Said(f"no key at {at}", tags.call(*parts[:at], keyless, *parts[at:]) + THEN, (PLAIN,), THEN, name)


def _strings(titles: tuple[str, ...]) -> Iterator[Said]:
    for name in jsoncalls.dialects():
        for title in titles:
            written, value, _ = jsoncalls.STRINGS[title]
            yield Said(title, jsoncalls.holding(name, written), ({"path": "a", "content": value},), "", name)


def _unions() -> Iterator[Said]:
    tool = Tool("Write", _UNION)
    for text, value in _UNIONS.items():
        call = f'<invoke name="Write">\n<parameter name="n">{text}</parameter>\n</invoke>'
        yield Said(text, call, ({"n": value},), "", "invoke", (tool,))


def _reasoning_marks() -> Iterator[Said]:
    values = {"path": "a", "content": "a </think> b"}
    for name, dialect in all_dialects().items():
        yield Said("a mark", dialect.write([Call("Write", json.dumps(values))], Toolbox(TOOLS)), (values,), "", name)


def _no_calls() -> Iterator[Said]:
    for text in _NO_CALLS:
        yield Said(text, text, None, tools=_WORDS)


def _answers() -> Iterator[Said]:
    answer = json.dumps({"name": "Write", "arguments": {"path": "a", "content": "b"}})
    for asked in _STRUCTURED:
        for form in ("{}", "[{}]", "```json\n{}\n```"):
            yield Said(f"{form} under {next(iter(asked))}", form.replace("{}", answer), None, asked=asked)


CLASSES = {
    "tags in a value": _own_tags,
    "undeclared parameters": _undeclared,
    "wrong closers": _wrong_closers,
    "closers": _closers,
    "values without a key": _keyless,
    "backslashes": partial(_strings, tuple(title for title in jsoncalls.STRINGS if not title.startswith("entities"))),
    "entities": partial(_strings, tuple(title for title in jsoncalls.STRINGS if title.startswith("entities"))),
    "unions": _unions,
    "marks of reasoning": _reasoning_marks,
    "weak signs": _no_calls,
    "structured output": _answers,
    "one call twice": _twice,
    "left alone": _left_alone,
}
