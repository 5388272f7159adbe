"""What only Bedrock's Converse API has. What it says as Messages does is in `test_translated.py`.

botocore reads what leaves (`support/converseclient.py`).
"""

import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import EventStreamError

from support import converseclient
from support.converseclient import PADDING, exception, frame
from support.exchanges import LIFTING, of_request, run, words
from support.oddreplies import CALL, TOOLS
from support.rewritings import LOWER, mended, sent
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request, Tool
from toolcalls.requests.conversation import conversation_of, request_of
from toolcalls.route import Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

WIRE = all_wires()["bedrock_converse"]
START, END = frame("messageStart", {"role": "assistant"}), frame("messageStop", {"stopReason": "end_turn"})
METADATA = frame("metadata", {"metrics": {"latencyMs": 9}, "usage": converseclient.USAGE})


def delta(index: int, /, **given: Any) -> bytes:
    return frame("contentBlockDelta", {"contentBlockIndex": index, "delta": given, "p": PADDING})


def stop(index: int) -> bytes:
    return frame("contentBlockStop", {"contentBlockIndex": index, "p": PADDING})


def lifting(form: Form = "eventstream", route: Route = LIFTING) -> Exchange:
    return of_request(WIRE, Request(tools=TOOLS), route, form=form, seed=b"s")


def test_events_around_a_lifted_call_keep_their_bytes() -> None:
    before, behind = delta(0, text="Look.\n"), delta(1, text="Done.")
    body = b"".join([START, before, delta(0, text=CALL), stop(0), behind, stop(1), END, METADATA])
    out = run(lifting(), [body])
    assert out.startswith(START + before)
    assert out.endswith(METADATA)
    reply = converseclient.received(out)
    assert (reply.text, reply.order, reply.stop) == ("Look.\nDone.", "tct", "tool_use")


def test_what_stands_beside_a_changed_event_goes_along() -> None:
    ended = frame("messageStop", {"additionalModelResponseFields": {"a": 1.50}, "p": PADDING, "stopReason": "end_turn"})
    assert b'"a":1.5' in ended
    out = run(lifting(), [START + delta(0, text=CALL) + stop(0) + ended + METADATA])
    assert b'"additionalModelResponseFields":{"a":1.5}' in out
    (event,) = [event["messageStop"] for event in converseclient.parsed(out) if "messageStop" in event]
    assert event == {"stopReason": "tool_use", "additionalModelResponseFields": {"a": 1.5}}


def test_a_stop_reason_of_a_filter_stays() -> None:
    """It tells the client more than that there are calls."""
    for reason in ("guardrail_intervened", "content_filtered"):
        ended = frame("messageStop", {"stopReason": reason})
        one = lifting()
        out = run(one, [START + delta(0, text="Go.\n" + CALL[:-9]) + stop(0) + ended + METADATA])
        assert ended in out
        assert words(one) == ["truncated cut_off Bash (invoke)"]
        whole = {"output": {"message": {"role": "assistant", "content": [{"text": "Go.\n" + CALL[:-9]}]}}}
        body = json.dumps({**whole, "stopReason": reason}).encode()
        one = lifting("whole")
        assert json.loads(run(one, [body])) == json.loads(body)
        assert words(one) == ["truncated cut_off Bash (invoke)"]


def test_a_stop_reason_of_a_filter_stays_beside_a_call() -> None:
    whole = {"output": {"message": {"role": "assistant", "content": [{"text": CALL}]}}}
    made = json.loads(run(lifting("whole"), [json.dumps({**whole, "stopReason": "content_filtered"}).encode()]))
    assert made["stopReason"] == "content_filtered"
    assert made["output"]["message"]["content"][0]["toolUse"]["name"] == "Bash"


def test_a_call_under_the_index_of_a_text_gets_one_of_its_own() -> None:
    start = {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "tooluse_1", "name": "Bash"}}}
    call = frame("contentBlockStart", start) + delta(0, toolUse={"input": "{}"}) + stop(0)
    body = START + delta(0, text="Hi.") + stop(0) + call + frame("messageStop", {"stopReason": "tool_use"}) + METADATA
    one = lifting(route=Route(mend=("protocol",)))
    reply = converseclient.received(run(one, [body]))
    assert (reply.text, reply.order) == ("Hi.", "tc")
    assert [verdict.repairs for _, verdict in one.verdicts] == [("shared_index",)]


def test_an_exception_ends_the_reply_and_completes_no_call() -> None:
    failed = exception("modelStreamErrorException", "The model failed.")
    for text in ("Go.\n" + CALL[:-9], CALL):
        one = lifting()
        out = run(one, [START + delta(0, text=text) + failed])
        assert out.endswith(failed)
        with pytest.raises(EventStreamError, match="The model failed"):
            converseclient.parsed(out)
        assert [word.split()[0] for word in words(one)] == ["truncated" if text != CALL else "lifted"]
        assert not one.notes


def test_tools_of_the_provider_and_their_results_stay() -> None:
    """A result may be quoted: that is no call."""
    used = {"toolUseId": "tooluse_1", "name": "nova_grounding", "type": "server_tool_use"}
    found = {"toolUseId": "tooluse_1", "type": "nova_grounding_result", "status": "success"}
    row = [
        START,
        frame("contentBlockStart", {"contentBlockIndex": 0, "start": {"toolUse": used}}),
        delta(0, toolUse={"input": '{"query": "x"}'}),
        stop(0),
        frame("contentBlockStart", {"contentBlockIndex": 1, "start": {"toolResult": found}}),
        delta(1, toolResult=[{"text": CALL}]),
        stop(1),
        delta(2, text=CALL),
        delta(2, citation={"title": "t", "sourceContent": [{"text": CALL}]}),
        stop(2),
        END,
        METADATA,
    ]
    one = lifting()
    assert run(one, [b"".join(row)]) == b"".join(row)
    assert words(one) == ["declined echo Bash (invoke)"]
    content = [
        {"toolUse": {**used, "input": {}}},
        {"toolResult": {**found, "content": [{"text": CALL}]}},
        {"text": CALL},
    ]
    body = json.dumps({"output": {"message": {"content": content}}, "stopReason": "end_turn"}).encode()
    one = lifting("whole")
    assert run(one, [body]) == body
    assert words(one) == ["declined echo Bash (invoke)"]


def test_blocks_behind_a_call_get_other_indices_and_keep_what_they_hold() -> None:

    def image(index: int) -> bytes:
        return frame("contentBlockStart", {"contentBlockIndex": index, "start": {"image": {"format": "png"}}})

    before = [START, delta(0, text=f"a\n{CALL}\nb"), stop(0)]
    row = [*before, image(1), stop(1), delta(2, text="c"), stop(2), END, METADATA]
    reply = run(lifting(), [b"".join(row)])
    assert image(3) in reply  # read as bytes, because older clients do not know of images
    events = converseclient.parsed(reply)
    starts = [event["contentBlockStart"] for event in events if "contentBlockStart" in event]
    assert [one["contentBlockIndex"] for one in starts] == [1, 3]
    assert [*starts[0]["start"]] == ["toolUse"]
    assert [event["contentBlockStop"]["contentBlockIndex"] for event in events if "contentBlockStop" in event] == [
        0, 1, 2, 3, 4,
    ]  # fmt: skip


def test_cited_text_is_read_and_keeps_its_citations() -> None:
    cited = {"content": [{"text": "It says so.\n"}, {"text": CALL}], "citations": [{"title": "t"}]}
    content = [{"citationsContent": cited}]
    body = json.dumps({"output": {"message": {"content": content}}, "stopReason": "end_turn", "x": 1e400}).encode()
    made = json.loads(run(lifting("whole"), [body]))
    first, second = made["output"]["message"]["content"]
    assert first == {"citationsContent": {"content": [{"text": "It says so.\n"}], "citations": [{"title": "t"}]}}
    assert second["toolUse"]["name"] == "Bash"
    quoted = {**cited, "content": [{"text": "Nothing."}]}
    body = json.dumps({"output": {"message": {"content": [{"citationsContent": quoted}, {"text": CALL}]}}}).encode()
    made = json.loads(run(lifting("whole"), [body]))
    assert made["output"]["message"]["content"][0] == {"citationsContent": quoted}


@pytest.mark.parametrize(
    "odd",
    [
        frame("somethingNew", {"a": 1}),
        frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"video": {}}}),
        frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": 3}}),
        frame("contentBlockDelta", {"delta": {}}),
        frame("contentBlockDelta", []),
        frame("contentBlockStart", {"contentBlockIndex": 5}),
        frame("contentBlockStop", {}),
        frame("messageStart", {}),
        frame("messageStop", {}),
    ],
)
def test_events_of_an_odd_shape_stay(odd: bytes) -> None:
    body = b"".join([START, delta(0, text="a"), odd, delta(0, text="b"), stop(0), END, METADATA])
    for route in (LIFTING, Route()):
        assert run(lifting(route=route), [body]) == body


def test_what_nobody_knows_stays_behind_a_change() -> None:
    for odd in (
        frame("somethingNew", {"a": 1}),
        frame("contentBlockDelta", {"contentBlockIndex": 7, "delta": {"x": 1}}),
    ):
        out = run(lifting(), [b"".join([START, delta(0, text=CALL), stop(0), odd, END, METADATA])])
        assert odd in out or b'"delta":{"x":1}' in out


def test_a_reply_with_a_call_gets_the_reason_that_it_lacks() -> None:
    """Where `metadata` says that it has ended; without mending it is only reported."""
    start = {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "tooluse_1", "name": "Bash"}}}
    body = START + frame("contentBlockStart", start) + delta(0, toolUse={"input": "{}"}) + stop(0) + METADATA
    one = lifting(route=Route(mend=()))
    assert run(one, [body]) == body
    assert [note.rule for _, note in one.notes] == ["no_finish"]
    out = run(lifting(route=Route(mend=("protocol",))), [body])
    assert converseclient.received(out).stop == "tool_use"
    assert out.endswith(METADATA)


# --- requests ---------------------------------------------------------------------------------------------------------

ASKED = {
    "system": [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}],
    "messages": [
        {"role": "user", "content": [{"text": "Look."}, {"document": {"name": "d", "source": {"text": "A page."}}}]},
        {
            "role": "assistant",
            "content": [
                {"text": "I look."},
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s=="}}},
                {"toolUse": {"toolUseId": "tooluse_1", "name": "Bash", "input": {"command": "ls"}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "tooluse_1", "content": [{"text": "a.py"}, {"json": {"n": 1.50}}]}},
                {"cachePoint": {"type": "default"}},
            ],
        },
    ],
    "inferenceConfig": {"maxTokens": 10, "stopSequences": ["END"]},
    "toolConfig": {
        "tools": [
            {
                "toolSpec": {
                    "name": "Bash",
                    "description": "Runs.",
                    "inputSchema": {"json": {"type": "object", "properties": {"command": {"type": "string"}}}},
                }
            },
            {"systemTool": {"name": "nova_grounding"}},
            {"cachePoint": {"type": "default"}},
        ],
        "toolChoice": {"tool": {"name": "Bash"}},
    },
}


def test_what_a_request_says() -> None:
    asked = request_of(WIRE, json.dumps(ASKED).encode())
    assert asked.tools == (Tool("Bash", {"type": "object", "properties": {"command": {"type": "string"}}}, "Runs."),)
    assert (asked.tool_choice, asked.system, asked.assistant) == ("Bash", "Be brief.", ("I look.",))
    assert asked.names_tool
    assert set(asked.quotable) >= {"Look.", "A page.", "a.py"}
    assert not {"tooluse_1", "success"} & set(asked.quotable)
    anything = {**ASKED, "toolConfig": {**ASKED["toolConfig"], "toolChoice": {"any": {}}}}  # type: ignore[dict-item]
    assert request_of(WIRE, json.dumps(anything).encode()).tool_choice == "required"


def test_a_request_that_nobody_changes_is_written_as_it_came() -> None:
    body, format_ = json.dumps(ASKED, separators=(",", ":")).encode(), partial(conversation_of, "bedrock_converse")
    assert format_(body).changed(stop=("END",)).written() == body


def test_tools_and_calls_become_text() -> None:
    """Lowered for a text upstream: what has no place in a text stays as it came."""
    made, _ = sent("bedrock_converse", ASKED, replace(LOWER, dialects=("invoke",)))
    assert "toolConfig" not in made
    assert "Bash" in json.dumps(made["system"])
    called, answered = made["messages"][1]["content"], made["messages"][2]["content"]
    assert [set(block) for block in called] == [{"text"}, {"reasoningContent"}] or '<invoke name="Bash">' in str(called)
    assert not any("toolUse" in block for block in called)
    assert not any("toolResult" in block for block in answered)
    assert "a.py" in json.dumps(answered)


def test_damaged_calls_of_the_history_are_mended_with_their_results() -> None:
    messages = [
        {
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": "", "name": "Bash", "input": '{"command": "ls"}'}}],
        },
        {"role": "user", "content": [{"toolResult": {"toolUseId": "", "content": [{"text": "a"}]}}]},
    ]
    made, notes = mended("bedrock_converse", {**ASKED, "messages": messages}, "protocol")
    call, result = (one["content"][0] for one in json.loads(made)["messages"])
    assert call["toolUse"]["input"] == {"command": "ls"}
    assert call["toolUse"]["toolUseId"].startswith("tooluse_")
    assert result["toolResult"]["toolUseId"] == call["toolUse"]["toolUseId"]
    assert notes
