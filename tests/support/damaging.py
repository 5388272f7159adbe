"""Sound native calls, and every way in which they come damaged, on the wires' own frames.

A `Damage` takes the calls of a reply and writes the reply that a server sent in their place. What a client should have
got is the sound reply's calls. Only what has one reading is here.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolcalls.replies.exchange import Exchange
from toolcalls.request import Tool


@dataclass(frozen=True)
class Sound:
    """One call: its id, its name, its argument JSON, and the pieces in which a stream sends that."""

    id: str
    name: str
    pieces: tuple[str, ...]

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
TOOLS = (Tool("Bash", SCHEMA), Tool("Read", SCHEMA), Tool("now", {"type": "object", "properties": {}}))
LS = Sound(
    "call_a", "Bash", ('{"comm', 'and": "größe \\" \\\\ 😀 \\ud83d\\ude00 ', '{}[]", "n": 12345678901234567890}')
)
CAT = Sound("call_b", "Read", ('{"command": "a"}',))
NOW = Sound("call_c", "now", ("{}",))
HALF = Sound("call_d", "Bash", ('{"command": "rm -r',))
CALLS = {"one": (LS,), "two": (LS, CAT), "three": (CAT, LS, NOW)}

type Heard = list[tuple[str, str, str]]  # the calls that a client got: id, name, argument JSON


def repairs(one: Exchange) -> set[str]:
    return {repair for _, verdict in one.verdicts for repair in verdict.repairs}


def same_calls(heard: Heard, calls: Sequence[Sound]) -> None:
    """Assert that these calls were heard, each with an id of its own."""
    assert [(name, json.loads(text)) for _, name, text in heard] == [
        (call.name, json.loads(call.arguments)) for call in calls
    ]
    ids = [id_ for id_, _, _ in heard]
    assert all(ids)
    assert len(set(ids)) == len(ids)


# --- Chat Completions -------------------------------------------------------------------------------------------------

Delta = Mapping[str, Any]


def chat_chunk(delta: Delta, reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    outer = {"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(outer, separators=(",", ":")).encode() + b"\n\n"


def chat_stream(deltas: Sequence[Delta], reason: str | None = "tool_calls") -> bytes:
    ends = [chat_chunk({}, reason)] if reason is not None else []
    head = chat_chunk({"role": "assistant", "content": None})
    return b"".join([head, *map(chat_chunk, deltas), *ends, b"data: [DONE]\n\n"])


def entries(call: Sound, index: int) -> list[dict[str, Any]]:
    """The entries of a sound call, one for its beginning and one for each piece."""
    begins = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
    return [begins, *({"index": index, "function": {"arguments": piece}} for piece in call.pieces)]


def without(entry: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in keys}


@dataclass(frozen=True)
class At:
    """An entry of a sound call, its number in the call, and the call's number."""

    entry: dict[str, Any]
    number: int
    place: int
    call: Sound

    def id(self, given: str | None) -> dict[str, Any]:
        """The entry with another id, where it has one."""
        return {**self.entry, "id": given} if "id" in self.entry else self.entry

    def again(self, function: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """A later entry with what only the first one says."""
        if not self.number:
            return {**self.entry, **more}
        return {**more, **self.entry, "function": {**(function or {}), **self.entry["function"]}}


def _each(change: Callable[[At], dict[str, Any]]) -> Callable[[Sequence[Sound]], list[Delta]]:
    """Damage that changes each entry."""

    def deltas(calls: Sequence[Sound]) -> list[Delta]:
        return [
            {"tool_calls": [change(At(entry, number, place, call))]}
            for place, call in enumerate(calls)
            for number, entry in enumerate(entries(call, place))
        ]

    return deltas


def _args(made: Callable[[Sound], Sequence[Any]]) -> Callable[[Sequence[Sound]], list[Delta]]:
    """Damage that sends other arguments: the first of them where the call begins."""

    def deltas(calls: Sequence[Sound]) -> list[Delta]:
        found: list[Delta] = []
        for place, call in enumerate(calls):
            begins, *_ = entries(call, place)
            first, *rest = made(call)
            begins["function"] = {"name": call.name, **({} if first is None else {"arguments": first})}
            found.append({"tool_calls": [begins]})
            found += [{"tool_calls": [{"index": place, "function": {"arguments": piece}}]} for piece in rest]
        return found

    return deltas


def _twice(call: Sound) -> Sequence[str]:
    return (call.arguments, call.arguments, *call.pieces)


def _encoded(call: Sound) -> Sequence[str]:
    text = json.dumps(call.arguments)
    return ("", *(text[at : at + 3] for at in range(0, len(text), 3)))


CHAT: dict[str, Callable[[Sequence[Sound]], list[Delta]]] = {
    "no id": _each(lambda at: without(at.entry, "id")),
    "an empty id": _each(lambda at: at.id("")),
    "a null id": _each(lambda at: at.id(None)),
    "one id for all": _each(lambda at: at.id("x")),
    "the id in each delta": _each(lambda at: at.again(id=at.call.id)),
    "an id for each delta": _each(lambda at: at.again(id=f"x{at.place}{at.number}")),
    "the name in each delta": _each(lambda at: at.again({"name": at.call.name})),
    "id and name in each delta": _each(lambda at: at.again({"name": at.call.name}, id=at.call.id)),
    "an id for each delta, and the name": _each(
        lambda at: at.again({"name": at.call.name}, id=f"x{at.place}{at.number}")
    ),
    "one index for all": _each(lambda at: {**at.entry, "index": 0}),
    "no index": _each(lambda at: without(at.entry, "index")),
    "one index and no ids": _each(lambda at: {**without(at.entry, "id"), "index": 0}),
    "all in one delta under one index": lambda calls: [
        {"tool_calls": [{**entries(call, 0)[0], "function": {"name": call.name, "arguments": call.arguments}}]}
        for call in calls
    ],
    "an object": _args(lambda call: [json.loads(call.arguments)]),
    "encoded twice": _args(lambda call: [json.dumps(call.arguments)]),
    "encoded twice, in pieces": _args(_encoded),
    "the whole in each delta": _args(lambda call: [call.arguments] * 3),
    "the whole and its pieces": _args(_twice),
    "the whole twice in one": _args(lambda call: ["", call.arguments * 2]),
}


def chat_whole(calls: Sequence[Mapping[str, Any]], reason: str | None = "tool_calls") -> bytes:
    message = {"role": "assistant", "content": None, "tool_calls": list(calls)}
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return json.dumps({"id": "r", "object": "chat.completion", "choices": [choice]}).encode()


def entry(call: Sound, **more: Any) -> dict[str, Any]:
    """A sound call of a whole reply. Members of its function may be given, too."""
    function = {"name": call.name, "arguments": call.arguments}
    function |= {key: more.pop(key) for key in list(more) if key in function}
    return {"id": call.id, "type": "function", **more, "function": function}


CHAT_WHOLE: dict[str, Callable[[Sequence[Sound]], list[dict[str, Any]]]] = {
    "no id": lambda calls: [without(entry(call), "id") for call in calls],
    "an empty id": lambda calls: [entry(call, id="") for call in calls],
    "one id for all": lambda calls: [entry(call, id="x") for call in calls],
    "an object": lambda calls: [entry(call, arguments=json.loads(call.arguments)) for call in calls],
    "encoded twice": lambda calls: [entry(call, arguments=json.dumps(call.arguments)) for call in calls],
    "twice": lambda calls: [entry(call, arguments=call.arguments * 2) for call in calls],
}


def heard_chat(body: bytes) -> Heard:
    """The calls of a stream to a strict client: an index, an id and a name where each begins, and nowhere else."""
    calls: list[list[str]] = []
    for line in body.splitlines():
        if not line.startswith(b"data: {"):
            continue
        for choice in json.loads(line[6:])["choices"]:
            for one in choice["delta"].get("tool_calls") or ():
                if one["index"] == len(calls):
                    calls.append([one["id"], one["function"]["name"], ""])
                else:
                    assert not one.get("id")
                    assert not one["function"].get("name")
                assert isinstance(one["function"].get("arguments") or "", str)
                calls[one["index"]][2] += one["function"].get("arguments") or ""
    return [(id_, name, text) for id_, name, text in calls]


def heard_chat_whole(body: bytes) -> Heard:
    """The calls of a whole reply."""
    calls = json.loads(body)["choices"][0]["message"]["tool_calls"]
    return [(one["id"], one["function"]["name"], one["function"]["arguments"]) for one in calls]


def sound_chat(calls: Sequence[Sound]) -> bytes:
    """A stream with these calls as they should come."""
    deltas = [{"tool_calls": [one]} for place, call in enumerate(calls) for one in entries(call, place)]
    return chat_stream(deltas)
