"""What the sign of each dialect is confused with: text that has the sign, and is no call in `standard` and `strict`.

Of a mark that is the sentence about it; of a form and of a rest, what markup, programs, data and shells have as well.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from toolcalls.dialects import all_dialects, sign_of
from toolcalls.events import CallStart, Event, Text, Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import PolicyName, Route
from toolcalls.text.quoting_marks import REASONING_CLOSERS

POLICIES: tuple[PolicyName, ...] = ("standard", "strict")
PARAMETERS: dict[str, Any] = {"path": {"type": "string"}, "limit": {"type": "integer"}}
NAME = "nav"


def tools(*names: str, required: tuple[str, ...] = ("path",)) -> tuple[Tool, ...]:
    schema = {"type": "object", "properties": PARAMETERS, "required": list(required)}
    return tuple(Tool(name, schema) for name in names)


ONE = (Tool("nav", {"type": "object", "properties": {"target": {"type": "string"}}}),)

# By dialect: the tools that are declared, the text, and why none of it is a call; None where it is no candidate either.
CONFUSED: dict[str, tuple[tuple[Tool, ...], str, str | None]] = {
    "zeroclaw": (ONE, "nav>ul>li { color: red; }", "weak_sign"),
    "tagged": (tools("title"), "<svg>\n<title>A chart</title>\n<path d='M0 0'/>\n</svg>", None),
    "morph_xml": (tools("nav"), "Use\n<nav />\nto show it.", "no_arguments"),
    "tool_element": (tools("script"), '<script>{"@context": "https://schema.org"}</script>', None),
    "yaml_xml": (tools("config"), "<config>\nversion: 2\n</config>", None),
    "bare_json": (tools("lib"), '{"name": "lib", "version": "2.0.0", "path": "src"}\nis the manifest.', None),
    "json_array": (tools("lib"), '[{"name": "lib", "version": "2"}]', None),
    "xlam": (tools("lib"), '```json\n[{"name": "lib", "path": "a"}]\n```\nThat is all.', None),
    "fenced_json": (tools("lib"), '```json\n{"name": "lib", "version": "2"}\n```', None),
    "pythonic": (tools("open"), '[open(path="a")]\ngives a list of files.', "not_terminal"),
    "bare_calls": (tools("open"), 'open(path="a")\nreturns a file.', "not_terminal"),
    "nexusraven": (tools("open"), "Call: open(path='a')<bot_end>\nis what it writes.", None),
    "functionary_v32": (tools("open"), '>>> open("a")\n<_io.TextIOWrapper>', None),
    "react": (tools("nav"), "Action: nav\nThe bar is shown.", None),
    "cohere_cmdr_plus": (tools("nav"), 'Action: ```json\n[{"tool_name": "nav"}]', None),
    "glm_naked": (tools("nav"), "nav\n<arg_key> is what stands behind the name.", None),
    "header_stripped": (tools("nav"), "nav[ARGS] is the header.", None),
    "function_tags_stripped": (tools("nav"), "nav>\n<parameter=path> is the next tag.", None),
    "continue_codeblock": (
        tools("nav"),
        "A call has four lines:\nTOOL_NAME: nav\nBEGIN_ARG: path\na\nEND_ARG\nThe host runs it.",
        "weak_sign",
    ),
    "damaged_tags": (tools("nav"), "nav>\npath>a/path>\n/nav>\nis left of it.", "not_terminal"),
    "stripped_tags": (tools("nav"), 'tool_call>{"name": "nav", "arguments": {"path": "a"}}\nis left.', "not_terminal"),
    "announced_calls": (tools("nav"), 'Calling tool: nav({"path": "a"})\nis how it is told.', "not_terminal"),
    "cwm": (tools("nav"), "<tool: hammer>\nnav\n</tool>\nis an element.", None),
    "gptme": (tools("nav"), "@nav(bar): it is shown\n@nav(x) {path}", None),
    "json_before_closer": (
        tools("nav"),
        'So:\n{"name": "nav", "arguments": {"path": "a"}}\n</tool>\nit ends.',
        "not_terminal",
    ),
    "rwkv": (
        tools("nav"),
        '**Tool Call:**\n```json\n{"name": "nav", "arguments": {"path": "a"}}\n```\nis how it is written.',
        "not_terminal",
    ),
    "kimi_k2_stripped": (tools("nav"), 'functions.nav:0{"path": "a"}\nis left.', "not_terminal"),
    "harmony_stripped": (tools("nav"), 'to=nav json{"path": "a"}\nis the header.', "not_terminal"),
    "gemma4_stripped": (tools("nav"), "call:nav{path:a}\nis left.", "not_terminal"),
    "gemma4": (tools("nav"), "call:nav{limit:3}", "missing_argument"),
    "functiongemma": (tools("nav"), "call:nav{path:<escape>a<escape>}\nis left.", "not_terminal"),
    "kimi_k2": (tools("nav"), 'functions.nav:0<|tool_call_argument_begin|>{"path": "a"}<|tool_call_end|> is it.', None),
    "module_calls": (tools("nav"), 'functions.nav(path="a")\nis deployed.', "not_terminal"),
    "narrated_calls": (tools("nav"), 'Assistant called tool nav with arguments: {"limit": 3}', "missing_argument"),
}
WEAK = [name for name in all_dialects() if sign_of(name).strength != "mark" or sign_of(name).rests]


def read(text: str, policy: PolicyName, request: Request) -> tuple[list[Event], list[str | None]]:
    reader = Reader(CallPolicy(Route(policy=policy), request))
    events = [*reader.feed(text), *reader.finish(cut=False)]
    return events, [event.reason for event in events if isinstance(event, Verdict)]


def shown(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text))


def test_each_weak_sign_has_its_confusion() -> None:
    assert set(CONFUSED) == set(WEAK)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", CONFUSED)
def test_what_is_confused_with_a_form_or_a_rest_is_no_call(name: str, policy: PolicyName) -> None:
    declared, text, reason = CONFUSED[name]
    events, reasons = read(text, policy, Request(tools=declared))
    assert not any(isinstance(event, CallStart) for event in events)
    assert shown(events) == text
    if policy == "standard" and reason is not None:
        assert reason in reasons


def openers(name: str) -> Iterator[str]:
    """What its calls begin with, where that is no word of prose, and ends no thought that the prompt may have begun."""
    for opener in all_dialects()[name].openers((NAME,)):
        if opener not in REASONING_CLOSERS and opener.strip() and not opener.strip("[{>`'\"").isalnum():
            yield opener.strip()


@pytest.mark.parametrize("name", all_dialects())
def test_a_sentence_about_what_a_call_begins_with_is_none(name: str) -> None:
    for opener in openers(name):
        for text in (f"The form begins with {opener} and goes on.", f"It begins with\n{opener}\nand goes on."):
            for policy in POLICIES:
                events, _ = read(text, policy, Request(tools=tools(NAME)))
                assert not any(isinstance(event, CallStart) for event in events), (text, policy)
                assert shown(events) == text, (text, policy)
