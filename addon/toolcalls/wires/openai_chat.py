"""`openai_chat`: Chat Completions, streamed (`chat.completion.chunk` over SSE) and whole.

https://platform.openai.com/docs/api-reference/chat. What clients insist on beyond it: name and id in the first chunk of
a call and nowhere else, `index` in every chunk of it, arguments appended, `{}` and never an empty string, a chunk with
`finish_reason` always. A lane is a choice.

Frames are decoded with types, only the fields that matter. A changed frame keeps its other fields as raw JSON, so no
number or unknown field is re-spelled; new chunks carry those outer fields of the reply's own first chunk that every
chunk repeats.

Past 300 lines, because one file holds one API: its streamed and its whole form, and what a request declares.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from toolcalls import rawjson
from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Finish, Gone, Reasoning, Text
from toolcalls.frames import Form
from toolcalls.request import Request
from toolcalls.values import quote
from toolcalls.wires import Codec, Part, form_of, function_tools

type _Fields = dict[str, msgspec.Raw]

_DONE = b"[DONE]"
_NULL = msgspec.Raw(b"null")
# What every chunk of a reply repeats; other fields of the first one (`x_groq`, `prompt_token_ids`) come once.
_REPEATED = frozenset({"id", "object", "created", "model", "system_fingerprint", "service_tier", "provider"})
_NOTHING_ELSE = (None, None, None, None)


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _Call(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Message(msgspec.Struct):
    role: str | None = None
    content: str | list[Any] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[_Call] | None = None


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
    try:  # lone surrogates, which msgspec refuses and some servers send
        return msgspec.convert(json.loads(payload), _Reply)
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return None


def _with_objects(reply: _Reply, payload: bytes) -> _Reply:
    """The reply with arguments that are objects as they are written, so that numbers keep their spelling."""
    for place, choice in enumerate(reply.choices):
        for key, message in (("delta", choice.delta), ("message", choice.message)):
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
    """For keys that are not UTF-8: the typed decoder skips what it does not look for, and never sees them."""
    return bytes(raw).decode(errors="replace")


def _string(text: str) -> msgspec.Raw:
    return msgspec.Raw(quote(text).encode())


def _null(raw: msgspec.Raw | None) -> bool:
    return raw is None or bytes(raw) == b"null"


def _call(index: int | None, id_: str, name: str, arguments: str) -> dict[str, Any]:
    """A call object, with its `index` in a stream and without in a whole reply."""
    place = {} if index is None else {"index": index}
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
    """A native call that is arriving. `index` is its events'."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.id = ""
        self.unsaid = ""
        self.open = False


class _Stream:
    """The codec of a streamed reply."""

    shifted = False  # a chunk stands for itself

    def __init__(self) -> None:
        self.reply_id = ""
        self.bare = False
        self._natives: dict[tuple[int, int], _Native] = {}  # the latest one at each lane and index
        self._indices: dict[int, set[int]] = {}  # by lane, those that calls have
        self._unfinished: dict[int, bool] = {}  # by lane; False once it has ended, and never True again
        self._made: set[tuple[int, int]] = set()
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
            and (delta.role, delta.tool_calls, delta.reasoning_content, delta.reasoning) == _NOTHING_ELSE
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
        if choice.finish_reason:
            yield from self._ended(lane, choice.finish_reason)

    def _native(self, lane: int, index: int, call: _Call) -> Iterable[Event]:
        function = call.function or _Function()
        native = self._natives.get((lane, index))
        if native is None or (function.name and call.id and native.open and native.id not in {"", call.id}):
            # Some servers number no calls, or all of them 0: another id is another call.
            if native is not None:
                yield CallEnd(native.index)
            taken = self._indices.setdefault(lane, set())
            native = self._natives[lane, index] = _Native(index if index not in taken else max(taken) + 1)
            taken.add(native.index)
        native.id = native.id or call.id or ""
        native.unsaid += _arguments(function)
        if not native.open and function.name:
            native.open = True
            yield CallStart(native.index, function.name, id=native.id)
        if native.open and native.unsaid:
            yield CallPiece(native.index, native.unsaid)
            native.unsaid = ""

    def _ended(self, lane: int, reason: str) -> Iterable[Part]:
        self._unfinished[lane] = False
        for (of, _), native in self._natives.items():
            if of == lane and native.open:
                native.open = False
                yield (lane, CallEnd(native.index))
        yield (lane, Finish(reason))

    # Encoding

    def encode(self, payload: bytes, parts: Sequence[Part], *, bare: bool) -> list[bytes]:
        """The chunks for `parts`: the frame's own fields stay with its first one, finish and usage with its last."""
        if bare and not parts:
            return []
        if bare and len(parts) == 1 and isinstance(piece := parts[0][1], CallPiece):
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
                made[-1]["choices"][0]["finish_reason"] = _string(reason)
        if not _null(chunk.get("usage")):
            made = made or [{**outer, "choices": []}]
            made[-1]["usage"] = chunk["usage"]
        return [msgspec.json.encode(chunk) for chunk in made]

    def _deltas(self, lane: int, choice: _Fields, events: Sequence[Event]) -> tuple[list[dict[str, Any]], str | None]:
        """One choice's deltas, in order, and its finish reason."""
        delta = _fields(choice.get("delta", _NULL))
        natives = _Renumbered(_list(delta.get("tool_calls", _NULL)))
        kept = {key: raw for key, raw in _without(delta, "content", "tool_calls").items() if not _null(raw)}
        deltas: list[dict[str, Any]] = []
        reason = None
        for event in events:
            if isinstance(event, Text):
                deltas.append({"content": _string(event.text)})
            elif isinstance(event, Reasoning) and event.moved:
                deltas.append({"reasoning_content": _string(event.text)})
            elif isinstance(event, CallStart):
                if event.dialect is None and natives:
                    deltas.extend(natives.placed(event.index))
                else:
                    self._made.add((lane, event.index))
                    deltas.append({"tool_calls": [_call(event.index, event.id, event.name, "")]})
            elif isinstance(event, CallPiece):
                if (lane, event.index) in self._made:
                    function = {"arguments": _string(event.json)}
                    deltas.append({"tool_calls": [{"index": event.index, "function": function}]})
                else:
                    deltas.extend(natives.placed(event.index))
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
                function = call.function or _Function()
                parts.append((lane, CallStart(index, function.name or "", id=call.id or "")))
                parts.append((lane, CallPiece(index, _arguments(function))))
                parts.append((lane, CallEnd(index)))
            thought = message.reasoning_content or message.reasoning
            if thought:
                parts.append((lane, Reasoning(thought)))
            parts.extend((lane, event) for event in _said(message.content))
            parts.append((lane, Finish(choice.finish_reason or "")))
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
            calls = _whole_calls(events, natives)
            text = "".join(event.text for event in events if isinstance(event, Text))
            others = _others(message.get("content"))
            message["content"] = _string(text) if text or not calls else None
            if others:
                message["content"] = [*others, *([{"type": "text", "text": message["content"]}] if text else [])]
            if moved := "".join(event.text for event in events if isinstance(event, Reasoning) and event.moved):
                thought = next((event.text for event in events if isinstance(event, Reasoning) and not event.moved), "")
                message["reasoning_content"] = _string(thought + moved)
            if calls:
                message["tool_calls"] = calls
            reason = next((event.reason for event in events if isinstance(event, Finish)), "")
            choices.append({**choice, "message": message, "finish_reason": _string(reason) if reason else None})
        return [msgspec.json.encode({**body, "choices": choices})]


def _whole_calls(events: Sequence[Event], natives: list[_Fields]) -> list[dict[str, Any]]:
    """The calls of one choice, in the order of their indices; a native one keeps its own fields."""
    own: dict[str, list[_Fields]] = {}  # servers give one id to several calls
    for native in natives:
        if not _null(native.get("id")):
            own.setdefault(str(msgspec.json.decode(native["id"])), []).append(native)
    pieces: dict[int, list[str]] = {}
    for event in events:
        if isinstance(event, CallPiece):
            pieces.setdefault(event.index, []).append(event.json)
    calls: dict[int, dict[str, Any]] = {}
    for event in events:
        if isinstance(event, CallStart):
            same = own.get(event.id, []) if event.dialect is None else []
            arguments = "".join(pieces.get(event.index, ()))
            calls[event.index] = dict(same[0]) if len(same) == 1 else _call(None, event.id, event.name, arguments)
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
        """Tools (functions only), the choice, and the messages' texts by role."""
        fields = rawjson.loaded(body)
        if not isinstance(fields, dict) or not isinstance(fields.get("messages"), list):
            raise ValueError("the request body has no list `messages`")
        messages = [message for message in fields["messages"] if isinstance(message, dict)]

        def texts(*roles: str) -> tuple[str, ...]:
            found = (_text_of(message.get("content")) for message in messages if message.get("role") in roles)
            return tuple(text for text in found if text)

        model = fields.get("model")
        return Request(
            tools=tuple(function_tools(fields.get("tools"))),
            tool_choice=choice_of(fields.get("tool_choice")),
            model=model if isinstance(model, str) else "",
            system="\n".join(texts("system", "developer")),
            assistant=texts("assistant"),
            quotable=texts("user", "tool", "function"),
            response_format=_is_structured(fields.get("response_format")),
        )


def _is_structured(value: object) -> bool:
    """Whether a `response_format` asks for JSON: any type but text does."""
    return isinstance(value, dict) and value.get("type", "text") != "text"


def choice_of(value: object) -> str:
    """A request's `tool_choice`: "auto", "none", "required", or the name of the tool that is to be called."""
    if isinstance(value, dict):
        function = value.get("function")
        name = function.get("name") if isinstance(function, dict) else None
        return name if isinstance(name, str) else "required"
    return value if isinstance(value, str) else "auto"


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str))


WIRE = _OpenAIChat()
