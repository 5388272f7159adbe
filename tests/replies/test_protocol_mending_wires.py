"""Damaged native calls of the wires beside Chat Completions (`test_protocol_mending.py`), by the same strategy."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from support import damaging
from support.damagedwires import ALL, Damaged
from support.damaging import CALLS, CAT, LS, NOW, Sound, repairs, same_calls
from support.exchanges import of_request, run
from support.processorcases import exchange_for as processed
from support.processorcases import route_of
from toolcalls.insight.descriptions import describe, describe_briefly
from toolcalls.insight.report import make_report
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.route import Route
from toolcalls.wires import all_wires

counted = pytest.mark.parametrize("calls", CALLS.values(), ids=CALLS)
EACH = [pytest.param(of, name, id=f"{form}: {name}") for form, of in ALL.items() for name in of.damages]


def exchange(of: Damaged, **route: Any) -> Exchange:
    request = Request(tools=damaging.TOOLS, model="m")
    return of_request(all_wires()[of.wire], request, Route(**route), form=of.form, seed=b"s")  # type: ignore[arg-type]


@pytest.mark.parametrize(("of", "name"), EACH)
def test_each_damage_is_one(of: Damaged, name: str) -> None:
    with pytest.raises((AssertionError, KeyError, IndexError, ValueError, TypeError)):
        same_calls(of.heard(of.damages[name]((LS, CAT))), (LS, CAT))


@counted
@pytest.mark.parametrize("of", ALL.values(), ids=ALL)
def test_a_sound_reply_leaves_as_it_came(of: Damaged, calls: Sequence[Sound]) -> None:
    body = of.sound(calls)
    one = exchange(of)
    assert run(one, [body[at : at + 1] for at in range(len(body))]) == body
    assert not repairs(one)
    same_calls(of.heard(body), calls)


@pytest.mark.parametrize(("of", "name"), EACH)
def test_a_text_client_gets_the_mended_calls(of: Damaged, name: str) -> None:
    one = exchange(of, client="text", client_dialect="invoke", upstream="native")
    out = run(one, [of.damages[name]((LS, CAT))])
    assert out.count(b"<invoke name=") + out.count(b"\\u003cinvoke name=") >= 2
    assert [verdict.status for _, verdict in one.verdicts] == ["lowered"] * 2


def test_no_arguments_of_a_tool_without_parameters() -> None:
    """Where the API has a string for them, or an object; what was cut off stays as it is."""
    none = Sound("c", "now", ())
    for form in ("openai_responses", "openai_responses whole"):
        of = ALL[form]
        one = exchange(of)
        assert of.heard(run(one, [of.sound((none,))])) == [("c", "now", "{}")]
        assert repairs(one) == {"empty_arguments"}
    for form, key in (("anthropic whole", "input"), ("gemini whole", "args"), ("ollama", "arguments")):
        of = ALL[form]
        empty = of.sound((NOW,)).replace(f'"{key}": {{}}'.encode(), f'"{key}": ""'.encode())
        empty = empty.replace(f'"{key}":{{}}'.encode(), f'"{key}":""'.encode())
        one = exchange(of)
        ((_, name, arguments),) = of.heard(run(one, [empty]))
        assert (name, arguments, repairs(one)) == ("now", "{}", {"empty_arguments"}), form


def test_a_call_that_is_announced_twice_has_no_arguments_yet() -> None:
    """Some servers repeat the item; its arguments come after it, and are none only where its end says so."""
    of = ALL["openai_responses"]
    events = of.sound((NOW,)).split(b"\n\n")
    at = next(at for at, event in enumerate(events) if b"output_item.added" in event and b"function_call" in event)
    twice = b"\n\n".join([*events[: at + 1], *events[at:]])
    one = exchange(of)
    assert run(one, [twice]) == twice
    assert not repairs(one)


def test_an_empty_input_behind_a_limit_is_not_completed() -> None:
    block = {"type": "tool_use", "id": "a", "name": "now", "input": ""}
    body = json.dumps({"type": "message", "content": [block], "stop_reason": "max_tokens"}).encode()
    assert run(exchange(ALL["anthropic whole"]), [body]) == body


def _response_events(*events: dict[str, Any]) -> bytes:
    """A stream of the Responses API, written with blanks as the addon writes none."""
    return b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events)


def _response_item(call: Sound, arguments: Any) -> dict[str, Any]:
    return {"type": "function_call", "id": "fc_1", "call_id": call.id, "name": call.name, "arguments": arguments,
            "status": "completed"}  # fmt: skip


def test_a_sound_item_of_a_response_that_nobody_announced_leaves_as_it_came() -> None:
    item = _response_item(LS, LS.arguments)
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    completed = {"type": "response.completed", "response": {"status": "completed", "output": [item]}}
    body = _response_events(done, completed)
    one = exchange(ALL["openai_responses"])
    assert run(one, [body]) == body
    assert not repairs(one)


def test_calls_that_only_the_end_of_a_response_holds_are_mended() -> None:
    items = [_response_item(call, json.loads(call.arguments)) for call in (LS, CAT)]
    body = _response_events({"type": "response.completed", "response": {"status": "completed", "output": items}})
    out = run(exchange(ALL["openai_responses"]), [body])
    (data,) = [line[6:] for line in out.splitlines() if line.startswith(b"data: ")]
    mended = [item["arguments"] for item in json.loads(data)["response"]["output"]]
    assert [json.loads(one) for one in mended] == [json.loads(call.arguments) for call in (LS, CAT)]


@counted
@pytest.mark.parametrize("name", ALL["openai_responses"].damages)
def test_messages_over_websocket(name: str, calls: Sequence[Sound]) -> None:
    """They are read like the lines of a stream."""
    of = ALL["openai_responses"]
    body = of.damages[name](calls)
    lines = b"".join(line[6:] + b"\n" for line in body.splitlines() if line.startswith(b"data: "))
    request = Request(tools=damaging.TOOLS, model="m")
    one = of_request(all_wires()[of.wire], request, Route(), form="ndjson", seed=b"s")
    out = run(one, lines.splitlines(keepends=True))
    same_calls(of.heard(b"".join(b"data: " + line + b"\n\n" for line in out.splitlines())), calls)


@pytest.mark.parametrize(("of", "name"), EACH)
def test_it_says_which_calls_were_mended(of: Damaged, name: str) -> None:
    for mend in (("protocol",), ()):
        one = exchange(of, mend=mend)
        run(one, [of.damages[name]((CAT, LS, NOW))])
        told = make_report(one)
        for verdict in told["verdicts"]:
            if verdict["status"] == "native":
                mended = bool(verdict["repairs"])
                assert describe(verdict, told)[1] == ("got it, mended" if mended else "got it as the model made it")
                assert describe_briefly(verdict, told).endswith(", mended") == mended
        assert any(verdict["repairs"] for verdict in told["verdicts"]) == bool(mend)


NO_RM = {"name": "no-rm", "action": "block", "tools": "Bash", "arguments": {"*": "rm"}}


@pytest.mark.parametrize(("of", "name"), EACH)
def test_rules_hold_for_damaged_calls(of: Damaged, name: str) -> None:
    """Mending brings no call past a rule; and each call has one verdict, mended or not."""
    removes = Sound("a", "Bash", (json.dumps({"command": "rm x"}),))
    for mend in (["protocol"], []):
        route = route_of({"mend": mend, "access": {"message": "No.", "rules": [NO_RM]}})
        one = processed(route, "process", form=of.form, wire=of.wire)
        out = run(one, [of.damages[name]((removes,))])
        (verdict,) = [verdict for _, verdict in one.verdicts]
        if mend:
            assert b"rm x" not in out
            assert (verdict.status, verdict.rule) == ("blocked", "no-rm")
