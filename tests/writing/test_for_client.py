"""A text client never gets a call that its own reader would read as another one.

Strategy: the clients' readers of `support.textclients` read what is written; values are made of the tags of the form
itself. For every dialect besides, no closing tag of a call's markup is in it once more because a value holds it.
"""

import json
import re
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support import chatclient
from support.chatclient import ending, received, stream
from support.exchanges import of_kind, run
from support.halves import PIECES, declared
from support.strategies import DIALECTS
from support.textclients import cline, openhands
from toolcalls.request import Tool
from toolcalls.route import Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.writing.for_client import write_for_client
from toolcalls.writing.writer import write

CLINE = {"execute_command": ("command", "requires_approval"), "write_to_file": ("path", "content")}
TEXTS = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)


TOOLS = Toolbox([declared(name, *keys) for name, keys in CLINE.items()])
TERMINAL = declared("terminal", "command", "security_risk")


@given(st.sampled_from(sorted(CLINE)), TEXTS, TEXTS)
@example("execute_command", "echo '</command>' > a.txt", "false")
@example("write_to_file", "a.txt", "<content>x</content>\n<path>p</path>\n")
@example("write_to_file", "a.txt", "x</content>y</write_to_file>")
@example("write_to_file", "<content>", "")
def test_cline_reads_the_call(name: str, first: str, second: str) -> None:
    values = dict(zip(CLINE[name], (first, second), strict=True))
    try:
        text = write_for_client("tagged", [Call(name, json.dumps(values))], TOOLS)
    except Unwritable:
        return
    assert cline(text, name, CLINE[name]) == {key: value.strip() for key, value in values.items()}


@given(TEXTS, TEXTS)
@example("echo '</parameter>' > a.txt", "LOW")
@example("echo '</function>' > a.txt", "LOW")
def test_openhands_reads_the_call(command: str, risk: str) -> None:
    values = {"command": command, "security_risk": risk}
    try:
        text = write_for_client("openhands_fn", [Call("terminal", json.dumps(values))], Toolbox([TERMINAL]))
    except Unwritable:
        return
    assert openhands(text) == ("terminal", {key: value.strip() for key, value in values.items()})


def tags(text: str) -> Counter[str]:
    """The closing tags of a text, but those that CDATA hides."""
    return Counter(re.findall(r"</[^<>\s]+>", re.sub(r"<!\[CDATA\[.*?\]\]>", "", text, flags=re.DOTALL)))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_value_holds_a_tag_that_would_end_it(dialect: str) -> None:
    tools = Toolbox([declared("Bash", "command", "to")])
    try:
        plain = tags(write(dialect, [Call("Bash", '{"command": "echo x", "to": "y"}')], tools))
    except Unwritable:
        return
    ends = [tag for tag in plain if tag not in {"</to>", "</Bash>"} or "</command>" not in plain]
    for tag in ends:
        for spelt in (tag, tag.replace("<", "\\u003c"), tag.replace("/", "\\/")):
            try:
                text = write_for_client(dialect, [Call("Bash", f'{{"command": "echo {spelt} x", "to": "y"}}')], tools)
            except Unwritable:
                continue
            assert tags(text)[tag] == plain[tag]


def test_what_ends_no_value_is_written() -> None:
    page = {"path": "a.html", "content": "<ul>\n<li>x</li>\n</ul>\n<p>&amp;</path></b>\n"}
    assert json.dumps(page["content"])[1:-3].replace("\\n", "\n") in write_for_client(
        "tagged", [Call("write_to_file", json.dumps(page))], TOOLS
    )
    atom = {"path": "a.xml", "content": "<content>x</content>\n</feed>"}
    text = write_for_client("tagged", [Call("write_to_file", json.dumps(atom))], TOOLS)
    assert cline(text, "write_to_file", CLINE["write_to_file"]) == atom


def test_a_tag_in_json_is_escaped_and_the_value_stays() -> None:
    call = Call("f", '{"a": "x</tool_call>y\\\\u003c/", "b": ["\\u003c/tool_call>"]}')
    text = write_for_client("hermes", [call], Toolbox())
    assert text.count("</tool_call>") == 1
    (made,) = re.findall(r"<tool_call>(.*?)</tool_call>", text, re.DOTALL)
    assert json.loads(made)["arguments"] == json.loads(call.arguments)


@pytest.mark.parametrize(
    ("dialect", "tool", "value"),
    [
        ("tagged", declared("run", "command"), "echo '</command>' > a.txt"),
        ("openhands_fn", declared("run", "command"), "echo '</parameter>' > a.txt"),
        ("openhands_fn", declared("run", "command"), "echo '</function>' > a.txt"),
    ],
)
def test_such_a_call_stays_what_it_is(dialect: str, tool: Tool, value: str) -> None:
    arguments = json.dumps({"command": value})
    wire = all_wires()["openai_chat"]
    lower = of_kind(wire, (tool,), Route(client=dialect, upstream="native"), "lower", form="sse", dialect=dialect)
    body = stream(["Let me."], None) + chatclient.native(Call("run", arguments), 0, [arguments]) + ending("tool_calls")
    got = received(run(lower, [body])).choices[0]
    assert (got.text, [call["arguments"] for call in got.calls]) == ("Let me.", [arguments])
    assert [(one.status, one.reason) for _, one in lower.verdicts] == [("native", "unwritable")]

    hermes = f'<tool_call>\n{{"name": "run", "arguments": {arguments}}}\n</tool_call>'
    both = of_kind(wire, (tool,), Route(client=dialect, upstream="text"), "roundtrip", form="sse", dialect=dialect)
    body = stream([hermes])
    assert run(both, [body]) == body
    assert [(one.status, one.reason) for _, one in both.verdicts] == [("declined", "unwritable")]
