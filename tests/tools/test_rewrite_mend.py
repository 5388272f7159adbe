"""`"mend"` of a `toolcalls rewrite` job: as the route's, over a configuration's, and what a mistake says."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from support.commandline import results
from toolcalls.route import Mended

KINDS = ", ".join(get_args(Mended))
CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "now", "arguments": "{}"}}
CHOICES = [{"index": 0, "delta": {"tool_calls": [CALL]}, "finish_reason": "stop"}]
BODY = f"data: {json.dumps({'id': 'x', 'choices': CHOICES})}\n\ndata: [DONE]\n\n"


def rewritten(job: dict[str, Any], *options: str) -> dict[str, Any]:
    sides = {"wire": "openai_chat", "client": "native", "upstream": "native"}
    (found,) = results("rewrite", {"id": 1, **sides, "body": BODY, **job}, options=options)
    return found


@pytest.mark.parametrize("job", [{}, {"mend": ["protocol"]}])
def test_protocol_is_mended_where_nothing_else_is_said(job: dict[str, Any]) -> None:
    found = rewritten(job)
    assert '"finish_reason":"tool_calls"' in found["body"]
    assert [note["rule"] for note in found["notes"]] == ["finish_denies_calls"]


def test_nothing_is_mended_where_the_list_is_empty() -> None:
    found = rewritten({"mend": []})
    assert found["body"] == BODY
    assert [note["rule"] for note in found["notes"]] == ["finish_denies_calls"]


def test_a_job_overrides_the_configuration(tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("defaults: {mend: []}\n")
    assert rewritten({}, "--config", str(config))["body"] == BODY
    assert rewritten({"mend": ["protocol"]}, "--config", str(config))["body"] != BODY


@pytest.mark.parametrize(
    ("mend", "said"),
    [
        ("protocol", f"mend: expected a list of {KINDS}, or [] for none"),
        (["all"], f'mend[0]: unknown "all"; known are {KINDS}'),
        (["protocol", 1], f"mend[1]: unknown 1; known are {KINDS}"),
    ],
)
def test_mistakes(mend: object, said: str) -> None:
    assert rewritten({"mend": mend}) == {"id": 1, "error": said}


RAW = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'


@pytest.mark.parametrize("content_type", ["application/json", "text/plain"])
@pytest.mark.parametrize("status", [400, 500])
def test_an_error_passes_and_says_what_it_quotes(status: int, content_type: str) -> None:
    body = json.dumps({"error": {"code": status, "message": f"Failed to parse input at pos 5: {RAW}"}})
    found = rewritten({"body": body, "status": status, "content_type": content_type})
    assert (found["body"], found["verdicts"]) == (body, [])
    assert [note["rule"] for note in found["notes"]] == ["call_in_error"]
    assert RAW not in json.dumps(found["notes"])


TOOLS = [{"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}]


@pytest.mark.parametrize("stream", [False, True])
def test_a_mended_error_comes_back_with_the_new_status(stream: bool) -> None:
    body = json.dumps({"error": {"code": 500, "message": f"Failed to parse input at pos 5: {RAW}"}})
    request = {"model": "m", "messages": [], "tools": TOOLS, "stream": stream}
    found = rewritten({"body": body, "status": 500, "request": request, "mend": ["errors"]})
    assert (found["status"], found["content_type"]) == (200, "text/event-stream" if stream else "application/json")
    (verdict,) = found["verdicts"]
    assert (verdict["status"], verdict["name"], verdict["repairs"]) == ("native", "now", ["call_in_error"])
    (note,) = found["notes"]
    assert note["rule"] == "call_in_error"
    assert "status 500" in note["text"]
    assert found["body"].startswith("data: " if stream else "{")
    other = rewritten({"body": '{"error": "busy"}', "status": 503, "request": request, "mend": ["errors"]})
    assert (other["body"], "status" in other) == ('{"error": "busy"}', False)


def test_an_error_is_no_empty_reply() -> None:
    body = '{"detail": "not found"}'
    assert rewritten({"body": body, "status": 404})["notes"] == []
    assert [note["rule"] for note in rewritten({"body": body})["notes"]] == ["no_finish", "empty"]
