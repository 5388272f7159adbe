"""Whole replies of the Responses API: each is what the last frame of its stream says.

`test_cases` runs them; here is what a client of whole replies sees beside texts and calls: what stays as it came, what
else is in a message, and where what is new stands.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from support.exchanges import LIFTING, of_request, run, words
from support.growth import grows_with_its_input
from support.oddreplies import CALL, TOOLS
from toolcalls.events import Text
from toolcalls.request import Request
from toolcalls.route import Route
from toolcalls.wires import all_wires

WIRE = all_wires()["openai_responses"]
LOWERING = Route(client="text", client_dialect="invoke", upstream="native")
CITED = [{"type": "url_citation", "url": "https://a.example/"}]
REFUSAL = {"type": "refusal", "refusal": "No."}
THOUGHT = {"id": "rs_1", "type": "reasoning", "summary": []}


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "output_text", "text": said, "annotations": [], **more}


def message(*parts: Any, **more: Any) -> dict[str, Any]:
    told = [text(part) if isinstance(part, str) else part for part in parts]
    return {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": told, **more}


def call(id_: str, name: str, arguments: str) -> dict[str, Any]:
    item = {"id": f"fc_{id_}", "type": "function_call", "status": "completed", "call_id": id_}
    return {**item, "name": name, "arguments": arguments}


def made_of(*items: Any, route: Route = LIFTING, **more: Any) -> dict[str, Any]:
    """What a reply with these items becomes."""
    body = {"id": "resp_1", "object": "response", "status": "completed", "output": items, **more}
    one = of_request(WIRE, Request(tools=TOOLS), route, form="whole", seed=b"s")
    made: dict[str, Any] = json.loads(run(one, [json.dumps(body).encode()]))
    return made


def kinds(made: dict[str, Any]) -> list[str]:
    return [item["type"] for item in made["output"]]


def test_messages_beside_a_changed_one_stay_as_they_came() -> None:
    """With parts that say nothing, and with a status that is none of this reply's."""
    first = message("", REFUSAL, "a", status="incomplete", x=1.50)
    made = made_of(first, THOUGHT, message(CALL, id="msg_2"))
    assert made["output"][:2] == [first, THOUGHT]
    assert kinds(made) == ["message", "reasoning", "function_call"]


def test_parts_of_a_changed_message_keep_their_order_and_what_else_they_hold() -> None:
    cited = text("a", annotations=CITED, logprobs=[{"token": "a"}])
    made = made_of(message(cited, REFUSAL, text(f"b\n{CALL}\nc", annotations=CITED), "d"))
    first, _, last = made["output"]
    assert first["content"] == [cited, REFUSAL, text("b\n", annotations=CITED)]
    assert [part["text"] for part in last["content"]] == ["\nc", "d"]
    assert (first["id"], last["id"]) == ("msg_1", "msg_1_2")


def test_the_first_text_of_a_part_has_its_annotations_and_no_other_repeats_them() -> None:
    made = made_of(message(text(f"a\n{CALL}\nb", annotations=CITED)))
    assert [part["annotations"] for item in made["output"][::2] for part in item["content"]] == [CITED, []]
    made = made_of(message(text(f"{CALL}\nb", annotations=CITED)))
    assert made["output"][-1]["content"][0]["annotations"] == CITED


def test_a_refusal_alone_is_left_of_a_message() -> None:
    assert made_of(message(CALL, REFUSAL))["output"][-1]["content"] == [REFUSAL]


def test_a_message_of_which_nothing_is_left_goes() -> None:
    assert kinds(made_of(THOUGHT, message(CALL, f"\n{CALL}".strip()))) == [
        "reasoning",
        "function_call",
        "function_call",
    ]


def test_a_message_keeps_its_status_around_a_call() -> None:
    made = made_of(message(f"a\n{CALL}\nb", status="incomplete"), status="incomplete")
    assert [item.get("status") for item in made["output"]] == ["incomplete", "completed", "incomplete"]


@pytest.mark.parametrize("before", [(), (THOUGHT,)])
def test_text_of_calls_is_in_a_message_behind_all_items(before: tuple[Any, ...]) -> None:
    unwritable = {"id": "lsh_1", "type": "local_shell_call", "call_id": "c2", "status": "completed", "action": {}}
    made = made_of(*before, call("c1", "Bash", '{"command": "ls"}'), unwritable, route=LOWERING)
    assert kinds(made) == [*(item["type"] for item in before), "local_shell_call", "message"]
    assert '<invoke name="Bash">' in made["output"][-1]["content"][0]["text"]


def test_a_list_that_nothing_changes_keeps_its_white_space() -> None:
    """Though the reply is written again: the call cannot be said in the client's dialect."""
    item = call("c1", "Bash", json.dumps({"command": "echo \"</arg_value>\" '</tool_call>' </arg_value> <arg_key>no"}))
    body = b'{"id":"resp_1","status":"completed","output":[ %b ,\n%b ]}'
    body %= (json.dumps(message("a")).encode(), json.dumps(item).encode())
    route = Route(client="text", client_dialect="qwen3_xml", upstream="native")
    one = of_request(WIRE, Request(tools=TOOLS), route, form="whole", seed=b"s")
    assert run(one, [body]) == body
    assert words(one) == ["native unwritable Bash"]


def test_many_messages_cost_what_they_are_many() -> None:
    """Each message asks for its own texts, and not for all."""

    def work(size: int) -> Callable[[], object]:
        codec = WIRE.whole()
        items = [message(f"{number}\n", id=f"msg_{number}") for number in range(size)]
        body = json.dumps({"id": "resp_1", "status": "completed", "output": items}).encode()
        parts = [(lane, Text(one.text.strip()) if isinstance(one, Text) else one) for lane, one in codec.decode(body)]
        return lambda: codec.encode(body, parts, can_omit=False)

    grows_with_its_input(work, 200)
