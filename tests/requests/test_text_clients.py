"""Clients that read their calls out of the text are left alone: what their model writes leaves byte for byte.

Strategy: requests without tools whose history or system prompt shows one dialect, and replies in that dialect, for all
dialects, streamed and whole, on two wires, by the default configuration; and prompts as agents and chat templates word
them (`tests/cases/prompts.yaml`). A reply in another dialect changes only where the prompt or the route names one.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pytest

from support import anthropicclient, chatclient
from support.casefiles import CaseFile, case_file, load
from support.casereports import no_mistakes
from support.exchanges import run, words
from toolcalls.dialects import about, all_dialects
from toolcalls.events import Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request, Tool
from toolcalls.requests.conversation import conversation_of, request_of
from toolcalls.requests.evidence import Decision, call_policy_of, decide
from toolcalls.requests.prompt_tools import tools_in
from toolcalls.requests.rewriting import rewrite
from toolcalls.requests.spoken_dialects import taught_in, used_in
from toolcalls.route import VTC_CLIENT_PATTERNS, Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form
from toolcalls.writing import prompting
from toolcalls.writing.writer import calls_in


def _reads_alone(dialect: str) -> bool:
    """Whether a dialect reads its example where no tools are known."""
    reader = Reader(CallPolicy(Route(dialects=(dialect,)), Request(), allow_undeclared=True), tools=Toolbox())
    return bool(calls_in([*reader.feed(about(dialect).example), *reader.finish(cut=False)]))


READ_FILE = Tool("read_file", {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}, "-")
PROMPTS = load("prompts")["prompts"]
TAUGHT = {prompt["title"]: prompt for prompt in PROMPTS}
CLINE, OPENHANDS = TAUGHT["Cline"]["system"], TAUGHT["OpenHands"]["system"]
HERMES = '<tool_call>\n{"name": "read_file", "arguments": {"path": "src/a.ts"}}\n</tool_call>'
INVOKE = '<invoke name="read_file">\n<parameter name="path">src/a.ts</parameter>\n</invoke>'
TAGGED = "<read_file>\n<path>src/a.ts</path>\n</read_file>"

# Their grammars need declared tools, and these prompts declare them in no form that is known here.
BY_TOOLS = frozenset(name for name in all_dialects() if not _reads_alone(name))
# Forms that many dialects share to the letter, so that none of them can be told from the others.
SHARED = frozenset({"apriel", "hunyuan_a13b", "jamba", "cohere_cmd3", "cohere_cmd4", "json_array", "xlam"})


def _chat_whole(pieces: Sequence[str]) -> bytes:
    message = {"role": "assistant", "content": "".join(pieces)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps(
        {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    ).encode()


def _messages_whole(pieces: Sequence[str]) -> bytes:
    said = {"content": [{"type": "text", "text": "".join(pieces)}], "stop_reason": "end_turn", "stop_sequence": None}
    usage = {"input_tokens": 1, "output_tokens": 1}
    return json.dumps(
        {"id": "m", "type": "message", "role": "assistant", "model": "m", **said, "usage": usage}
    ).encode()


def _messages_streamed(pieces: Sequence[str]) -> bytes:
    return anthropicclient.written(anthropicclient.stream([anthropicclient.text(*pieces)]))


FORMS: dict[str, tuple[str, Form, Callable[[Sequence[str]], bytes]]] = {
    "Chat, streamed": ("openai_chat", "sse", chatclient.stream),
    "Chat, whole": ("openai_chat", "whole", _chat_whole),
    "Messages, streamed": ("anthropic", "sse", _messages_streamed),
    "Messages, whole": ("anthropic", "whole", _messages_whole),
}
each_form = pytest.mark.parametrize("form", FORMS)


def request_body(form: str, *, system: str = "", history: Sequence[str] = ()) -> bytes:
    """A request without tools. `history` are the model's earlier replies."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Help me."}]
    for reply in history:
        messages += [{"role": "assistant", "content": reply}, {"role": "user", "content": "Here it is: nothing."}]
    if FORMS[form][0] == "anthropic":
        return json.dumps({"model": "m", "max_tokens": 9, "system": system, "messages": messages}).encode()
    return json.dumps({"model": "m", "messages": [{"role": "system", "content": system}, *messages]}).encode()


def exchange(form: str, body: bytes, *, route: Route | None = None, agent: str = "") -> Exchange:
    """What the evidence makes of a request."""
    wire = all_wires()[FORMS[form][0]]
    request, route = request_of(wire, body), route or Route()
    decision = decide(route, request, {"user-agent": agent}, VTC_CLIENT_PATTERNS)
    call_policy, tools = call_policy_of(route, request, decision)
    return Exchange(wire, call_policy, decision, tools, form=FORMS[form][1], seed=b"s")


def reply(form: str, text: str) -> bytes:
    """A reply with this text, in small pieces where it is streamed."""
    return FORMS[form][2]([text[at : at + 5] for at in range(0, len(text), 5)])


def text_of(form: str, body: bytes) -> str:
    """The text that a client of the API makes of a body."""
    wire, kind, _ = FORMS[form]
    if kind == "whole":
        data = json.loads(body)
        if wire == "openai_chat":
            assert "tool_calls" not in data["choices"][0]["message"]
            return str(data["choices"][0]["message"]["content"])
        assert all(block["type"] == "text" for block in data["content"])
        return "".join(block["text"] for block in data["content"])
    got = chatclient.received(body).choices[0] if wire == "openai_chat" else anthropicclient.received(body)
    assert not got.calls
    return got.text


def verdicts(made: Exchange) -> list[Verdict]:
    return [verdict for _, verdict in made.verdicts]


def shows(dialect: str, where: str) -> dict[str, Any]:
    """The parts of a request that show a dialect: in its history, or in its prompt, alone or in our own words."""
    example = about(dialect).example
    if where == "history":
        return {"history": [example]}
    if where == "prompt":
        return {"system": f"You are an agent. Call a tool like this:\n\n{example}\n"}
    try:
        return {"system": prompting.prompt(dialect, [READ_FILE])}
    except Unwritable:
        return {"system": f"Form:\n{example}"}


# --- every dialect ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["history", "prompt", "our prompt"])
@pytest.mark.parametrize("dialect", all_dialects())
def test_a_reply_in_the_clients_dialect_passes(dialect: str, where: str) -> None:
    for form in FORMS:
        request = request_body(form, **shows(dialect, where))
        for before in ("", "I look at it.\n\n"):
            made = exchange(form, request)
            body = reply(form, before + about(dialect).example)
            assert run(made, [body[at : at + 97] for at in range(0, len(body), 97)]) == body
            if dialect in BY_TOOLS or (before and all_dialects()[dialect].place == "message"):
                continue  # its grammar finds no call in it
            found = [verdict for verdict in verdicts(made) if verdict.name == about(dialect).call.name]
            assert found, words(made)
            assert all(verdict.status in {"lowered", "declined"} for verdict in found)
            assert {verdict.dialect for verdict in found} <= {dialect} | _siblings(dialect)


def _siblings(dialect: str) -> frozenset[str]:
    return SHARED if dialect in SHARED else frozenset()


@pytest.mark.parametrize("where", ["history", "prompt"])
@pytest.mark.parametrize("dialect", [name for name in all_dialects() if name not in BY_TOOLS | SHARED])
def test_the_dialect_is_known(dialect: str, where: str) -> None:
    example = about(dialect).example
    if where == "history":
        assert used_in([example], "") == (dialect,)
    elif all_dialects()[dialect].place != "message":
        assert taught_in(f"You are an agent. Call a tool like this:\n\n{example}\n") == (dialect,)


@pytest.mark.parametrize("dialect", sorted(SHARED))
def test_what_dialects_share_is_none_of_them(dialect: str) -> None:
    assert dialect in used_in([about(dialect).example], "")
    assert set(used_in([about(dialect).example], "")) <= SHARED


# --- prompts of agents and chat templates -----------------------------------------------------------------------------

each_prompt = pytest.mark.parametrize("prompt", [pytest.param(one, id=one["title"]) for one in PROMPTS])


@pytest.mark.parametrize("file", [pytest.param(case_file("prompts"), id="prompts")])
def test_a_file_has_the_format(file: CaseFile) -> None:
    """A case with a mistake fails here, and in no other test."""
    no_mistakes(file)


@each_prompt
def test_a_prompt_teaches_what_it_says(prompt: Mapping[str, Any]) -> None:
    assert list(taught_in(prompt["system"])) == prompt["teaches"]


@each_prompt
@each_form
def test_an_agents_own_calls_pass(prompt: Mapping[str, Any], form: str) -> None:
    for before in ("", "I look at it.\n\n"):
        made = exchange(form, request_body(form, system=prompt["system"], history=[prompt["calls"]]))
        body = reply(form, before + prompt["calls"])
        assert run(made, [body]) == body
        dialects = [all_dialects()[name] for name in prompt["teaches"]]
        if dialects and not (before and dialects[0].place == "message"):
            assert [(one.status, one.dialect) for one in verdicts(made)] == [("lowered", prompt["teaches"][0])]


@each_prompt
def test_a_leak_in_the_history_does_not_outrank_the_prompt(prompt: Mapping[str, Any]) -> None:
    if not prompt["teaches"]:
        return
    leak = about("deepseek_dsml").example
    made = exchange("Chat, whole", request_body("Chat, whole", system=prompt["system"], history=[leak]))
    assert made.decision.dialect == prompt["teaches"][0]


# --- other dialects ---------------------------------------------------------------------------------------------------


@each_form
@pytest.mark.parametrize("agent", ["Cline/3.82.0", "unheard/1"])
def test_a_call_in_another_dialect_is_written_in_the_one_that_the_prompt_names(form: str, agent: str) -> None:
    made = exchange(form, request_body(form, system=CLINE), agent=agent)
    out = run(made, [reply(form, f"I look at it.\n\n{HERMES}")])
    assert text_of(form, out) == f"I look at it.\n\n{TAGGED}"
    assert words(made) == ["lowered read_file (hermes)"]


@each_form
def test_what_begins_as_in_the_clients_own_dialect_is_not_translated(form: str) -> None:
    made = exchange(form, request_body(form, system=TAUGHT["Qwen 2.5 and Qwen 3"]["system"]))
    body = reply(form, f"I look at it.\n\n{TAUGHT['Qwen 3 Coder']['calls']}")
    assert run(made, [body]) == body


@each_form
def test_a_dialect_that_only_the_history_shows_is_written_for_native_calls_alone(form: str) -> None:
    made = exchange(form, request_body(form, history=[HERMES]))
    assert (made.decision.dialect, made.decision.translates) == ("hermes", False)
    body = reply(form, f"I look at it.\n\n{INVOKE}")
    assert run(made, [body]) == body
    assert words(made) == ["declined other_dialect read_file (invoke)"]


@each_form
@pytest.mark.parametrize("shown", [f"{HERMES}\n\nor\n\n{INVOKE}", about("jamba").example], ids=["two", "three alike"])
def test_where_several_dialects_fit_nothing_is_changed(form: str, shown: str) -> None:
    for parts in ({"system": f"Call like this:\n\n{shown}"}, {"history": [shown]}):
        for text in (HERMES, INVOKE, about("jamba").example, about("qwen3_xml").example):
            made = exchange(form, request_body(form, **parts))
            assert made.decision.dialect is None
            body = reply(form, f"I look at it.\n\n{text}")
            assert run(made, [body]) == body


def test_a_native_call_stays_native_where_several_dialects_fit() -> None:
    body = request_body("Chat, whole", system=f"Call like this:\n\n{HERMES}\n\nor\n\n{INVOKE}")
    call = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path":"src/a.ts"}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    said = json.dumps({"id": "x", "created": 1, "model": "m", "choices": [choice]}).encode()
    made = exchange("Chat, whole", body)
    assert run(made, [said]) == said
    assert words(made) == ["native read_file"]


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("invoke", f"<minimax:tool_call>\n{INVOKE}\n</minimax:tool_call>"),
        (
            "openhands_fn",
            "<tool_call>\n<function=terminal>\n<parameter=command>ls</parameter>\n</function>\n</tool_call>",
        ),
        ("qwen3_xml", "<tool_call><function=read_file><parameter=path>a</parameter></function></tool_call>"),
    ],
)
@each_form
def test_what_the_client_reads_as_well_passes(dialect: str, text: str, form: str) -> None:
    """Another dialect reads it, too, and more of it; the client would find the same call in it."""
    shown = about(dialect).example
    made = exchange(form, request_body(form, system=f"Call like this:\n\n{shown}\n"))
    assert made.decision.dialect == dialect
    body = reply(form, text)
    assert run(made, [body]) == body
    assert [one.status for one in verdicts(made)] == ["lowered"]


def test_a_mention_of_an_opener_is_no_evidence() -> None:
    for said in (
        "Never write <tool_call> yourself.",
        "<invoke name= is for others",
        "Use <function=... and </function>.",
    ):
        made = exchange("Chat, whole", request_body("Chat, whole", system=said, history=[f"`{said}`"]))
        assert (made.decision.client, made.decision.dialect) == ("unknown", None)


def test_a_fenced_example_in_the_history_is_no_evidence() -> None:
    example = f"It is done so:\n\n```\n{HERMES}\n```\n"
    made = exchange("Chat, whole", request_body("Chat, whole", history=[example]))
    assert made.decision.client == "unknown"


def test_tools_that_a_prompt_declares_are_not_calls() -> None:
    declared = '{"name": "read_file", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}'
    for opener, closer in (("<tools>", "</tools>"), ("<tool>", "</tool>"), ("<tool_call>", "</tool_call>")):
        assert taught_in(f"Tools:\n{opener}\n{declared}\n{closer}\n") == ()


def test_the_decision_says_what_was_found() -> None:
    body = request_body("Chat, whole", system=CLINE, history=[HERMES])
    decision: Decision = exchange("Chat, whole", body, agent="Cline/3.82.0").decision
    assert decision.evidence == (
        "the client matches cline (user-agent)",
        "the system prompt teaches tagged",
        "the history holds calls in hermes",
        "clients that read tagged take one call a message",
    )
    assert [tool.name for tool in tools_in(CLINE)][:2] == ["execute_command", "read_file"]


# --- one call a message -----------------------------------------------------------------------------------------------


def natively(form: str, *calls: tuple[str, dict[str, Any]], text: str = "") -> bytes:
    """A reply with text and native calls."""
    wire, kind, _ = FORMS[form]
    given = [(name, json.dumps(arguments)) for name, arguments in calls]
    if wire == "anthropic":
        said = [anthropicclient.text(text)] if text else []
        blocks = [anthropicclient.call(f"t{n}", name, arguments) for n, (name, arguments) in enumerate(given)]
        events = anthropicclient.stream([*said, *blocks], "tool_use")
        return anthropicclient.written(events) if kind == "sse" else anthropicclient.whole(events)
    if kind == "sse":
        natives = [chatclient.native(Call(*call), n, [call[1]]) for n, call in enumerate(given)]
        head = chatclient.stream([text] if text else [], None)
        return head + b"".join(natives) + chatclient.ending("tool_calls")
    body = json.loads(_chat_whole([text]))
    functions = [{"name": name, "arguments": arguments} for name, arguments in given]
    made = [{"id": f"c{n}", "type": "function", "function": function} for n, function in enumerate(functions)]
    body["choices"][0]["message"]["tool_calls"] = made
    body["choices"][0]["finish_reason"] = "tool_calls"
    return json.dumps(body).encode()


LS = ("execute_command", {"command": "ls", "requires_approval": False})
READ = ("read_file", {"path": "src/a.ts"})
LS_TAGGED = "<execute_command>\n<command>ls</command>\n<requires_approval>false</requires_approval>\n</execute_command>"


@each_form
@pytest.mark.parametrize("title", ["Cline", "Roo Code", "OpenHands", "LangChain, ReAct"])
def test_a_client_that_takes_one_call_gets_the_first(form: str, title: str) -> None:
    first, second = (("terminal", {"command": "ls"}), ("terminal", {"command": "pwd"})) if title == "OpenHands" else (
        ("list_files", {"path": "src"}), ("list_files", {"path": "lib"})
    )  # fmt: skip
    made = exchange(form, request_body(form, system=TAUGHT[title]["system"]))
    text = text_of(form, run(made, [natively(form, first, second)]))
    assert next(iter(first[1].values())) in text
    assert next(iter(second[1].values())) not in text
    assert words(made) == [f"blocked multiple_calls {second[0]}", f"lowered {first[0]} ({made.decision.dialect})"]
    assert [call.name for _, call in made.client_calls] == [first[0]]


@each_form
def test_the_second_call_of_a_reply_whose_first_is_text_is_withheld(form: str) -> None:
    made = exchange(form, request_body(form, system=CLINE))
    text = text_of(form, run(made, [natively(form, LS, text=TAGGED)]))
    assert text == TAGGED
    assert sorted(words(made)) == ["blocked multiple_calls execute_command", "lowered read_file (tagged)"]


@each_form
def test_of_two_calls_in_another_dialect_the_first_is_written(form: str) -> None:
    made = exchange(form, request_body(form, system=CLINE))
    other = HERMES.replace("a.ts", "b.ts")
    assert text_of(form, run(made, [reply(form, f"Two.\n\n{HERMES}\n{other}\nDone.")])) == f"Two.\n\n{TAGGED}\nDone."
    assert words(made) == ["lowered read_file (hermes)", "blocked multiple_calls read_file (hermes)"]
    assert len(made.client_calls) == 1


@each_form
def test_two_calls_in_the_clients_own_dialect_pass(form: str) -> None:
    made = exchange(form, request_body(form, system=CLINE))
    body = reply(form, f"Two.\n\n{TAGGED}\n\n{TAGGED.replace('a.ts', 'b.ts')}")
    assert run(made, [body]) == body


@each_form
@pytest.mark.parametrize("dialect", ["tagged", "hermes"])
@pytest.mark.parametrize("multiple_calls", [True, False, None])
def test_the_route_says_how_many_calls_a_client_takes(form: str, dialect: str, multiple_calls: bool | None) -> None:
    route = Route(client="text", client_dialect=dialect, multiple_calls=multiple_calls)
    made = exchange(form, request_body(form, system=CLINE), route=route)
    text = text_of(form, run(made, [natively(form, LS, READ)]))
    one = multiple_calls is False or (multiple_calls is None and dialect == "tagged")
    assert made.decision.one_call == one
    assert ("src/a.ts" in text) != one
    assert ("blocked multiple_calls read_file" in words(made)) == one


def test_the_finish_reason_promises_no_call() -> None:
    made = exchange("Chat, whole", request_body("Chat, whole", system=CLINE))
    out = json.loads(run(made, [natively("Chat, whole", LS, READ)]))
    assert out["choices"][0]["finish_reason"] == "stop"
    assert out["choices"][0]["message"]["content"] == LS_TAGGED


def asked(form: str, body: bytes, **settings: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What a request becomes for an upstream that calls natively, and the notes."""
    wire = all_wires()[FORMS[form][0]]
    route = Route(upstream="native", rewrite_request=True, **settings)
    request = request_of(wire, body)
    decision = decide(route, request, {}, VTC_CLIENT_PATTERNS)
    format_ = partial(conversation_of, wire.name)
    made = rewrite(format_(body), call_policy_of(route, request, decision)[0], decision)
    return json.loads(made.conversation.written()), made.notes


@pytest.mark.parametrize("multiple_calls", [None, True, False])
def test_the_request_asks_for_one_call(multiple_calls: bool | None) -> None:
    chat, _ = asked("Chat, whole", request_body("Chat, whole", system=CLINE), multiple_calls=multiple_calls)
    messages, _ = asked("Messages, whole", request_body("Messages, whole", system=CLINE), multiple_calls=multiple_calls)
    one = multiple_calls is not True
    assert chat.get("parallel_tool_calls") == (False if one else None)
    assert messages.get("tool_choice") == ({"type": "auto", "disable_parallel_tool_use": True} if one else None)


def test_responses_are_asked_for_one_call() -> None:
    wire, route = all_wires()["openai_responses"], Route(upstream="native", rewrite_request=True)
    body = json.dumps({"model": "m", "instructions": CLINE, "input": "Help me."}).encode()
    request = request_of(wire, body)
    decision = decide(route, request, {}, VTC_CLIENT_PATTERNS)
    made = rewrite(conversation_of(wire.name, body), call_policy_of(route, request, decision)[0], decision)
    assert json.loads(made.conversation.written())["parallel_tool_calls"] is False


def test_a_history_that_cannot_be_lifted_is_noted() -> None:
    two = f"{TAGGED}\n\n{TAGGED.replace('a.ts', 'b.ts')}"
    turns = [{"role": "system", "content": CLINE}, {"role": "user", "content": "Help me."}]
    turns += [
        {"role": "assistant", "content": two},
        {"role": "user", "content": "[read_file for 'src/a.ts'] Result:\nx"},
    ]
    turns += [
        {"role": "assistant", "content": TAGGED},
        {"role": "user", "content": "[read_file for 'src/a.ts'] Result:\ny"},
    ]
    made, notes = asked("Chat, whole", json.dumps({"model": "m", "messages": turns}).encode())
    assert "left as text: 2 past calls, since not each of a message's calls has a result" in notes
    assert "1 past call to native" in notes
    assert [message.get("content") for message in made["messages"]][2] == two


@each_form
def test_a_call_that_cannot_be_written_stays_native_and_the_one_behind_it_is_the_first(form: str) -> None:
    made = exchange(form, request_body(form, system=CLINE))
    run(made, [natively(form, ("read_file", {"path": "</path></read_file>"}), READ, LS)])
    assert sorted(words(made)) == [
        "blocked multiple_calls execute_command",
        "lowered read_file (tagged)",
        "native unwritable read_file",
    ]
