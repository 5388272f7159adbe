"""A declared name in other letters or after a prefix is that tool in every dialect (`values/tool_names.py`).

Strategy: calls as each dialect writes them, with the name respelt wherever it stands, alone and among all dialects. The
call is the same, its verdict says `name`, and it is the same however the text is cut. Of elements that are named after
a tool, one without a declared parameter stays markup.
"""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.strategies import law, tool
from toolcalls.dialects import all_dialects
from toolcalls.events import Event, Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import PolicyName, Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.tool_names import ToolNames
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import calls_in, write

NAME = "Read_File"
TOOLS = (tool("Bash", command="string"), tool(NAME, path="string", line="integer"), tool("task", prompt="string"))
CALL = Call(NAME, '{"path": "a.ts", "line": 7}')
RESPELT = (
    *("read_file", "READ_FILE", "ReadFile", "read-file", "functions.Read_File", "default_api.read_file"),
    *("functions.readFile", "tools.Read_File", "mcp__host__Read_File", "mcp__my_host__read_file"),
)


def read(text: str, dialects: tuple[str, ...] | None, sizes: Sequence[int], policy: PolicyName) -> list[Event]:
    reader = Reader(CallPolicy(Route(dialects=dialects, policy=policy), Request(tools=TOOLS)))
    at, events = 0, list[Event]()
    for size in (*sizes, len(text)):
        events += reader.feed(text[at : at + size])
        at += size
    return [*events, *reader.finish(cut=False)]


def found(events: list[Event]) -> tuple[list[tuple[str, object]], list[Verdict]]:
    calls = [(call.name, json.loads(call.arguments)) for call in calls_in(events)]
    return calls, [event for event in events if isinstance(event, Verdict)]


def written(dialect: str) -> str:
    try:
        text = write(dialect, [CALL], Toolbox(TOOLS))
    except Unwritable as no:
        pytest.skip(str(no))
    assert NAME in text
    return text


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("dialect", all_dialects())
def test_a_respelt_name_is_that_tool(dialect: str, named: bool) -> None:
    text, dialects = written(dialect), (dialect,) if named else None
    meant, _ = found(read(text, dialects, (), "standard"))
    assert meant == [(NAME, json.loads(CALL.arguments))] or not named
    for name in RESPELT if meant else ():
        calls, verdicts = found(read(text.replace(NAME, name), dialects, (), "standard"))
        assert calls == meant, name
        assert "name" in verdicts[-1].repairs or name == f"functions.{NAME}" or name == f"tools.{NAME}", name


@pytest.mark.sampled(30)
@pytest.mark.parametrize("name", RESPELT[1::3])
@pytest.mark.parametrize("dialect", all_dialects())
def test_a_respelt_name_is_the_same_at_every_cut(dialect: str, name: str) -> None:
    text = written(dialect).replace(NAME, name)
    for dialects in ((dialect,), None):
        whole = found(read(text, dialects, (), "standard"))
        assert found(read(text, dialects, [1] * len(text), "standard")) == whole
        for cut in range(1, len(text)) if dialects is None else ():
            assert found(read(text, dialects, (cut,), "standard")) == whole, text[:cut]


MARKUP = (
    *("<Task/>", "<Task />", "<TASK></TASK>", "<Task>\n</Task>", "<Task>a</Task>", '<Task id="a"/>', "<Task\n/>"),
    *("<Task>\n<p>a</p>\n</Task>", "<Task>\nb: c\n</Task>", '<Task>{"a": 1}</Task>', "<Now/>", "<NOW></NOW>"),
)


@pytest.mark.parametrize("policy", ["standard", "strict", "lenient"])
@pytest.mark.parametrize("text", MARKUP)
def test_an_element_of_another_spelling_is_markup_without_a_declared_parameter(text: str, policy: PolicyName) -> None:
    """Also where nothing else is asked of a call: elements in other letters are HTML, JSX and SVG."""
    tools = (*TOOLS, Tool("now"))
    for dialects in (None, *((one,) for one in ("tagged", "morph_xml", "yaml_xml", "tool_element", "zeroclaw"))):
        reader = Reader(CallPolicy(Route(dialects=dialects, policy=policy), Request(tools=tools)))
        assert not list(calls_in([*reader.feed(text), *reader.finish(cut=False)]))


WORDS = st.lists(st.sampled_from(("read", "file", "a", "x1", "web.search", "GET")), min_size=1, max_size=3)
DECLARED = st.builds(lambda words, mark: mark.join(words), WORDS, st.sampled_from(("", "_", "-", "__")))
PREFIX = st.sampled_from(("", "", "functions.", "default_api:", "tools__", "mcp__host__", "mcp__a__b__", "other."))
MARK = st.sampled_from(("", "", "", "_", "-", " "))


@law
@given(st.data())
def test_a_name_that_stands_in_a_text_is_one_that_means_a_tool(data: st.DataObject) -> None:
    """Whatever is found in a text means the tool by the rule for whole names, and until it is whole it is held."""
    tools = data.draw(st.lists(DECLARED, min_size=1, max_size=3))
    names, tool_ = ToolNames(tools), data.draw(st.sampled_from(tools))
    spelt = "".join(data.draw(st.sampled_from((c, c.upper(), c.lower()))) + data.draw(MARK) for c in tool_).strip("-_ ")
    prefix = data.draw(PREFIX)
    text = prefix + spelt
    at = [name for name, _ in names.at(text + "<", 0)]
    assert all(names.meant(name) for name in at)
    in_text = prefix != "other." and len(spelt) <= max(map(len, tools)) + 8
    assert (text in at) == bool(in_text and names.meant(text))
    if text in at:
        assert all(names.continue_from(text[:size]) for size in range(len(text)))
