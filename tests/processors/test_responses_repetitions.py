"""The Responses API says a call, and a text, up to five times: a rule that blocks sees each of them.

Clients differ in which they take: openai-python the last whole response, openai-agents its items whatever their status,
Codex the ends of items, LangChain the beginning of an item with the pieces behind it.
"""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from support.careless import RULES, TOOLS
from support.exchanges import of_kind, run
from support.namedevents import events_of
from support.processorcases import no_reactors, route_of
from support.responsesclient import written
from toolcalls.processors import Processors
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.evidence import Kind
from toolcalls.route import Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

type Event = dict[str, Any]

ALLOWED, FORBIDDEN = '{"command":"ls"}', '{"command":"rm -rf build"}'


def exchange(kind: Kind = "process", *, rules: bool = True, form: Form = "sse", mends: bool = True) -> Exchange:
    route = route_of(RULES if mends else {**RULES, "mend": []}) if rules else Route(mend=())
    processors = Processors(route, run=no_reactors) if rules else None
    wire = all_wires()["openai_responses"]
    return of_kind(wire, TOOLS, route, kind, form=form, dialect="tagged", processors=processors)


def call(arguments: str, status: str = "completed", id_: str = "call_1") -> Event:
    return {
        "type": "function_call",
        "id": f"fc_{id_}",
        "call_id": id_,
        "name": "execute_command",
        "arguments": arguments,
        "status": status,
    }


def message(*texts: str, part: str = "output_text") -> Event:
    content = [{"type": part, "text": text, "annotations": []} for text in texts]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}


def response(items: Iterable[Event], status: str = "completed", **more: Any) -> Event:
    return {"id": "resp_1", "object": "response", "status": status, "output": [*items], **more}


def ended(*items: Event, kind: str = "completed", **more: Any) -> Event:
    return {"type": f"response.{kind}", "response": response(items, **more)}


def begun(place: int, item: Event) -> Event:
    return {"type": "response.output_item.added", "output_index": place, "item": item}


def done(place: int, item: Event) -> Event:
    return {"type": "response.output_item.done", "output_index": place, "item": item}


def arguments(place: int, piece: str, end: str = "delta", id_: str = "call_1") -> Event:
    about = {"output_index": place, "item_id": f"fc_{id_}"}
    return {
        "type": f"response.function_call_arguments.{end}",
        **about,
        "delta" if end == "delta" else "arguments": piece,
    }


def told(said: str, place: int = 0, id_: str = "call_1") -> list[Event]:
    """A call up to the end of its item, which is not among these."""
    item = call("", "in_progress", id_)
    return [begun(place, item), arguments(place, said, id_=id_), arguments(place, said, "done", id_)]


def spoken(text: str, place: int = 0) -> list[Event]:
    """A message up to the whole response."""
    at = {"output_index": place, "item_id": "msg_1", "content_index": 0}
    part = {"type": "output_text", "text": text, "annotations": []}
    return [
        begun(place, {**message(), "status": "in_progress"}),
        {"type": "response.content_part.added", **at, "part": {**part, "text": ""}},
        {"type": "response.output_text.delta", **at, "delta": text},
        {"type": "response.output_text.done", **at, "text": text},
        {"type": "response.content_part.done", **at, "part": part},
        done(place, message(text)),
    ]


def body_of(events: Iterable[Event]) -> bytes:
    first = {"type": "response.created", "response": response([], "in_progress")}
    return written([{**event, "sequence_number": number} for number, event in enumerate([first, *events])])


ERROR = {"type": "error", "code": "server_error", "message": "x"}
SAID = [*told(ALLOWED), done(0, call(ALLOWED))]
CALLS = {
    "a second response": [*SAID, ended(call(ALLOWED)), ended(call(FORBIDDEN))],
    "a second response with a new call": [ended(), ended(call(FORBIDDEN))],
    "a second response with one more call": [*SAID, ended(call(ALLOWED)), ended(call(ALLOWED), call(FORBIDDEN))],
    "a response after an error": [ERROR, ended(call(FORBIDDEN))],
    "a failed response after another one": [ended(), ended(call(FORBIDDEN), kind="failed", status="failed")],
    "an error with a response": [{**ERROR, "response": response([call(FORBIDDEN)])}, ended()],
    "an incomplete item at its end": [*told(ALLOWED), done(0, call(FORBIDDEN, "incomplete")), ended(call(ALLOWED))],
    "an incomplete item in the response": [*SAID, ended(call(FORBIDDEN, "incomplete"))],
    "an item's beginning": [begun(0, call(FORBIDDEN, "in_progress")), *told(ALLOWED)[1:], *SAID[-1:], ended()],
    "the first response": [{"type": "response.created", "response": response([call(FORBIDDEN)])}, ended()],
    "a response under way": [{"type": "response.in_progress", "response": response([call(FORBIDDEN)])}, ended()],
    "an event that is not known": [{"type": "response.done", "response": response([call(FORBIDDEN)])}, ended()],
    "an item of such an event": [{"type": "response.item", "item": call(FORBIDDEN)}, ended()],
    "arguments of no item": [*SAID, arguments(3, FORBIDDEN, "done"), ended(call(ALLOWED))],
    "pieces at another place": [
        begun(0, call("", "in_progress")), arguments(4, FORBIDDEN), done(0, call(ALLOWED)), ended()
    ],
    "another place in the response": [
        *spoken("Hi."), *told(FORBIDDEN, 1), done(1, call(FORBIDDEN)), ended(call(FORBIDDEN), message("Hi."))
    ],
    "the only item of the response": [
        *spoken("Hi."), *told(FORBIDDEN, 1), done(1, call(FORBIDDEN)), ended(call(FORBIDDEN))
    ],
    "another place in a second response": [
        ended(message("Hi."), call(FORBIDDEN)), ended(call(FORBIDDEN))
    ],
    "a place at which another call came": [
        *told(FORBIDDEN), done(0, call(FORBIDDEN)), *told(ALLOWED, 0, "call_2"), done(0, call(ALLOWED, id_="call_2")),
        ended(call(FORBIDDEN)),
    ],
    "the place of a call with the same id": [
        *told(FORBIDDEN), done(0, call(FORBIDDEN)), *told(ALLOWED, 1), done(1, call(ALLOWED)),
        ended(message(), call(FORBIDDEN)),
    ],
    "an item after the response": [ended(), done(0, call(FORBIDDEN))],
    "a call after the response": [ended(), *told(FORBIDDEN), done(0, call(FORBIDDEN))],
}  # fmt: skip


@pytest.mark.parametrize("mends", [True, False], ids=["mended", "not mended"])
@pytest.mark.parametrize("kind", ["process", "lift"])
@pytest.mark.parametrize("case", CALLS)
def test_a_forbidden_call_leaves_nowhere(case: str, kind: Kind, *, mends: bool) -> None:
    body = body_of(CALLS[case])
    for size in (len(body), 40):
        out = run(exchange(kind, mends=mends), [body[at : at + size] for at in range(0, len(body), size)])
        assert b"rm -rf" not in out
        assert events_of(out)[0]["type"] == "response.created" or case == "the first response"


@pytest.mark.parametrize("case", CALLS)
def test_without_rules_it_leaves_as_it_came(case: str) -> None:
    body = body_of(CALLS[case])
    assert run(exchange("lift", rules=False), [body]) == body


SOUND = {
    "a call": [*SAID, ended(call(ALLOWED))],
    "a call that is whole at its beginning": [begun(0, call(ALLOWED, "in_progress")), *SAID[1:], ended(call(ALLOWED))],
    "a call that begins with an empty object": [begun(0, call("{}", "in_progress")), *SAID[1:], ended(call(ALLOWED))],
    "the same response twice": [*SAID, ended(call(ALLOWED)), ended(call(ALLOWED))],
    "a response after an error": [*SAID, ERROR, ended(call(ALLOWED), kind="failed", status="failed")],
    "an incomplete item": [*told(ALLOWED), done(0, call(ALLOWED, "incomplete")), ended(call(ALLOWED, "incomplete"))],
    "an incomplete item without arguments": [*told(ALLOWED), done(0, call("", "incomplete")), ended()],
    "a message before a call": [
        *spoken("Hi."), *told(ALLOWED, 1), done(1, call(ALLOWED)), ended(message("Hi."), call(ALLOWED))
    ],
    "another order in the response": [
        *spoken("Hi."), *told(ALLOWED, 1), done(1, call(ALLOWED)), ended(call(ALLOWED), message("Hi."))
    ],
    "only a response": [ended(message("Hi."), call(ALLOWED))],
}  # fmt: skip


@pytest.mark.parametrize("kind", ["process", "lift"])
@pytest.mark.parametrize("case", SOUND)
def test_a_reply_with_allowed_calls_leaves_as_it_came(case: str, kind: Kind) -> None:
    body = body_of(SOUND[case])
    assert run(exchange(kind), [body]) == body


def test_a_custom_tool_is_compared_by_its_text() -> None:
    about = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "execute_command"}
    at = {"output_index": 0, "item_id": "ctc_1"}
    events = [
        begun(0, {**about, "input": "", "status": "in_progress"}),
        {"type": "response.custom_tool_call_input.delta", **at, "delta": "ls"},
        {"type": "response.custom_tool_call_input.done", **at, "input": "ls"},
        done(0, {**about, "input": "ls", "status": "completed"}),
        ended({**about, "input": "ls", "status": "completed"}),
    ]
    body = body_of(events)
    assert run(exchange(), [body]) == body


def test_what_follows_a_frame_that_is_left_out_leaves() -> None:
    odd = {"type": "response.odd", "function_call": {"name": "execute_command", "arguments": FORBIDDEN}}
    one = exchange()
    out = run(one, [body_of([odd, *spoken("Hi."), ended(message("Hi."))])])
    assert out == body_of([odd, *spoken("Hi."), ended(message("Hi."))]).replace(
        written([{**odd, "sequence_number": 1}]), b""
    )
    assert [note.rule for _, note in one.notes] == ["unread"]


def test_a_payload_that_cannot_be_read_and_names_a_call_is_left_out() -> None:
    body = body_of([ended()])
    odd = b"data: {" + json.dumps({"item": call(FORBIDDEN)}).encode()[1:-1] + b",,}\n\n"
    assert run(exchange(), [odd + body]) == body
    assert run(exchange(rules=False), [odd + body]) == odd + body


X = "<execute_command>\n<command>rm -rf build</command>\n</execute_command>"
OPENS, CLOSES = "<execute_command>", "<command>rm -rf build</command></execute_command>"
HI = spoken("Hi.")
AT = {"output_index": 0, "item_id": "msg_1", "content_index": 0}


def in_place_of(number: int, **changes: Any) -> list[Event]:
    """A message whose event with this number differs."""
    return [{**event, **changes} if place == number else event for place, event in enumerate(HI)]


TEXTS = {
    "the end of the text": [*in_place_of(3, text=X), ended(message("Hi."))],
    "the end of the part": [*in_place_of(4, part={"type": "output_text", "text": X}), ended(message("Hi."))],
    "the beginning of the part": [*in_place_of(1, part={"type": "output_text", "text": X}), ended(message("Hi."))],
    "the end of the item": [*in_place_of(5, item=message(X)), ended(message("Hi."))],
    "the beginning of the item": [*in_place_of(0, item=message(X)), ended(message("Hi."))],
    "one more part of the item": [*in_place_of(5, item=message("Hi.", X)), ended(message("Hi."))],
    "another kind of part": [*in_place_of(5, item=message(X, part="text")), ended(message("Hi."))],
    "a text without parts": [*in_place_of(5, item={**message(), "content": X}), ended(message("Hi."))],
    "the response": [*HI, ended(message(X))],
    "one more item of the response": [*HI, ended(message("Hi."), message(X))],
    "one more part of the response": [*HI, ended(message("Hi.", X))],
    "another kind of part of the response": [*HI, ended(message("Hi."), message(X, part="text"))],
    "the text of the response": [*HI, ended(message("Hi."), output_text=X)],
    "the text of a response without items": [*HI, ended(output_text=X)],
    "a second response": [*HI, ended(message("Hi.")), ended(message(X))],
    "a response after an error": [*HI, ERROR, ended(message(X), kind="failed", status="failed")],
    "the first response": [{"type": "response.created", "response": response([message(X)])}, *HI, ended()],
    "a call that was removed, at another place": [*spoken(X), ended(message("Hi."), message(X))],
    "another order in the response": [*spoken(CLOSES), *spoken(OPENS, 1), ended(message(OPENS), message(CLOSES))],
    "another order of parts": [*spoken(CLOSES), *spoken(OPENS, 1), ended(message(OPENS, CLOSES))],
}


def is_called(texts: Iterable[str]) -> bool:
    """Whether a careless parser finds the forbidden call in these texts, one after the other."""
    joined = "".join(texts)
    return OPENS in joined and "rm -rf" in joined.partition(OPENS)[2]


def texts_in(events: Iterable[Event]) -> Iterable[list[str]]:
    """What clients may take as the text: what each event says."""
    for event in events:
        said = event.get("response", {})
        items = [*said.get("output", ()), *([event["item"]] if "item" in event else ())]
        contents = [item.get("content", ()) for item in items]
        yield [one if isinstance(one, str) else one["text"] for content in contents for one in content]
        yield [event.get("text", ""), event.get("part", {}).get("text", ""), said.get("output_text", "")]


@pytest.mark.parametrize("kind", ["roundtrip", "lower"])
@pytest.mark.parametrize("case", TEXTS)
def test_a_text_that_is_said_again_holds_no_other_call(case: str, kind: Kind) -> None:
    body = body_of(TEXTS[case])
    for size in (len(body), 40):
        out = events_of(run(exchange(kind), [body[at : at + size] for at in range(0, len(body), size)]))
        assert not [texts for texts in texts_in(out) if is_called(texts)]
        assert [event["type"] for event in out[-1:]] == [TEXTS[case][-1]["type"]]


@pytest.mark.parametrize("kind", ["roundtrip", "lower"])
@pytest.mark.parametrize("case", TEXTS)
def test_without_rules_such_a_text_leaves_as_it_came(case: str, kind: Kind) -> None:
    plain = [event for event in TEXTS[case] if event not in spoken(X)]
    body = body_of(plain)
    assert run(exchange(kind, rules=False), [body]) == body


def thought(text: str) -> list[Event]:
    """Reasoning, as servers of open models send it."""
    at = {"output_index": 0, "item_id": "rs_1", "content_index": 0}
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "content": []}
    part = {"type": "reasoning_text", "text": text}
    return [
        begun(0, item),
        {"type": "response.content_part.added", **at, "part": {**part, "text": ""}},
        {"type": "response.reasoning_text.delta", **at, "delta": text},
        {"type": "response.reasoning_text.done", **at, "text": text},
        {"type": "response.content_part.done", **at, "part": part},
        done(0, {**item, "content": [part]}),
    ]


SOUND_TEXTS = {
    "a message": [*HI, ended(message("Hi."))],
    "two messages": [*HI, *spoken("There.", 1), ended(message("Hi."), message("There."))],
    "all messages as the text": [*HI, *spoken(" So.", 1), ended(output_text="Hi. So.")],
    "two messages as one": [*HI, *spoken(" There.", 1), ended(message("Hi. There."))],
    "the same message twice": [
        *HI, *spoken("So.", 1), *spoken("Hi.", 2), ended(message("Hi."), message("So."), message("Hi."))
    ],
    "white space": [*spoken("\n\nHi.\n")[:-1], done(0, message("Hi.")), ended(message("Hi."), output_text="Hi.")],
    "other places": [*HI, ended({"type": "reasoning", "id": "rs_1", "summary": []}, message("Hi."))],
    "no items at the end": [*HI, ended(output_text="Hi.")],
    "only the item": [done(0, message("Hi.", "There.")), ended(message("Hi.", "There."))],
    "only the response": [ended(message("Hi.", "There."), output_text="Hi.There.")],
    "reasoning": [*thought("So."), *spoken("Hi.", 1), ended(thought("So.")[-1]["item"], message("Hi."))],
    "a refusal": [
        *HI, ended({**message(), "content": [*message("Hi.")["content"], {"type": "refusal", "refusal": "No."}]})
    ],
    "an allowed call": [*spoken(X.replace("rm -rf", "ls")), ended(message(X.replace("rm -rf", "ls")))],
    "the same response twice": [*HI, ended(message("Hi.")), ended(message("Hi."))],
}  # fmt: skip


@pytest.mark.parametrize("kind", ["roundtrip", "lower"])
@pytest.mark.parametrize("case", SOUND_TEXTS)
def test_a_text_that_is_said_again_as_it_was_leaves_as_it_came(case: str, kind: Kind) -> None:
    body = body_of(SOUND_TEXTS[case])
    assert run(exchange(kind), [body]) == body


def test_a_native_client_is_given_texts_as_they_came() -> None:
    for events in TEXTS.values():
        body = body_of(events)
        assert run(exchange("process"), [body]) == body


WHOLE = {
    "the text of the response": response([message("Hi.")], output_text=X),
    "the text of a response without items": response([], output_text=X),
    "another kind of part": response([message("Hi."), message(X, part="text")]),
    "a text without parts": response([{**message(), "content": X}]),
}
SOUND_WHOLE = {
    "the same text": response([message("Hi. "), message("So.")], output_text="Hi.So."),
    "no text again": response([message("Hi.")], output_text=""),
    "a refusal": response([{**message(), "content": [{"type": "refusal", "refusal": "No."}]}]),
    "reasoning": response([thought("So.")[-1]["item"], message("Hi.")]),
}


@pytest.mark.parametrize("kind", ["roundtrip", "lower"])
@pytest.mark.parametrize("case", WHOLE)
def test_a_whole_reply_with_another_text_does_not_pass(case: str, kind: Kind) -> None:
    one = exchange(kind, form="whole")
    assert run(one, [json.dumps(WHOLE[case]).encode()]) == b""
    assert [note.rule for _, note in one.notes] == ["unread"]


@pytest.mark.parametrize("kind", ["roundtrip", "lower"])
@pytest.mark.parametrize("case", SOUND_WHOLE)
def test_a_whole_reply_with_the_same_text_passes(case: str, kind: Kind) -> None:
    body = json.dumps(SOUND_WHOLE[case]).encode()
    assert run(exchange(kind, form="whole"), [body]) == body


@pytest.mark.parametrize("case", WHOLE)
def test_others_get_such_a_whole_reply_as_it_came(case: str) -> None:
    body = json.dumps(WHOLE[case]).encode()
    assert run(exchange("process", form="whole"), [body]) == body
    assert run(exchange("lower", rules=False, form="whole"), [body]) == body


@pytest.mark.parametrize("kind", ["roundtrip", "lower"])
@pytest.mark.parametrize("status", ["completed", "incomplete"])
def test_a_call_in_the_place_of_an_open_message_does_not_leave(status: str, kind: Kind) -> None:
    """The response says how the message ended, and its item there is a call."""
    part = {"type": "output_text", "text": X}
    text = {"type": "response.content_part.done", **AT, "part": part}
    body = body_of([*SAID, text, ended(call(FORBIDDEN, status))])
    assert b"rm -rf" not in run(exchange(kind), [body])
