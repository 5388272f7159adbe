"""What is around calls: closers of reasoning that open nothing, and results that the model invents."""

import pytest

from support.dialectcases import chunks
from toolcalls.events import CallStart, Event, Markup, Text, Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.shapes.json.call_keys import NAMES

TOOLS = (Tool("ls"), Tool("rm"))
LS = '<tool_call>{"name": "ls"}</tool_call>'
RM = '<tool_call>{"name": "rm"}</tool_call>'


def read(text: str, size: int, *, drop: bool = False) -> tuple[str, list[str], list[tuple[str, str | None]]]:
    reader = Reader(CallPolicy(Route(drop_invented_results=drop), Request(tools=TOOLS)))
    events: list[Event] = [event for piece in chunks(text, size) for event in reader.feed(piece)]
    events += reader.finish(cut=False)
    assert "".join(event.text for event in events if isinstance(event, Text | Markup)) == text
    shown = "".join(event.text for event in events if isinstance(event, Text))
    names = [event.name for event in events if isinstance(event, CallStart)]
    return shown, names, [(event.status, event.reason) for event in events if isinstance(event, Verdict)]


ORPHANS = {
    "before a call it goes": (f"Thought.\n</think>\n\n{LS}", "Thought.\n", ["ls"]),
    "in the middle of a line": (f"Thought.</think>{LS}", "Thought.", ["ls"]),
    "between calls it goes": (f"{LS}\n</think>\n{RM}", "", ["ls", "rm"]),
    "before text it stays": ("Thought.</think>\n\nHi.", "Thought.</think>\n\nHi.", []),
    "at the end it stays": ("Thought.</think>\n", "Thought.</think>\n", []),
    "behind a call, at the end, it stays": (f"{LS}</think>", "</think>", ["ls"]),
    "in code it is code": (f"`</think>{LS}`", f"`</think>{LS}`", []),
    "one that closes something": (f"<think>{RM}</think>{LS}", f"<think>{RM}</think>", ["ls"]),
}


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize(("text", "shown", "names"), ORPHANS.values(), ids=ORPHANS)
def test_a_closer_of_reasoning(text: str, shown: str, names: list[str], size: int) -> None:
    assert read(text, size)[:2] == (shown, names)


INVENTED = {
    "with its closer": ("\n<tool_response>\na b\n</tool_response>", "\nDone."),
    "up to the end": ("\nHuman: thanks", ""),
    "never closed": ("\n<function_results>\n<result>ok", ""),
    "with a call in it": (f"\n<tool_result>\n{RM}\n</tool_result>", "\n"),
}


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize(("result", "behind"), INVENTED.values(), ids=INVENTED)
def test_an_invented_result_is_named_and_dropped_on_demand(result: str, behind: str, size: int) -> None:
    text = LS + result + behind
    shown, names, verdicts = read(text, size)
    assert (shown, names) == (result + behind, ["ls"])
    assert verdicts == [("lifted", None), ("declined", "invented_result")]
    shown, names, verdicts = read(text, size, drop=True)
    assert (shown.strip(), names) == (behind.strip(), ["ls"])
    assert verdicts == [("lifted", None), ("declined", "dropped_result")]


def test_a_call_behind_an_invented_result_counts() -> None:
    assert read(f"{LS}\n<result>x</result>\n{RM}", 3)[1] == ["ls", "rm"]


@pytest.mark.parametrize("text", ["<tool_response>x</tool_response>", f"{LS} or <result>", f"{LS}\n```\n<result>\n```"])
def test_what_is_no_invented_result(text: str) -> None:
    assert ("declined", "invented_result") not in read(text, 5)[2]


@pytest.mark.parametrize(
    ("named", "text"),
    [
        ("llama3_json", '{"name": "ls", "parameters": {}}'),
        ("harmony", "commentary to=functions.ls json{}"),
        ("kimi_k2", "functions.ls:0{}"),
        ("glm_xml", "ls<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>"),
        ("invoke", "<function_calls><invoke><tool_name>ls</tool_name><parameters></parameters></invoke>"),
    ],
)
def test_who_names_a_dialect_means_what_is_left_of_it_too(named: str, text: str) -> None:
    for dialects, found in (((named,), ["ls"]), (("tagged",), [])):
        reader = Reader(CallPolicy(Route(dialects=dialects), Request(tools=TOOLS)))
        events = [*reader.feed(text), *reader.finish(cut=False)]
        assert [event.name for event in events if isinstance(event, CallStart)] == found


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize("arguments", ["arguments", "parameters", "params", "args", ""])
@pytest.mark.parametrize("key", NAMES)
@pytest.mark.parametrize("layout", ['{{"{key}": "ls"{rest}}}', '{{ "{key}": "ls"{rest} }}', '{{"{key}":"ls"{rest}}}'])
def test_inside_a_line_lenient_takes_each_spelling(layout: str, key: str, arguments: str, size: int) -> None:
    call = layout.format(key=key, rest=f', "{arguments}": {{}}' if arguments else "")
    for text, found in ((f"So {call} it is.", ("lifted", None)), (f"So `{call}` it is.", ("declined", "inline_code"))):
        reader = Reader(CallPolicy(Route(policy="lenient"), Request(tools=TOOLS)))
        events: list[Event] = [event for piece in chunks(text, size) for event in reader.feed(piece)]
        events += reader.finish(cut=False)
        shown = text.replace(call, "") if found[0] == "lifted" else text
        assert "".join(event.text for event in events if isinstance(event, Text)) == shown
        judged = [(event.status, event.reason, event.name) for event in events if isinstance(event, Verdict)]
        assert judged == [(*found, "ls")]
        assert not read(text, size)[1]  # `standard`
