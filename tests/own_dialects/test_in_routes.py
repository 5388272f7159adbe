"""Forms that a configuration names: read, written, taught and translated on their routes, and known nowhere else."""

import json
import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http

from support.chatclient import received, stream
from support.exchanges import run
from support.ownforms import ACME, CALL
from support.rewritings import sent
from toolcalls import config
from toolcalls.dialects import all_dialects
from toolcalls.flows.exchange_plan import plan_for
from toolcalls.mitm import config_file
from toolcalls.own_dialects.loading import Loading
from toolcalls.request import Tool
from toolcalls.route import Config, Route
from toolcalls.wires import all_wires

CHAT = all_wires()["openai_chat"]
LS = {"name": "ls", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}
TOOLS = [{"type": "function", "function": LS}]
PAGE = {"messages": [{"role": "user", "content": "look"}], "tools": TOOLS, "stream": True}
INVOKE = '<invoke name="ls">\n<parameter name="path">.</parameter>\n</invoke>'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "forms").mkdir()
    (tmp_path / "forms" / "acme.yaml").write_text(ACME)
    return tmp_path


def loaded(folder: Path, *routes: str) -> Config:
    """A configuration with these routes, each a mapping on one line."""
    path = folder / "toolcalls.yaml"
    path.write_text("version: 1\nroutes:\n" + "".join(f"- {{name: r{i}, {one}}}\n" for i, one in enumerate(routes)))
    return config.load(path, all_dialects(), all_wires(), Loading())


def exchanged(made: Config, body: bytes, request: dict[str, Any] = PAGE, path: str = "/v1/chat/completions") -> Any:
    """What leaves, and the verdicts."""
    asked = http.Request.make("POST", f"http://upstream{path}", json.dumps(request).encode())
    exchange = plan_for(CHAT, asked, made).exchange("sse")
    out = run(exchange, [body[at : at + 7] for at in range(0, len(body), 7)])
    return received(out).choices[0], [verdict for _, verdict in exchange.verdicts]


# Reading


@pytest.mark.parametrize(
    "dialects",
    ["forms/acme.yaml", "[forms/acme.yaml]", "[invoke, forms/acme.yaml]", "[auto, forms/acme.yaml]",
     "[{file: forms/acme.yaml}]"],
)  # fmt: skip
def test_it_is_read_on_its_route(folder: Path, dialects: str) -> None:
    made = loaded(folder, f"dialects: {dialects}")
    for text in (CALL, f"I look.\n{CALL}"):
        reply, verdicts = exchanged(made, stream([text], "stop"))
        assert [(call["name"], call["arguments"]) for call in reply.calls] == [("ls", '{"path": "."}')]
        assert [(one.status, one.dialect) for one in verdicts] == [("lifted", "acme")]
        assert type(verdicts[0].dialect) is str
    others = exchanged(made, stream([INVOKE], "stop"))[0].calls
    assert bool(others) == ("invoke" in dialects or "auto" in dialects)


def test_two_routes_know_each_their_own(folder: Path) -> None:
    other = ACME.replace("<|acme|>", "<|other|>").replace("<|/acme|>", "<|/other|>")
    (folder / "forms" / "other.yaml").write_text(other.replace("name: acme", "name: other"))
    made = loaded(
        folder,
        "match: {path: /a/*}, dialects: [auto, forms/acme.yaml]",
        "match: {path: /b/*}, dialects: [auto, forms/other.yaml]",
        "match: {path: /c/*}",
    )
    said = stream([CALL], "stop")
    found = {at: exchanged(made, said, path=f"/{at}/chat/completions")[0].calls for at in "abc"}
    assert {at: len(calls) for at, calls in found.items()} == {"a": 1, "b": 0, "c": 0}
    assert not {"acme", "other"} & set(all_dialects())


def test_it_may_have_another_name(folder: Path) -> None:
    made = loaded(folder, "dialects: [{file: forms/acme.yaml, name: mine}]")
    assert [one.dialect for one in exchanged(made, stream([CALL], "stop"))[1]] == ["mine"]


# Writing


@pytest.mark.parametrize("client", ["client: forms/acme.yaml", "client: text, client_dialect: forms/acme.yaml"])
def test_native_calls_are_written_in_it(folder: Path, client: str) -> None:
    made = loaded(folder, f"{client}, upstream: native")
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}}
    outer = {"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    deltas = ({"role": "assistant", "tool_calls": [call]}, None), ({}, "tool_calls")
    chunks = [{**outer, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]} for delta, end in deltas]
    body = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in chunks) + b"data: [DONE]\n\n"
    reply, verdicts = exchanged(made, body)
    assert reply.text == CALL
    assert [(one.status, one.dialect) for one in verdicts] == [("lowered", "acme")]


def test_calls_in_it_stay_and_others_are_written_in_it(folder: Path) -> None:
    made = loaded(folder, "client: forms/acme.yaml, upstream: text")
    reply, verdicts = exchanged(made, stream([f"{CALL}\n"], "stop"))
    assert (reply.text, [one.status for one in verdicts]) == (f"{CALL}\n", ["lowered"])
    reply, verdicts = exchanged(made, stream([INVOKE], "stop"))
    assert (reply.text, [one.status for one in verdicts]) == (CALL.replace('"path": ', '"path":'), ["lowered"])


def test_a_rule_sees_calls_in_it(folder: Path) -> None:
    rule = "access: {rules: [{name: no, action: block, tools: [ls]}]}"
    for sides in ("client: forms/acme.yaml, upstream: text", "dialects: [auto, forms/acme.yaml]"):
        made = loaded(folder, f"{sides}, {rule}")
        reply, verdicts = exchanged(made, stream([CALL, "\n"], "stop"))
        assert (reply.calls, "acme" in reply.text) == ([], False)
        assert [one.status for one in verdicts] == ["blocked"]


# Requests


def test_tools_are_taught_in_it_and_past_calls_written(folder: Path) -> None:
    (route,) = loaded(folder, "client: native, upstream: forms/acme.yaml, rewrite_request: true").routes
    call = {"id": "c", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}}
    past = [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "a.txt"},
    ]
    made, _ = sent("openai_chat", {"messages": past, "tools": TOOLS}, route)
    system, _, assistant, result = made["messages"]
    assert "tools" not in made
    assert (
        CALL in system["content"].replace('"path": ""', '"path": "."').replace("...", ".")
        or "<|acme|>" in system["content"]
    )
    assert assistant["content"] == CALL
    assert result["content"] == "<|acme_result|>a.txt<|/acme_result|>"


def test_a_text_client_is_known_by_it(folder: Path) -> None:
    """Its prompt teaches the form of the route, so calls are written in that."""
    made = loaded(folder, "dialects: [auto, forms/acme.yaml]")
    prompt = f"Tools: ls(path).\n\nCall a tool like this:\n\n{CALL}\n"
    for messages in (
        [{"role": "system", "content": prompt}, {"role": "user", "content": "x"}],
        [{"role": "user", "content": "x"}, {"role": "assistant", "content": CALL}, {"role": "user", "content": "y"}],
    ):
        request = http.Request.make("POST", "http://u/v1/chat/completions", json.dumps({"messages": messages}).encode())
        decision = plan_for(CHAT, request, made).exchange("sse").decision
        assert (decision.client, decision.dialect) == ("text", "acme")
        assert plan_for(CHAT, request, Config()).exchange("sse").decision.dialect != "acme"


def test_a_client_of_it_sends_calls_that_become_native(folder: Path) -> None:
    (route,) = loaded(folder, "client: forms/acme.yaml, upstream: native, rewrite_request: true").routes
    past = [
        {"role": "system", "content": "Use ls."},
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": CALL},
        {"role": "user", "content": "<|acme_result|>a.txt<|/acme_result|>"},
    ]
    made, _ = sent("openai_chat", {"messages": past}, replace(route, tools=(Tool("ls", LS["parameters"]),)))
    assert [one["role"] for one in made["messages"]] == ["system", "user", "assistant", "tool"]
    assert made["messages"][2]["tool_calls"][0]["function"]["name"] == "ls"
    assert made["messages"][3]["content"] == "a.txt"


# Mistakes and changes


@pytest.mark.parametrize(
    ("route", "line"),
    [
        ("dialects: [forms/none.yaml]", "none.yaml:1: the file cannot be read: No such file or directory"),
        ("dialects: [auto, invoke]", 'routes[0].dialects: "auto" is all of the package; expected only files beside it'),
        ("dialects: [{name: x}]", 'routes[0].dialects[0]: expected the key "file"; found none'),
        ("dialects: [{file: forms/acme.yaml, name: hermes}]", 'name: the name "hermes" is taken; expected another one'),
        ("dialects: [forms/acme.yaml, forms/twin.yaml]", "another form of this configuration is named acme"),
        ("client: forms/broken.yaml", 'broken.yaml:2: form: expected one of tags, '),
    ],
)  # fmt: skip
def test_a_mistake_names_its_place(folder: Path, route: str, line: str) -> None:
    (folder / "forms" / "twin.yaml").write_text(ACME.replace("place: anywhere", "place: line"))
    (folder / "forms" / "broken.yaml").write_text(ACME.replace("form: json", "form: yaml"))
    with pytest.raises(config.ConfigError) as wrong:
        loaded(folder, route)
    (said,) = wrong.value.errors
    assert line in said
    assert said.startswith(str(folder))


def test_without_a_finder_a_file_is_a_mistake() -> None:
    with pytest.raises(config.ConfigError, match="expected auto, the name or file of a dialect"):
        config.parse("defaults: {dialects: forms/acme.yaml}", "c.yaml", all_dialects(), all_wires())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(config_file.time, "monotonic", lambda: now[0])
    return now


def test_a_form_is_read_again_when_its_file_changes(
    folder: Path, clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    loaded(folder, "dialects: [forms/acme.yaml]")
    form = folder / "forms" / "acme.yaml"
    read = config_file.ConfigFile(str(folder / "toolcalls.yaml"))

    def current(text: str) -> tuple[Config, str]:
        form.write_text(text)
        os.utime(form, ns=(1, int(clock[0] + 2) * 10**9))
        clock[0] += 2
        caplog.clear()
        return read.current(), caplog.text

    first = read.current()
    broken, said = current(ACME.replace("path: .}}]", "path: src}}]"))
    assert broken is first
    assert f"{form}:9: examples[0]: expected ls" in said
    assert len(caplog.records) == 1
    mended, _ = current(ACME.replace("<|acme|>", "<|acme2|>"))
    assert mended != first
    reply, _ = exchanged(mended, stream([CALL.replace("<|acme|>", "<|acme2|>")], "stop"))
    assert len(reply.calls) == 1
    assert exchanged(mended, stream([CALL], "stop"))[0].calls == []
    assert len(exchanged(first, stream([CALL], "stop"))[0].calls) == 1, "a reply that is under way keeps its own"


def test_the_start_fails_with_one_line(folder: Path) -> None:
    loaded(folder, "dialects: [forms/acme.yaml]")
    (folder / "forms" / "acme.yaml").write_text(ACME.replace("  closing: <|/acme|>\n", ""))
    with pytest.raises(config.ConfigError) as wrong:
        config_file.ConfigFile(str(folder / "toolcalls.yaml"))
    assert len(wrong.value.errors) == 1
    assert f"{folder / 'forms' / 'acme.yaml'}:4: data.closing" in str(wrong.value)


def test_routes_with_it_are_data(folder: Path) -> None:
    """They are compared, and go to other processes, as all routes do."""
    made = loaded(folder, "dialects: [forms/acme.yaml]")
    assert made == loaded(folder, "dialects: [forms/acme.yaml]")
    again = pickle.loads(pickle.dumps(made))
    assert again == made
    assert hash(again.routes[0].dialects) == hash(made.routes[0].dialects)
    assert replace(Route(), dialects=("acme",)) != Route()
