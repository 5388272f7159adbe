"""Requests of Gemini rewritten: what the upstream is sent instead, and the laws of `test_rewriting` for this wire.

Strategy: whole requests go through format and rewriting as the addon does it, bare and in the envelope of Code Assist;
what is in the new body is read by hand. Laws: the same bytes every time, nothing to do the second time, an earlier
content never changes when a later one is added, and what is unknown survives.
"""

import json
from functools import partial
from typing import Any

import pytest

from support import rewritings
from support.repository import shared_path
from support.rewritings import CLINE, LIFT, LOWER, MEND, through
from toolcalls.requests.conversation import conversation_of
from toolcalls.requests.rewriting import NATIVELY, NOT_EXECUTED
from toolcalls.route import Route
from toolcalls.wires import all_wires

FORMAT = partial(conversation_of, "gemini")
WIRE = all_wires()["gemini"]
SCHEMA = {"type": "OBJECT", "properties": {"path": {"type": "STRING"}}, "required": ["path"]}
READ = {"functionDeclarations": [{"name": "read_file", "description": "Reads.", "parameters": SCHEMA}]}
LEAKED = 'Let me look.\n<invoke name="read_file">\n<parameter name="path">x</parameter>\n</invoke>'


def sent(request: dict[str, Any], route: Route) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Bare, and the same in the envelope of Code Assist."""
    made, notes = rewritings.sent("gemini", request, route)
    wrapped, _ = through("gemini", json.dumps({"model": "m", "project": "p", "request": request}).encode(), route)
    assert json.loads(wrapped) == {"model": "m", "project": "p", "request": made}
    return made, notes


HISTORY: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": "Look."}, {"inlineData": {"mimeType": "image/png", "data": "aGk="}}]},
    {"role": "model", "parts": [
        {"text": "hm", "thought": True}, {"text": "I look.", "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "read_file", "args": {"path": "x", "n": 1.10}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "ls"}},
    ]},
    {"role": "user", "parts": [
        {"functionResponse": {"name": "ls", "response": {"a": 1}}},
        {"functionResponse": {"name": "read_file", "response": {"output": "one"}}},
    ]},
    {"role": "model", "parts": [{"text": "Done."}]},
]  # fmt: skip


def test_a_native_request_for_a_text_upstream() -> None:
    body = {
        "systemInstruction": {"parts": [{"text": "Be brief."}], "role": "system"}, "contents": HISTORY,
        "tools": [READ], "generationConfig": {"temperature": 0.10}, "x": 12345678901234567890,
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}, "retrievalConfig": {"languageCode": "de"}},
    }  # fmt: skip
    made, notes = sent(body, LOWER)
    assert "tools" not in made
    assert made["toolConfig"] == {"retrievalConfig": {"languageCode": "de"}}
    assert (made["generationConfig"], made["x"]) == ({"temperature": 0.10}, 12345678901234567890)
    system = made["systemInstruction"]
    assert system["role"] == "system"
    assert system["parts"][0] == {"text": "Be brief."}
    assert '"name": "read_file"' in system["parts"][1]["text"]
    assert '"type": "string"' in system["parts"][1]["text"]
    assert "must call at least one tool" in system["parts"][1]["text"]
    user, past, results, done = made["contents"]
    assert (user, done) == (HISTORY[0], HISTORY[3])
    assert past["parts"][:2] == HISTORY[1]["parts"][:2]
    assert past["parts"][2]["text"].strip() == (
        '<tool_call>\n{"name": "read_file", "arguments": {"path": "x", "n": 1.1}}\n</tool_call>\n'
        '<tool_call>\n{"name": "ls", "arguments": {}}\n</tool_call>'
    )
    assert results == {  # in the calls' order, since the dialect's results name none
        "role": "user",
        "parts": [
            {"text": '<tool_response>\none\n</tool_response>\n<tool_response>\n{"a": 1}\n</tool_response>'},
        ],
    }
    assert notes == ("1 tool into the prompt (hermes)", "2 past calls to hermes", "2 results to hermes")


def test_the_prompt_alone_where_there_is_no_history() -> None:
    made, _ = sent({"contents": [{"parts": [{"text": "Hi"}]}], "tools": [READ]}, LOWER)
    assert made["contents"] == [{"parts": [{"text": "Hi"}]}]
    assert made["systemInstruction"]["parts"][0]["text"].startswith("# Tools")
    assert "tools" not in made


def test_an_earlier_content_never_changes() -> None:
    earlier: list[dict[str, Any]] = []
    for end in (1, 3, 4):
        made, _ = sent({"contents": HISTORY[:end], "tools": [READ]}, LOWER)
        assert made["contents"][: len(earlier)] == earlier
        earlier = made["contents"]


def test_leaked_calls_in_the_history_are_mended() -> None:
    contents = [
        {"role": "user", "parts": [{"text": "Hi"}]},
        {"role": "model", "parts": [{"text": LEAKED, "thoughtSignature": "c2ln"}]},
        {"role": "user", "parts": [{"text": "?"}]},
    ]
    made, notes = sent({"contents": contents, "tools": [READ]}, MEND)
    _, past, result, user = made["contents"]
    assert [part.get("text") for part in past["parts"]] == ["Let me look.", None]
    assert past["parts"][1]["functionCall"] == {"name": "read_file", "args": {"path": "x"}}
    assert past["parts"][1]["thoughtSignature"]
    answer = {"functionResponse": {"name": "read_file", "response": {"output": NOT_EXECUTED}}}
    assert result == {"role": "user", "parts": [answer]}
    assert user == contents[2]
    assert notes == ("1 leaked call to native",)


def test_a_leak_beside_a_native_call_is_answered_in_the_same_content() -> None:
    call = {"functionCall": {"name": "read_file", "args": {"path": "y"}}}
    answer = {"functionResponse": {"name": "read_file", "response": {"output": "two"}}}
    contents = [
        {"role": "user", "parts": [{"text": "Hi"}]},
        {"role": "model", "parts": [{"text": LEAKED}, call]},
        {"role": "user", "parts": [answer]},
    ]
    made, _ = sent({"contents": contents, "tools": [READ]}, MEND)
    _, past, results = made["contents"]
    assert [key for part in past["parts"] for key in part if key.startswith("f")] == ["functionCall", "functionCall"]
    assert past["parts"][-1] == call
    assert [part["functionResponse"]["response"]["output"] for part in results["parts"]] == [NOT_EXECUTED, "two"]


@pytest.mark.parametrize("quotation", ["Use `{}`.", "```\n{}\n```"])
def test_what_is_no_leak_stays(quotation: str) -> None:
    text = quotation.format('<invoke name="read_file"></invoke>')
    body = {"contents": [{"role": "model", "parts": [{"text": text}]}], "tools": [READ]}
    assert sent(body, MEND) == (body, ())


@pytest.mark.parametrize("system", [{"parts": [{"text": CLINE}]}, {"parts": {"text": CLINE}}], ids=["list", "part"])
def test_a_text_request_for_a_native_upstream(system: dict[str, Any]) -> None:
    contents = [
        {"role": "user", "parts": [{"text": "Go."}]},
        {"role": "model", "parts": [{"text": "I read.\n<read_file>\n<path>a.txt</path>\n</read_file>"}]},
        {"role": "user", "parts": [{"text": "[read_file for 'a.txt'] Result:\nline 1\nline 2"}]},
    ]
    made, notes = sent({"systemInstruction": system, "contents": contents}, LIFT)
    (declared,) = made["tools"][0]["functionDeclarations"]
    assert declared["name"] == "read_file"
    assert "path" in declared["parametersJsonSchema"]["properties"]
    assert made["systemInstruction"]["parts"] == [{"text": CLINE}, {"text": f"\n\n{NATIVELY}"}]
    user, past, result = made["contents"]
    assert user == contents[0]
    assert past["parts"][0] == {"text": "I read."}
    assert past["parts"][1]["functionCall"] == {"name": "read_file", "args": {"path": "a.txt"}}
    answer = {"functionResponse": {"name": "read_file", "response": {"output": "line 1\nline 2"}}}
    assert result == {"role": "user", "parts": [answer]}
    assert notes == ("1 tool out of the prompt", "1 past call to native", "1 result to native")


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"contents":[]}', b'{"contents":[{}],"tools":[1e999]', b"\xff"])
def test_what_is_no_request_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"the request body (?:is not|has no)"):
        FORMAT(body).written()


def test_contents_of_odd_shapes_survive() -> None:
    odd: list[Any] = [
        None,
        3,
        {"role": "critic", "parts": [{"text": "x"}]},
        {"role": "user"},
        {"parts": [None, {"text": 3}]},
    ]
    body = json.dumps({"contents": odd, "tools": [READ]}).encode()
    made = json.loads(FORMAT(body).written())
    assert made["contents"] == odd
    assert json.loads(through("gemini", body, LOWER)[0])["contents"] == odd


def test_fewer_tools_and_another_choice_are_written() -> None:
    tools = [
        {"functionDeclarations": [{"name": "a"}, {"name": "b", "x": 1.10}]},
        {"functionDeclarations": [{"name": "c"}]},
    ]
    config = {"functionCallingConfig": {"mode": "ANY"}, "retrievalConfig": {}}
    body = json.dumps({"contents": [{}], "tools": [*tools, {"googleSearch": {}}], "toolConfig": config}).encode()
    read = FORMAT(body)
    assert read.written().replace(b" ", b"") == body.replace(b" ", b"")
    made = json.loads(read.changed(tools=read.tools[1:2], tool_choice="b").written())
    assert made["tools"] == [{"functionDeclarations": [{"name": "b", "x": 1.1}]}, {"googleSearch": {}}]
    assert made["toolConfig"]["functionCallingConfig"] == {"mode": "ANY", "allowedFunctionNames": ["b"]}
    assert made["toolConfig"]["retrievalConfig"] == {}


def test_recorded_requests_survive() -> None:
    """Whatever real clients send: read and written it is the same; lowered it loses nothing but the tools."""
    lines = shared_path("suites/streams/gemini.jsonl").read_text(encoding="utf-8").splitlines()
    for request in filter(None, (json.loads(line)["request"] for line in lines)):
        body = json.dumps(request).encode()
        read = FORMAT(body)
        assert json.loads(read.written()) == request
        made, _ = sent(request, LOWER)
        kept = {"contents", "tools", "toolConfig", "systemInstruction"}
        assert {key: made[key] for key in set(made) - kept} == {key: request[key] for key in set(request) - kept}
        assert not any("functionDeclarations" in tool for tool in made.get("tools", ()))
        assert b"functionCall" not in json.dumps(made["contents"]).encode()
