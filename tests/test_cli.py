"""The command line, as a script sees it: bytes in, bytes and an exit status out, nothing else."""

import base64
import inspect
import json
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support import anthropicclient, converseclient, invokeclient
from support.commandline import ENVIRONMENT, results, toolcalls
from support.loopback import LIMIT
from support.sampling import examples, some
from support.spoken import SPOKEN
from toolcalls import cli
from toolcalls.tools import write as write_command
from toolcalls.tools.parse import command as parse_command
from toolcalls.tools.rewrite import command as rewrite_command

READ_FILE = {"name": "read_file", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}
TOOLS = [{"type": "function", "function": READ_FILE}]
CALL = '<invoke name="read_file">\n<parameter name="path">a.py</parameter>\n</invoke>'
LIFTED = {"name": "read_file", "arguments": '{"path":"a.py"}', "dialect": "invoke"}


def test_a_run_is_what_it_is_from_the_start(tmp_path: Path) -> None:
    """Most runs here are forks of a process that has loaded all; one that has not gives the same."""
    path = tmp_path / "jobs.jsonl"
    path.write_text('{"text": "\\ud83d \\u00e9 \u65e5"}\n{', encoding="utf-8")
    runs = [["parse", "--jsonl", str(path)], ["parse", "--chunk", "0"], ["dialects"], ["nothing"]]
    for arguments in some(runs, 1, "runs from the start"):
        command = [sys.executable, "-m", "toolcalls", *arguments]
        run = subprocess.run(command, input=b"", capture_output=True, env=ENVIRONMENT, timeout=LIMIT, check=False)
        fork = toolcalls(*arguments)
        assert (run.returncode, run.stdout, run.stderr) == (fork.returncode, fork.stdout, fork.stderr)


def stream(text: str, size: int = 5) -> str:
    """A streamed reply that says `text`."""

    def event(delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        return f"data: {json.dumps(chunk)}\n\n"

    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    middle = "".join(event({"content": piece}) for piece in pieces)
    return event({"role": "assistant", "content": ""}) + middle + event({}, "stop") + "data: [DONE]\n\n"


@pytest.fixture
def tools(tmp_path: Path) -> str:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(TOOLS), encoding="utf-8")
    return str(path)


# parse


@pytest.mark.parametrize("chunk", [(), ("--chunk", "1"), ("--chunk", "7")], ids=["whole", "1", "7"])
@pytest.mark.parametrize("named", [True, False], ids=["file", "stdin"])
def test_parse(tools: str, tmp_path: Path, chunk: tuple[str, ...], named: bool) -> None:
    path = tmp_path / "reply.txt"
    path.write_bytes(f"Look.\r\n\n{CALL}".encode())
    run = toolcalls("parse", "--tools", tools, *chunk, *([str(path)] if named else []), stdin=path.read_bytes())
    assert (run.returncode, run.stderr) == (0, b"")
    verdict = {"status": "lifted", "reason": None, "dialect": "invoke", "name": "read_file", "start": 8}
    verdict |= {"rule": None, "changes": [], "nearest": [], "defects": [], "likely_meant": False, "broke": None}
    assert json.loads(run.stdout) == {
        "text": "Look.\r\n\n",
        "calls": [LIFTED],
        "verdicts": [{**verdict, "end": 8 + len(CALL), "repairs": [], "index": 0}],
    }


def test_parse_takes_no_call_from_a_reply_that_was_cut(tools: str) -> None:
    run = toolcalls("parse", "--tools", tools, "--finish", "length", stdin=CALL[:-15])
    assert json.loads(run.stdout)["calls"] == []
    assert [verdict["status"] for verdict in json.loads(run.stdout)["verdicts"]] == ["truncated"]


def test_parse_says_why_nothing_was_a_call() -> None:
    run = toolcalls("parse", stdin=CALL)
    assert json.loads(run.stdout)["text"] == CALL
    assert run.stderr == (
        b"toolcalls parse: no tools were declared, so nothing can be a call: give --tools FILE or --policy lenient\n"
    )


@pytest.mark.parametrize(
    "job",
    [
        pytest.param({"text": CALL, "tools": TOOLS}, id="tools"),
        pytest.param({"text": CALL, "tools": [READ_FILE]}, id="bare-tools"),
        pytest.param({"text": CALL, "request": {"tools": TOOLS, "messages": []}}, id="request"),
        pytest.param({"text": CALL, "request": {"tools": TOOLS}}, id="request-without-messages"),
        pytest.param({"text": CALL, "request": {}, "tools": TOOLS}, id="request-and-tools"),
        pytest.param({"text": CALL, "policy": "lenient"}, id="lenient"),
        pytest.param({"text": CALL, "tools": TOOLS, "policy": "strict"}, id="strict"),
        pytest.param({"text": CALL, "tools": TOOLS, "chunk": 1}, id="chunk"),
        pytest.param({"chunks": list(CALL), "tools": TOOLS}, id="chunks"),
        pytest.param({"chunks": [CALL, ""], "tools": TOOLS, "text": None}, id="null-is-missing"),
        pytest.param({"text": CALL, "tools": TOOLS, "allowed_tools": ["read_.*"]}, id="allowed"),
        pytest.param({"text": CALL, "tools": TOOLS, "allowed_tools": None}, id="all-allowed"),
        pytest.param({"text": CALL, "tools": TOOLS, "dialect": "invoke"}, id="dialect"),
        pytest.param({"text": CALL, "tools": TOOLS, "dialect": ["tagged", "invoke"]}, id="dialects"),
        pytest.param({"text": CALL, "tools": TOOLS, "finish": "stop"}, id="finish"),
    ],
)
def test_a_job_that_finds_the_call(job: dict[str, Any]) -> None:
    (result,) = results("parse", {"id": "x", **job})
    assert (result["id"], result["calls"], result["text"]) == ("x", [LIFTED], "")


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        pytest.param({"tools": TOOLS, "allowed_tools": []}, "not_allowed", id="none-allowed"),
        pytest.param({"tools": TOOLS, "allowed_tools": ["read"]}, "not_allowed", id="full-match"),
        pytest.param({"request": {"tools": TOOLS, "tool_choice": "none"}}, "tool_choice_none", id="tool-choice"),
        pytest.param({"tools": TOOLS, "starts_in_reasoning": True}, "reasoning", id="reasoning"),
        pytest.param({"request": {"messages": [{"role": "user", "content": CALL}]}, "tools": TOOLS}, "echo", id="echo"),
        pytest.param({"tools": []}, "no_tools", id="no-tools"),
    ],
)
def test_a_job_that_declines_the_call(job: dict[str, Any], reason: str) -> None:
    (result,) = results("parse", {"text": CALL, **job})
    assert (result["id"], result["calls"], result["text"]) == (None, [], CALL)
    assert [verdict["reason"] for verdict in result["verdicts"]] == [reason]


def test_options_hold_for_jobs_that_do_not_say_otherwise(tools: str) -> None:
    found = results("parse", {"text": CALL}, {"text": CALL, "tools": []}, options=("--tools", tools))
    assert [len(result["calls"]) for result in found] == [1, 0]


@pytest.mark.parametrize(
    ("line", "id_", "error"),
    [
        pytest.param(b"{", None, "this is not JSON: Expecting property name enclosed in double quotes", id="open"),
        pytest.param(b'"text"', None, "expected a JSON object", id="string"),
        pytest.param(b'{"id": 1, "text": NaN}', None, "this is not JSON: NaN", id="nan"),
        pytest.param(b'{"id": "\xff"}', None, "this is not UTF-8: byte 8 of the line", id="utf-8"),
        pytest.param(b'{"id": 1}', 1, "a job has either text or chunks", id="no-text"),
        pytest.param(b'{"id": [1], "text": 5}', [1], "text: expected a string, found 5", id="text"),
        pytest.param(b'{"id": 1, "text": "", "chunk": 0}', 1, "chunk: expected a whole number from 1", id="chunk"),
        pytest.param(b'{"id": 1, "chunks": ["a", 1]}', 1, "chunks: expected a list of strings", id="chunks"),
        pytest.param(
            b'{"id": 1, "text": "", "dialect": "x"}', 1, 'dialect: unknown "x"; known are auto and ', id="name"
        ),
        pytest.param(b'{"id": 1, "text": "", "policy": 3}', 1, "policy: unknown 3; known are standard, ", id="policy"),
        pytest.param(b'{"id": 1, "text": "", "tools": [{}]}', 1, "tools[0]: this tool has no name", id="tool"),
        pytest.param(b'{"id": 1, "text": "", "allowed_tools": ["("]}', 1, "allowed_tools[0]: not a", id="pattern"),
        pytest.param(b'{"id": 1, "text": "", "request": []}', 1, "expected a JSON object", id="request"),
        pytest.param(b'{"id": 1, "text": ' + b"[" * 9999 + b"]" * 9999 + b"}", 1, "text: ", id="deep"),
    ],
)
def test_a_job_that_cannot_be_read_does_not_end_the_rest(line: bytes, id_: object, error: str) -> None:
    before, wrong, after = results("parse", {"id": "before", "text": "a"}, line, {"id": "after", "text": "b"})
    assert (before["text"], after["text"]) == ("a", "b")
    assert wrong["id"] == id_
    assert wrong["error"].startswith(error)
    assert set(wrong) == {"id", "error"}


def test_an_id_comes_back_as_it_was_given() -> None:
    run = toolcalls("parse", "--jsonl", stdin=b'{"id": {"a": 1e400, "a": 10000000000000000000001}, "text": ""}\n')
    assert run.stdout.startswith(b'{"id": {"a": 1e400, "a": 10000000000000000000001}, "text": ""')


def test_a_result_leaves_before_the_next_job_comes() -> None:
    command = [sys.executable, "-m", "toolcalls", "parse", "--jsonl"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(3):
            process.stdin.write(json.dumps({"id": number, "text": ""}).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == number
        process.stdin.close()


@pytest.mark.parametrize("text", ["\ud800", "é\udfff\U0001f600", "\u2028\x85\x00", "\ufeff\r\n"])
def test_no_text_is_too_odd_to_be_written(text: str) -> None:
    run = toolcalls("parse", "--jsonl", stdin=json.dumps({"text": text}))
    assert json.loads(run.stdout)["text"] == text
    run = toolcalls(
        "write", "--dialect", "invoke", stdin=json.dumps({"calls": [{"name": "f", "arguments": {"a": text}}]})
    )
    assert run.returncode in (0, 1), run.stderr
    assert run.returncode == 1 or text in run.stdout.decode("utf-8", "surrogatepass")


def test_bytes_that_are_no_utf_8_are_not_lost(tools: str) -> None:
    run = toolcalls("parse", "--tools", tools, stdin=b"\xff\xc3")
    assert json.loads(run.stdout)["text"].encode("utf-8", "surrogateescape") == b"\xff\xc3"


def test_halves_of_a_character_in_two_pieces_make_the_character() -> None:
    run = toolcalls("parse", "--jsonl", stdin=b'{"chunks": ["\\ud83d", "\\ude00"]}\n')
    assert json.loads(run.stdout)["text"] == "\U0001f600"


# write


def test_write() -> None:
    job = {"calls": [{"name": "read_file", "arguments": '{"path":"a.py"}'}]}
    run = toolcalls("write", "--dialect", "invoke", stdin=json.dumps(job))
    assert (run.returncode, run.stderr) == (0, b"")
    assert run.stdout.decode() == f"<function_calls>\n{CALL}\n</function_calls>"


def test_calls_are_a_list_or_what_parse_gives(tools: str) -> None:
    bare = toolcalls("write", "--dialect", "invoke", stdin='\n [{"name": "read_file", "arguments": {"path": "a.py"}}]')
    assert (bare.returncode, bare.stderr) == (0, b"")
    parsed = toolcalls("parse", "--tools", tools, stdin=bare.stdout)
    assert toolcalls("write", "--dialect", "invoke", stdin=parsed.stdout).stdout == bare.stdout


def test_a_form_that_needs_the_declaration_says_so() -> None:
    run = toolcalls("write", "--dialect", "tagged", stdin='[{"name": "look_up", "arguments": {"path": "a.py"}}]')
    assert run.returncode == 1
    assert b"no tool of this name is declared" in run.stderr


def test_arguments_as_an_object_keep_what_was_written() -> None:
    arguments = '{"n": 1e400, "big": 123456789012345678901234567890, "d": [ 1.10, {"k" : "\\ud800 x"} ], "t": true}'
    run = toolcalls("write", "--dialect", "invoke", stdin='{"calls": [{"name": "f", "arguments": ' + arguments + "}]}")
    for kept in (b">1e400<", b">123456789012345678901234567890<", b'[1.10,{"k":"\\ud800 x"}]', b">true<"):
        assert kept in run.stdout


def test_write_then_parse(tools: str) -> None:
    names = [dialect["name"] for dialect in json.loads(toolcalls("dialects", "--json").stdout)]
    calls = [{"name": "read_file", "arguments": {"path": "a b\n</x>"}}]
    written = results("write", *({"dialect": name, "tools": TOOLS, "calls": calls} for name in names))
    read = results(
        "parse", *({"dialect": name, "tools": TOOLS, **one} for name, one in zip(names, written, strict=True))
    )
    for one in read:
        (call,) = one["calls"]
        assert json.loads(call["arguments"]) == {"path": "a b\n</x>"}
    written_by_one = toolcalls("write", "--dialect", names[0], "--tools", tools, stdin=json.dumps({"calls": calls}))
    assert written_by_one.stdout.decode() == written[0]["text"]


def test_a_refusal_is_exit_status_1_and_an_error_of_its_job() -> None:
    refused = {"id": 1, "calls": [{"name": "f", "arguments": "[1]"}]}
    run = toolcalls("write", "--dialect", "invoke", stdin=json.dumps(refused))
    assert (run.returncode, run.stdout, run.stderr.count(b"\n")) == (1, b"", 1)
    assert run.stderr.startswith(b"toolcalls write: ")
    good = {"id": 2, "calls": [{"name": "f", "arguments": {}}]}
    first, second = results("write", refused, good, options=("--dialect", "invoke"))
    assert (first["id"], set(first), second["id"], set(second)) == (1, {"id", "error"}, 2, {"id", "text"})


# rewrite


def rewritten(**job: Any) -> dict[str, Any]:
    (result,) = results("rewrite", {"id": 7, "tools": TOOLS, **job})
    assert result.pop("id") == 7
    return result


def test_rewrite_streams_a_lifted_call(tmp_path: Path) -> None:
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"messages": [], "tools": TOOLS}), encoding="utf-8")
    body = stream(f"Look.\n\n{CALL}")
    runs = [toolcalls("rewrite", "--request", str(request), *more, stdin=body) for more in ((), ("--chunk", "3"))]
    assert runs[0].stdout == runs[1].stdout
    assert b'"name":"read_file"' in runs[0].stdout.replace(b" ", b"")
    assert b"invoke" not in runs[0].stdout
    assert [json.loads(line)["status"] for line in runs[0].stderr.splitlines()] == ["lifted"]
    assert json.loads(runs[0].stderr)["arguments"] == '{"path":"a.py"}'


def test_rewrite_leaves_alone_what_needs_no_change() -> None:
    body = stream("Is 1 < 2? Yes.").replace("\n\n", "\r\n\r\n")
    run = toolcalls("rewrite", stdin=body)
    assert (run.returncode, run.stdout, run.stderr) == (0, body.encode(), b"")


@pytest.mark.parametrize(
    "split", [{}, {"chunk": 1}, {"chunks": [1, 0, 5]}, {"chunks": [100000]}], ids=["whole", "1", "chunks", "too-long"]
)
def test_any_split_gives_the_same_body(split: dict[str, Any]) -> None:
    body = stream(f"é\n\n{CALL}")
    text = rewritten(body=body, **split)
    encoded = rewritten(body_base64=base64.b64encode(body.encode()).decode(), **split)
    assert text == rewritten(body=body)
    assert base64.b64decode(encoded.pop("body_base64")).decode() == text.pop("body")
    assert encoded == text


def test_a_whole_reply_is_known_by_its_first_bytes_or_its_type() -> None:
    message = {"role": "assistant", "content": CALL}
    body = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    result = rewritten(body=body)
    assert result == rewritten(body=body, content_type="application/json; charset=utf-8")
    (choice,) = json.loads(result["body"])["choices"]
    assert choice["message"]["tool_calls"][0]["function"]["name"] == "read_file"
    assert rewritten(body=body, content_type="text/event-stream")["body"] == body


@pytest.mark.parametrize("wire", ["bedrock", "bedrock_converse"])
def test_bedrocks_streams_are_known_by_their_first_bytes(wire: str) -> None:
    client = invokeclient if wire == "bedrock" else converseclient
    body = client.written(anthropicclient.stream([anthropicclient.text("Look.\n\n", CALL[:30], CALL[30:])]))
    encoded = base64.b64encode(body).decode()
    for more in ({}, {"chunk": 5}, {"content_type": "application/vnd.amazon.eventstream"}):
        found = rewritten(wire=wire, body_base64=encoded, **more)
        reply = client.received(base64.b64decode(found["body_base64"]))
        assert (reply.text, [call["name"] for call in reply.calls]) == ("Look.\n\n", ["read_file"])
        assert [verdict["status"] for verdict in found["verdicts"]] == ["lifted"]
    whole = anthropicclient.whole(anthropicclient.stream([anthropicclient.text(CALL)]))
    whole = whole if wire == "bedrock" else converseclient.whole(whole)
    assert "read_file" in rewritten(wire=wire, body=whole.decode())["body"]


@pytest.mark.parametrize("wire", ["cohere", "gemini_interactions"])
def test_replies_of_cohere_and_of_interactions_are_rewritten(wire: str) -> None:
    said = SPOKEN[wire].said(["Look.\n\n", CALL[:30], CALL[30:]])
    found = rewritten(wire=wire, body=said.decode())
    text, calls = SPOKEN[wire].heard(found["body"].encode())
    assert (text, [name for name, _ in calls]) == ("Look.\n\n", ["read_file"])
    assert [verdict["status"] for verdict in found["verdicts"]] == ["lifted"]


def test_the_sides_can_be_dialects() -> None:
    native = rewritten(body=stream(CALL))["body"]
    lowered = rewritten(body=native, client="tagged", upstream="native")
    assert [(verdict["status"], verdict["dialect"]) for verdict in lowered["verdicts"]] == [("lowered", "tagged")]
    unread = rewritten(body=stream(CALL), upstream="tagged")
    assert (unread["body"], unread["verdicts"]) == (stream(CALL), [])
    assert [note["rule"] for note in unread["notes"]] == ["unknown_form"]


def test_a_reply_that_breaks_off_completes_no_call() -> None:
    body = stream(CALL)[: len(stream(CALL)) // 3]
    result = rewritten(body=body, cut=True)
    assert "read_file" not in result["body"]
    assert [verdict["status"] for verdict in result["verdicts"]] == ["truncated"]


def test_a_body_that_is_no_text_comes_back_as_base64() -> None:
    data = base64.b64encode(b"data: \xff\n\n").decode()
    found = rewritten(body_base64=data)
    assert (found["body_base64"], found["verdicts"]) == (data, [])


@pytest.mark.parametrize(
    ("job", "error"),
    [
        pytest.param({}, "a job has either body or body_base64", id="nothing"),
        pytest.param({"body": "", "body_base64": ""}, "a job has either body or body_base64", id="both"),
        pytest.param({"body_base64": "*"}, "body_base64: ", id="base64"),
        pytest.param({"body": "", "wire": "x"}, 'wire: unknown "x"; known are ', id="wire"),
        pytest.param(
            {"body": "", "client": "x"}, 'client: unknown "x"; known are auto, native, text and ', id="client"
        ),
        pytest.param({"body": "", "upstream": "x"}, 'upstream: unknown "x"; known are ', id="upstream"),
        pytest.param({"body": "", "policy": "x"}, 'policy: unknown "x"; known are standard', id="policy"),
        pytest.param({"body": "", "request": 5}, "request: ", id="request"),
        pytest.param({"body": "abc", "chunks": [-1]}, "chunks: a length is negative", id="chunks"),
    ],
)
def test_a_rewrite_that_cannot_be_done(job: dict[str, Any], error: str) -> None:
    result = rewritten(**job)
    assert set(result) == {"error"}
    assert result["error"].startswith(error)


# The rest


def test_dialects() -> None:
    rows = toolcalls("dialects").stdout.decode().splitlines()
    assert rows[0].split() == ["name", "reads", "writes", "detects", "what", "it", "is"]
    found = json.loads(toolcalls("dialects", "--json").stdout)
    assert {"invoke", "tagged"} <= {row["name"] for row in found}
    assert all(row["about"] and row["reads"] is True for row in found)
    fields = ("strength", "written_by", "source", "since", "example")
    assert all(row[field] for row in found for field in fields)
    shown = {line[:16].strip() for line in rows if line.startswith("    ")}
    assert {field.replace("_", " ") for field in fields} <= shown
    assert [row["name"] for row in found if row["detects"] == "no"] == []
    assert any(row.startswith("invoke   yes    yes") or row.split()[:3] == ["invoke", "yes", "yes"] for row in rows)


def test_check_config(tmp_path: Path) -> None:
    assert b": ok (" in toolcalls("check-config").stdout
    path = tmp_path / "toolcalls.yaml"
    path.write_text("version: 1\nroutes:\n- name: a\n  policy: lax\n  klient: text\n", encoding="utf-8")
    run = toolcalls("check-config", str(path))
    assert (run.returncode, run.stdout) == (2, b"")
    lines = run.stderr.decode().splitlines()
    assert [line.split(": ")[:2] for line in lines] == [["toolcalls check-config", f"{path}:{at}"] for at in (4, 5)]
    path.write_text("routes:\n- name: a\n", encoding="utf-8")
    assert toolcalls("check-config", str(path)).stdout.decode() == f"{path}: ok (1 route)\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["parse", "--tools", "{}"], r"TOOLS: tools: expected a list of tools", id="tools"),
        pytest.param(["parse", "--tools", "[\n\n{]"], r"TOOLS:3: this is not JSON: ", id="tools-line"),
        pytest.param(["parse", "--dialect", "nope"], 'dialect: unknown "nope"; did you mean "invoke"?', id="dialect"),
        pytest.param(
            ["parse", "no\nfile"], "no\\x0afile: the file cannot be read: No such file or directory", id="file"
        ),
        pytest.param(
            ["parse", "--chunk", "0"], "argument --chunk: expected a whole number from 1, found '0' (", id="size"
        ),
        pytest.param(["write", "--dialect", "invoke"], "stdin:1: this is not JSON: ", id="no-json"),
        pytest.param(["write"], "stdin:1: this is not JSON: ", id="no-dialect"),
        pytest.param(["rewrite", "--wire", "nope"], 'wire: unknown "nope"; known are ', id="wire"),
        pytest.param(["dialects", "more"], "unknown more (toolcalls", id="more"),
    ],
)
def test_bad_use_is_one_line_and_exit_status_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    path = tmp_path / "TOOLS"
    if "--tools" in arguments:
        path.write_text(arguments[2], encoding="utf-8")
        arguments = [*arguments[:2], str(path)]
    run = toolcalls(*arguments)
    assert (run.returncode, run.stdout) == (2, b"")
    (line,) = run.stderr.decode().splitlines()
    place = line.replace(str(path), "TOOLS")
    assert place.startswith((f"toolcalls {arguments[0]}: {message}", f"toolcalls: {message}"))


@pytest.mark.parametrize("command", ["demo", "parse", "write", "rewrite", "dialects", "check-config"])
def test_every_command_shows_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        cli.main([command, "--help"])
    assert left.value.code == 0
    example = capsys.readouterr().out.partition("\nexample:\n")[2]
    assert f"toolcalls {command}" in example


@pytest.mark.parametrize(
    ("command", "module"), [("parse", parse_command), ("write", write_command), ("rewrite", rewrite_command)]
)
def test_the_help_names_every_member_of_a_job(
    command: str, module: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    source = inspect.getsource(module)
    read = {name for pair in re.findall(r'\bjob\.\w+\("(\w+)"|"(\w+)" in job\b', source) for name in pair if name}
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    rows = capsys.readouterr().out.partition("--jsonl job")[2].splitlines()[1:]
    told = {name for row in rows for name in re.split(r", | or ", row.strip().partition("  ")[0])}
    assert told == read


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    command = [sys.executable, "-m", "toolcalls", "parse", "--jsonl"]
    lines = b'{"id": 1, "text": "a"}\n' * 5000
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(lines[:230])
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        with suppress(BrokenPipeError):
            process.stdin.write(lines)
        with suppress(BrokenPipeError):
            process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait(LIMIT) == 0


def test_commands_start_without_mitmproxy() -> None:
    code = "import sys; from toolcalls.cli import main; main(['parse', '--jsonl']); print('mitmproxy' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], input=b"", capture_output=True, env=ENVIRONMENT, timeout=LIMIT, check=True
    )
    assert run.stdout == b"False\n"


@settings(examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(lines=st.lists(st.binary(min_size=1, max_size=40).filter(lambda line: b"\n" not in line and line.strip())))
def test_a_line_a_result(lines: list[bytes], tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / "jobs.jsonl"
    path.write_bytes(b"x\n" + b"".join(line + b"\n" for line in lines))
    assert cli.main(["parse", "--jsonl", str(path)]) == 1
    found = [json.loads(line) for line in capfdbinary.readouterr().out.split(b"\n")[:-1]]
    assert len(found) == 1 + len(lines)
    assert all("id" in result for result in found)


# --- what is not there, and what is nearest --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["prase"], "toolcalls: COMMAND: unknown 'prase'; did you mean \"parse\"?"),
        (["parse", "--dialct", "x"], 'toolcalls parse: unknown --dialct; did you mean "--dialect"?'),
        (["parse", "--finish", "x"], "toolcalls parse: --finish: unknown 'x'; known are stop, length"),
        (["parse", "--dialect", "hermess"], 'toolcalls parse: dialect: unknown "hermess"; did you mean "hermes"?'),
        (["parse", "--dialect", "qqqqqqq"], 'toolcalls parse: dialect: unknown "qqqqqqq"; known are auto and what '),
        (["parse", "--policy", "strickt"], 'toolcalls parse: policy: unknown "strickt"; known are standard, '),
    ],
)
def test_an_unknown_word_gets_the_nearest_and_no_list_of_a_hundred(
    typed: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = cli.main(typed)
    except SystemExit as left:
        status = left.code
    (line,) = capsys.readouterr().err.splitlines()
    assert status == 2
    assert line.startswith(said)
    assert len(line) < 200


@pytest.mark.parametrize("command", ["parse", "write", "rewrite"])
def test_jobs_that_fail_are_named_by_their_lines(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = {
        "parse": '{"text": "x"}',
        "write": '{"dialect": "invoke", "calls": []}',
        "rewrite": '{"body": "{}"}',
    }[command]
    jobs = tmp_path / "jobs.jsonl"
    jobs.write_text(f"{good}\n\n[]\n{good}\nno\n", encoding="utf-8")
    assert cli.main([command, "--jsonl", str(jobs)]) == 1
    out, err = capsys.readouterr()
    assert ["error" in json.loads(line) for line in out.splitlines()] == [False, True, False, True]
    assert err == f"toolcalls {command}: {jobs}: 2 of 4 jobs failed, those of the lines 3, 5\n"
    jobs.write_text(f"{good}\n", encoding="utf-8")
    assert cli.main([command, "--jsonl", str(jobs)]) == 0


FLOW = str(Path(__file__).parents[1] / "recordings" / "agent-codex.flow")


@pytest.mark.parametrize(
    "command",
    [
        ["report", FLOW, "-o"],
        ["export", "--format", "jsonl", FLOW, "-o"],
        ["redact", FLOW],
        ["record", "merge", FLOW, "-o"],
        ["judge", FLOW, "--junit"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_an_output_in_a_folder_that_is_not_there(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "none"
    assert cli.main([*command, str(folder / "out")]) == 2
    assert f"{folder / 'out'}: there is no folder {folder}; make it first\n" in capsys.readouterr().err


def test_a_report_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.flow").touch()
    page = tmp_path / "out.html"
    assert cli.main(["report", str(tmp_path / "empty.flow"), "-o", str(page)]) == 1
    assert "hold no exchange with an LLM API, so no page was written\n" in capsys.readouterr().err
    assert not page.exists()


def test_a_collector_that_is_not_there_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["export", "--format", "otel", "-o", "http://127.0.0.1:9", FLOW]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(
        "toolcalls export: http://127.0.0.1:9: no collector answers there (Connection refused); start"
    )
