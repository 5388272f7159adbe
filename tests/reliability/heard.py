"""What a forgiving client makes of a body, on every wire: its text and its calls. No code of the product is in it.

It is the other side of the clients in `tests/support`, which are stricter than all real ones: damaged and recorded
streams break their rules, and still nothing of what they say may be lost. A frame that cannot be read says nothing; an
event after which the body ends counts, though the specification says that it should not, since most clients read it.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from toolcalls.wires.frames import Form

# What replies end with that were not cut off.
ENDS = {"stop", "end_turn", "STOP", "completed", "COMPLETE", "tool_calls", "tool_use", "requires_action", "TOOL_CALL"}

_LINE_ENDS = re.compile(rb"\r\n|\n|\r")


@dataclass
class Heard:
    """What was said.

    after  text that came when the reply had said already how it ended
    again   how it ended when it said so once more
    calls   in the order of their beginning: name, and the argument JSON as far as it came (an object where the API
            sends one, as its JSON text)
    """

    text: str = ""
    behind: str = ""
    calls: list[list[str]] = field(default_factory=list)
    finish: str | None = None
    again: str | None = None

    @property
    def whole(self) -> list[tuple[str, Any]]:
        """The calls whose arguments are one JSON object, decoded. Without any they are one only where the reply ended
        as it should: some servers send nothing for a call without arguments.
        """
        found = []
        nothing = "{}" if self.finish in ENDS else ""
        for name, arguments in self.calls:
            try:
                value = json.loads(arguments or nothing)
            except ValueError:
                continue
            if isinstance(value, dict):
                found.append((name, value))
        return found


def payloads(body: bytes, form: Form) -> Iterator[bytes]:
    """The payloads of a body's frames."""
    if form == "sse":
        yield from events(body)
    elif form == "ndjson":
        yield from filter(None, (line.strip(b"\r") for line in body.split(b"\n")))
    elif form == "json_array":
        yield from _elements(body)
    else:
        yield body


def events(body: bytes, *, lenient: bool = True) -> Iterator[bytes]:
    """The data of server-sent events, line by line as the specification interprets a stream.

    lenient   also of an event that no blank line ends
    """
    data: list[bytes] = []
    lines = _LINE_ENDS.split(body.removeprefix(b"\xef\xbb\xbf"))
    for line in lines if lenient else lines[:-1]:  # the last one has no end
        name, _, value = line.partition(b":")
        if not line and data:
            yield b"\n".join(data)
            data = []
        elif name == b"data":
            data.append(value.removeprefix(b" "))
    if data and lenient:
        yield b"\n".join(data)


def _elements(body: bytes) -> Iterator[bytes]:
    """The objects that are in no other, whatever is between them."""
    depth, start, in_string, escaped = 0, 0, False, False
    for at, byte in enumerate(body):
        if in_string:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                in_string = False
        elif byte == 0x22:
            in_string = True
        elif byte == 0x7B:
            start = start if depth else at
            depth += 1
        elif byte == 0x7D and depth:
            depth -= 1
            if not depth:
                yield body[start : at + 1]


def heard(wire: str, form: Form, body: bytes, *, strict: bool = False) -> Heard:
    """What a client of a wire makes of a body. Bytes that are no UTF-8 are replaced, or `strict`: nothing is heard of
    their frame.
    """
    said = Heard()
    keys: dict[Any, int] = {}
    for payload in payloads(body, form):
        if strict and not is_text(payload):
            continue
        if payload == b"[DONE]" and said.finish is None:  # the reply is over, though no chunk said why
            said.finish = "stop"
        try:
            value = json.loads(payload.decode(errors="replace"))
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            finish, before = said.finish, len(said.text)
            said.finish = None
            _TAKES[wire](said, keys, value)
            if finish is not None:
                said.behind += said.text[before:]
                said.text = said.text[:before]
                said.again = said.finish or said.again
                said.finish = finish
    return said


def is_text(payload: bytes) -> bool:
    """Whether a payload is UTF-8."""
    try:
        payload.decode()
    except UnicodeDecodeError:
        return False
    return True


def _call(said: Heard, keys: dict[Any, int], key: Any, name: str | None, arguments: str) -> None:
    """A piece of the call that `key` stands for."""
    if key not in keys:
        keys[key] = len(said.calls)
        said.calls.append(["", ""])
    call = said.calls[keys[key]]
    call[0] += name or ""
    call[1] += arguments


def _dicts(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _chat(said: Heard, keys: dict[Any, int], chunk: dict[str, Any]) -> None:
    for choice in _dicts(chunk.get("choices")):
        told = _dict(choice.get("delta")) or _dict(choice.get("message"))
        said.text += _text(told.get("content"))
        for place, call in enumerate(_dicts(told.get("tool_calls"))):
            function = _dict(call.get("function"))
            key = (choice.get("index"), call.get("index", place))
            _call(said, keys, key, _text(function.get("name")), _text(function.get("arguments")))
        said.finish = choice.get("finish_reason") or said.finish


def _shown(part: dict[str, Any]) -> object:
    """The text of a part that is no reasoning."""
    return part.get("text") if part.get("type") == "output_text" else None


def _late(said: Heard, keys: dict[Any, int], place: tuple[Any, Any], text: object) -> None:
    """A text that is told as a whole, where nothing of it came before."""
    if text and place not in keys:
        keys[place] = 0
        said.text += _text(text)


def _responses(said: Heard, keys: dict[Any, int], event: dict[str, Any]) -> None:
    kind = event.get("type")
    place = event.get("output_index"), event.get("content_index")
    if kind == "response.output_text.delta":
        said.text += _text(event.get("delta"))
        keys.setdefault(place, 0)
        keys.setdefault((event.get("item_id"), event.get("content_index")), 0)
    elif kind == "response.output_text.done":
        if (event.get("item_id"), event.get("content_index")) not in keys:
            _late(said, keys, place, event.get("text"))
    elif kind == "response.content_part.done":
        if (event.get("item_id"), event.get("content_index")) not in keys:
            _late(said, keys, place, _shown(_dict(event.get("part"))))
    elif kind == "response.output_item.done":
        for number, part in enumerate(_dicts(_dict(event.get("item")).get("content"))):
            _late(said, keys, (event.get("output_index"), number), _shown(part))
    elif kind == "response.output_item.added":
        item = _dict(event.get("item"))
        if item.get("type") == "function_call":
            _call(said, keys, item.get("id"), _text(item.get("name")), "")
    elif kind == "response.function_call_arguments.delta":
        _call(said, keys, event.get("item_id"), "", _text(event.get("delta")))
    elif kind in {"response.completed", "response.incomplete", "response.failed"}:
        said.finish = _text(_dict(event.get("response")).get("status"))
    elif event.get("object") == "response":
        said.finish = _text(event.get("status"))
        for item in _dicts(event.get("output")):
            if item.get("type") == "function_call":
                _call(said, keys, item.get("id"), _text(item.get("name")), _text(item.get("arguments")))
            said.text += "".join(_text(part.get("text")) for part in _dicts(item.get("content")))


def _anthropic(said: Heard, keys: dict[Any, int], event: dict[str, Any]) -> None:
    kind = event.get("type")
    if kind == "content_block_start":
        block = _dict(event.get("content_block"))
        said.text += _text(block.get("text")) if block.get("type") == "text" else ""
        if block.get("type") == "tool_use":
            _call(said, keys, event.get("index"), _text(block.get("name")), "")
    elif kind == "content_block_delta":
        delta = _dict(event.get("delta"))
        if delta.get("type") == "text_delta":
            said.text += _text(delta.get("text"))
        elif delta.get("type") == "input_json_delta" and event.get("index") in keys:
            _call(said, keys, event.get("index"), "", _text(delta.get("partial_json")))
    elif kind == "message_stop":
        said.finish = "end_turn"
    elif kind == "message_delta":
        said.finish = _dict(event.get("delta")).get("stop_reason") or said.finish
    elif kind == "message":
        said.finish = _text(event.get("stop_reason"))
        for number, block in enumerate(_dicts(event.get("content"))):
            said.text += _text(block.get("text")) if block.get("type") == "text" else ""
            if block.get("type") == "tool_use":
                _call(said, keys, number, _text(block.get("name")), json.dumps(block.get("input")))


def _cohere(said: Heard, keys: dict[Any, int], event: dict[str, Any]) -> None:
    told = _dict(event.get("message")) or _dict(_dict(event.get("delta")).get("message"))
    content = told.get("content")
    for one in [*_dicts(content), _dict(content)]:
        said.text += _text(one.get("text"))
    entries = told.get("tool_calls")
    for place, call in enumerate(_dicts([entries] if isinstance(entries, dict) else entries)):
        function = _dict(call.get("function"))
        key = event.get("index", place)
        _call(said, keys, key, _text(function.get("name")), _text(function.get("arguments")))
    if event.get("type") == "tool-call-end" and event.get("index") in keys:
        call = said.calls[keys[event["index"]]]
        call[1] = call[1] or "{}"
    said.finish = event.get("finish_reason") or _dict(event.get("delta")).get("finish_reason") or said.finish


def _interactions(said: Heard, keys: dict[Any, int], event: dict[str, Any]) -> None:
    steps = [(event.get("index"), _dict(event.get("step"))), *enumerate(_dicts(event.get("steps")))]
    for place, step in steps:
        if step.get("type") == "function_call":
            given = step.get("arguments")
            _call(said, keys, place, _text(step.get("name")), json.dumps(given) if given else "")
        elif step.get("type") == "model_output":
            said.text += "".join(_text(one.get("text")) for one in _dicts(step.get("content")))
    delta = _dict(event.get("delta"))
    if delta.get("type") == "text":
        said.text += _text(delta.get("text"))
    elif delta.get("type") == "arguments_delta" and event.get("index") in keys:
        _call(said, keys, event.get("index"), "", _text(delta.get("arguments")))
    if event.get("event_type") == "step.stop" and event.get("index") in keys:
        call = said.calls[keys[event.get("index")]]
        call[1] = call[1] or "{}"
    if event.get("event_type") == "interaction.completed" or "steps" in event:
        said.finish = _text(_dict(event.get("interaction", event)).get("status"))


def _gemini(said: Heard, keys: dict[Any, int], reply: dict[str, Any]) -> None:
    for candidate in _dicts(_dict(reply.get("response", reply)).get("candidates")):
        for part in _dicts(_dict(candidate.get("content")).get("parts")):
            call = _dict(part.get("functionCall"))
            if call:
                _call(said, keys, len(said.calls), _text(call.get("name")), json.dumps(call.get("args", {})))
            elif not part.get("thought"):
                said.text += _text(part.get("text"))
        said.finish = candidate.get("finishReason") or said.finish


def _ollama(said: Heard, keys: dict[Any, int], line: dict[str, Any]) -> None:
    message = _dict(line.get("message"))
    said.text += _text(message.get("content"))
    for call in _dicts(message.get("tool_calls")):
        function = _dict(call.get("function"))
        arguments = json.dumps(function.get("arguments", {}))
        _call(said, keys, len(said.calls), _text(function.get("name")), arguments)
    if line.get("done"):
        said.finish = _text(line.get("done_reason")) or "stop"


_TAKES: dict[str, Callable[[Heard, dict[Any, int], dict[str, Any]], None]] = {
    "anthropic": _anthropic,
    "cohere": _cohere,
    "gemini": _gemini,
    "gemini_interactions": _interactions,
    "ollama": _ollama,
    "openai_chat": _chat,
    "openai_responses": _responses,
}
WIRES = tuple(_TAKES)
