"""Arguments that come under the index of no open call, or of another one, where a rule may block calls.

SDKs find a call by its place in a list, so that -1 is the last one and "1" may be the second, and some agents take the
latest call for every piece. What a client may add to a call that no rule has judged it with is left out.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from support import cohereclient, converseclient
from support.processorcases import no_reactors, route_of
from toolcalls.processors import Processors
from toolcalls.replies.exchange import Exchange
from toolcalls.replies.unread_calls import STRAY_PIECE
from toolcalls.request import Request, Tool
from toolcalls.requests.evidence import Decision, call_policy_of
from toolcalls.route import Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

ARGUMENTS = '{"command":"rm -rf x"}'
NO_RM = route_of({"access": {"rules": [{"name": "no-rm", "action": "block", "arguments": {"command": "rm"}}]}})


UNGUARDED = Route(mend=())


def sse(row: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(row).encode() + b"\n\n"


class Chat:
    form: Form = "sse"
    head = tail = b""

    @staticmethod
    def delta(delta: dict[str, Any], finish: str | None = None) -> bytes:
        return sse({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    def start(self, index: Any, name: str) -> bytes:
        call = {"index": index, "id": f"{name}{index}", "type": "function", "function": {"name": name, "arguments": ""}}
        return self.delta({"tool_calls": [call]})

    def piece(self, index: Any, text: str) -> bytes:
        return self.delta({"tool_calls": [{"index": index, "function": {"arguments": text}}]})

    def end(self, _index: Any) -> bytes:
        return b""

    def over(self) -> bytes:
        return self.delta({}, "tool_calls") + b"data: [DONE]\n\n"


class Messages:
    form: Form = "sse"

    def write(self, row: dict[str, Any]) -> bytes:
        return f"event: {row['type']}\n".encode() + sse(row)

    def start(self, index: Any, name: str) -> bytes:
        block = {"type": "tool_use", "id": f"{name}{index}", "name": name, "input": {}}
        message = {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}
        begun = self.write({"type": "content_block_start", "index": index, "content_block": block})
        return self.write(message) + begun if index == 0 else begun

    def piece(self, index: Any, text: str) -> bytes:
        delta = {"type": "input_json_delta", "partial_json": text}
        return self.write({"type": "content_block_delta", "index": index, "delta": delta})

    def end(self, index: Any) -> bytes:
        return self.write({"type": "content_block_stop", "index": index})

    def over(self) -> bytes:
        ends = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}}
        return self.write(ends) + self.write({"type": "message_stop"})


class Converse:
    form: Form = "eventstream"

    def start(self, index: Any, name: str) -> bytes:
        use = {"contentBlockIndex": index, "start": {"toolUse": {"toolUseId": f"{name}{index}", "name": name}}}
        return converseclient.frame("contentBlockStart", use)

    def piece(self, index: Any, text: str) -> bytes:
        delta = {"contentBlockIndex": index, "delta": {"toolUse": {"input": text}}}
        return converseclient.frame("contentBlockDelta", delta)

    def end(self, index: Any) -> bytes:
        return converseclient.frame("contentBlockStop", {"contentBlockIndex": index})

    def over(self) -> bytes:
        return converseclient.frame("messageStop", {"stopReason": "tool_use"})


class Interactions:
    form: Form = "sse"

    def start(self, index: Any, name: str) -> bytes:
        step = {"type": "function_call", "id": f"{name}{index}", "name": name, "arguments": {}}
        return sse({"event_type": "step.start", "index": index, "step": step})

    def piece(self, index: Any, text: str) -> bytes:
        return sse(
            {"event_type": "step.delta", "index": index, "delta": {"type": "arguments_delta", "arguments": text}}
        )

    def end(self, index: Any) -> bytes:
        return sse({"event_type": "step.stop", "index": index})

    def over(self) -> bytes:
        completed = {"id": "i", "status": "requires_action"}
        return sse({"event_type": "interaction.completed", "interaction": completed}) + b"data: [DONE]\n\n"


class Cohere:
    form: Form = "sse"

    def start(self, index: Any, name: str) -> bytes:
        entry = {"id": f"{name}{index}", "type": "function", "function": {"name": name, "arguments": ""}}
        return self.about("tool-call-start", index, entry)

    def piece(self, index: Any, text: str) -> bytes:
        return self.about("tool-call-delta", index, {"function": {"arguments": text}})

    @staticmethod
    def about(kind: str, index: Any, entry: dict[str, Any]) -> bytes:
        return cohereclient.frame({"type": kind, "index": index, "delta": {"message": {"tool_calls": entry}}})

    def end(self, index: Any) -> bytes:
        return cohereclient.frame({"type": "tool-call-end", "index": index})

    def over(self) -> bytes:
        return cohereclient.frame({"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}})


class Responses:
    form: Form = "sse"

    def start(self, index: Any, name: str) -> bytes:
        item = {
            "type": "function_call",
            "id": f"fc_{name}{index}",
            "call_id": f"{name}{index}",
            "name": name,
            "arguments": "",
        }
        return sse({"type": "response.output_item.added", "output_index": index, "item": item})

    def piece(self, index: Any, text: str) -> bytes:
        return sse({"type": "response.function_call_arguments.delta", "output_index": index, "delta": text})

    def end(self, _index: Any) -> bytes:
        return b""

    def over(self) -> bytes:
        return sse({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}})


APIS: dict[str, Any] = {
    "openai_chat": Chat(),
    "anthropic": Messages(),
    "bedrock_converse": Converse(),
    "gemini_interactions": Interactions(),
    "cohere": Cohere(),
    "openai_responses": Responses(),
}
IN_TURN = ["anthropic", "bedrock_converse", "gemini_interactions", "cohere"]  # where calls follow each other


def through(wire: str, body: bytes, route: Route, step: int = 0) -> tuple[bytes, list[str]]:
    """What leaves, and what is noted as unread."""
    decision = Decision("process", "native", "native", None, ())
    tools = (Tool("Bash"), Tool("read_file"))
    call_policy, toolbox = call_policy_of(route, Request(tools=tools, model="m"), decision)
    processors = Processors(route, run=no_reactors) if route.processes else None
    form = APIS[wire].form
    one = Exchange(all_wires()[wire], call_policy, decision, toolbox, form=form, seed=b"s", processors=processors)
    size = step or len(body)
    out = b"".join(one.feed(body[at : at + size]) for at in range(0, len(body), size)) + one.close()
    assert one.failure is None
    return out, [note.text for _, note in one.notes if note.rule == "unread"]


type Write = Callable[[Any], bytes]
STRAYS: dict[str, Write] = {
    "of no call": lambda api: api.start(0, "Bash") + api.piece(7, ARGUMENTS) + api.end(0),
    "from behind": lambda api: api.start(0, "Bash") + api.piece(-1, ARGUMENTS) + api.end(0),
    "a string": lambda api: (
        api.start(0, "read_file") + api.end(0) + api.start(1, "Bash") + api.piece("1", ARGUMENTS) + api.end(1)
    ),
    "the rest, from behind": lambda api: (
        api.start(0, "Bash") + api.piece(0, '{"command":"ls",') + api.piece(-1, '"command":"rm -rf x"}') + api.end(0)
    ),
    "again and again": lambda api: api.start(0, "Bash") + api.piece(9, ARGUMENTS[:9]) + api.piece(9, ARGUMENTS[9:]),
}


@pytest.mark.parametrize("stray", STRAYS)
@pytest.mark.parametrize("wire", APIS)
def test_arguments_of_no_open_call_are_left_out(wire: str, stray: str) -> None:
    api = APIS[wire]
    body = STRAYS[stray](api) + api.over()
    for step in (0, 7):
        out, unread = through(wire, body, NO_RM, step)
        assert b"rm -rf" not in out
        assert unread == [STRAY_PIECE] or (wire == "openai_chat" and unread)  # there a string makes all of it unread
    assert through(wire, body, UNGUARDED) == (body, [])


@pytest.mark.parametrize("wire", IN_TURN)
def test_arguments_of_an_earlier_call_are_left_out_where_calls_follow_each_other(wire: str) -> None:
    """Agents that add each piece to the latest call would run the second one with them."""
    api = APIS[wire]
    body = api.start(0, "read_file") + api.start(1, "Bash") + api.piece(0, ARGUMENTS.replace("rm", "ls"))
    out, unread = through(wire, body + api.end(0) + api.end(1) + api.over(), NO_RM)
    assert b"ls -rf" not in out
    assert unread == [STRAY_PIECE]


def test_arguments_are_left_out_where_a_block_has_another_place_than_its_number() -> None:
    """anthropic-python adds a piece to the block at the place `index` of those that came."""
    api = Messages()
    text = api.write({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    call = {"type": "tool_use", "id": "a", "name": "read_file", "input": {}}
    other = api.write({"type": "content_block_start", "index": 0, "content_block": call})
    for rest in (text, other):
        body = api.start(1, "Bash") + rest + api.piece(0, ARGUMENTS.replace("rm", "ls"))
        out, unread = through("anthropic", body + api.over(), NO_RM)
        assert (b"ls -rf" in out, unread) == (False, [STRAY_PIECE])


def test_an_entry_that_openai_python_adds_to_another_call_is_left_out() -> None:
    api = Chat()
    body = api.start(5, "Bash") + api.start(0, "read_file") + api.piece(0, ARGUMENTS) + api.over()
    out, unread = through("openai_chat", body, NO_RM)
    assert (b"rm -rf" in out, unread) == (False, [STRAY_PIECE])


@pytest.mark.parametrize("beside", [{"text": None}, {"x": None}, {"x": 1}, {"text": "and"}])
def test_a_piece_beside_another_member_is_read_or_left_out(beside: dict[str, Any]) -> None:
    """botocore takes a null member for one that is not there; other clients skip those that they do not know."""
    api = Converse()
    delta = {"contentBlockIndex": 0, "delta": {"toolUse": {"input": ARGUMENTS}, **beside}}
    body = api.start(0, "Bash") + converseclient.frame("contentBlockDelta", delta) + api.end(0) + api.over()
    out, unread = through("bedrock_converse", body, NO_RM)
    read = [*beside.values()] == [None]
    assert (b"rm -rf" in out, unread) == (False, [] if read else [STRAY_PIECE])
    assert through("bedrock_converse", body, UNGUARDED) == (body, [])


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("wire", APIS)
def test_calls_in_turn_pass_as_they_are(wire: str, first: int) -> None:
    """Some servers count from 1."""
    api = APIS[wire]
    body = b"".join(
        api.start(at, "Bash") + api.piece(at, '{"command":') + api.piece(at, '"ls"}') + api.end(at)
        for at in (first, first + 1)
    )
    assert through(wire, body + api.over(), NO_RM) == (body + api.over(), [])


@pytest.mark.parametrize("indices", [(-1, -1), (None, None), (0, 0)])
def test_calls_of_servers_that_number_none_pass_as_they_are(indices: tuple[Any, Any]) -> None:
    body = b""
    for at, index in enumerate(indices):
        function = {"name": "Bash", "arguments": '{"command":"ls"}'}
        body += Chat.delta({"tool_calls": [{"index": index, "id": f"c{at}", "function": function}]})
    _, unread = through("openai_chat", body + Chat().over(), NO_RM)
    assert unread == []


def test_a_server_that_says_the_name_late_is_read() -> None:
    """Arguments before the first name wait for it, as they would at the client."""
    api = Chat()
    late = api.delta({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "Bash"}}]})
    assert through("openai_chat", api.piece(0, '{"command":"ls"}') + late + api.over(), NO_RM)[1] == []
    out, _ = through("openai_chat", api.piece(0, ARGUMENTS) + late + api.over(), replace(NO_RM, mend=()))
    assert b'"Bash"' not in out
