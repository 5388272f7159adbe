"""`toolcalls dialect draft`: a file that a configuration takes, from a reply or a recording; and `dialects --yaml`."""

import json
from pathlib import Path

import pytest
from test_new_dialect import REPLIES, same

from support.ownforms import in_a_file, sayable
from support.repository import REPO
from toolcalls import cli, config
from toolcalls.dialects import all_dialects
from toolcalls.own_dialects.form_file import form_in
from toolcalls.own_dialects.trial import read, tools_of
from toolcalls.shapes import Call
from toolcalls.wires import all_wires
from toolcalls.writing.writer import calls_in


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = cli.main(list(arguments))
    printed = capsys.readouterr()
    return status, printed.out, printed.err


@pytest.fixture
def reply(tmp_path: Path) -> Path:
    return tmp_path / "reply.txt"


@pytest.mark.parametrize(("text", "calls"), REPLIES.values(), ids=REPLIES)
@pytest.mark.parametrize("declared", [True, False], ids=["with tools", "without"])
def test_each_form_becomes_a_file_that_reads_the_reply(
    reply: Path, capsys: pytest.CaptureFixture[str], text: str, calls: list[Call], declared: bool
) -> None:
    reply.write_text(f"I look.\n\n{text}\n")
    made, tools = reply.with_name("acme.yaml"), reply.with_name("tools.json")
    tools.write_text(json.dumps([{"name": one.name, "parameters": one.schema} for one in tools_of(calls)]))
    given = ["--tools", str(tools)] if declared else []
    status, _, said = run(capsys, "dialect", "draft", str(reply), "--name", "acme", "-o", str(made), *given)
    assert status == 0, said
    assert ("types by the looks" in said) is not declared
    assert f"dialects: [auto, {made}]" in said
    form = form_in(made, all_dialects())
    assert same(calls_in(read([reply.read_text()], tools_of(calls), form)), calls)
    assert "Not sure" in made.read_text().partition("\n")[0]


def test_a_configuration_takes_what_was_drafted(reply: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reply.write_text(REPLIES["PairForm"][0])
    assert run(capsys, "dialect", "draft", str(reply), "-o", str(reply.with_name("acme.yaml")))[0] == 0
    written = reply.with_name("toolcalls.yaml")
    written.write_text("routes: [{dialects: [auto, acme.yaml]}]\n")
    assert run(capsys, "check-config", str(written))[0] == 0
    made = reply.with_name("acme.yaml")
    made.write_text(made.read_text().replace("value: v", "value: w"))
    status, _, said = run(capsys, "check-config", str(written))
    assert status == 2
    assert said.startswith(f"toolcalls check-config: {made}:")
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("Do <<Bash|command|ls>>", 1, "no form fits this reply"),
        ('<tool_call>{"name": "ls", "arguments": {"path": "."}}</tool_call>', 1, "hermes reads this reply already"),
        (" \n", 2, "reply.txt: there is no text in it"),
        (None, 2, "the file cannot be read"),
    ],
)
def test_what_gives_no_file(
    reply: Path, capsys: pytest.CaptureFixture[str], text: str | None, status: int, said: str
) -> None:
    if text is not None:
        reply.write_text(text)
    found, out, err = run(capsys, "dialect", "draft", str(reply))
    assert (found, out) == (status, "")
    assert said in err


@pytest.mark.parametrize("name", ["hermes", "Acme 7B", "auto"])
def test_a_bad_name(reply: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    reply.write_text(REPLIES["PairForm"][0])
    assert run(capsys, "dialect", "draft", str(reply), "--name", name)[0] == 2
    assert run(capsys, "dialects", "--yaml", "longcat", "--name", name)[0] == 2


def test_a_recording_gives_its_reply_and_its_tools(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The form of this one is nobody's; in a sound one there is nothing to draft."""
    status, _, said = run(capsys, "dialect", "draft", str(REPO / "recordings" / "call-in-unknown-marks.flow"))
    assert (status, "no form fits this reply" in said) == (1, True)
    path = tmp_path / "a.flow"
    path.write_bytes(_with_text(REPLIES["TagForm"][0]))
    status, out, said = run(capsys, "dialect", "draft", str(path))
    assert (status, "types by the looks" in said) == (0, False), said
    assert "run: {type: string}" in out or "name: Bash" in out
    assert run(capsys, "dialect", "draft", str(path), "--flow", "none")[0] == 2


def _with_text(text: str) -> bytes:
    """A recording of one exchange, whose reply is this text."""
    from mitmproxy.test import tflow  # noqa: PLC0415

    from toolcalls.flows.flow_files import serialized  # noqa: PLC0415

    flow = tflow.tflow(resp=True)
    schema = {"type": "object", "properties": {"command": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "Bash", "parameters": schema}}]
    asked = {"model": "m", "messages": [{"role": "user", "content": "look"}], "tools": tools}
    flow.request.method, flow.request.path = "POST", "/v1/chat/completions"
    flow.request.content = json.dumps(asked).encode()
    assert flow.response is not None
    message = {"role": "assistant", "content": text}
    flow.response.headers["content-type"] = "application/json"
    flow.response.content = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
    return serialized(flow)


@pytest.mark.parametrize("name", sayable()[::6])
def test_one_of_the_package_as_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    status, out, _ = run(capsys, "dialects", "--yaml", name)
    assert status == 0
    (tmp_path / "f.yaml").write_text(out)
    assert form_in(tmp_path / "f.yaml", all_dialects()) == in_a_file(name)


def test_one_that_is_code_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, said = run(capsys, "dialects", "--yaml", "forge")
    assert (status, out) == (1, "")
    assert "forge cannot be said as a file: its grammar is code of its own" in said
    assert run(capsys, "dialects", "--yaml", "forgee")[0] == 2


def test_texts_and_calls_are_tried_with_a_file(reply: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = reply.with_name("acme.yaml")
    made.write_text(run(capsys, "dialects", "--yaml", "longcat")[1])
    reply.write_text('<longcat_tool_call>{"name": "ls", "arguments": {}}</longcat_tool_call>')
    status, out, _ = run(capsys, "parse", "--policy", "lenient", "--dialect", str(made), str(reply))
    assert (status, json.loads(out)["calls"][0]["dialect"]) == (0, "my_longcat")
    calls = reply.with_name("calls.json")
    calls.write_text('{"calls": [{"name": "ls", "arguments": {}}]}')
    status, out, _ = run(capsys, "write", "--dialect", str(made), str(calls))
    assert (status, out.strip()) == (0, reply.read_text())
    assert run(capsys, "parse", "--dialect", str(reply.with_name("no.yaml")), str(reply))[0] == 2


def test_the_file_of_configurations_that_ship_needs_none() -> None:
    assert config.load(config.default_path(), all_dialects(), all_wires()).default.own == ()
