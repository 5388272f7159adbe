"""What `lenient` takes as the only call of its message, and what is shown and never meant.

Strategy: one call of each kind is in places where one rule decides, alone and beside others; each text is read
whole, in pieces and character by character, by all policies.
"""

import pytest

from support.dialectcases import chunks
from toolcalls.events import CallStart, Event, Text, Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import PolicyName, Route

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}
TOOLS = (Tool("Bash", SCHEMA), Tool("read_file", {"type": "object", "properties": {"path": {"type": "string"}}}))
CALLS = (
    '<invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke>',
    '<tool_call>\n{"name": "Bash", "arguments": {"command": "ls"}}\n</tool_call>',
    "<tool_call>\n<function=Bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
    "<Bash>\n<command>ls</command>\n</Bash>",
    '[TOOL_CALLS]Bash[ARGS]{"command": "ls"}',
)
OTHER = "<read_file>\n<path>a</path>\n</read_file>"
type Found = tuple[list[str], str, list[tuple[str, str | None]]]


def read(text: str, policy: PolicyName, *, cut: bool = False) -> Found:
    """The calls, the text and the verdicts, which must not depend on the pieces."""
    found = []
    for size in (len(text), 1, 5):
        reader = Reader(CallPolicy(Route(policy=policy), Request(tools=TOOLS)))
        events: list[Event] = [event for piece in chunks(text, size) for event in reader.feed(piece)]
        events += reader.finish(cut=cut)
        calls = [event.name for event in events if isinstance(event, CallStart)]
        verdicts = [(event.status, event.reason) for event in events if isinstance(event, Verdict)]
        found.append((calls, "".join(event.text for event in events if isinstance(event, Text)), verdicts))
    assert found[0] == found[1] == found[2], text
    return found[0]


@pytest.mark.parametrize("call", CALLS)
def test_lenient_takes_a_fenced_call_that_is_the_only_one(call: str) -> None:
    text = f"I run it:\n\n```\n{call}\n```\n"
    assert read(text, "lenient")[0] == ["Bash"]
    for policy in ("standard", "strict"):
        assert read(text, policy) == ([], text, [("declined", "fenced")])


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("One form:\n\n```\n{call}\n```\n\nAnother:\n\n```\n{other}\n```\n", []),
        ("```json\n{call}\n```\nand\n~~~\n{call}\n~~~\nand\n\n```\n{other}\n```", []),
        ("It was this:\n\n```\n{call}\n```\n\nNow:\n\n{other}", ["read_file"]),
        ("{other}\n\nAnd not:\n\n```\n{call}\n```", ["read_file"]),
        ("prompt: |\n  {call}\nmore: 1\n", []),
        ("It writes:\n\n```\n{call}\n```\n\nand the server answers.", []),
        ("Write `{line}` for it.", []),
    ],
)
def test_lenient_takes_no_fenced_call_beside_others(text: str, taken: list[str], call: str) -> None:
    text = text.replace("{line}", call.replace("\n", "")).replace("{call}", call).replace("{other}", OTHER)
    assert read(text, "lenient")[0] == taken


def test_a_fenced_call_of_a_reply_that_was_cut_off_may_not_be_the_only_one() -> None:
    text = f"I run it:\n\n```\n{CALLS[0]}\n```\n\nAnd th"
    assert read(text, "lenient", cut=True)[0] == []


def test_a_route_that_takes_fenced_calls_takes_each() -> None:
    text = f"```\n{CALLS[0]}\n```\n\n```\n{OTHER}\n```"
    reader = Reader(CallPolicy(Route(policy="lenient", take=("fenced",)), Request(tools=TOOLS)))
    events = [*reader.feed(text), *reader.finish(cut=False)]
    assert [event.name for event in events if isinstance(event, CallStart)] == ["Bash", "read_file"]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("opener", ["<think>", "<reasoning>", "[THINK]"])
def test_lenient_takes_a_call_in_reasoning_that_never_closes(call: str, opener: str) -> None:
    text = f"{opener}\nI look.\n\n{call}"
    assert read(text, "lenient")[:2] == (["Bash"], f"{opener}\nI look.\n\n")
    for policy in ("standard", "strict"):
        calls, shown, verdicts = read(text, policy)
        assert (calls, shown) == ([], text)
        assert {reason for _, reason in verdicts} == {"reasoning"}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("behind", ["\nand then I see.", "\n</think>\nThere is nothing to do.", "\n</think>"])
def test_a_call_in_reasoning_with_something_behind_it_is_a_draft(call: str, behind: str) -> None:
    text = f"<think>\nI look.\n\n{call}{behind}"
    assert read(text, "lenient")[:2] == ([], text)


def test_two_calls_in_reasoning_that_never_closes() -> None:
    assert read(f"<think>\n{CALLS[0]}\n\n{OTHER}", "lenient")[0] == ["Bash", "read_file"]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("policy", ["standard", "strict", "lenient"])
@pytest.mark.parametrize(
    "text",
    [
        "User: list the files\n\nAssistant:\n{call}\n\nUser: thanks\n",
        "Human: list the files\n\nAssistant: {call}\n\nHuman: thanks\n",
        "**User:** list the files\n\n**Assistant:**\n\n{call}\n",
        "### User\nlist the files\n\n### Assistant\n{call}\n",
        "<|im_start|>user\nlist the files<|im_end|>\n<|im_start|>assistant\n{call}<|im_end|>\n",
        "USER: list\nAI: yes\n\n{call}\n",
    ],
)
def test_a_conversation_that_is_shown_holds_no_calls(text: str, policy: PolicyName, call: str) -> None:
    text = text.replace("{call}", call)
    assert read(text, policy)[:2] == ([], text)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "before",
    ["Assistant:\n", "User: is a label.\n\n", "The model says Assistant: and acts.\n", "`User:`\nAssistant:\n"],
)
def test_one_label_alone_is_no_conversation(before: str, call: str) -> None:
    assert read(before + call, "standard")[0] == ["Bash"]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("before", ["It is `grep that fails.\n", "So ``it goes\nand `on\n", "<a title=`x\n"])
def test_a_backtick_that_is_not_closed_on_its_line_ends_with_it(before: str, call: str) -> None:
    for policy in ("standard", "lenient"):
        assert read(before + call, policy)[0] == ["Bash"]
    assert read(before + call, "strict")[0] == []


@pytest.mark.parametrize(("name", "taken"), [("Bashh", []), ("read_fil", []), ("teleport", ["teleport"])])
def test_lenient_takes_invented_names_only_where_no_declared_one_is_near(name: str, taken: list[str]) -> None:
    text = f'<invoke name="{name}">\n<parameter name="x">1</parameter>\n</invoke>'
    calls, _, verdicts = read(text, "lenient")
    assert calls == taken
    assert verdicts == ([("lifted", None)] if taken else [("declined", "undeclared")])


def test_a_form_that_is_a_fence_itself_stands_as_often_as_it_likes() -> None:
    block = '```tool_call\n{"name": "Bash", "arguments": {"command": "ls"}}\n```'
    assert read(f"I look.\n\n{block}\n{block}", "lenient")[0] == ["Bash", "Bash"]
