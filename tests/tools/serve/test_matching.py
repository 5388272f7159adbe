"""Which recording answers: what matters decides, and what changes from run to run does not."""

import json
import re
from typing import Any

import pytest

from toolcalls.tools.serve.matching import Library, Match, Miss, asked, masked
from toolcalls.tools.serve.recording import WEBSOCKET, Asked, Recording

CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages?beta=true", "/v1/responses"
ID = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"


def tool(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}


def chat(user: str = "hi", *results: str, model: str = "m", tools: tuple[str, ...] = ("Bash",), **more: Any) -> bytes:
    """A request with a past call for each result."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "It is 2026-11-23."},
        {"role": "user", "content": user},
    ]
    for number, result in enumerate(results):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "Bash", "arguments": "{}"}}
        messages += [{"role": "assistant", "tool_calls": [call]}]
        messages += [{"role": "tool", "tool_call_id": f"c{number}", "content": result}]
    return json.dumps(
        {"model": model, "messages": messages, "tools": list(map(tool, tools)), "stream": True} | more
    ).encode()


def recorded(*requests: bytes, path: str = CHAT) -> list[Recording]:
    return [
        Recording(f"file, flow {number}", asked("POST", path, body), 200, (), ())
        for number, body in enumerate(requests, 1)
    ]


def given(library: Library, body: bytes, path: str = CHAT) -> str:
    """The number of the recording that answers, with `+` where it was given before; "" for none."""
    found = library.find(asked("POST", path, body))
    return f"{found.number + 1}{'+' * found.again}" if isinstance(found, Match) else ""


def test_what_matters_of_a_request() -> None:
    assert asked("POST", CHAT, chat("hi", "a.py", "b.py", tools=("Read", "Bash"))) == Asked(
        "POST", "openai_chat", "", "m", "sse", ("Bash", "Read"), "hi", ("b.py",), 6
    )
    body = {
        "model": "claude",
        "max_tokens": 9,
        "tools": [{"name": "Read", "input_schema": {}}, {"type": "web_search_20250305", "name": "web_search"}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Read", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x = 1"}]},
        ],
    }
    assert asked("POST", MESSAGES, json.dumps(body).encode()) == Asked(
        "POST", "anthropic", "", "claude", "whole", ("Read", "web_search"), "one\ntwo", ("x = 1",), 3
    )
    gemini = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    found = asked("POST", "/v1beta/models/gemini-3:streamGenerateContent?alt=sse", json.dumps(gemini).encode())
    assert (found.wire, found.model, found.user) == ("gemini", "gemini-3", "hi")
    prompt = asked("POST", "/v1/completions", b'{"model": "m", "prompt": "once upon"}')
    assert (prompt.wire, prompt.user) == ("openai_completions", "once upon")
    message = {
        "type": "response.create",
        "model": "m",
        "input": [{"type": "function_call_output", "call_id": "c", "output": "7"}],
    }
    over = asked(WEBSOCKET, RESPONSES, json.dumps(message).encode())
    assert (over.method, over.wire, over.kind, over.results) == (WEBSOCKET, "openai_responses", "messages", ("7",))
    warm = asked(WEBSOCKET, RESPONSES, json.dumps(message | {"generate": False}).encode())
    assert warm.kind != over.kind
    assert asked("GET", "/v1/models?limit=9", b"") == Asked("GET", path="/v1/models")


def test_a_body_that_nobody_can_read_is_compared_as_it_stands() -> None:
    assert asked("POST", CHAT, b"\xff{").user == "\\xff{"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Today's date is 2026-11-23.", "Today's date is 2025-01-02."),
        ("at 2026-11-23T07:20:16.123Z", "at 2025-01-02T17:00:00Z"),
        ("Mon Nov 23 07:20:16 UTC 2026", "Tue Dec 1 17:00:59 CET 2026"),
        ("drwxr-xr-x 2 me me 4096 Nov 23 07:20 src", "drwxr-xr-x 2 me me 4096 Dec  1 2025 src"),
        (f"session {ID}", "session 00000000-2fa1-11d2-883f-0016d3cca427"),
        ("toolu_01AbCdEf", "toolu_99zyxw"),
        ("Chunk ID: 6bed64", "Chunk ID: acaecf"),
        ('{"pid": 4711}', '{"pid": 80815}'),
        ("commit c5163c8", "commit 0f24022"),
        ("Wall time: 0.0512 seconds", "Wall time: 1.3 seconds"),
        ("3 passed in 0.21s", "3 passed in 12s"),
        ("1763882416.337", "1763882999"),
    ],
)
def test_what_changes_from_run_to_run_is_masked(one: str, other: str) -> None:
    assert masked(one) == masked(other) != ""
    assert given(Library(recorded(chat("hi", one))), chat("hi", other)) == "1"


@pytest.mark.parametrize(
    ("one", "other"),
    [("3 passed", "4 passed"), ("src/a.py", "src/b.py"), ("exit code 0", "exit code 1"), ("item_count", "item_total")],
)
def test_what_a_program_says_is_not_masked(one: str, other: str) -> None:
    assert masked(one) != masked(other)
    assert given(Library(recorded(chat("hi", one))), chat("hi", other)) == ""


@pytest.mark.parametrize(
    "other",
    [
        chat("hello"),
        chat("hi", "a result"),
        chat("hi", model="n"),
        chat("hi", tools=("Bash", "Read")),
        chat("hi", tools=()),
        chat("hi", stream=False),
    ],
)
def test_what_matters_keeps_recordings_apart(other: bytes) -> None:
    first = chat("hi")
    assert given(Library(recorded(first)), first) == "1"
    assert given(Library(recorded(first)), other) == ""
    library = Library(recorded(first, other))
    assert [given(library, other), given(library, first)] == ["2", "1"]


def test_what_does_not_matter_is_not_compared() -> None:
    library = Library(recorded(chat("hi", temperature=0.1)))
    other = json.loads(chat("hi", temperature=0.9, metadata={"user_id": ID}))
    other["messages"][0]["content"] = "It is 2027-01-01, and this is another system prompt."
    other["tools"][0]["function"]["description"] = "another version's"
    assert given(library, json.dumps(other).encode()) == "1"


def test_the_same_request_is_answered_in_order_and_then_by_the_last() -> None:
    library = Library(recorded(chat("hi"), chat("other"), chat("hi"), chat("hi")))
    assert [given(library, chat("hi")) for _ in range(5)] == ["1", "3", "4", "4+", "4+"]
    assert [one.source for one in library.left] == ["file, flow 2"]


def test_equal_texts_come_before_masked_ones_and_the_same_length_before_others() -> None:
    library = Library(recorded(chat("hi", "took 1.5s"), chat("hi", "took 2.5s")))
    assert given(library, chat("hi", "took 2.5s")) == "2"
    library = Library(recorded(chat("go", "ok"), chat("go", "ok", "ok"), chat("go", "ok", "ok", "ok")))
    assert [given(library, chat("go", *["ok"] * count)) for count in (3, 1, 2)] == ["3", "1", "2"]


def test_patterns_of_the_callers_own() -> None:
    there, here = chat("in /tmp/tmp.aaaa/x"), chat("in /tmp/tmp.bbbb/x")
    assert given(Library(recorded(there)), here) == ""
    assert given(Library(recorded(there), [re.compile(r"/tmp/tmp\.\w+")]), here) == "1"


def test_the_nearest_and_what_differs() -> None:
    library = Library(
        recorded(
            chat("count the files", "one\ntwo\nthree", tools=("Bash", "Glob")),
            chat("count the files", "one\n2\nthree", tools=("Bash", "Glob")),
            chat("something else entirely"),
        )
    )
    found = library.find(
        asked("POST", CHAT, chat("count the files", "one\ntwo\nfour at 12:30", tools=("Bash", "Read")))
    )
    assert isinstance(found, Miss)
    assert found.nearest is library.recordings[0]
    assert found.differences == (
        "declared tools: -Glob +Read",
        "new tool results: recorded 1, asked 1",
        "  -three",
        "  +four at …",
    )
    model = library.find(asked("POST", CHAT, chat("something else entirely", model="n", stream=False)))
    assert isinstance(model, Miss)
    assert model.nearest is library.recordings[2]
    assert model.differences == ("model: recorded 'm', asked 'n'", "form of the reply: recorded 'sse', asked 'whole'")
    assert library.find(asked("POST", MESSAGES, b"{}")) == Miss(None, ())
    assert library.left == library.recordings


def test_a_difference_holds_no_secrets_and_ends() -> None:
    secret = "sk-ant-api03-" + "a1B2" * 20
    library = Library(recorded(chat("\n".join(f"line of number {n}" for n in range(50)))))
    found = library.find(asked("POST", CHAT, chat(f"my key is {secret} {'x' * 500}")))
    assert isinstance(found, Miss)
    assert secret not in "".join(found.differences)
    assert len(found.differences) == 14
    assert found.differences[-1] == "  … and 39 lines more"
    assert max(map(len, found.differences)) < 200
