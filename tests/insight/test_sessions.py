"""Many exchanges together: sessions, turns, what requests changed, times, tokens, and the scorecard."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import manyflows
from support.repository import shared_path
from toolcalls.flows.flow_records import record_of
from toolcalls.insight import conversation, replies
from toolcalls.insight.agents import agent_of, session_of
from toolcalls.insight.conversation import Message, RequestSummary, request_summary
from toolcalls.insight.exchange_record import ExchangeRecord, Pieces
from toolcalls.insight.formatting import duration
from toolcalls.insight.prices import cost_of, money
from toolcalls.insight.replies import Moments, Tokens
from toolcalls.insight.request_body import MESSAGE, MESSAGES, TOOLS
from toolcalls.insight.request_diff import between
from toolcalls.insight.scorecard import OTHERS, ROWS
from toolcalls.insight.session_page import session_body
from toolcalls.insight.sessions import Session, Sessions
from toolcalls.insight.text_diff import rewording
from toolcalls.insight.turn import Turn, outcome_of, turn_of
from toolcalls.route import Price


def _turns() -> list[Turn]:
    return [turn_of(record_of(flow)) for flow in manyflows.session()]


def _session(turns: list[Turn]) -> Session:
    sessions = Sessions()
    for turn in turns:
        sessions.put(turn)
    (one,) = sessions.all()
    return one


def _made(**fields: Any) -> ExchangeRecord:
    given_: dict[str, Any] = {
        "id": "f", "started": 1.0, "started_at": "", "method": "POST", "url": "", "http_version": "HTTP/1.1",
        "request_headers": (), "request_body": b"{}",
    }  # fmt: skip
    return ExchangeRecord(**(given_ | fields))


# --- turns ------------------------------------------------------------------------------------------------------------


def test_a_session_is_told_turn_by_turn() -> None:
    session = _session(_turns())
    assert (session.id, session.named, session.agents) == ("ses_7f3a", True, ["opencode"])
    assert session.models == ["qwen3-coder", "gpt-oss-120b"]
    assert [turn.summary for turn in session.turns] == [
        "lifted read_file (invoke)",
        "native write_file",
        "1 possibly lost: fenced",
        "1 declined: inline",
        "1 truncated: cut_off",
    ]
    assert [turn.finish for turn in session.turns] == ["tool_calls", "tool_calls", "stop", "stop", ""]
    assert session.worst == "truncated"
    assert session.tokens() == Tokens(812 + 903 + 980, 41 + 38 + 60, 3 * 128)


def test_the_times_are_those_of_the_pieces_that_the_client_got() -> None:
    lifted, native, declined, _, cut = _turns()
    for turn in (lifted, native):
        moments = turn.moments
        assert moments.first_byte is not None
        assert moments.first_argument is not None
        assert moments.call_complete is not None
        assert moments.end is not None
        assert moments.first_byte < moments.first_argument < moments.call_complete < moments.end
    assert native.after(native.moments.first_argument) == pytest.approx(0.4 + 2 * 0.05)
    assert (declined.moments.first_argument, declined.moments.call_complete) == (None, None)
    assert cut.moments.first_argument is not None
    assert cut.moments.call_complete is None, "a call that was cut off is never complete"


def test_a_turn_holds_no_secret_and_is_bounded() -> None:
    flow = manyflows.flow_of(
        "large",
        [manyflows.user(f"{manyflows.SECRET} " + "x" * 100_000)],
        manyflows.streamed(manyflows.written("Bash", command=manyflows.SECRET + "y" * 100_000), 5000),
        headers={"x-session-id": manyflows.SECRET, "user-agent": manyflows.SECRET},
        model=manyflows.SECRET,
        path=f"/{manyflows.SECRET}/v1/chat/completions?key={manyflows.SECRET}",
    )
    turn = turn_of(record_of(flow))
    assert "CANARY" not in repr(turn)
    assert len(repr(turn)) < 10_000


@pytest.mark.parametrize(
    ("verdict", "waits", "outcome"),
    [
        ({"status": "lifted"}, True, "success"),
        ({"status": "native"}, False, "success"),
        ({"status": "lowered", "repairs": ["value_as_text"]}, False, "repair"),
        ({"status": "declined", "reason": "fenced"}, True, "decline"),
        ({"status": "declined", "reason": "fenced", "likely_meant": True}, True, "possible"),
        ({"status": "declined", "reason": "fenced", "likely_meant": True}, False, "decline"),
        ({"status": "declined", "reason": "echo"}, True, "decline"),
        ({"status": "declined", "reason": "not_a_call"}, True, "decline"),
        ({"status": "declined", "reason": "inline"}, True, "leak"),
        ({"status": "declined", "reason": "undeclared"}, True, "leak"),
        ({"status": "declined", "reason": "observed"}, False, "decline"),
        ({"status": "truncated", "reason": "cut_off"}, True, "broken"),
        ({"status": "blocked", "reason": "access"}, True, "blocked"),
        ({"status": "malformed", "reason": "bad_arguments", "rule": "rm"}, True, "broken"),
    ],
)
def test_outcomes(verdict: dict[str, Any], waits: bool, outcome: str) -> None:
    assert outcome_of(verdict, waits=waits) == outcome


# --- agents and sessions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "body", "agent", "session"),
    [
        ({"user-agent": "claude-cli/2 (external)", "X-Claude-Code-Session-Id": "c1"}, {}, "Claude Code", "c1"),
        ({"user-agent": "codex_exec/0.169.0 (Debian)", "session-id": "s1", "thread-id": "t"}, {}, "Codex", "s1"),
        ({"user-agent": "opencode/1.18.33 ai-sdk", "x-session-affinity": "ses_1"}, {}, "opencode", "ses_1"),
        ({"user-agent": "Kilo-Code/7.7.7 ai-sdk", "x-title": "Kilo Code", "x-session-id": "k"}, {}, "Kilo Code", "k"),
        ({"agent-session-id": "20261121_1"}, {}, "Goose", "20261121_1"),
        ({"user-agent": "OpenAI/JS 5.20.1", "x-initiator": "agent"}, {"prompt_cache_key": "p"}, "Copilot CLI", "p"),
        ({"user-agent": "OpenAI/Python 2.54.0"}, {"prompt_cache_key": "conv"}, "OpenAI/Python", "conv"),
        ({"user-agent": "claude-cli/2"}, {"metadata": {"user_id": '{"session_id": "u1"}'}}, "Claude Code", "u1"),
        ({"user-agent": "claude-cli/2"}, {"metadata": {"user_id": "a_session_12345678"}}, "Claude Code", "12345678"),
    ],
)  # fmt: skip
def test_agents_and_their_sessions(headers: dict[str, str], body: dict[str, Any], agent: str, session: str) -> None:
    one = _made(request_headers=tuple(headers.items()), request_body=json.dumps(body).encode())
    assert (agent_of(one), session_of(one, request_summary("openai_chat", one.request_body))) == (agent, session)


def test_without_an_id_a_session_is_told_by_how_it_begins() -> None:
    def of(*texts: str) -> str:
        one = _made(
            request_body=json.dumps({"messages": [{"role": "user", "content": text} for text in texts]}).encode()
        )
        return session_of(one, request_summary("openai_chat", one.request_body))

    assert of("a") == of("a", "b")
    assert of("a") != of("b", "a")
    assert of("a").startswith("~")


# --- requests ---------------------------------------------------------------------------------------------------------


def test_what_each_request_changed() -> None:
    session = _session(_turns())
    told_ = [session.difference(place) for place in range(5)]
    assert told_[0] is None
    found = [one for one in told_ if one is not None]
    assert [before for before, _ in found] == [0, 1, 2, 3]
    assert [[(change.kind, change.message.role) for change in one.changes] for _, one in found] == [
        [("added", "assistant"), ("added", "tool")],
        [("added", "assistant"), ("added", "tool")],
        [("changed", "system"), ("added", "assistant"), ("added", "user")],
        [("added", "user")],
    ]
    assert [one.same for _, one in found] == [2, 4, 5, 8]
    assert found[2][1].tools_added == ("web_search",)
    assert found[3][1].tools_removed == ("web_search",)
    assert [one.system for _, one in found] == [False, False, True, False]
    assert [one.rewrites for _, one in found] == [False, False, True, True]


def test_settings_that_differ_are_told() -> None:
    def asked(**settings: Any) -> RequestSummary:
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "user": manyflows.SECRET, **settings}
        return request_summary("openai_chat", json.dumps(body).encode())

    before = asked(temperature=0, stop=["x"], key=manyflows.SECRET, long="a" * 5000 + "b", user="one")
    now = asked(temperature=0.7, stop=["x"], key=f"{manyflows.SECRET}1", long="a" * 5000 + "c", max_tokens=9)
    long = f'"{"a" * 79}…'
    assert between(before, now).settings == (
        ("temperature", "0", "0.7"),
        ("key", '"<redacted>"', '"<redacted>"'),
        ("long", long, long),
        ("max_tokens", "", "9"),
    )
    assert between(before, before).settings == ()
    assert not between(before, now).rewrites
    turns = [replace(turn, request=one) for turn, one in zip(_turns()[:2], (before, now), strict=True)]
    shown = session_body(_session(turns), "s")
    assert "the same messages, 4 settings differ, 1 as before" in shown
    assert "<p>temperature: 0 → 0.7</p>" in shown
    assert "<p>max_tokens: not there → 9</p>" in shown


def test_a_side_request_is_not_the_one_before() -> None:
    """An agent asks for a title in between; the next request goes on from the one that it shares a beginning with."""
    first, second, *_ = _turns()
    asked = request_summary("", b'{"messages": [{"content": "title?"}]}')
    title = replace(first, id="t", started=first.started + 1, request=asked)
    session = _session([first, title, second])
    assert [session.before(place) for place in range(3)] == [None, 0, 0]


def test_a_mark_for_a_cache_that_moved_changes_nothing() -> None:
    def body(place: int) -> bytes:
        contents: list[dict[str, Any]] = [{"type": "text", "text": str(number)} for number in (1, 2)]
        contents[place]["cache_control"] = {"type": "ephemeral"}
        messages = [{"role": "user", "content": [one]} for one in contents]
        return json.dumps({"messages": messages, "system": [{"type": "text", "text": "s"}]}).encode()

    for wire in ("openai_chat", "no_such_wire"):
        assert between(request_summary(wire, body(0)), request_summary(wire, body(1))).changes == ()


_ANTHROPIC = {
    "system": [{"type": "text", "text": "Be careful."}],
    "messages": [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"a": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}]},
    ],
    "tools": [{"name": "Bash", "input_schema": {}}],
}
_RESPONSES = {
    "instructions": "Be careful.",
    "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        {"type": "function_call", "call_id": "toolu_1", "name": "Bash", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "toolu_1", "output": "ok"},
    ],
    "tools": [{"type": "function", "name": "Bash"}],
}
_GEMINI = {
    "systemInstruction": {"parts": [{"text": "Be careful."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "hello"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "Bash", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "toolu_1", "name": "Bash", "response": {"a": "ok"}}}]},
    ],
    "tools": [{"functionDeclarations": [{"name": "Bash"}]}],
}


@pytest.mark.parametrize("body", [_ANTHROPIC, _RESPONSES, _GEMINI], ids=["anthropic", "responses", "gemini"])
def test_the_requests_of_any_api(body: dict[str, Any]) -> None:
    asked = request_summary("no_such_wire", json.dumps(body).encode())
    assert [message.role for message in asked.messages][:3] == ["system", "user", "assistant"]
    assert [message.excerpt for message in asked.messages][:2] == ["Be careful.", "hello"]
    assert asked.messages[2].calls == ("Bash",)
    assert asked.messages[3].results == 1
    assert asked.answered == ("toolu_1",)
    assert [name for name, _ in asked.tools] == ["Bash"]


@pytest.mark.parametrize("wire", ["gemini", "no_such_wire"])
def test_the_envelope_of_code_assist_is_taken_off(wire: str) -> None:
    body = {"model": "gemini-3", "project": "p", "request": {**_GEMINI, "session_id": "s-1"}}
    asked = request_summary(wire, json.dumps(body).encode())
    assert (asked.model, asked.session) == ("gemini-3", "s-1")
    assert [message.excerpt for message in asked.messages][:2] == ["Be careful.", "hello"]
    assert [name for name, _ in asked.tools] == ["Bash"], "so a call that leaked is known for one"


def test_functions_of_the_older_form_are_tools() -> None:
    body = {"messages": [{"role": "user", "content": "hi"}], "functions": [{"name": "Bash"}]}
    assert [name for name, _ in request_summary("openai_chat", json.dumps(body).encode()).tools] == ["Bash"]


def _many(count: int) -> RequestSummary:
    messages = [{"role": "user", "content": f"m{number}"} for number in range(count)]
    tools = [{"type": "function", "function": {"name": f"t{number}"}} for number in range(TOOLS + 9)]
    return request_summary("openai_chat", json.dumps({"messages": messages, "tools": tools}).encode())


def test_of_very_many_messages_the_last_are_told_and_what_is_new_is_found() -> None:
    before, now = _many(MESSAGES + 5), _many(MESSAGES + 7)
    assert (now.count, before.left_out) == (MESSAGES + 7, now.left_out)
    assert len(now.messages) <= MESSAGES
    assert now.messages[-1].excerpt == f"m{MESSAGES + 6}"
    assert len(now.tools) == TOOLS
    difference = between(before, now)
    assert [change.kind for change in difference.changes] == ["added", "added"]
    assert len(_many(MESSAGES).messages) == MESSAGES


@pytest.mark.parametrize("wire", ["openai_chat", "no_such_wire"])
def test_of_a_message_that_is_too_large_the_beginning_is_read(wire: str) -> None:
    def large(end: str) -> Message:
        content = f"Look: {manyflows.SECRET} {'x' * MESSAGE}{end}"
        body = {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": content}]}
        return request_summary(wire, json.dumps(body).encode()).messages[1]

    message = large("a")
    assert message.role == "user"
    assert "Look: <redacted> xxx" in message.text
    assert len(message.text) < 100_000
    assert message.digest == large("a").digest
    assert message.digest != large("b").digest


def test_telling_of_a_request_searches_no_more_than_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search holds Python's lock to its end, and the proxy with it."""
    searched: list[int] = []

    def watched(text: str) -> str:
        searched.append(len(text))
        return text

    monkeypatch.setattr(conversation, "redacted_text", watched)
    body = json.dumps({"messages": [{"role": "user", "content": "x" * 10**6}] * 3, "model": "m" * 10**6}).encode()
    assert request_summary("openai_chat", body).count == 3
    assert max(searched) < 1000


_UNREADABLE = [b"", b"{", b"[]", b"1", b'{"messages": 1}', b'{"messages": [1, null, []]}', b"[" * 10**5]


@pytest.mark.parametrize("body", _UNREADABLE)
def test_a_request_that_cannot_be_read_is_no_error(body: bytes) -> None:
    assert request_summary("openai_chat", body).size == len(body)


_KEYS = st.sampled_from(["role", "content", "type", "parts", "name", "id", "tool_calls", "function"])
_FIELDS = st.sampled_from(["messages", "input", "contents", "system", "tools", "metadata", "model"])
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner),
)


@given(st.dictionaries(_FIELDS, _JSON))
def test_no_request_raises(fields: dict[str, Any]) -> None:
    for wire in ("openai_chat", "no_such_wire"):
        assert len(request_summary(wire, json.dumps(fields).encode()).messages) <= MESSAGES


def _asked(*words: str) -> RequestSummary:
    return RequestSummary(tuple(Message("user", word, 1, word) for word in words))


@given(st.lists(st.sampled_from("abcd"), max_size=12), st.lists(st.sampled_from("abcd"), max_size=12))
def test_a_difference_accounts_for_every_message(old: list[str], new: list[str]) -> None:
    difference = between(_asked(*old), _asked(*new))
    kinds = [change.kind for change in difference.changes]
    assert difference.same + kinds.count("added") + kinds.count("changed") == len(new)
    assert difference.same + kinds.count("removed") + kinds.count("changed") == len(old)
    assert (difference.changes == ()) == (old == new)


def _message(text: str) -> Message:
    body = json.dumps({"messages": [{"role": "system", "content": text}]}).encode()
    return request_summary("openai_chat", body).messages[0]


LONG = "Be careful with the files of other people. " * 200


def test_a_small_change_in_a_long_prompt_is_found() -> None:
    was, now = _message(f"{LONG}Today is Monday.{LONG}"), _message(f"{LONG}Today is Friday.{LONG}")
    assert was.excerpt == now.excerpt, "the beginnings say nothing"
    pieces = rewording(was, now)
    assert [(piece.kind, piece.text) for piece in pieces if piece.kind != "same"] == [
        ("gone", "Monday"),
        ("new", "Friday"),
    ]
    assert pieces[0].text.endswith("Today is ")
    assert sum(len(piece.text) for piece in pieces) < 300


def test_what_is_put_at_the_end_is_new_and_nothing_is_gone() -> None:
    assert [piece.kind for piece in rewording(_message(LONG), _message(f"{LONG}More."))] == ["same", "new"]


def test_texts_that_have_little_in_common_are_gone_and_new() -> None:
    was, now = _message(LONG), _message(" ".join(map(str, range(5000))))
    assert [piece.kind for piece in rewording(was, now)] == ["gone", "new"]


def test_a_difference_behind_what_is_kept_is_said() -> None:
    was, now = _message("x" * 100_000 + "a"), _message("x" * 100_000 + "b")
    assert was.digest != now.digest
    assert rewording(was, now) == ()


_WORDS = st.lists(st.sampled_from(["a", "bb", "c.", "\n", "  ", "ü"]), max_size=30).map(" ".join)


@given(_WORDS, _WORDS)
def test_a_rewording_accounts_for_both_texts(old: str, new: str) -> None:
    pieces = rewording(_message(old), _message(new))
    if old == new:
        assert pieces == ()
        return

    def size(*kinds: str) -> int:
        return sum(
            len(piece.text) + (piece.left_out - 1 if piece.left_out else 0) for piece in pieces if piece.kind in kinds
        )

    # The text of a message is what `request_summary` makes of it; an empty one is none.
    assert size("same", "gone") == len(_message(old).text)
    assert size("same", "new") == len(_message(new).text)


def test_no_secret_is_told_of_a_message() -> None:
    message = _message(f"{LONG}{manyflows.SECRET} {LONG}")
    assert message.kept
    assert "<redacted>" in message.text
    assert "CANARY" not in message.text


def test_messages_that_are_known_are_not_made_anew() -> None:
    body = json.dumps({"messages": [{"role": "user", "content": LONG}, {"role": "user", "content": "new"}]}).encode()
    for wire in ("openai_chat", "no_such_wire"):
        first = request_summary(wire, body)
        again = request_summary(wire, body, {(first.messages[0].role, first.messages[0].digest): first.messages[0]})
        assert again.messages[0] is first.messages[0]
        assert again.messages[1] is not first.messages[1]
        assert again == first


def test_a_side_that_changed_is_shown_word_by_word() -> None:
    first, second = _turns()[:2]
    asked = [_made(request_body=json.dumps({"messages": [{"role": "system", "content": text}]}).encode()) for text in (
        f"{LONG}Say <b>yes</b>.", f"{LONG}Say <b>no</b>.")]  # fmt: skip
    turns = [
        replace(turn, request=request_summary("openai_chat", one.request_body))
        for turn, one in zip([first, second], asked, strict=True)
    ]
    shown = session_body(_session(turns), "s")
    assert "<del>yes</del><ins>no</ins>" in shown
    assert "&lt;b&gt;" in shown
    assert "a prompt cache holds only up to that place" in shown


# --- what it cost -----------------------------------------------------------------------------------------------------

PRICES = [Price("qwen*", 1.0, 4.0, 0.1), Price("*", 2.0, 2.0)]


@pytest.mark.parametrize(
    ("model", "tokens", "cost"),
    [
        ("qwen3", Tokens(1_000_000, 1_000_000, 500_000), 0.5 + 0.05 + 4.0),
        ("qwen3", Tokens(10, 0, 99), 10 * 0.1 / 1e6),
        ("other", Tokens(1_000_000, 0, 500_000), 2.0),
        ("other", Tokens(None, 5), None),
        ("other", Tokens(5, None), None),
    ],
    ids=["cached", "more cached than there is", "one price for all input", "no input", "no output"],
)
def test_cost(model: str, tokens: Tokens, cost: float | None) -> None:
    found = cost_of(model, tokens, PRICES)
    assert found == (None if cost is None else pytest.approx(cost))
    assert cost_of(model, tokens, []) is None
    assert cost_of(model, tokens, PRICES[:1]) is None or model == "qwen3"


def test_a_cost_is_shown_only_where_prices_are_given() -> None:
    session = _session(_turns())
    assert "cost" not in session_body(session, "s")
    shown = session_body(session, "s", PRICES[:1])
    first = (812 - 128) * 1e-6 + 128 * 0.1e-6 + 41 * 4e-6
    third = (980 - 128) * 1e-6 + 128 * 0.1e-6 + 60 * 4e-6
    assert f"cost: {money(first)}" in shown
    assert f"cost: {money(first + third)} (not counted: 3 turns)" in shown


@pytest.mark.parametrize(
    ("amount", "shown"), [(0, "0"), (0.00000123, "1.2e-06"), (0.0123, "0.0123"), (1234.5, "1,234.50")]
)
def test_money(amount: float, shown: str) -> None:
    assert money(amount) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(None, "not known"), (0, "0 s"), (0.0001, "1 ms"), (0.0444, "44 ms"), (0.5, "0.50 s"), (34.4, "34 s"),
     (184, "3 min 4 s"), (7500, "2 h 5 min")],
)  # fmt: skip
def test_durations(seconds: float | None, shown: str) -> None:
    assert duration(seconds) == shown


def test_a_call_that_was_cut_off_is_not_complete_though_the_api_ends_it() -> None:
    text = manyflows.written("Bash", command="ls -la /home")
    turn = turn_of(record_of(manyflows.flow_of("cut", [], manyflows.streamed(text[:-30], reason="length"))))
    assert [verdict.status for verdict in turn.verdicts] == ["truncated"]
    assert turn.moments.first_argument is not None
    assert turn.moments.call_complete is None


# --- replies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"usage": {"prompt_tokens": 9, "completion_tokens": 2}}, Tokens(9, 2)),
        ({"usage": {"input_tokens": 9, "output_tokens": 2, "cache_read_input_tokens": 5}}, Tokens(14, 2, 5)),
        ({"response": {"usage": {"input_tokens": 9, "output_tokens": 2,
                                 "output_tokens_details": {"reasoning_tokens": 1}}}}, Tokens(9, 2, None, 1)),
        ({"usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2, "thoughtsTokenCount": 3}},
         Tokens(9, 5, None, 3)),
        ({"prompt_eval_count": 9, "eval_count": 2, "done": True}, Tokens(9, 2)),
        ({"usage": None}, Tokens()),
        ({"usage": {"prompt_tokens": -1, "completion_tokens": "x"}}, Tokens()),
    ],
    ids=["chat", "anthropic", "responses", "gemini", "ollama", "null", "nonsense"],
)  # fmt: skip
def test_tokens(usage: dict[str, Any], tokens: Tokens) -> None:
    body = b"data: " + json.dumps({"choices": []} | usage).encode() + b"\n\n"
    assert replies.read("openai_chat", "sse", body, Pieces()).tokens == tokens


def test_of_usage_with_every_chunk_the_last_counts() -> None:
    events = [{"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": n}} for n in range(50)]
    body = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in events)
    assert replies.read("openai_chat", "sse", body, Pieces()).tokens == Tokens(9, 49)


def test_recorded_replies_of_providers_are_read() -> None:
    lines = shared_path("suites/streams/openai-chat.jsonl").read_text("utf-8").splitlines()[:150]
    counted = 0
    for line in lines:
        case = json.loads(line)
        body = case.get("body")
        if isinstance(body, str) and "event-stream" in (case.get("content_type") or ""):
            reply = replies.read("openai_chat", "sse", body.encode(), Pieces((0,), (len(body.encode()),)))
            counted += reply.tokens.input is not None
            assert len(reply.lanes) <= 8
    assert counted > 20


def test_an_unknown_wire_has_its_times_all_the_same() -> None:
    assert replies.read("", None, b"xy", Pieces((3, 5), (1, 1))).moments == Moments(first_byte=3, end=5)


# --- many -------------------------------------------------------------------------------------------------------------


def test_memory_is_bounded_and_the_scorecard_counts_on() -> None:
    turn = _turns()[0]
    sessions = Sessions(limit=10)
    for number in range(35):
        sessions.put(replace(turn, id=str(number), session=f"s{number % 3}"))
    assert (len(sessions), sessions.dropped) == (10, 25)
    assert sum(len(one.turns) for one in sessions.all()) == 10
    assert sessions.scorecard.total.counts == {"success": 35}


def test_equal_messages_are_kept_once() -> None:
    session = _session(_turns())
    messages = [message for turn in session.turns for message in turn.request.messages]
    different = {(one.role, one.digest) for one in messages}
    assert len(messages) > len({id(message) for message in messages}) == len(different)


def test_a_turn_that_is_told_anew_is_counted_once_and_one_that_goes_is_not() -> None:
    sessions = Sessions()
    turns = _turns()
    for turn in [*turns, *turns]:
        sessions.put(turn)
    assert sessions.scorecard.total.total == 5
    sessions.discard(turns[0].id)
    sessions.discard("never there")
    assert sessions.scorecard.total.counts == {"success": 1, "possible": 1, "leak": 1, "broken": 1}
    assert len(sessions) == 4


def test_the_scorecard_has_rows_by_model_dialect_tool_and_agent() -> None:
    sessions = Sessions()
    for turn in _turns():
        sessions.put(turn)
    card = sessions.scorecard
    assert [(row.name, row.total) for row in card.rows("model")] == [("qwen3-coder", 4), ("gpt-oss-120b", 1)]
    assert [(row.name, row.total) for row in card.rows("dialect")] == [("invoke", 4), ("native", 1)]
    assert [row.name for row in card.rows("agent")] == ["opencode"]
    (bash,) = [row for row in card.rows("tool") if row.name == "Bash"]
    assert bash.rate("leak") == bash.rate("broken") == 0.5


def test_a_table_of_the_scorecard_is_bounded() -> None:
    turn = _turns()[0]
    sessions = Sessions()
    for number in range(ROWS + 50):
        sessions.put(replace(turn, id=str(number), model=f"m{number}"))
    rows = sessions.scorecard.rows("model")
    assert len(rows) == ROWS + 1
    assert rows[0].name == OTHERS
    assert sum(row.total for row in rows) == ROWS + 50


def test_what_processors_did_is_told() -> None:
    flow = manyflows.session()[0]
    report = dict(flow.metadata["toolcalls"])
    change = {"rule": "clean up", "before": ["read_file", "{}"], "after": ["read_file", manyflows.SECRET]}
    first = report["verdicts"][0] | {"status": "blocked", "reason": "access", "rule": "no reading", "changes": [change]}
    note = {"rule": "loops", "text": "the same call 7 times", "warns": True, "lane": 0}
    turn = turn_of(record_of(flow, report | {"verdicts": [first], "notes": [note]}))
    (verdict,) = turn.verdicts
    assert (verdict.outcome, verdict.rule, verdict.changed) == (
        "blocked",
        "no reading",
        (("clean up", "read_file <redacted>"),),
    )
    assert turn.notes == ("loops: the same call 7 times",)
    shown = session_body(_session([turn]), "s")
    assert "blocked by the rule no reading" in shown
    assert "changed by clean up: read_file &lt;redacted&gt;" in shown


def test_a_call_beside_a_quoted_example_is_lifted() -> None:
    """What stays text as it should needs no look, where there is a call; a leak does."""
    call = manyflows.written("read_file", path="a.py")
    said = {
        f"{call}\n\n```\n{call}\n```\n": "lifted",
        f"```\n{call}\n```\n": "possibly lost",
        f"```\n{call}\n```\nSo it is done.": "declined",
        f"Now: {call}\n\n{call}": "declined",
    }
    for text, worst in said.items():
        turn = turn_of(record_of(manyflows.flow_of(text, [manyflows.user("go")], manyflows.streamed(text))))
        assert turn.worst == worst
