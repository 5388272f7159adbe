"""`openai_chat`: Chat Completions, streamed (`chat.completion.chunk` over SSE) and whole.

https://platform.openai.com/docs/api-reference/chat. What clients insist on beyond it: name and id in the first chunk of
a call and nowhere else, `index` in every chunk of it, arguments appended, `{}` and never an empty string, a chunk with
`finish_reason` always. A lane is a choice.

Frames are decoded with types, only the fields that matter. A changed frame keeps its other fields as raw JSON, so no
number or unknown field is re-spelled; new chunks carry those outer fields of the reply's own first chunk that every
chunk repeats.

The older form of a call (`function_call` beside the content, one a message, without an id) is one like the others.
To a client that declares its tools as `functions`, the first lifted call of a message is written like that.

Past 300 lines, because one file holds one API: its streamed and its whole form, and what a request declares.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from toolcalls import rawjson
from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Finish, Gone, Reasoning, Text, Told
from toolcalls.frames import Form
from toolcalls.request import Request, Tool
from toolcalls.values import quote
from toolcalls.wires import Codec, Part, custom_schema, form_of, function_tools

type _Fields = dict[str, msgspec.Raw]

_DONE = b"[DONE]"
_NULL = msgspec.Raw(b"null")
# What every chunk of a reply repeats; other fields of the first one (`x_groq`, `prompt_token_ids`) come once.
_REPEATED = frozenset({"id", "object", "created", "model", "system_fingerprint", "service_tier", "provider"})
_NOTHING_ELSE = (None, None, None, None, None)
CUSTOM = "custom"  # the form of a call whose only argument is free text; to the hub that is its `input`
LEGACY = "function_call"  # the older form of a function's call
_LEGACY_PLACE = -(1 << 53)  # where such calls are remembered: they have no `index`, and some servers' others have -1
# What relatives say where a reply is not whole (Mistral, DeepSeek, Z.ai, OpenRouter, vLLM, SGLang), in the hub's words.
_REASONS = {
    "model_length": "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "sensitive": "content_filter",
    LEGACY: "tool_calls",
    **dict.fromkeys(("error", "abort", "network_error", "insufficient_system_resource"), "failed"),
}


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _Custom(msgspec.Struct):
    name: str | None = None
    input: str | None = None


class _Call(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None
    custom: _Custom | None = None


class _Message(msgspec.Struct):
    role: str | None = None
    content: str | list[Any] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[_Call] | None = None
    function_call: _Function | None = None


class _Choice(msgspec.Struct):
    index: int | None = None
    delta: _Message | None = None
    message: _Message | None = None
    finish_reason: str | None = None


class _Reply(msgspec.Struct):
    choices: list[_Choice] = []
    id: str | None = None
    usage: Any = None


_decode_reply = msgspec.json.Decoder(_Reply).decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_list = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode


def _reply(payload: bytes) -> _Reply | None:
    """The typed reply, None for a payload that is none."""
    try:
        reply = _decode_reply(payload)
        return _with_objects(reply, payload) if b'"arguments"' in payload else reply
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    try:  # lone surrogates and bytes that are no UTF-8, which msgspec refuses; clients put U+FFFD for the latter
        return msgspec.convert(json.loads(_readable(payload)), _Reply)
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return None


def _with_objects(reply: _Reply, payload: bytes) -> _Reply:
    """The reply with arguments that are objects as they are written, so that numbers keep their spelling."""
    for place, choice in enumerate(reply.choices):
        for key, message in (("delta", choice.delta), ("message", choice.message)):
            if message and message.function_call and isinstance(message.function_call.arguments, dict):
                raw = _fields(_fields(_list(_fields(payload)["choices"])[place][key])[LEGACY])["arguments"]
                message.function_call.arguments = bytes(raw).decode()
            for number, call in enumerate(message.tool_calls or () if message else ()):
                if call.function is not None and isinstance(call.function.arguments, dict):
                    raw = _fields(_list(_fields(payload)["choices"])[place][key])["tool_calls"]
                    function = _fields(_list(raw)[number]["function"])
                    call.function.arguments = bytes(function["arguments"]).decode()
    return reply


def _fields(raw: bytes | msgspec.Raw) -> _Fields:
    """An object's members, each as raw JSON; {} for null."""
    try:
        return _decode_fields(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        value = json.loads(_readable(raw)) or {}
        return {key: msgspec.Raw(json.dumps(member).encode()) for key, member in value.items()}


def _list(raw: msgspec.Raw) -> list[_Fields]:
    try:
        return _decode_list(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return [_fields(json.dumps(item).encode()) for item in json.loads(_readable(raw)) or []]


def _readable(raw: bytes | msgspec.Raw) -> str:
    """The text of raw JSON as most clients decode it, also of what is not UTF-8."""
    return bytes(raw).decode(errors="replace")


def _string(text: str) -> msgspec.Raw:
    return msgspec.Raw(quote(text).encode())


def _null(raw: msgspec.Raw | None) -> bool:
    return raw is None or bytes(raw) == b"null"


def _call(index: int | None, id_: str, name: str, arguments: str, form: str = "") -> dict[str, Any]:
    """A call object, with its `index` in a stream and without in a whole reply."""
    place = {} if index is None else {"index": index}
    if form == CUSTOM:
        told = {"name": _string(name), "input": _string(input_in(arguments))}
        return {**place, "id": _string(id_), "type": CUSTOM, CUSTOM: told}
    function = {"name": _string(name), "arguments": _string(arguments)}
    return {**place, "id": _string(id_), "type": "function", "function": function}


def _lane(choice: _Fields, place: int) -> int:
    """A choice's number; servers leave it out, or write null."""
    index = choice.get("index")
    return place if index is None or _null(index) else int(bytes(index))


def _arguments(function: _Function) -> str:
    """The arguments as JSON text; some servers write the object itself."""
    written = function.arguments
    return json.dumps(written, ensure_ascii=False) if isinstance(written, dict) else written or ""


def _written_reason(choice: _Fields, reason: str, *, legacy: bool) -> msgspec.Raw:
    """A finish reason of the hub as it is written: in the word that the choice has for it itself, if it has one.

    `legacy`: its first call is of the older form; clients of that form know no other.
    """
    own = choice.get("finish_reason")
    word = rawjson.value(own)
    if reason == "tool_calls" and (legacy or word == LEGACY):
        return _string(LEGACY if legacy else reason)
    return own if own is not None and isinstance(word, str) and _REASONS.get(word, word) == reason else _string(reason)


def input_in(arguments: str) -> str:
    """The free text in a custom tool's argument JSON; the JSON itself where it is of another kind."""
    given = rawjson.value(msgspec.Raw(arguments.encode("utf-8", "surrogatepass")))
    text = given.get("input") if isinstance(given, dict) else None
    return text if isinstance(text, str) else arguments


def _said(content: str | list[Any] | None) -> Iterable[Event]:
    """Text and reasoning of a content: a string, or the list of parts that Mistral sends beside its reasoning."""
    if isinstance(content, str):
        if content:
            yield Text(content)
        return
    for part in content or ():
        kind = part.get("type") if isinstance(part, dict) else None
        said = _text_of(part.get(kind)) if kind in ("text", "thinking") else ""
        if said:
            yield Text(said) if kind == "text" else Reasoning(said)


def _others(content: msgspec.Raw | None) -> list[Any]:
    """The parts of a content that are no text."""
    return [part for part in rawjson.items(content) if rawjson.word(rawjson.fields(part), "type") != "text"]


class _Native:
    """A native call that is arriving. `index` is its events'; `form` is that of a custom tool's, once that is known."""

    def __init__(self, index: int, form: str = "") -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.unsaid = ""
        self.open = False
        self.form = form

    def named(self, name: str) -> Told | None:
        """More of its name, which comes in pieces, or once more with every chunk; None for what says nothing new."""
        if name in {"", self.name}:
            return None
        self.name += name
        return Told(self.name, None, name)

    def take(self, call: _Call) -> None:
        """More of its arguments."""
        if call.custom is None:
            self.unsaid += _arguments(call.function or _Function())
            return
        if not self.form:
            self.form = CUSTOM
            self.unsaid = '{"input":"'
        self.unsaid += quote(call.custom.input or "")[1:-1]

    def ends(self) -> Iterator[Event]:
        """It is complete."""
        self.open = False
        if self.form == CUSTOM:
            yield CallPiece(self.index, '"}')
        yield CallEnd(self.index)


def _more(call: _Call, native: _Native) -> Literal["", "perhaps", "likely"]:
    """Whether more of the name may come behind the entry that a call begins with."""
    if native.unsaid:
        return ""
    begun = call.function is not None and call.function.arguments is not None
    return "perhaps" if begun else "likely"


class _Stream:
    """The codec of a streamed reply."""

    shifted = False  # a chunk stands for itself

    def __init__(self) -> None:
        self.reply_id = ""
        self.bare = False
        self._natives: dict[tuple[int, int], _Native] = {}  # the latest one at each lane and index
        self._indices: dict[int, set[int]] = {}  # by lane, those that calls have
        self._free: dict[int, int] = {}  # by lane, the one behind the highest of them
        self._unfinished: dict[int, bool] = {}  # by lane; False once it has ended, and never True again
        self._made: set[tuple[int, int]] = set()
        self._calls: dict[int, dict[int, bool]] = {}  # by lane, those that the client has; True for the older form
        self._customs: dict[tuple[int, int], tuple[CallStart, list[str]]] = {}  # made anew; their text is told whole
        self._outer: _Fields = {}
        self._around: dict[int, tuple[bytes, bytes, bytes]] = {}

    # Decoding

    def decode(self, payload: bytes) -> list[Part]:
        """The events of one chunk. `[DONE]` ends every choice that has not said why it ended."""
        self.bare = False
        if payload == _DONE:
            return [part for lane, open_ in self._unfinished.items() if open_ for part in self._ended(lane, "")]
        reply = _reply(payload)
        if reply is None or not reply.choices:
            return []
        if not self.reply_id:
            self.reply_id = reply.id or "-"
            self._outer = {key: raw for key, raw in _fields(payload).items() if key in _REPEATED}
        choice = reply.choices[0]
        delta = choice.delta
        if (
            len(reply.choices) == 1
            and reply.usage is None
            and choice.finish_reason is None
            and delta is not None
            and isinstance(delta.content, str)
            and delta.content
            and (delta.role, delta.tool_calls, delta.function_call, delta.reasoning_content, delta.reasoning)
            == _NOTHING_ELSE
        ):
            self.bare = True
            self._unfinished.setdefault(choice.index or 0, True)
            return [(choice.index or 0, Text(delta.content))]
        return [part for place, choice in enumerate(reply.choices) for part in self._choice(place, choice)]

    def _choice(self, place: int, choice: _Choice) -> Iterable[Part]:
        lane, delta = place if choice.index is None else choice.index, choice.delta
        self._unfinished.setdefault(lane, True)
        if delta is not None:
            thought = delta.reasoning_content or delta.reasoning
            if thought:
                yield lane, Reasoning(thought)
            for event in _said(delta.content):
                yield lane, event
            for position, call in enumerate(delta.tool_calls or ()):
                for event in self._native(lane, position if call.index is None else call.index, call):
                    yield lane, event
            if delta.function_call is not None:
                for event in self._native(lane, _LEGACY_PLACE, _Call(function=delta.function_call)):
                    yield lane, event
        if choice.finish_reason:
            yield from self._ended(lane, _REASONS.get(choice.finish_reason, choice.finish_reason))

    def _native(self, lane: int, index: int, call: _Call) -> Iterable[Event]:
        name = (call.function and call.function.name) or (call.custom and call.custom.name) or ""
        native = self._natives.get((lane, index))
        if native is None or (name and call.id and native.open and native.id not in {"", call.id}):
            # Some servers number no calls, or all of them 0: another id is another call.
            if native is not None:
                yield from native.ends()
            taken = self._indices.setdefault(lane, set())
            form = LEGACY if index == _LEGACY_PLACE else ""
            free = self._free.get(lane, 0)
            native = self._natives[lane, index] = _Native(free if form or index in taken else index, form)
            taken.add(native.index)
            self._free[lane] = max(free, native.index + 1)
        native.id = native.id or call.id or ""
        native.take(call)
        begins = not native.open and bool(name)
        told = native.named(name)
        if begins:
            native.open, told = True, None
            yield CallStart(native.index, native.name, id=native.id, form=native.form, more=_more(call, native))
        # An entry that adds nothing is an event, too: where its call does not stay a native one, nor does the entry.
        if native.open and (native.unsaid or not begins):
            yield CallPiece(native.index, native.unsaid, told)
            native.unsaid = ""

    def _ended(self, lane: int, reason: str) -> Iterable[Part]:
        self._unfinished[lane] = False
        for (of, _), native in self._natives.items():
            if of == lane and native.open:
                yield from ((lane, event) for event in native.ends())
        yield (lane, Finish(reason))

    # Encoding

    def encode(self, payload: bytes, parts: Sequence[Part], *, bare: bool) -> list[bytes]:
        """The chunks for `parts`: the frame's own fields stay with its first one, finish and usage with its last."""
        if bare and not parts:
            return []
        if (
            bare
            and len(parts) == 1
            and isinstance(piece := parts[0][1], CallPiece)
            and (parts[0][0], piece.index) in self._made
        ):
            return [self._piece(parts[0][0], piece)]
        if payload == _DONE:
            return [*self._chunks(self._outer, parts), _DONE]
        return self._chunks(_fields(payload), parts)

    def _piece(self, lane: int, piece: CallPiece) -> bytes:
        """The commonest new chunk of all: a piece of arguments between three strings that never change."""
        if lane not in self._around:
            outer = msgspec.json.encode(self._outer)[:-1] + (b"," if self._outer else b"")
            self._around[lane] = (
                outer + b'"choices":[{"index":%d,"delta":{"tool_calls":[{"index":' % lane,
                b',"function":{"arguments":',
                b'}}]},"finish_reason":null}]}',
            )
        head, middle, tail = self._around[lane]
        return b"".join((head, b"%d" % piece.index, middle, quote(piece.json).encode(), tail))

    def _chunks(self, chunk: _Fields, parts: Sequence[Part]) -> list[bytes]:
        own = {
            _lane(choice, place): choice for place, choice in enumerate(_list(chunk.get("choices", msgspec.Raw(b"[]"))))
        }
        outer = _without(chunk, "choices", "usage")
        made: list[dict[str, Any]] = []
        for lane in dict.fromkeys([*own, *(lane for lane, _ in parts)]):
            choice = own.get(lane, {})
            events = [event for of, event in parts if of == lane]
            deltas, reason = self._deltas(lane, choice, events)
            rest = _without(choice, "index", "delta", "finish_reason", "logprobs")
            for delta in deltas:
                made.append({**outer, "choices": [{"index": lane, "delta": delta, **rest, "finish_reason": None}]})
            if reason is not None:
                legacy = next(iter(self._calls.get(lane, {}).values()), False)
                made[-1]["choices"][0]["finish_reason"] = _written_reason(choice, reason, legacy=legacy)
        if not _null(chunk.get("usage")):
            made = made or [{**outer, "choices": []}]
            made[-1]["usage"] = chunk["usage"]
        return [msgspec.json.encode(chunk) for chunk in made]

    def _deltas(self, lane: int, choice: _Fields, events: Sequence[Event]) -> tuple[list[dict[str, Any]], str | None]:
        """One choice's deltas, in order, and its finish reason."""
        delta = _fields(choice.get("delta", _NULL))
        natives = _Renumbered(_list(delta.get("tool_calls", _NULL)))
        kept = {key: raw for key, raw in _without(delta, "content", "tool_calls", LEGACY).items() if not _null(raw)}
        deltas: list[dict[str, Any]] = []
        reason = None
        for event in events:
            if isinstance(event, Text):
                deltas.append({"content": _string(event.text)})
            elif isinstance(event, Reasoning) and event.moved:
                deltas.append({"reasoning_content": _string(event.text)})
            elif isinstance(event, CallStart):
                calls = self._calls.setdefault(lane, {})
                calls[event.index] = event.form == LEGACY and not any(calls.values())
                if calls[event.index]:
                    deltas.append({LEGACY: {"name": _string(event.name), "arguments": _string("")}})
                elif event.dialect is None and natives and event.form != LEGACY:
                    deltas.extend(natives.placed(event.index))
                elif event.form == CUSTOM:
                    self._customs[lane, event.index] = (event, [])
                else:
                    self._made.add((lane, event.index))
                    id_ = event.id or f"call_{event.index}"  # one of the older form behind another has none
                    deltas.append({"tool_calls": [_call(event.index, id_, event.name, "")]})
            elif isinstance(event, CallPiece):
                if self._calls.get(lane, {}).get(event.index):
                    deltas.append({LEGACY: {"arguments": _string(event.json)}})
                elif (custom := self._customs.get((lane, event.index))) is not None:
                    custom[1].append(event.json)
                elif (lane, event.index) in self._made:
                    function = {"arguments": _string(event.json)}
                    deltas.append({"tool_calls": [{"index": event.index, "function": function}]})
                else:
                    deltas.extend(natives.placed(event.index))
            elif isinstance(event, CallEnd) and (lane, event.index) in self._customs:
                start, pieces = self._customs.pop((lane, event.index))
                deltas.append({"tool_calls": [_call(start.index, start.id, start.name, "".join(pieces), start.form)]})
            elif isinstance(event, Gone):
                natives.skip(event.index)
            elif isinstance(event, Finish):
                reason = event.reason or None
        if others := _others(delta.get("content")):
            deltas.insert(0, {"content": others})
        if kept and deltas and ("content" in deltas[0] or "role" not in kept):
            deltas[0] = {**kept, **deltas[0]}
        elif kept:
            deltas.insert(0, {**kept, "content": ""} if "role" in kept else kept)
        if reason is not None and (not deltas or "tool_calls" in deltas[-1]):
            deltas.append({})
        return deltas, reason


class _Renumbered:
    """A chunk's own native entries, to be written again under the indices that their events have by now."""

    def __init__(self, entries: list[_Fields]) -> None:
        ids: dict[bytes, bytes] = {}
        calls: dict[tuple[bytes, bytes | None], list[_Fields]] = {}
        for position, entry in enumerate(entries):
            written = b"%d" % position if _null(entry.get("index")) else bytes(entry["index"])
            if not _null(entry.get("id")):
                ids[written] = bytes(entry["id"])
            calls.setdefault((written, ids.get(written)), []).append(entry)
        self._calls = list(calls.values())
        self._met: list[tuple[bool, int]] = []

    def __bool__(self) -> bool:
        return bool(self._calls)

    def placed(self, index: int) -> list[dict[str, Any]]:
        """The deltas of the next call that the entries are about, with this index; [] when it was placed already."""
        return [{"tool_calls": [{**entry, "index": index}]} for entry in self._next(stays=True, index=index)]

    def skip(self, index: int) -> None:
        """The next call that the entries are about came with this index, and is gone."""
        self._next(stays=False, index=index)

    def _next(self, *, stays: bool, index: int) -> list[_Fields]:
        place = len(self._met)
        if (stays, index) in self._met or place == len(self._calls):
            return []
        self._met.append((stays, index))
        return self._calls[place]


class _Whole:
    """The codec of a reply that comes as one JSON body."""

    shifted = False

    def __init__(self) -> None:
        self.reply_id = ""
        self.bare = False

    def decode(self, payload: bytes) -> list[Part]:
        """The events of the reply. Native calls come first, so that a text that repeats one is known for what it is."""
        reply = _reply(payload)
        if reply is None:
            return []
        self.reply_id = reply.id or "-"
        parts: list[Part] = []
        for place, choice in enumerate(reply.choices):
            lane, message = place if choice.index is None else choice.index, choice.message or _Message()
            for index, call in enumerate(message.tool_calls or ()):
                native = _Native(index)
                native.take(call)
                name = (call.function and call.function.name) or (call.custom and call.custom.name) or ""
                parts.append((lane, CallStart(index, name, id=call.id or "", form=native.form)))
                parts.append((lane, CallPiece(index, native.unsaid)))
                parts.extend((lane, event) for event in native.ends())
            if (function := message.function_call) is not None:
                index = len(message.tool_calls or ())
                parts.append((lane, CallStart(index, function.name or "", form=LEGACY)))
                parts.append((lane, CallPiece(index, _arguments(function))))
                parts.append((lane, CallEnd(index)))
            thought = message.reasoning_content or message.reasoning
            if thought:
                parts.append((lane, Reasoning(thought)))
            parts.extend((lane, event) for event in _said(message.content))
            reason = choice.finish_reason or ""
            parts.append((lane, Finish(_REASONS.get(reason, reason))))
        return parts

    def encode(self, payload: bytes, parts: Sequence[Part], *, bare: bool) -> list[bytes]:  # noqa: ARG002
        """The reply with each choice's text, calls and finish reason as `parts` say."""
        body = _fields(payload)
        choices: list[dict[str, Any]] = []
        for place, choice in enumerate(_list(body.get("choices", _NULL))):
            lane = _lane(choice, place)
            events = [event for of, event in parts if of == lane]
            message: dict[str, Any] = dict(_fields(choice.get("message", _NULL)))
            natives = _list(message.pop("tool_calls", _NULL))
            old = message.pop(LEGACY, None)
            legacy, others = _first_legacy(events, old)
            calls = _whole_calls(others, natives)
            text = "".join(event.text for event in events if isinstance(event, Text))
            parts_left = _others(message.get("content"))
            message["content"] = _string(text) if text or not (calls or legacy) else None
            if parts_left:
                message["content"] = [*parts_left, *([{"type": "text", "text": message["content"]}] if text else [])]
            if moved := "".join(event.text for event in events if isinstance(event, Reasoning) and event.moved):
                thought = next((event.text for event in events if isinstance(event, Reasoning) and not event.moved), "")
                message["reasoning_content"] = _string(thought + moved)
            if calls:
                message["tool_calls"] = calls
            if legacy is not None:
                message[LEGACY] = legacy
            reason = next((event.reason for event in events if isinstance(event, Finish)), "")
            first = next((event for event in events if isinstance(event, CallStart)), None)
            older = first is not None and first.form == LEGACY
            written = _written_reason(choice, reason, legacy=older) if reason else None
            choices.append({**choice, "message": message, "finish_reason": written})
        return [msgspec.json.encode({**body, "choices": choices})]


def _first_legacy(events: Sequence[Event], came: msgspec.Raw | None) -> tuple[Any, Sequence[Event]]:
    """The call of the older form, None for none, and the events without its own. A message can hold one; the one that
    came goes before others, as it came where nobody changed it.
    """
    starts = [event for event in events if isinstance(event, CallStart) and event.form == LEGACY]
    if not starts:
        return None, events
    start = next((event for event in starts if event.dialect is None), starts[0])
    pieces = [event.json for event in events if isinstance(event, CallPiece) and event.index == start.index]
    others = [
        event
        for event in events
        if not (isinstance(event, CallStart | CallPiece | CallEnd) and event.index == start.index)
    ]
    function = {"name": _string(start.name), "arguments": _string("".join(pieces))}
    return came if start.dialect is None and not _null(came) else function, others


def _whole_calls(events: Sequence[Event], natives: list[_Fields]) -> list[dict[str, Any]]:
    """The calls of one choice, in the order of their indices; a native one keeps its own fields."""
    own: dict[str, list[_Fields]] = {}  # servers give one id to several calls, or none
    for native in natives:
        own.setdefault(rawjson.word(native, "id"), []).append(native)
    left = Counter(event.id for event in events if isinstance(event, CallStart) and event.dialect is None)
    came = {id_: iter(same) for id_, same in own.items() if len(same) == left[id_]}  # all are there, in their order
    pieces: dict[int, list[str]] = {}
    for event in events:
        if isinstance(event, CallPiece):
            pieces.setdefault(event.index, []).append(event.json)
    calls: dict[int, dict[str, Any]] = {}
    for event in events:
        if isinstance(event, CallStart):
            same = next(came.get(event.id, iter(())), None) if event.dialect is None else None
            arguments = "".join(pieces.get(event.index, ()))
            made = _call(None, event.id or f"call_{event.index}", event.name, arguments, event.form)
            calls[event.index] = made if same is None else dict(same)
    return [calls[index] for index in sorted(calls)]


def _without(fields: _Fields, *keys: str) -> _Fields:
    return {key: raw for key, raw in fields.items() if key not in keys}


class _OpenAIChat:
    """The wire."""

    name = "openai_chat"
    names_events = False
    lanes_follow = False
    calls_are_whole = False
    call_prefix = "call_"

    def form(self, path: str, content_type: str) -> Form | None:  # noqa: ARG002 - what it is, its type says
        """An event stream, or one JSON object."""
        return form_of(content_type)

    def matches(self, path: str) -> bool:
        """Any path that ends in `/chat/completions`: gateways and local servers put their own prefixes before it."""
        return urlsplit(path).path.rstrip("/").endswith("/chat/completions")

    def codec(self, *, streamed: bool) -> Codec:
        """A codec for one reply."""
        return _Stream() if streamed else _Whole()

    def request(self, body: bytes) -> Request:
        """Tools (functions and custom ones), the choice, and the messages' texts by role.

        Cursor sends bodies of the Responses API here and wants chunks of this one, and tools in either form:
        https://github.com/BerriAI/litellm/pull/34029. Such a body is read as far as its reply asks for.
        """
        fields = rawjson.loaded(body)
        said = fields.get("messages", fields.get("input")) if isinstance(fields, dict) else None
        if isinstance(said, str) and "messages" not in fields:
            said = [{"role": "user", "content": said}]
        if not isinstance(said, list):
            raise ValueError("the request body has no list `messages`")
        messages = [_message(message) for message in said if isinstance(message, dict)]
        if isinstance(fields.get("instructions"), str) and "messages" not in fields:
            messages.insert(0, {"role": "system", "content": fields["instructions"]})

        def texts(*roles: str) -> tuple[str, ...]:
            found = (_text_of(message.get("content")) for message in messages if message.get("role") in roles)
            return tuple(text for text in found if text)

        model = fields.get("model")
        choice = fields.get("tool_choice")
        return Request(
            tools=_allowed(tuple(tools_in(fields)), choice),
            tool_choice=choice_in(fields),
            model=model if isinstance(model, str) else "",
            system="\n".join(texts("system", "developer")),
            assistant=texts("assistant"),
            quotable=texts("user", "tool", "function"),
            response_format=_is_structured(fields.get("response_format"))
            or _is_structured(_format(fields.get("text"))),
        )


def _message(item: dict[str, Any]) -> dict[str, Any]:
    """A message; of the Responses API's items those that hold what a tool answered are the tool's."""
    if "role" not in item and str(item.get("type", "")).endswith("_call_output"):
        return {"role": "tool", "content": item.get("output")}
    return item


def tools_in(fields: Mapping[str, Any]) -> Iterator[Tool]:
    """The functions and custom tools that a request declares, in the order of `tools`; then those of `functions`."""
    for item in _nested(fields.get("tools")):
        yield from function_tools([item])
        custom = item.get(CUSTOM) if isinstance(item, dict) else None
        name = custom.get("name") if isinstance(custom, dict) else None
        if isinstance(custom, dict) and isinstance(name, str) and name:
            about = custom.get("description")
            yield Tool(name, custom_schema(custom), about if isinstance(about, str) else "", form=CUSTOM)
    functions = fields.get("functions")
    for function in functions if isinstance(functions, list) else ():
        for tool in function_tools([{"function": function}]):
            yield replace(tool, form=LEGACY)


def called_custom(call: Mapping[str, Any]) -> tuple[str, str] | None:
    """The name and the argument JSON of a custom tool's call in a message; None for another call."""
    custom = call.get(CUSTOM)
    name, text = (custom.get("name"), custom.get("input")) if isinstance(custom, dict) else (None, None)
    if not isinstance(name, str) or not name:
        return None
    return name, f'{{"input":{quote(text if isinstance(text, str) else "")}}}'


def choice_in(fields: Mapping[str, Any]) -> str:
    """How a request may choose among its tools, in the words of `choice_of`."""
    choice, older = fields.get("tool_choice"), fields.get(LEGACY)
    if choice is None and isinstance(older, dict):
        return choice_of({"function": older})
    return choice_of(older if choice is None else choice)


def _nested(tools: object) -> list[Any]:
    """The tools of a request, with those in the Responses API's flat form put into this API's."""
    return [
        {tool["type"]: tool}
        if isinstance(tool, dict) and tool.get("type") in ("function", CUSTOM) and tool["type"] not in tool
        else tool
        for tool in (tools if isinstance(tools, list) else ())
    ]


def _format(text: object) -> object:
    """What the Responses API says of the form of a reply's text."""
    return text.get("format") if isinstance(text, dict) else None


def _is_structured(value: object) -> bool:
    """Whether a `response_format` asks for JSON: any type but text does."""
    return isinstance(value, dict) and value.get("type", "text") != "text"


def allowed_tools(choice: object) -> dict[str, Any] | None:
    """What a `tool_choice` says that leaves some of the tools; None for another one."""
    if not isinstance(choice, dict):
        return None
    allowed = choice if choice.get("type") == "allowed_tools" and "tools" in choice else choice.get("allowed_tools")
    return allowed if isinstance(allowed, dict) else None


def _allowed(tools: tuple[Tool, ...], choice: object) -> tuple[Tool, ...]:
    """The tools that the choice leaves."""
    allowed = allowed_tools(choice)
    if allowed is None:
        return tools
    names = {tool.name for tool in tools_in({"tools": allowed.get("tools")})}
    return tuple(tool for tool in tools if tool.name in names)


def choice_of(value: object) -> str:
    """A request's `tool_choice`: "auto", "none", "required", or the name of the tool that is to be called.

    Of one that is neither a function nor a custom tool, that is its type.
    """
    if isinstance(value, dict):
        if (allowed := allowed_tools(value)) is not None:
            mode = allowed.get("mode")
            return mode if isinstance(mode, str) else "auto"
        kind = value.get("type")
        kind = kind if isinstance(kind, str) else ""
        flat = kind in {"function", CUSTOM} and "name" in value
        function = value if flat else value.get("function", value.get(CUSTOM))
        name = function.get("name") if isinstance(function, dict) else None
        other = kind if kind not in {"", "function", CUSTOM} else "required"
        return name if isinstance(name, str) else other
    return value if isinstance(value, str) else "auto"


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str))


WIRE = _OpenAIChat()
