"""What only Gemini's Interactions API has. What it says as Messages does is in `test_translated.py`.

The SDK's types check what leaves (`support/interactionsclient.py`).
"""

import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from support import interactionsclient
from support.exchanges import LIFTING, of_request, run, words
from support.interactionsclient import DONE, INTERACTION, USAGE, frame
from support.oddreplies import CALL, TOOLS
from support.rewritings import LOWER, mended, sent
from toolcalls.events import OtherContent
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request, Tool
from toolcalls.requests.conversation import PastCall, conversation_of, request_of
from toolcalls.route import Route
from toolcalls.values.usage import tokens_of
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

WIRE = all_wires()["gemini_interactions"]
CREATED = frame({"interaction": {**INTERACTION, "status": "in_progress"}, "event_type": "interaction.created"})
STATUS = frame({"interaction_id": "v1_1", "status": "in_progress", "event_type": "interaction.status_update"})


def completed(status: str = "completed", **more: Any) -> bytes:
    made = {"interaction": {**INTERACTION, "status": status, "usage": USAGE, **more}, "event_id": "e9"}
    return frame({**made, "event_type": "interaction.completed"})


def start(index: int, kind: str = "model_output", /, **more: Any) -> bytes:
    return frame({"index": index, "step": {"type": kind, **more}, "event_id": "e1", "event_type": "step.start"})


def delta(index: int, kind: str = "text", /, **given: Any) -> bytes:
    return frame({"index": index, "delta": {"type": kind, **given}, "event_type": "step.delta"})


def stop(index: int) -> bytes:
    return frame({"index": index, "event_type": "step.stop"})


def said(index: int, *pieces: str) -> bytes:
    return start(index) + b"".join(delta(index, text=piece) for piece in pieces) + stop(index)


END = completed() + DONE


def lifting(form: Form = "sse", route: Route = LIFTING) -> Exchange:
    return of_request(WIRE, Request(tools=TOOLS), route, form=form, seed=b"s")


def whole(*steps: Any, status: str = "completed", **more: Any) -> bytes:
    return json.dumps({**INTERACTION, "status": status, "steps": steps, "usage": USAGE, **more}).encode()


def output(*contents: Any, **more: Any) -> dict[str, Any]:
    told = [{"type": "text", "text": one} if isinstance(one, str) else one for one in contents]
    return {"type": "model_output", "content": told, **more}


def test_events_around_a_lifted_call_keep_their_bytes() -> None:
    before, behind = start(0) + delta(0, text="Look.\n"), said(1, "Done.")
    body = b"".join([CREATED, STATUS, before, delta(0, text=CALL), stop(0), behind, END])
    out = run(lifting(), [body])
    assert out.startswith(CREATED + STATUS + before)
    assert out.endswith(completed("requires_action") + DONE)
    reply = interactionsclient.received(out)
    assert (reply.text, reply.order, reply.stop) == ("Look.\nDone.", "tct", "tool_use")


def test_thoughts_and_their_signatures_stay() -> None:
    thought = start(0, "thought") + delta(0, "thought_signature", signature="c2ln") + stop(0)
    out = run(lifting(), [CREATED + thought + said(1, CALL) + END])
    assert out.startswith(CREATED + thought)
    signed = {"type": "thought", "signature": "c2ln", "summary": [{"type": "text", "text": "hm"}]}
    made = json.loads(run(lifting("whole"), [whole(signed, output(CALL))]))
    assert made["steps"][0] == signed
    assert made["steps"][1]["name"] == "Bash"
    assert made["status"] == "requires_action"


def test_a_native_call_keeps_its_signature_where_others_are_lifted_before_it() -> None:
    call = {"id": "c1", "name": "Noop", "arguments": {}, "signature": "c2ln"}
    row = start(1, "function_call", **call) + delta(1, "arguments_delta", arguments="{}") + stop(1)
    out = run(lifting(), [CREATED + said(0, f"{CALL}\n") + row + completed("requires_action") + DONE])
    steps = [event["step"] for event in interactionsclient.parsed(out) if event["event_type"] == "step.start"]
    assert [step["name"] for step in steps] == ["Bash", "Noop"]
    assert steps[1] == {"type": "function_call", **call}


def test_contents_of_one_step_stay_in_one_step() -> None:
    """Where nothing of theirs is a call; a call in between is a step of its own."""
    image = {"type": "image", "data": "aGk=", "mime_type": "image/png"}
    first = output("See:", image, "Good.", note=1.50)
    made = json.loads(run(lifting("whole"), [whole(first, output(CALL), output("a\n", CALL, "b"))]))
    assert made["steps"][0] == first
    kinds = [step["type"] for step in made["steps"][1:]]
    assert kinds == ["function_call", "model_output", "function_call", "model_output"]
    assert [step["content"][0]["text"] for step in made["steps"][2::2]] == ["a\n", "b"]


def test_a_picture_is_content_of_a_streamed_reply() -> None:
    """Else a reply that is nothing but a picture would count as empty."""
    codec = WIRE.stream()
    frames = [CREATED, start(0), delta(0, "image", data="aGk=", mime_type="image/png")]
    found = [codec.decode(one.partition(b"data: ")[2].strip()) for one in frames]
    assert [event for _, event in found[-1]] == [OtherContent()]


def test_a_picture_behind_a_lifted_call_stays() -> None:
    """In its step where that has a text by then, else in one of its own."""
    image = {"data": "aGk=", "mime_type": "image/png"}
    for pieces, order in (([f"{CALL}\n"], "cx"), ([f"a\n{CALL}\nb"], "tct")):
        texts = [delta(0, text=piece) for piece in pieces]
        body = b"".join([CREATED, start(0), *texts, delta(0, "image", **image), stop(0), said(1, "Done."), END])
        events = interactionsclient.parsed(run(lifting(), [body]))
        assert [event["delta"] for event in events if event.get("delta", {}).get("type") == "image"] == [
            {"type": "image", **image}
        ]
        opened = [event["index"] for event in events if event["event_type"] == "step.start"]
        closed = [event["index"] for event in events if event["event_type"] == "step.stop"]
        assert opened == closed == list(range(len(order) + 1))


def test_what_google_found_may_be_quoted() -> None:
    """A search and its result stay, and a call that is in the result is no call."""
    for result in ([{"type": "text", "text": CALL}], CALL):
        asked = start(0, "google_search_call", id="g1", arguments={"queries": ["x"]}) + stop(0)
        found = start(1, "mcp_server_tool_result", call_id="g1") + delta(1, "mcp_server_tool_result", result=result)
        body = b"".join([CREATED, asked, found, stop(1), said(2, CALL), END])
        one = lifting()
        assert run(one, [body]) == body
        assert words(one) == ["declined echo Bash (invoke)"]
        steps = [{"type": "mcp_server_tool_result", "call_id": "g1", "result": result}, output(CALL)]
        one = lifting("whole")
        assert run(one, [whole(*steps)]) == whole(*steps)
        assert words(one) == ["declined echo Bash (invoke)"]


def test_an_error_ends_the_reply_and_completes_no_call() -> None:
    failed = frame({"error": {"code": "internal", "message": "The model failed."}, "event_type": "error"})
    for text, word in (("Go.\n" + CALL[:-9], "truncated"), (CALL, "lifted")):
        one = lifting()
        out = run(one, [CREATED + start(0) + delta(0, text=text) + failed])
        assert out.endswith(failed)
        assert [said.split()[0] for said in words(one)] == [word]


@pytest.mark.parametrize("status", ["failed", "cancelled", "budget_exceeded"])
def test_a_status_that_says_more_stays(status: str) -> None:
    one = lifting()
    out = run(one, [CREATED + said(0, "Go.") + completed(status) + DONE])
    assert completed(status) in out
    assert not words(one)


def test_an_interaction_at_work_is_no_reply_yet() -> None:
    body = whole(output(CALL), status="in_progress")
    one = lifting("whole")
    assert run(one, [body]) == body
    assert not words(one)


@pytest.mark.parametrize(
    "odd",
    [
        frame({"event_type": "something.new", "a": 1}),
        frame({"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": 3}}),
        frame({"event_type": "step.delta", "delta": {}}),
        frame({"event_type": "step.delta", "index": 0, "delta": {"type": "arguments_delta", "arguments": {}}}),
        frame({"event_type": "step.start", "index": 5}),
        frame({"event_type": "step.stop"}),
        frame({"event_type": "interaction.created"}),
        b"data: {}\n\n",
        b"data: 3\n\n",
        b": a comment\n\n",
    ],
)
def test_events_of_an_odd_shape_stay(odd: bytes) -> None:
    body = b"".join([CREATED, start(0), delta(0, text="a"), odd, delta(0, text="b"), stop(0), END])
    for route in (LIFTING, Route()):
        assert run(lifting(route=route), [body]) == body


def test_a_stream_without_names_gets_none_where_nothing_changes() -> None:
    """Some recordings and proxies leave them out."""
    body = b"".join(b"data: " + one.partition(b"\ndata: ")[2] for one in (CREATED, start(0), delta(0, text="a")))
    assert run(lifting(), [body]) == body


def test_a_reply_with_a_call_gets_the_end_that_it_lacks() -> None:
    """Where `[DONE]` says that it has ended; without mending it is only reported."""
    row = start(0, "function_call", id="c1", name="Noop", arguments={}) + stop(0)
    body = CREATED + row + DONE
    one = lifting(route=Route(mend=()))
    assert run(one, [body]) == body
    assert [note.rule for _, note in one.notes] == ["no_finish"]
    out = run(lifting(route=Route(mend=("protocol",))), [body])
    (ended,) = [event for event in interactionsclient.parsed(out) if event["event_type"] == "interaction.completed"]
    assert ended["interaction"]["status"] == "requires_action"
    assert ended["interaction"]["id"] == "v1_1"
    assert out.endswith(b"data: [DONE]\n\n")


def test_damaged_calls_are_mended() -> None:
    """In a stream and in a whole reply: arguments in a string, no id, two calls with one index."""
    call = start(0, "function_call", id="", name="Bash", arguments={}) + delta(
        0, "arguments_delta", arguments='{"command": "ls"}'
    )
    route = Route(mend=("protocol",))
    one = lifting(route=route)
    reply = interactionsclient.received(
        run(one, [CREATED + said(0, "Hi.") + call + stop(0) + completed("requires_action") + DONE])
    )
    assert (reply.text, reply.order, [item["name"] for item in reply.calls]) == ("Hi.", "tc", ["Bash"])
    assert [verdict.repairs for _, verdict in one.verdicts] == [("shared_index", "no_id")]
    damaged = {"type": "function_call", "id": "", "name": "Bash", "arguments": '{"command": "ls"}', "signature": "s"}
    one = lifting("whole", route)
    (made,) = json.loads(run(one, [whole(damaged, status="requires_action")]))["steps"]
    assert made["arguments"] == {"command": "ls"}
    assert made["id"].startswith("call_")
    assert made["signature"] == "s"


# --- requests ---------------------------------------------------------------------------------------------------------

FUNCTION = {
    "type": "function",
    "name": "Bash",
    "description": "Runs.",
    "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
}
ASKED: dict[str, Any] = {
    "model": "gemini-x",
    "system_instruction": "Be brief.",
    "input": [
        {"type": "user_input", "content": [{"type": "text", "text": "Look."}, {"type": "image", "data": "aGk="}]},
        {"type": "thought", "signature": "c2ln"},
        {"type": "model_output", "content": [{"type": "text", "text": "I look."}]},
        {"type": "function_call", "id": "c1", "name": "Bash", "arguments": {"command": "ls"}, "signature": "c2ln"},
        {"type": "function_result", "call_id": "c1", "name": "Bash", "result": [{"type": "text", "text": "a.py"}]},
    ],
    "tools": [FUNCTION, {"type": "google_search"}],
    "generation_config": {
        "stop_sequences": ["END"],
        "tool_choice": {"allowed_tools": {"mode": "any", "tools": ["Bash"]}},
    },
    "stream": True,
}


def test_what_a_request_says() -> None:
    asked = request_of(WIRE, json.dumps(ASKED).encode())
    assert asked.tools == (Tool("Bash", FUNCTION["parameters"], "Runs."),)
    assert (asked.model, asked.tool_choice, asked.system) == ("gemini-x", "Bash", "Be brief.")
    assert asked.assistant == ("I look.",)
    assert set(asked.quotable) == {"Look.", "a.py"} | {"text"} or {"Look.", "a.py"} <= set(asked.quotable)
    for choice, expected in (("any", "required"), ("none", "none"), ("validated", "auto"), (None, "auto")):
        config = {"generation_config": {"tool_choice": choice}}
        assert request_of(WIRE, json.dumps({**ASKED, **config}).encode()).tool_choice == expected


@pytest.mark.parametrize(
    "given", ["Go.", {"type": "text", "text": "Go."}, [{"type": "text", "text": "Go."}],
              [{"type": "user_input", "content": "Go."}]],
)  # fmt: skip
def test_an_input_has_many_forms(given: Any) -> None:
    body = json.dumps({"model": "m", "input": given}, separators=(",", ":")).encode()
    assert request_of(WIRE, body).quotable == ("Go.",)
    format_ = partial(conversation_of, "gemini_interactions")
    (turn,) = format_(body).turns
    assert (turn.role, [block.text for block in turn.blocks]) == ("user", ["Go."])  # type: ignore[union-attr]
    assert format_(body).written() == body


@pytest.mark.parametrize(
    ("members", "structured"),
    [
        ({}, False),
        ({"response_format": {"type": "object", "properties": {}}}, True),
        ({"response_format": {"type": "text", "mime_type": "application/json"}}, True),
        ({"response_format": [{"type": "text"}, {"type": "image"}]}, False),
        ({"response_mime_type": "application/json"}, True),
        ({"response_mime_type": "text/plain"}, False),
    ],
)
def test_a_reply_in_json_is_known(members: dict[str, Any], structured: bool) -> None:
    assert request_of(WIRE, json.dumps({"input": "Go.", **members}).encode()).response_format is structured


def test_a_request_that_nobody_changes_is_written_as_it_came() -> None:
    body, format_ = json.dumps(ASKED, separators=(",", ":")).encode(), partial(conversation_of, "gemini_interactions")
    assert format_(body).changed(stop=("END",)).written() == body


def test_tools_and_calls_become_text() -> None:
    """Lowered for a text upstream: what has no place in a text stays as it came."""
    made, _ = sent("gemini_interactions", ASKED, replace(LOWER, dialects=("invoke",)))
    assert "tools" not in made
    assert "tool_choice" not in made["generation_config"]
    assert "Bash" in made["system_instruction"]
    kinds = [step["type"] for step in made["input"]]
    assert "function_call" not in kinds
    assert "function_result" not in kinds
    assert {"type": "thought", "signature": "c2ln"} in made["input"]
    assert '<invoke name="Bash">' in json.dumps(made["input"]).replace('\\"', '"')
    assert "a.py" in json.dumps(made["input"][-1])


def test_a_call_that_was_text_bears_the_signature_for_calls_of_others() -> None:
    """Gemini 3 refuses calls without one."""
    format_ = partial(conversation_of, "gemini_interactions")
    body = json.dumps(ASKED).encode()
    read = format_(body)
    turn = read.turns[2].with_blocks([PastCall("c9", "Bash", "{}")])
    made = json.loads(read.changed(turns=(*read.turns[:2], turn, *read.turns[3:])).written())
    (step,) = [one for one in made["input"] if one.get("id") == "c9"]
    assert step["signature"] == "skip_thought_signature_validator"


def test_the_tokens_of_an_interaction_are_counted() -> None:
    found = tokens_of([completed().partition(b"data: ")[2]])
    assert (found.input, found.output) == (1, 2)


def test_damaged_calls_of_the_history_are_mended_with_their_results() -> None:
    steps = [
        {"type": "function_call", "id": "", "name": "Bash", "arguments": '{"command": "ls"}'},
        {"type": "function_result", "call_id": "", "name": "Bash", "result": "a"},
    ]
    made, notes = mended("gemini_interactions", {**ASKED, "input": steps}, "protocol")
    call, result = json.loads(made)["input"]
    assert call["arguments"] == {"command": "ls"}
    assert result["call_id"] == call["id"] != ""
    assert notes


ODD: tuple[Any, ...] = ([], {}, 1, None, True, "x")


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("key", ["tools", "generation_config", "response_format", "system_instruction", "input"])
def test_a_member_of_any_type_is_read_or_refused(key: str, odd: Any) -> None:
    """Types and names that are lists or objects, too."""
    inside = {"type": odd, "name": odd, "content": odd, "tool_choice": odd, "schema": odd, "parts": odd}
    for value in (odd, [odd], inside, [inside], {"tool_choice": inside}):
        body = json.dumps({"input": "x", key: value}).encode()
        if key == "input" and not isinstance(value, str | list | dict):
            with pytest.raises(ValueError, match="no `input`"):
                request_of(WIRE, body)
        else:
            assert request_of(WIRE, body).carries_calls
