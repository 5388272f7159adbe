"""`toolcalls judge --mend`: what mending would have changed in recordings; and errors, which `judge` reads too."""

import json
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http

from support import manyflows
from support.loopback import chunk, streamed
from toolcalls import cli
from toolcalls.route import Mended

END = b"data: [DONE]\n\n"
BEGIN = chunk({"role": "assistant", "content": None})
QUOTED = '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.ts"}}\n</tool_call>'
CALL = {"index": 0, "id": "call_1", "type": "function"}


def _call(arguments: str, name: str = "read_file", **more: Any) -> bytes:
    return chunk({"tool_calls": [{**CALL, "function": {"name": name, "arguments": arguments}, **more}]})


# Replies, each with the kind that mends it ("" for none) and what that is counted as.
DAMAGED: dict[str, tuple[Mended, str, list[bytes]]] = {
    "denied": ("protocol", "finish_denies_calls", [BEGIN, _call('{"path": "a"}'), chunk({}, "stop"), END]),
    "no-id": ("protocol", "no_id", [BEGIN, _call('{"path": "a"}', id=""), chunk({}, "tool_calls"), END]),
    "json": ("json", "bad_arguments", [BEGIN, _call("{'path': 'a'}"), chunk({}, "tool_calls"), END]),
    "types": ("types", "wrong_type", [BEGIN, _call('{"path": {"a": 1}}'), chunk({}, "tool_calls"), END]),
    "names": ("names", "misspelt_name", [BEGIN, _call('{"path": "a"}', "Read_File"), chunk({}, "tool_calls"), END]),
    "reasoning": (
        "reasoning",
        "call_in_reasoning",
        [chunk({"reasoning_content": f"So I read it.\n{QUOTED}"}), chunk({}, "stop"), END],
    ),
    "tags": (
        "reasoning",
        "reasoning_in_text",
        [*streamed("<think>\nHm.\n</think>\nDone.")],
    ),
    "empty beside text": (
        "protocol",
        "empty_beside_text",
        [*streamed(manyflows.written("read_file", path="a"))[:-2], _call("{}", id="c"), chunk({}, "tool_calls"), END],
    ),
}  # fmt: skip
SOUND = {"sound": [BEGIN, _call('{"path": "a"}'), chunk({}, "tool_calls"), END], "text": streamed("Done.")}


def _error(status: int, message: str) -> http.HTTPFlow:
    flow = manyflows.flow_of(message, [manyflows.user("go")], [b""], told=False)
    assert flow.response is not None
    body = {"error": {"code": status, "message": message, "type": "server_error"}}
    flow.response = http.Response.make(status, json.dumps(body), {"content-type": "application/json"})
    return flow


def _asked(
    flows: list[http.HTTPFlow], tmp_path: Path, capsys: pytest.CaptureFixture[str], *more: str
) -> tuple[int, dict[str, Any]]:
    path = manyflows.write(tmp_path / "some.flow", flows)
    was = path.read_bytes()
    status = cli.main(["judge", "--json", *more, str(path)])
    assert path.read_bytes() == was
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return status, found


def _flow(name: str, pieces: list[bytes], *, told: bool = False) -> http.HTTPFlow:
    return manyflows.flow_of(name, [manyflows.user("go")], pieces, told=told)


@pytest.mark.parametrize("name", [*DAMAGED])
def test_each_kind_says_what_it_would_have_mended(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind, code, pieces = DAMAGED[name]
    flows = [_flow(name, pieces), *(_flow(*one) for one in SOUND.items())]
    for mend, mended in ((kind, 1), ("all", 1), ("protocol" if kind != "protocol" else "json", 0)):
        status, found = _asked(flows, tmp_path, capsys, "--mend", mend)
        assert (status, found["sum"]["changed"], found["sum"]["replies"]) == (mended, mended, 3)
        assert found["sum"]["mended"].get(code, 0) == mended
        assert found["sum"]["left"].get(code, 0) == 1 - mended
        assert [one["changed"] for one in found["flows"]] == [bool(mended), False, False]


def test_what_the_configuration_mends_already_is_said_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A recording has what its upstream sent: it is compared with a reply of which nothing is mended."""
    flow = _flow("denied", DAMAGED["denied"][2], told=True)
    _, found = _asked([flow], tmp_path, capsys, "--mend", "protocol")
    assert found["sum"]["mended"] == {"finish_denies_calls": 1}


def test_an_error_that_quotes_a_call_is_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quoting = _error(500, f"Failed to parse input at pos 7: {QUOTED}")
    flows = [quoting, _error(429, "slow down")]
    status, found = _asked(flows, tmp_path, capsys, "--mend", "all")
    assert (status, found["sum"]["mended"], found["sum"]["unread"]) == (1, {"call_in_error": 1}, 1)
    assert [verdict["name"] for verdict in found["flows"][0]["verdicts"]] == ["read_file"]
    status, found = _asked(flows, tmp_path, capsys, "--mend", "types")
    assert (status, found["sum"]["mended"], found["sum"]["left"]) == (0, {}, {"call_in_error": 1})


def test_judge_reads_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flows = [_error(500, f"Failed to parse input at pos 7: {QUOTED}"), _error(429, "slow down")]
    status, found = _asked(flows, tmp_path, capsys)
    assert status == 0
    quoting, refused = found["flows"]
    assert (quoting["change"], quoting["summary"]) == ("new", "warning: call_in_error")
    assert (refused["change"], refused["why"]) == (
        "unread",
        "it is an error with status 429 that quotes nothing of the model's",
    )


def test_the_lines_name_flows_and_the_sum(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flows = [_flow(name, pieces) for name, (_, _, pieces) in DAMAGED.items()] + [_flow("sound", SOUND["sound"])]
    path = manyflows.write(tmp_path / "some.flow", flows)
    assert cli.main(["judge", "--mend", "types, names", str(path)]) == 1
    *lines, total = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["left"] * 3 + ["mended"] * 2 + ["left"] * 3
    assert lines[3].endswith("mended wrong_type")
    assert total.startswith("2 of 9 replies would have been changed; mended wrong_type, misspelt_name; left ")


@pytest.mark.parametrize("kinds", ["everything", "types,everything"])
def test_a_kind_that_is_none_is_a_mistake(kinds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["judge", "--mend", kinds, "-"]) == 2
    assert "known are protocol, " in capsys.readouterr().err


def test_no_secret_stands_in_what_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = json.dumps({"path": manyflows.SECRET})
    flow = _flow("secret", [BEGIN, _call(told, id=""), chunk({}, "stop"), END])
    _, found = _asked([flow], tmp_path, capsys, "--mend", "all")
    assert found["sum"]["changed"] == 1
    assert manyflows.SECRET not in json.dumps(found)
