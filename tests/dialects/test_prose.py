"""Prose that looks like a call of a form without tags: names, brackets, markers, manifests. Nothing of it is one.

Strategy: every text goes through the reader whole and in pieces, under the two policies that take the most, with tools
declared that bear the very names that are in it. Whatever verdicts come of it, no call does, and the text stays.
"""

import pytest

from toolcalls.events import CallStart, Text
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import PolicyName, Route

FORMS = (
    "marker",
    "bracket_tool_call",
    "flattened_history",
    "zeroclaw",
    "glm_naked",
    "continue_codeblock",
    "call_record",
)
ONE = {"properties": {"command": {"type": "string"}}}
TOOLS = (
    *(Tool(name, ONE) for name in ("bash", "read", "table", "a", "Input")),
    *(Tool(name) for name in ("prod", "left-pad", "write", "name")),
    Tool("search", {"properties": {"query": {}, "limit": {}}}),
)

TEXTS = {
    "the marker named": "Each call begins with TOOL_CALL, and TOOL_CALL: stands alone.\n",
    "the marker named, JSON below": 'A call begins with TOOL_CALL.\n\n{"name": "prod", "params": {"replicas": 3}}\n',
    "the marker as a heading": "TOOL_CALL\n=========\n\nIt takes JSON:\n",
    "the marker in a list": '- TOOL_CALL: the word\n- {"name": "prod"}\n',
    "the marker and a placeholder": "TOOL_CALL: {json}\nTOOL_CALL {...}\nTOOL_CALL\n<json>\n",
    "a manifest": 'Package manifest: {"name": "left-pad", "version": "1.0.0"}\n',
    "a manifest below the marker": 'TOOL_CALL\n{"name": "left-pad", "version": "1.0.0", "license": "MIT"}\n',
    "a record below the marker": 'TOOL_CALL\n\n{"users": [{"name": "search", "params": {}}]}\n',
    "a fenced example": 'Do not run this:\n```\nTOOL_CALL {"tool_name": "bash", "parameters": {"x"}}\n```\n',
    "names": "bash is a shell. read/write access; a/b tests; read, then write.\nsearch: no results\n",
    "names at line starts": "bash\nread\nsearch\n\nbash:\nread -\n",
    "comparisons": "a > b\na >= b\na>=b\na>\nread > write\n",
    "prompts": "bash> \nbash> ls -la\nread/ \nbash/zsh>\n",
    "paths": "read/me.md\nbash/completion>\na/command/>x\n",
    "tools with two parameters": "search>a word\nsearch/query>a word\n<search>a word</search>\n",
    "HTML": "<table><tr><td>x</td></tr></table>\n<a href='x'>y</a>\n",
    "tags that stand alone": "<bash> is a tag.\n<read>\n\n<bash>\nls\n\nand so on\n",
    "brackets": "[Tool call: see below] and [tool: bash] is one.\n[Tool Use: 3 times]\n[tool: bash]: https://example.com\n",
    "links": "[tool: a](https://example.com) [Tool call: b][1]\n\n[1]: https://example.com\n",
    "a transcript": "[Previous assistant tool use] means that a tool was used.\nTool: hammer\nInput: {wood}\n",
    "a transcript without JSON": "[Previous assistant tool use]\nTool: bash\nInput: ls\n",
    "words in capitals": "TOOL_NAME: the name of the tool\nBEGIN_ARG: begins an argument\nEND_ARG ends it.\n",
    "a name, and text": "TOOL_NAME: bash\n\nThat is how it begins.\n",
    "a fence for tools": "```tool\nhammer\n```\n```tools\nTOOL_NAME: <name>\n",
    "keys of GLM": "read<arg_key> and <arg_value> are its tags.\nread <arg_key>x</arg_key>\n",
    "records": '<call_record>12:00</call_record>\n<call_record id="1" name="bash">x</call_record>\n',
}


@pytest.mark.parametrize("policy", ["standard", "lenient"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_prose_is_no_call(text: str, policy: PolicyName) -> None:
    for size in (len(text), 1, 7):
        reader = Reader(CallPolicy(Route(dialects=FORMS, policy=policy), Request(tools=TOOLS)))
        events = [event for at in range(0, len(text), size) for event in reader.feed(text[at : at + size])]
        events += reader.finish(cut=False)
        assert not [event for event in events if isinstance(event, CallStart)]
        assert "".join(event.text for event in events if isinstance(event, Text)) == text


def test_the_same_names_are_called_where_the_forms_are_whole() -> None:
    """Otherwise the texts above would prove nothing."""
    text = 'TOOL_CALL {"name": "prod"}\nbash>ls\n[tool: read] {"command": "x"}\n<a>y</a>\n<call_record tool="name"/>\n'
    reader = Reader(CallPolicy(Route(dialects=FORMS), Request(tools=TOOLS)))
    events = [*reader.feed(text), *reader.finish(cut=False)]
    assert [event.name for event in events if isinstance(event, CallStart)] == ["prod", "bash", "read", "a", "name"]
