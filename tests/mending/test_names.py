"""What a name means that no tool has: one declared tool for sure, or nothing."""

import json

import pytest

from support.damaging import chat_stream
from support.exchanges import of_request, run
from toolcalls.mending.names import Names
from toolcalls.reading.policy import CallPolicy
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.values.toolbox import Named, Toolbox
from toolcalls.wires import all_wires

PATH = {"type": "object", "properties": {"path": {"type": "string"}, "line": {"type": "integer"}}, "required": ["path"]}
TOOLS = tuple(Tool(name, PATH) for name in ("read", "read_all", "get-x", "get_x", "bash", "bash_output"))
PAIRS = "<arg_key>path</arg_key><arg_value>a</arg_value><arg_key>line</arg_key><arg_value>3</arg_value>"


def meant(name: str, route: Route) -> Named | None:
    request = Request(tools=TOOLS)
    return Names(Toolbox(TOOLS), CallPolicy(route, request)).meant(name)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("read", None),
        ("Read", ("read", "name", "")),
        ("functions.read", ("read", "name", "")),
        ("mcp__files__read-all", ("read_all", "name", "")),
        ("get x", None),
        ("reads", None),
        ("readread", None),
        ("", None),
        (" ", None),
        ("read<|channel|>commentary", ("read", "markup_in_name", "")),
        ("read<｜tool▁sep｜>", ("read", "markup_in_name", "")),
        ("read commentary", ("read", "markup_in_name", "")),
        ("reads<|channel|>commentary", None),
        ("<|channel|>read", None),
        ("read(path='a')", None),
        ("read" + PAIRS, ("read", "markup_in_name", {"path": "a", "line": 3})),
        ("read\n" + PAIRS + "\n</tool_call>", ("read", "markup_in_name", {"path": "a", "line": 3})),
        ("Read" + PAIRS, ("read", "markup_in_name", {"path": "a", "line": 3})),
        ("read" + PAIRS.removesuffix("</arg_value>"), ("read", "markup_in_name", "")),
        ("read<parameter=path>a</parameter>", ("read", "markup_in_name", {"path": "a"})),
        ("read<parameter=path>a", ("read", "markup_in_name", "")),
        ("read<arg_key>path</arg_key><arg_value>rm -rf a", ("read", "markup_in_name", "")),
        ('read><parameter name="path">a</parameter>', None),
        ('read<parameter name="path">a', ("read", "markup_in_name", "")),
        ("read<path>a", ("read", "markup_in_name", "")),
        ("reads" + PAIRS, None),
    ],
)
def test_a_name(name: str, wanted: tuple[str, str, object] | None) -> None:
    for route in (Route(), Route(dialects=("invoke",)), Route(policy="strict")):
        found = meant(name, route)
        if wanted is None or found is None:
            assert (found, wanted) == (None, None)
            continue
        arguments = json.loads(found.arguments) if found.arguments else ""
        assert (found.name, found.repair, arguments) == wanted


@pytest.mark.parametrize(("rest", "heard"), [("", "Bash"), ("_output", "Bash_output")])
def test_a_name_that_may_go_on_is_not_changed(rest: str, heard: str) -> None:
    """`bash_output` may come in two pieces, of which the first one has left."""
    pieces = [{"name": "Bash"}, *([{"name": rest}] if rest else []), {"arguments": '{"path": "a"}'}]
    deltas = [
        {"tool_calls": [{"index": 0, "id": "c" if not n else None, "function": one}]} for n, one in enumerate(pieces)
    ]
    body = chat_stream(deltas)
    route = Route(mend=("protocol", "names"))
    one = of_request(all_wires()["openai_chat"], Request(tools=TOOLS), route, form="sse", seed=b"s")
    assert run(one, [body]) == body
    assert [verdict.name for _, verdict in one.verdicts] == [heard]
