"""What only Cohere's API has. What it says as Chat Completions does is in `test_translated.py`.

What leaves is read by a client that knows no code of the wire (`support/cohereclient.py`).
"""

import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from support import cohereclient
from support.cohereclient import DONE, USAGE, frame
from support.exchanges import LIFTING, of_request, run, words
from support.oddreplies import CALL, TOOLS
from support.rewritings import LOWER, mended, sent
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request, Tool
from toolcalls.requests.conversation import conversation_of, request_of
from toolcalls.route import Route
from toolcalls.values.usage import tokens_of
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

WIRE = all_wires()["cohere"]
MENDING = Route(mend=("protocol",))
START = frame(next(cohereclient.of_chat([])))


def opened(index: int, kind: str = "text", text: str = "") -> bytes:
    return frame(
        {"type": "content-start", "index": index, "delta": {"message": {"content": {"type": kind, kind: text}}}}
    )


def piece(index: int, text: str, kind: str = "text", **more: Any) -> bytes:
    return frame({"type": "content-delta", "index": index, "delta": {"message": {"content": {kind: text}}}, **more})


def closed(index: int, kind: str = "content") -> bytes:
    return frame({"type": f"{kind}-end", "index": index})


def call(index: int, id_: str, name: str, *pieces: str) -> bytes:
    entry = {"id": id_, "type": "function", "function": {"name": name, "arguments": ""}}
    rows = [{"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": entry}}}]
    for one in pieces:
        told = {"tool_calls": {"function": {"arguments": one}}}
        rows.append({"type": "tool-call-delta", "index": index, "delta": {"message": told}})
    return b"".join(map(frame, rows)) + closed(index, "tool-call")


def plan(text: str) -> bytes:
    return frame({"type": "tool-plan-delta", "delta": {"message": {"tool_plan": text}}})


def ended(word: str = "COMPLETE") -> bytes:
    return frame({"type": "message-end", "delta": {"finish_reason": word, "usage": USAGE}})


END = ended() + DONE


def lifting(form: Form = "sse", route: Route = LIFTING) -> Exchange:
    return of_request(WIRE, Request(tools=TOOLS), route, form=form, seed=b"s")


def whole(*content: Any, reason: str = "COMPLETE", **more: Any) -> bytes:
    told = [{"type": "text", "text": one} if isinstance(one, str) else one for one in content]
    message = {"role": "assistant", "content": told, **more}
    return json.dumps({"id": "r1", "finish_reason": reason, "message": message, "usage": USAGE}).encode()


def test_events_around_a_lifted_call_keep_their_bytes() -> None:
    before = opened(0) + piece(0, "Look.\n", logprobs={"text": "Look.\n", "token_ids": [1]})
    behind = opened(1) + piece(1, "Done.") + closed(1)
    out = run(lifting(), [b"".join([START, before, piece(0, CALL), closed(0), behind, END])])
    assert out.startswith(START + before + closed(0))
    assert out.endswith(behind + ended("TOOL_CALL") + DONE)
    got = cohereclient.received(out)
    assert (got.text, got.order, got.finish) == ("Look.\nDone.", "tct", "tool_calls")


def test_text_behind_a_call_is_in_a_content_of_its_own_and_later_ones_have_other_numbers() -> None:
    row = opened(0) + piece(0, f"a\n{CALL}\nb") + closed(0) + opened(1) + piece(1, "c") + closed(1)
    events = cohereclient.parsed(run(lifting(), [START + row + END]))
    kinds = [(event["type"], event["index"]) for event in events if event["type"].endswith(("-start", "-end"))
             and "index" in event]  # fmt: skip
    assert kinds == [
        ("content-start", 0), ("content-end", 0), ("tool-call-start", 0), ("tool-call-end", 0),
        ("content-start", 1), ("content-end", 1), ("content-start", 2), ("content-end", 2),
    ]  # fmt: skip


def test_plans_and_thinking_stay_and_are_no_place_for_calls() -> None:
    thought = opened(0, "thinking") + piece(0, CALL, "thinking") + closed(0)
    body = START + plan(CALL) + thought + opened(1) + piece(1, "So.") + closed(1) + END
    one = lifting()
    assert run(one, [body]) == body
    body = START + thought + opened(1) + piece(1, CALL) + closed(1) + END
    out = run(lifting(), [body])
    assert out.startswith(START + thought)
    assert [event["index"] for event in cohereclient.parsed(out) if event["type"] == "tool-call-start"] == [0]
    thinking = {"type": "thinking", "thinking": CALL}
    made = json.loads(run(lifting("whole"), [whole(thinking, CALL, tool_plan="I look.")]))
    assert made["message"]["content"] == [thinking]
    assert made["message"]["tool_plan"] == "I look."
    assert made["message"]["tool_calls"][0]["function"]["name"] == "Bash"
    assert made["finish_reason"] == "TOOL_CALL"


def test_a_call_without_arguments_is_no_damage() -> None:
    """The API says nothing of them: neither a verdict nor mending takes offence."""
    for calls in (call(0, "a", "Noop"), call(0, "a", "Noop") + call(1, "b", "Bash", '{"command"', ': "ls"}')):
        body = START + plan("I look.") + calls + ended("TOOL_CALL") + DONE
        for route in (LIFTING, MENDING, Route()):
            one = lifting(route=route)
            assert run(one, [body]) == body
            assert {word.split()[0] for word in words(one)} == {"native"}
            assert not one.notes
    (lowered,) = [run(lifting(route=Route(client="text", client_dialect="invoke", upstream="native")), [body])]
    got = cohereclient.received(lowered)
    assert '<invoke name="Noop">' in got.text
    assert not got.calls


def test_a_native_call_behind_a_lifted_one_has_the_next_number() -> None:
    row = opened(0) + piece(0, f"{CALL}\n") + closed(0) + call(0, "a", "Noop", "{}")
    got = cohereclient.received(run(lifting(), [START + row + ended("TOOL_CALL") + DONE]))
    assert [one["name"] for one in got.calls] == ["Bash", "Noop"]
    assert got.calls[1]["id"] == "a"


def test_calls_that_are_all_numbered_0_are_told_apart_by_their_ends() -> None:
    """Also where they have one name and no ids."""
    calls = (
        call(0, "", "Bash", '{"command": "a"}') + call(0, "", "Bash", '{"command": "b"}') + call(1, "c", "Noop", "{}")
    )
    body = START + calls + ended("TOOL_CALL") + DONE
    one = lifting(route=Route(mend=()))
    assert run(one, [body]) == body
    assert [word.split()[:2] for word in words(one)] == [
        ["native", "no_id"],
        ["native", "glued_calls"],
        ["native", "glued_calls"],
    ]
    one = lifting(route=MENDING)
    got = cohereclient.received(run(one, [body]))
    assert [(made["name"], made["arguments"]) for made in got.calls] == [
        ("Bash", '{"command": "a"}'), ("Bash", '{"command": "b"}'), ("Noop", "{}"),
    ]  # fmt: skip
    assert ["shared_index" in verdict.repairs for _, verdict in one.verdicts] == [False, True, True]


def test_contents_stay_where_only_the_reason_changes() -> None:
    """Two texts stay two."""
    calls = [{"id": "a", "type": "function", "function": {"name": "Noop", "arguments": "{}"}}]
    made = json.loads(run(lifting("whole", MENDING), [whole("a", "b", tool_calls=calls)]))
    assert made["message"]["content"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert made["finish_reason"] == "TOOL_CALL"


def test_the_tokens_of_a_message_are_counted() -> None:
    found = tokens_of([ended().partition(b"data: ")[2]])
    assert (found.input, found.output) == (1, 2)


def test_citations_stay() -> None:
    cited = {
        "start": 0,
        "end": 2,
        "text": "It",
        "sources": [{"type": "document", "id": "d", "document": {"text": CALL}}],
    }
    begins = frame({"type": "citation-start", "index": 0, "delta": {"message": {"citations": cited}}})
    row = opened(0) + piece(0, "It says so.\n") + begins + closed(0, "citation") + piece(0, CALL) + closed(0)
    out = run(lifting(), [START + row + END])
    assert begins + closed(0, "citation") in out
    made = json.loads(run(lifting("whole"), [whole(f"It says so.\n{CALL}", citations=[cited])]))
    assert made["message"]["citations"] == [cited]


def test_a_whole_reply_keeps_one_text_where_the_first_one_stood() -> None:
    thinking = {"type": "thinking", "thinking": "hm"}
    content = ["a\n", thinking, f"{CALL}\n", "b"]
    made = json.loads(run(lifting("whole"), [whole(*content, x=1.50)]))
    assert made["message"]["content"] == [{"type": "text", "text": "a\n\nb"}, thinking]
    plain = whole(*content[::3])
    assert run(lifting("whole"), [plain]) == plain


@pytest.mark.parametrize("word", ["STOP_SEQUENCE", "MAX_TOKENS", "ERROR", "TIMEOUT", "SOMETHING_NEW"])
def test_a_reason_that_says_more_stays(word: str) -> None:
    one = lifting()
    body = START + opened(0) + piece(0, "Go.") + closed(0) + ended(word) + DONE
    assert run(one, [body]) == body
    cut = START + opened(0) + piece(0, f"Go.\n{CALL[:-9]}") + ended("MAX_TOKENS") + DONE
    one = lifting()
    out = run(one, [cut])
    assert ended("MAX_TOKENS") in out
    assert words(one) == ["truncated cut_off Bash (invoke)"]


def test_a_reply_with_a_call_gets_the_end_that_it_lacks() -> None:
    """Where `[DONE]` says that it has ended; without mending it is only reported."""
    body = START + call(0, "a", "Noop", "{}") + DONE
    one = lifting(route=Route(mend=()))
    assert run(one, [body]) == body
    assert [note.rule for _, note in one.notes] == ["no_finish"]
    got = cohereclient.received(run(lifting(route=MENDING), [body]))
    assert got.finish == "tool_calls"


@pytest.mark.parametrize(
    "odd",
    [
        frame({"type": "something-new", "a": 1}),
        frame({"type": "debug", "prompt": CALL}),
        frame({"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": 3}}}}),
        frame({"type": "content-delta", "index": 0, "delta": {}}),
        frame({"type": "content-end"}),
        frame({"type": "tool-call-end", "index": 7}),
        frame({"type": "tool-call-delta", "index": 7, "delta": {}}),
        frame({"type": "message-end", "delta": None}),
        b"data: {}\n\n",
        b"data: 3\n\n",
        b": a comment\n\n",
    ],
)
def test_events_of_an_odd_shape_stay(odd: bytes) -> None:
    body = b"".join([START, opened(0), piece(0, "a"), odd, piece(0, "b"), closed(0), END])
    for route in (LIFTING, Route()):
        assert run(lifting(route=route), [body]) == body


# --- requests ---------------------------------------------------------------------------------------------------------

FUNCTION = {
    "name": "Bash",
    "description": "Runs.",
    "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
}
ASKED: dict[str, Any] = {
    "model": "command-a",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Look."}]},
        {
            "role": "assistant",
            "tool_plan": "I look.",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "Bash", "arguments": '{"command": "ls"}'}}
            ],
        },
        {
            "role": "tool",
            "tool_call_id": "a",
            "content": [{"type": "document", "document": {"id": "d", "data": {"text": "a.py"}}}],
        },
    ],
    "documents": ["A page.", {"id": "p", "data": {"title": "T", "snippet": "Another."}}],
    "tools": [{"type": "function", "function": FUNCTION}],
    "tool_choice": "REQUIRED",
    "stop_sequences": ["END"],
    "temperature": 1.50,
    "stream": True,
}


def test_what_a_request_says() -> None:
    asked = request_of(WIRE, json.dumps(ASKED).encode())
    assert asked.tools == (Tool("Bash", FUNCTION["parameters"], "Runs."),)  # type: ignore[arg-type]
    assert (asked.model, asked.tool_choice, asked.system) == ("command-a", "required", "Be brief.")
    assert set(asked.quotable) == {"Look.", "a.py", "A page.", "T", "Another."}
    for choice, expected in (("NONE", "none"), (None, "auto")):
        assert request_of(WIRE, json.dumps({**ASKED, "tool_choice": choice}).encode()).tool_choice == expected
    assert request_of(WIRE, json.dumps({**ASKED, "response_format": {"type": "json_object"}}).encode()).response_format


def test_a_request_that_nobody_changes_is_written_as_it_came() -> None:
    body, format_ = json.dumps(ASKED, separators=(",", ":")).encode(), partial(conversation_of, "cohere")
    assert format_(body).written() == body
    assert format_(body).stop == ("END",)


def test_tools_and_calls_become_text() -> None:
    made, _ = sent("cohere", ASKED, replace(LOWER, dialects=("invoke",)))
    assert not {"tools", "tool_choice"} & set(made)
    assert made["documents"] == ASKED["documents"]
    system, _, called, *_ = made["messages"]
    assert "Bash" in system["content"]
    assert '<invoke name="Bash">' in json.dumps(called["content"]).replace('\\"', '"')
    assert "tool_calls" not in called


def test_a_choice_is_said_in_the_words_of_the_api() -> None:
    format_ = partial(conversation_of, "cohere")
    body = json.dumps({**ASKED, "tool_choice": "NONE"}, separators=(",", ":")).encode()
    assert format_(body).written() == body
    conversation = format_(json.dumps(ASKED).encode())
    for choice, written in (("auto", None), ("none", "NONE"), ("required", "REQUIRED"), ("Bash", "REQUIRED")):
        changed = conversation.changed(tool_choice=choice)
        assert json.loads(changed.written()).get("tool_choice") == written


def test_damaged_calls_of_the_history_are_mended_with_their_results() -> None:
    calls = [{"id": "", "type": "function", "function": {"name": "Bash", "arguments": {"command": "ls"}}}]
    messages = [{"role": "assistant", "tool_calls": calls}, {"role": "tool", "tool_call_id": "", "content": "a"}]
    made, notes = mended("cohere", {**ASKED, "messages": messages}, "protocol")
    called, result = json.loads(made)["messages"]
    assert json.loads(called["tool_calls"][0]["function"]["arguments"]) == {"command": "ls"}
    assert result["tool_call_id"] == called["tool_calls"][0]["id"] != ""
    assert notes
