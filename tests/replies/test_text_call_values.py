"""Calls in text are checked, and their values mended, as native ones are: the same findings, the same arguments.

Strategy: arguments of all types against a schema of all types, written natively and as text in JSON dialects, in pieces
of any size. What the client is given is the same both ways, with `mend: [types]` and without, and so are the defects.
"""

import json
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from support.chatclient import ending, native, received, stream
from support.exchanges import of_request, run
from support.strategies import law
from support.valuedamages import EDIT
from toolcalls.events import Verdict
from toolcalls.insight.report import make_report
from toolcalls.insight.turn import outcome_of
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.shapes import Call
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.writing.writer import write

TOOLS = (Tool("edit", EDIT), Tool("now", {"type": "object"}))
DIALECTS = ("hermes", "mistral", "bare_json", "apriel", "kimi_k2", "functionary_v31", "deepseek_v31")

values = st.one_of(
    st.sampled_from(
        ["x", "3", "2.5", "true", "null", "[]", '{"line": "1"}', '[{"old": "a", "n": "2"}]', "", "a</tool_call>"]
    ),
    st.sampled_from(
        [3, 2.5, True, None, [], {}, {"line": 1}, {"line": "7"}, [{"n": 1}], [{"old": "a", "n": "2"}], [3]]
    ),
)
arguments = st.dictionaries(st.sampled_from([*EDIT["properties"], "other"]), values, max_size=5)


def exchange(*mend: str) -> Exchange:
    request = Request(tools=TOOLS, model="m")
    route = Route(client="native", upstream="text", mend=mend)  # type: ignore[arg-type]
    return of_request(all_wires()["openai_chat"], request, route, form="sse", seed=b"s")


def got(one: Exchange, body: list[bytes]) -> tuple[str, Verdict]:
    """The arguments that the client is given, and the call's verdict."""
    (choice,) = received(run(one, body)).choices.values()
    (call,) = choice.calls
    ((_, verdict),) = one.verdicts
    return call["arguments"], verdict


def cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@law
@given(arguments, st.sampled_from(DIALECTS), st.sampled_from([(), ("types",)]), st.sampled_from([1, 3, 1000]))
@example({"limit": "3", "edits": '[{"old": "a", "n": "2"}]'}, "hermes", ("types",), 1)
@example({"all": "x"}, "mistral", (), 1000)
def test_text_and_native_are_told_the_same(
    said: dict[str, Any], dialect: str, mend: tuple[str, ...], size: int
) -> None:
    assume(dialect != "bare_json" or EDIT["properties"].keys() & said.keys())  # else it shows too little to be a call
    call = Call("edit", json.dumps(said))
    text = write(dialect, [call], Toolbox(TOOLS))
    given_, verdict = got(exchange(*mend), [stream(cut(text, size))])
    wanted, other = got(
        exchange(*mend), [stream([], None) + native(call, 0, cut(call.arguments, size)) + ending("tool_calls")]
    )
    assert (verdict.status, other.status) == ("lifted", "native")
    assert given_ == wanted
    assert (verdict.defects, verdict.reason) == (other.defects, other.reason)
    assert ("wrong_type" in verdict.repairs) == (given_ != call.arguments)


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_what_the_agent_refuses_is_said_and_mended_by_choice(size: int) -> None:
    text = '<tool_call>{"name": "edit", "arguments": {"path": "a", "limit": "3", "edits": "[]"}}</tool_call>'
    plain, verdict = got(one := exchange(), [stream(cut(text, size))])
    assert json.loads(plain) == {"path": "a", "limit": "3", "edits": "[]"}
    assert [(one.code, one.path, one.wanted) for one in verdict.defects] == [
        ("wrong_type", "/limit", "integer or null"), ("wrong_type", "/edits", "array"),
    ]  # fmt: skip
    assert (verdict.reason, verdict.repairs) == ("wrong_type", ())
    (told,) = make_report(one)["verdicts"]
    assert outcome_of(told, waits=True) == "broken"
    mended, verdict = got(one := exchange("types"), [stream(cut(text, size))])
    assert json.loads(mended) == {"path": "a", "limit": 3, "edits": []}
    assert (verdict.reason, verdict.repairs) == ("wrong_type", ("wrong_type",))
    assert plain[verdict.defects[0].at or 0 :].startswith('"3"')
    (told,) = make_report(one)["verdicts"]
    assert outcome_of(told, waits=True) == "repair"


def test_what_is_cut_off_is_not_mended() -> None:
    text = '<tool_call>{"name": "edit", "arguments": {"path": "a", "limit": "3"'
    one = exchange("types")
    (choice,) = received(run(one, [stream([text], "length")])).choices.values()
    assert choice.calls[0]["arguments"] == '{"path": "a", "limit": "3"'
    ((_, verdict),) = one.verdicts
    assert (verdict.status, verdict.repairs, verdict.defects) == ("truncated", (), ())


def test_a_string_goes_on_while_it_comes() -> None:
    one = exchange("types")
    begun = run(one, [stream(['<tool_call>{"name": "edit", "arguments": {"path": "abc'], None)], ends=False)
    assert b"abc" in begun
