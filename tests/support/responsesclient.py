"""A client of the Responses API that is stricter than all real ones together, for tests; no code of the wire is in it.

Every rule here is one that some client insists on: `response.created` first, one terminal event and nothing after it;
sequence numbers without gaps; each item added before anything is told of it, at the next place, and one at a time; a
text that is the same in its deltas, its two ends, its item's end and the whole response; a call with its ids, its
arguments appended, in `done` and in its item the same, one JSON object; the whole response with the items as they were
told, in their order. No message is empty. A call that broke off has no ends, and then the response is incomplete.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from support.namedevents import events_of

# Calls of the client's that are no functions: what their ids begin with, and the member that holds their arguments.
BUILT_IN = {
    "local_shell_call": ("lsh_", "action"),
    "shell_call": ("sh_", "action"),
    "apply_patch_call": ("apc_", "operation"),
    "computer_call": ("cu_", "action"),
}
CALLS = {"function_call", "custom_tool_call", *BUILT_IN}
USAGE = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}


@dataclass
class Reply:
    """What a reply has told its client."""

    text: str = ""
    reasoning: str = ""
    status: str | None = None
    reason: str | None = None
    calls: list[dict[str, str]] = field(default_factory=list)  # those that are complete
    open: list[dict[str, str]] = field(default_factory=list)
    order: str = ""  # "t" for a message, "c" for a call of the client's, "r" for reasoning, "x" for any other item
    items: list[dict[str, Any]] = field(default_factory=list)
    usage: Any = None


class _Item:
    """An item that is being told."""

    def __init__(self, item: dict[str, Any]) -> None:
        self.item = item
        self.parts: list[str] = []
        self.part_open = self.text_done = False
        self.arguments = ""
        self.arguments_done = False


def received(body: bytes, *, ends: bool = True, late: bool = False) -> Reply:
    """What a client makes of a streamed body. `ends`: it ended as it should."""
    assert body.endswith(b"\n\n") or not ends, "the last event is not closed"
    return understood(events_of(body), ends=ends, late=late)


def understood(events: Sequence[dict[str, Any]], *, ends: bool = True, late: bool = False) -> Reply:
    """What a client makes of events, from wherever they came.

    late   a message that its server does not begin, or not say in deltas, may be as its end says it
    """
    reply = Reply()
    current: _Item | None = None
    places: list[_Item] = []
    first = events[0]["sequence_number"] if events else 0
    ids: list[str] = []
    for number, event in enumerate(events):
        kind = event["type"]
        assert (number == 0) == (kind == "response.created"), kind
        assert event["sequence_number"] == first + number, f"{event['sequence_number']}, not {first + number}"
        if late:
            current = _late(current, event, places, ids)
        assert reply.status is None, f"{kind} behind the end"
        if kind == "response.output_item.added":
            assert event["output_index"] == len(places), f"place {event['output_index']}, not {len(places)}"
            # A call that broke off is never ended; everything else is.
            assert current is None or current.item["type"] in CALLS, "an item in an item"
            current = _Item(event["item"])
            places.append(current)
            ids.append(event["item"]["id"])
        elif kind in {"response.completed", "response.incomplete", "response.failed"}:
            _ended(reply, event, places)
        elif "output_index" in event:
            assert current is not None, f"{kind} without an item"
            assert event["output_index"] == len(places) - 1, f"{kind} for place {event['output_index']}"
            assert event.get("item_id", current.item["id"]) == current.item["id"], f"{kind} for {event['item_id']}"
            if _take(current, event):
                current = None
    assert len(set(ids)) == len(ids), f"two items with one id: {ids}"
    assert reply.status is not None or not ends, "no end"
    return reply


def _late(current: _Item | None, event: dict[str, Any], places: list[_Item], ids: list[str]) -> _Item | None:
    """What an event says for the first time that events before it should have said."""
    kind = event["type"]
    if kind == "response.output_item.done" and event["item"]["type"] == "message":
        item = event["item"]
        if current is None or current.item["type"] == "function_call":
            current = _Item({**item, "content": []})
            places.append(current)
            ids.append(item["id"])
        if not current.parts:
            current.parts = [part["text"] for part in item["content"] if part["type"] == "output_text"]
    elif current is not None and kind in {"response.output_text.done", "response.content_part.done"}:
        text = event["text"] if "text" in event else event["part"]["text"]
        if current.part_open and not current.parts[-1]:
            current.parts[-1] = text
            current.text_done = "part" in event
    return current


def _take(current: _Item, event: dict[str, Any]) -> bool:
    """An event about an item. Whether the item ends with it."""
    kind, item = event["type"], current.item
    if kind == "response.content_part.added":
        assert event["content_index"] == len(current.parts), event["content_index"]
        assert not current.part_open
        assert event["part"]["text"] == ""
        current.parts.append("")
        current.part_open, current.text_done = True, False
    elif kind in {"response.output_text.delta", "response.reasoning_text.delta"}:
        assert current.part_open, "text without a part"
        assert not current.text_done, "text behind its end"
        assert event["content_index"] == len(current.parts) - 1
        assert event["delta"] != ""
        current.parts[-1] += event["delta"]
    elif kind in {"response.output_text.done", "response.reasoning_text.done"}:
        assert event["text"] == current.parts[-1]
        current.text_done = True
    elif kind == "response.content_part.done":
        assert current.text_done
        assert event["part"]["text"] == current.parts[-1]
        current.part_open = False
    elif kind == "response.custom_tool_call_input.done":
        assert event["input"] == current.arguments
        current.arguments_done = True
    elif kind in {"response.function_call_arguments.delta", "response.custom_tool_call_input.delta"}:
        assert item["type"] == ("custom_tool_call" if "custom" in kind else "function_call")
        assert not current.arguments_done
        assert event["delta"] != ""
        current.arguments += event["delta"]
    elif kind == "response.function_call_arguments.done":
        assert (event["arguments"], event.get("name", item["name"])) == (current.arguments, item["name"])
        current.arguments_done = True
    elif kind == "response.output_item.done":
        _item_done(current, event["item"])
        return True
    return False


def _item_done(current: _Item, item: dict[str, Any]) -> None:
    for key in ("id", "type", "name", "call_id", "role"):
        assert item.get(key) == current.item.get(key), f"another {key} at the end"
    if item["type"] == "message":
        assert not current.part_open, "a part without an end"
        assert [part["text"] for part in item["content"]] == current.parts
        assert "".join(current.parts), "an empty message"
        assert current.item["content"] == []
    elif item["type"] == "reasoning":
        assert [part["text"] for part in item.get("content") or ()] == current.parts
    elif item["type"] in {"function_call", "custom_tool_call"} and item["status"] == "incomplete":  # OpenAI ends those
        assert not current.arguments_done
    elif item["type"] == "custom_tool_call":
        assert current.arguments_done, "a call without the end of its input"
        assert (item["input"], current.item["input"], item["status"]) == (current.arguments, "", "completed")
    elif item["type"] == "function_call":
        assert current.arguments_done, "a call without the end of its arguments"
        assert item["arguments"] == current.arguments
        assert current.item["arguments"] == ""
        assert item["status"] == "completed"
    current.item = item


def _ended(reply: Reply, event: dict[str, Any], places: list[_Item]) -> None:
    response = event["response"]
    reply.status = response["status"]
    assert event["type"] == f"response.{reply.status}"
    reply.reason = (response.get("incomplete_details") or {}).get("reason")
    reply.usage = response.get("usage")
    told = [place.item for place in places]
    assert [item["id"] for item in response["output"]] == [item["id"] for item in told], "other items at the end"
    for place, item in zip(places, response["output"], strict=True):
        if place.item["type"] in {"function_call", "custom_tool_call"} and not place.arguments_done:
            held = "arguments" if place.item["type"] == "function_call" else "input"
            assert (item["status"], item[held]) == ("incomplete", place.arguments)
        else:
            assert item == place.item, "another item at the end"
    take_items(reply, response)


def take_items(reply: Reply, response: Mapping[str, Any]) -> None:
    """The items of a whole response."""
    reply.items = list(response["output"])
    reply.status = response["status"]
    reply.reason = (response.get("incomplete_details") or {}).get("reason")
    reply.usage = response.get("usage")
    for item in reply.items:
        if item["type"] == "message":
            assert item["content"], "an empty message"
            reply.text += "".join(part["text"] for part in item["content"] if part["type"] == "output_text")
            reply.order += "t"
        elif item["type"] == "reasoning":
            reply.reasoning += "".join(part["text"] for part in item.get("content") or ())
            reply.order += "r"
        elif item["type"] in CALLS:
            prefix, call = _call(item)
            assert item["id"].startswith(prefix), item["id"]
            assert call["id"], "a call without an id"
            assert call["name"], "a call without a name"
            if item["status"] == "completed":
                assert isinstance(json.loads(call["arguments"]), dict), f"arguments {call['arguments']!r}"
                reply.calls.append(call)
            else:
                reply.open.append(call)
            reply.order += "c"
        else:
            reply.order += "x"
    assert not reply.open or reply.status == "incomplete", "a call that broke off in a completed response"
    assert "output_text" not in response or response["output_text"] == reply.text
    ids = [call["id"] for call in [*reply.calls, *reply.open]]
    assert len(set(ids)) == len(ids), "two calls with one id"


def _call(item: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """What the ids of such items begin with, and the call; a custom tool's text is in its `input`."""
    form = item["type"]
    if form == "function_call":
        prefix, name, arguments = "fc_", item["name"], item["arguments"]
    elif form == "custom_tool_call":
        prefix, name, arguments = "ctc_", item["name"], json.dumps({"input": item["input"]})
    else:
        prefix, held = BUILT_IN[form]
        name, arguments = (
            form.removesuffix("_call"),
            json.dumps(item[held] if held in item else {"actions": item["actions"]}),
        )
    return prefix, {"id": item["call_id"], "name": name, "arguments": arguments, "form": form}


# --- what an upstream sends -------------------------------------------------------------------------------------------


def written(events: Sequence[Mapping[str, Any]]) -> bytes:
    """Events as they are on the wire."""
    return b"".join(framed(event) for event in events)


def framed(event: Mapping[str, Any]) -> bytes:
    """One event. Text stands as UTF-8; where it holds a lone surrogate, as escapes."""
    try:
        data = json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        data = json.dumps(event, separators=(",", ":")).encode()
    return f"event: {event['type']}\ndata: ".encode() + data + b"\n\n"


def stream(
    items: Sequence[str | Sequence[str] | Mapping[str, Any]], status: str = "completed", *, response_id: str = "resp_1"
) -> list[dict[str, Any]]:
    """An upstream's events. An item is a message's text, its pieces, or an item as it is at its end.

    Of an item, `pieces` says in which pieces its arguments or its input come. `status` "broken": there is no terminal
    event.
    """
    head = {"id": response_id, "object": "response", "created_at": 1, "model": "m", "error": None}
    begun = {**head, "status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
    events: list[dict[str, Any]] = [
        {"type": f"response.{kind}", "response": begun} for kind in ("created", "in_progress")
    ]
    output: list[dict[str, Any]] = []
    for place, item in enumerate(items):
        if isinstance(item, Mapping):
            whole, told = _told(item, place)
        else:
            whole, told = _message([item] if isinstance(item, str) else item, place, status)
        output.append(whole)
        events += told
    if status != "broken":
        reason = (
            None
            if status == "completed"
            else {"reason": "content_filter" if status == "filtered" else "max_output_tokens"}
        )
        last = "completed" if status == "completed" else "incomplete"
        ended = {**head, "status": last, "incomplete_details": reason, "output": output, "usage": USAGE}
        events.append({"type": f"response.{last}", "response": ended})
    return [{"type": event["type"], "sequence_number": number, **event} for number, event in enumerate(events)]


def whole(events: Sequence[Mapping[str, Any]]) -> bytes:
    """The same reply as one body."""
    return json.dumps(events[-1]["response"]).encode()


def _message(pieces: Sequence[str], place: int, status: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    at = {"item_id": f"msg_{place}", "output_index": place, "content_index": 0}
    begun = {"id": f"msg_{place}", "type": "message", "status": "in_progress", "role": "assistant", "content": []}
    part = {"type": "output_text", "annotations": [], "text": "".join(pieces)}
    last = "completed" if status in {"completed", "broken"} else "incomplete"
    ended = {**begun, "status": last, "content": [part]}
    return ended, [
        {"type": "response.output_item.added", "output_index": place, "item": begun},
        {"type": "response.content_part.added", **at, "part": {**part, "text": ""}},
        *({"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []} for piece in pieces),
        {"type": "response.output_text.done", **at, "text": part["text"], "logprobs": []},
        {"type": "response.content_part.done", **at, "part": part},
        {"type": "response.output_item.done", "output_index": place, "item": ended},
    ]


def _told(item: Mapping[str, Any], place: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    held = "input" if item["type"] == "custom_tool_call" else "arguments"
    pieces = item.get("pieces", [item[held]] if item.get(held) else [])
    ended = {"id": f"fc_{place}", "status": "completed", **{key: item[key] for key in item if key != "pieces"}}
    begun = {**ended, "status": "in_progress", **({held: ""} if held in ended else {})}
    if item["type"] in BUILT_IN:
        begun.pop(BUILT_IN[item["type"]][1], None)
    at = {"item_id": ended["id"], "output_index": place}
    told: list[dict[str, Any]] = []
    if item["type"] == "function_call":
        kind = "response.function_call_arguments"
        told = [{"type": f"{kind}.delta", **at, "delta": piece} for piece in pieces]
        if ended["status"] == "completed":
            told.append({"type": f"{kind}.done", **at, "arguments": ended["arguments"], "name": ended["name"]})
    elif item["type"] == "custom_tool_call":
        kind = "response.custom_tool_call_input"
        told = [{"type": f"{kind}.delta", **at, "delta": piece} for piece in pieces]
        if ended["status"] == "completed":
            told.append({"type": f"{kind}.done", **at, "input": ended["input"]})
    return ended, [
        {"type": "response.output_item.added", "output_index": place, "item": begun},
        *told,
        {"type": "response.output_item.done", "output_index": place, "item": ended},
    ]
