"""`gemini`: `models.generateContent` and `models.streamGenerateContent`, as events, as one JSON array, and whole.

https://ai.google.dev/api/generate-content. A lane is a candidate. The same replies come from Vertex AI and, inside
`{"response": ...}`, from Code Assist (`/v1internal:streamGenerateContent`), whose requests stand inside `request`.

A call is one part, `functionCall: {name, args}` with `args` an object, and is never split: a call that is lifted is
held and sent when it is complete, and one that broke off stays text. A made call has no `id`, as most of the API's own.
There is no finish reason for calls, it stays `STOP`; where a call broke off, `STOP` becomes `MAX_TOKENS`. Vertex can
stream the arguments of a native call (`partialArgs`); such a call is put together here only to be read, its parts pass
as they are. `MALFORMED_FUNCTION_CALL` comes with a sentence about the call (`finishMessage`), whose forms nobody has
written down: it passes, and nothing is completed before it.

All else passes: thoughts, signatures (a part whose text or call is taken keeps its other fields, with an empty text, as
the API itself sends them), grounding, safety, usage. Every frame repeats the usage of the whole reply so far, so one
that held nothing but text that became part of a call goes with it, and one that held nothing but calls with those. In
the array form no element can go: what is left is one with an empty text. Reasoning that stood in the text becomes a
part with `thought: true`.

The events of a frame tell which of its calls stays, goes (`Gone`) or is made anew, one behind the other, and in a
stream so where the text between them belongs. Where native calls become text nothing speaks of those that went: then a
part stays that is the call of an event, and no other. A call made anew keeps its part's other fields (a signature) and
its id.

Past 300 lines, because one file holds one API: its replies, streamed and whole, and what a request declares.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any
from urllib.parse import unquote, urlsplit

from toolcalls import rawjson
from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Finish, Gone, Markup, Reasoning, Text
from toolcalls.frames import Form
from toolcalls.rawjson import Fields
from toolcalls.request import Request, Tool
from toolcalls.wires import Codec, Part, form_of

_STREAM = ":streamGenerateContent"
_WHOLE = ":generateContent"
# https://ai.google.dev/api/generate-content#FinishReason in the words of the hub.
_REASONS = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE", "OTHER"), "failed"),
    **dict.fromkeys(
        ("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "MODEL_ARMOR"),
        "content_filter",
    ),
}
_WORDS = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
# What a frame may hold beside its text and still go with it: each frame repeats these.
_REPEATED = {"candidates", "usageMetadata", "modelVersion", "responseId", "createTime"}
_CHOICES = {"NONE": "none", "ANY": "required"}
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\['([^']*)'\]")
_EMPTY = rawjson.string("")


class _Call:
    """A call that is not complete yet: one of ours, or a native one whose arguments are streamed.

    `id` is the one that its event has, "" for none.
    """

    def __init__(self, index: int, name: str, id_: str = "") -> None:
        self.index = index
        self.name = name
        self.id = id_
        self.pieces: list[str] = []
        self.args: dict[str, Any] = {}
        self.ended = False


class _Codec:
    """The codec of a reply, streamed or whole."""

    shifted = False  # a frame stands for itself

    def __init__(self, *, streamed: bool) -> None:
        self.reply_id = ""
        self.bare = False
        self._streamed = streamed
        self._next: dict[int, int] = {}  # by lane, the index of its next native call
        self._partial: dict[int, _Call] = {}  # by lane, the native call whose arguments are arriving
        self._made: dict[tuple[int, int], _Call] = {}  # by lane and index
        self._markup: dict[int, str] = {}  # by lane, what the candidate that is arriving was written with

    # Decoding

    def decode(self, payload: bytes) -> list[Part]:
        """The events of one `GenerateContentResponse`. In a whole reply native calls come first, so that a text that
        repeats one is known for what it is."""
        self.bare = False
        reply, _ = _opened(payload)
        candidates = rawjson.items(reply.get("candidates"))
        if not candidates:
            return []
        self.reply_id = self.reply_id or rawjson.word(reply, "responseId") or "-"
        parts: list[Part] = []
        for place, raw in enumerate(candidates):
            candidate = rawjson.fields(raw)
            lane = rawjson.number(candidate, "index", place)
            events = list(self._events(lane, candidate))
            if not self._streamed:
                events.sort(key=lambda event: not isinstance(event, CallStart | CallPiece | CallEnd))
            parts.extend((lane, event) for event in events)
        self.bare = len(candidates) == 1 and self._is_alone(parts) and _is_bare(reply, rawjson.fields(candidates[0]))
        return parts

    def _is_alone(self, parts: Sequence[Part]) -> bool:
        """Whether these are one text, or in a stream nothing but calls."""
        if len(parts) == 1 and isinstance(parts[0][1], Text):
            return True
        calls = (isinstance(event, CallStart | CallPiece | CallEnd) for _, event in parts)
        return self._streamed and bool(parts) and all(calls)

    def _events(self, lane: int, candidate: Fields) -> Iterator[Event]:
        for part in _parts(candidate):
            if "functionCall" in part:
                yield from self._native(lane, rawjson.fields(part["functionCall"]))
            elif text := rawjson.word(part, "text"):
                yield Reasoning(text) if _is_thought(part) else Text(text)
        reason = rawjson.word(candidate, "finishReason")
        if reason:
            yield Finish(_REASONS.get(reason, reason))

    def _native(self, lane: int, call: Fields) -> Iterator[Event]:
        """A native call, or the next part of one: without a name it goes on, without `willContinue` it ends."""
        name = rawjson.word(call, "name")
        partial = self._partial.get(lane)
        goes_on = rawjson.value(call.get("willContinue")) is True
        if name:
            index = self._next.get(lane, 0)
            self._next[lane] = index + 1
            yield CallStart(index, name, id=rawjson.word(call, "id"))
            if not goes_on and "partialArgs" not in call:
                yield CallPiece(index, _arguments(call))
                yield CallEnd(index)
                return
            partial = self._partial[lane] = _Call(index, name)
        if partial is None:
            return
        if rawjson.is_object(call.get("args")):  # not beside pieces, but a client would take them
            partial.args.update(rawjson.value(call["args"]) or {})
        for raw in rawjson.items(call.get("partialArgs")):
            _put(partial.args, rawjson.fields(raw))
        if goes_on:
            yield CallPiece(partial.index, "")  # says whose part this is
        else:
            del self._partial[lane]
            yield CallPiece(partial.index, json.dumps(partial.args, ensure_ascii=False))
            yield CallEnd(partial.index)

    # Encoding

    def encode(self, payload: bytes, parts: Sequence[Part], *, bare: bool) -> list[bytes]:
        """The frame with each candidate's parts and finish reason as `parts` say; nothing of a bare one without any."""
        reply, around = _opened(payload)
        candidates: list[Any] = []
        changed = said = False
        for place, raw in enumerate(rawjson.items(reply.get("candidates"))):
            candidate = rawjson.fields(raw)
            lane = rawjson.number(candidate, "index", place)
            made = self._candidate(lane, candidate, [event for of, event in parts if of == lane])
            changed = changed or made is not candidate
            said = said or bool(_parts(made))
            if _parts(candidate) and not _parts(made):
                made = {**made, "content": {**made["content"], "parts": [{"text": _EMPTY}]}}
            candidates.append(made)
        if not changed:
            return [payload]
        if bare and not said:
            return []
        reply = {**reply, "candidates": candidates}
        return [rawjson.written(reply if around is None else {**around, "response": reply})]

    def _candidate(self, lane: int, candidate: Fields, events: Sequence[Event]) -> Fields:
        """The candidate as its events say; itself when they say what it says already."""
        own = _parts(candidate)
        made = self._told_in_order(lane, own, events)
        if made is None:
            made = self._told_by_calls(lane, own, events)
        written = rawjson.word(candidate, "finishReason")
        reason = next((event.reason for event in events if isinstance(event, Finish)), "")
        word = written if _REASONS.get(written, written) in {reason, _same(reason)} else _WORDS.get(reason, written)
        changes: Fields = {} if word == written else {"finishReason": rawjson.string(word)}
        if _told(made) != _told(own):
            content = {"role": rawjson.string("model"), **rawjson.fields(candidate.get("content"))}
            changes["content"] = {**content, "parts": [_spelt(part) for part in made]}
        return {**candidate, **changes} if changes else candidate

    def _told_in_order(self, lane: int, own: Sequence[Fields], events: Sequence[Event]) -> list[Fields] | None:
        """The parts where each of the frame's own calls has its events; None where they do not tell of all of them."""
        slots = [place for place, part in enumerate(own) for _ in range(_speaks(part))]
        ours = {index for of, index in self._made if of == lane}
        ours |= {event.index for event in events if isinstance(event, CallStart) and event.dialect is not None}
        said = [event for event in events if _is_said(event, ours)]
        if len(said) != len(slots):
            return None
        stays = _staying(own, slots, said)
        if stays is None:
            return None
        calls: dict[int, list[Fields]] = {place: [own[place]] if kept else [] for place, kept in stays.items()}
        groups: dict[int, list[Fields]] = {-1: [], **{place: [] for place in calls}}
        places = iter(slots)
        place, rest, begun = -1, {}, False
        for event in events:
            if _is_said(event, ours):
                before, place = place, next(places)
                begun = place != before
                if begun:
                    rest = {} if stays[place] else rawjson.without(own[place], "functionCall")
                    calls[place] += [{**rest, "text": _EMPTY}] if rest else []
                continue
            made = self._derive(lane, event, groups[place])
            if made is not None and begun:
                # Made anew. What a reactor says stands before its call, and so before the part of it.
                calls[place] = [*groups[place], {**rest, **_call_part(made.name, "".join(made.pieces), made.id)}]
                groups[place], rest = [], {}
            elif made is not None:
                groups[place].append(_call_part(made.name, "".join(made.pieces)))
        if not self._streamed:  # all calls came first, wherever they stand
            return _woven(own, calls, [new for group in groups.values() for new in group])
        return _segments(own, calls, groups)

    def _told_by_calls(self, lane: int, own: Sequence[Fields], events: Sequence[Event]) -> list[Fields]:
        """The parts where those of native calls stay that events repeat; beside one that is gone only whole ones."""
        derived: list[Fields] = []
        natives: dict[int, _Call] = {}
        for event in events:
            if isinstance(event, CallStart) and event.dialect is None:
                natives[event.index] = _Call(event.index, event.name)
            elif isinstance(event, CallPiece) and (lane, event.index) not in self._made:
                natives.setdefault(event.index, _Call(event.index, "")).pieces.append(event.json)
            elif (made := self._derive(lane, event, derived)) is not None:
                derived.append(_call_part(made.name, "".join(made.pieces)))
        left = list(natives.values())
        sure = any(isinstance(event, Gone) for event in events)
        calls = {place: list(_kept(part, left, sure=sure)) for place, part in enumerate(own) if "functionCall" in part}
        return [*_woven(own, calls, derived), *(_call_part(one.name, "".join(one.pieces)) for one in left if one.name)]

    def _derive(self, lane: int, event: Event, derived: list[Fields]) -> _Call | None:
        """Add the part that an event makes; a call of ours that it ends comes back."""
        if isinstance(event, Text) and event.text:
            _tell(derived, event.text)
        elif isinstance(event, Markup):
            self._mark(lane, event.text, derived)
        elif isinstance(event, Reasoning) and event.moved:
            derived.append({"text": event.text, "thought": True})
        elif isinstance(event, CallStart) and event.dialect is not None:
            self._made[lane, event.index] = _Call(event.index, event.name, event.id)
        elif isinstance(event, CallPiece | CallEnd):
            known = self._made.get((lane, event.index))
            if isinstance(event, CallPiece) and known is not None:
                known.pieces.append(event.json)
            elif isinstance(event, CallEnd) and known is not None:
                known.ended = True
                return known
        return None

    def _mark(self, lane: int, markup: str, derived: list[Fields]) -> None:
        """Keep what a call is written with until it has its verdict. One that broke off is text."""
        if markup:
            self._markup[lane] = self._markup.get(lane, "") + markup
            return
        written = self._markup.pop(lane, "")
        last = next((call for (of, _), call in reversed(self._made.items()) if of == lane), None)
        if last is not None and not last.ended:
            last.ended = True
            _tell(derived, written)


def _tell(derived: list[Fields], text: str) -> None:
    """More text, in the part that is text already."""
    last = derived[-1] if derived else {}
    if list(last) == ["text"]:
        last["text"] += text
    else:
        derived.append({"text": text})


def _opened(payload: bytes) -> tuple[Fields, Fields | None]:
    """The reply's own members, and those of the envelope that it came in; None for none."""
    members = rawjson.fields(payload)
    if "candidates" not in members and rawjson.is_object(members.get("response")):
        return rawjson.fields(members["response"]), members
    return members, None


def _parts(candidate: Mapping[str, Any]) -> list[Fields]:
    parts = rawjson.items(rawjson.fields(candidate.get("content")).get("parts"))
    return [rawjson.fields(part) for part in parts]


def _is_thought(part: Fields) -> bool:
    return rawjson.value(part.get("thought")) is True


def _is_bare(reply: Fields, candidate: Fields) -> bool:
    """Whether nothing that is told only once goes with the text."""
    content = rawjson.fields(candidate.get("content"))
    kinds = [set(part) for part in _parts(candidate)]
    return (
        set(reply) <= _REPEATED
        and set(candidate) <= {"content", "index"}
        and set(content) <= {"parts", "role"}
        and (kinds == [{"text"}] or all(kind == {"functionCall"} for kind in kinds))
    )


def _same(reason: str) -> str:
    """The other hub word that is written like `reason`: this API has one word for both."""
    return {"tool_calls": "stop", "stop": "tool_calls"}.get(reason, reason)


def _arguments(call: Fields) -> str:
    """The arguments as JSON text, whatever they are: what is no object is told as it is, and is no call's."""
    return "{}" if rawjson.value(call.get("args")) is None else rawjson.text_of(call["args"])


def _call_part(name: str, arguments: str, id_: str = "") -> Fields:
    """A call's part; `id_` where its upstream gave it one."""
    call = {"name": rawjson.string(name), "args": rawjson.json_text(arguments)}
    return {"functionCall": {"id": rawjson.string(id_), **call} if id_ else call}


def _speaks(part: Fields) -> int:
    """How many of a part's events always leave, as themselves or as `Gone`: a call's beginning and its piece."""
    if "functionCall" not in part:
        return 0
    return 2 if rawjson.word(rawjson.fields(part["functionCall"]), "name") else 1


def _is_said(event: Event, ours: set[int]) -> bool:
    """Whether an event speaks of a call that stands in the frame."""
    return isinstance(event, Gone) or (isinstance(event, CallStart | CallPiece) and event.index not in ours)


def _staying(own: Sequence[Fields], slots: Sequence[int], said: Sequence[Event]) -> dict[int, bool] | None:
    """Which of the frame's calls stay; None where an event tells of another one than stands at its place."""
    stays: dict[int, bool] = {}
    for place, event in zip(slots, said, strict=True):
        call = rawjson.fields(own[place]["functionCall"])
        name = rawjson.word(call, "name")
        first = place not in stays
        stays[place] = stays.get(place, True) and not isinstance(event, Gone)
        if isinstance(event, CallStart) and (not first or event.name != name):
            return None
        if isinstance(event, CallPiece) and ((first and name) or (_is_whole(call) and event.json != _arguments(call))):
            return None
    return stays


def _is_whole(call: Fields) -> bool:
    return (
        bool(rawjson.word(call, "name"))
        and "partialArgs" not in call
        and rawjson.value(call.get("willContinue")) is not True
    )


def _woven(own: Sequence[Fields], calls: Mapping[int, list[Fields]], derived: list[Fields]) -> list[Fields]:
    """The parts with what has become of the calls, and with the text, all of it, in the first text's place."""
    made: list[Fields] = []
    first = True
    for place, part in enumerate(own):
        if place in calls:
            made.extend(calls[place])
        elif "text" not in part or _is_thought(part):
            made.append(part)
        elif first:
            first = False
            made.extend(_with_text(part, derived))
        elif rest := rawjson.without(part, "text"):
            made.append({**rest, "text": _EMPTY})
    return [*made, *(derived if first else ())]


def _segments(
    own: Sequence[Fields], calls: Mapping[int, list[Fields]], groups: Mapping[int, list[Fields]]
) -> list[Fields]:
    """The parts of a stream: what has become of each call, and between them the text of their group."""
    made: list[Fields] = []
    before, start = -1, 0
    for place in sorted(calls):
        made += [*_woven(own[start:place], {}, groups[before]), *calls[place]]
        before, start = place, place + 1
    return [*made, *_woven(own[start:], {}, groups[before])]


def _kept(part: Fields, natives: list[_Call], *, sure: bool) -> Iterator[Fields]:
    """A native call's part while the call stays native, and what else stood in it when the call is gone.

    `sure`: only a whole call stays, which its arguments tell from one that must not.
    """
    call = rawjson.fields(part["functionCall"])
    name, whole = rawjson.word(call, "name"), "partialArgs" not in call and "willContinue" not in call
    for native in natives if not sure or (name and whole) else ():
        started = native.name == name
        if (started and "".join(native.pieces) == _arguments(call)) if name and whole else (started or not native.name):
            if whole or name:
                natives.remove(native)
            yield part
            return
    if rest := rawjson.without(part, "functionCall"):
        yield {**rest, "text": _EMPTY}


def _with_text(part: Fields, derived: Sequence[Fields]) -> Iterator[Fields]:
    """What a part's text became. Its other fields (a signature) stay with the last of it that is plain text."""
    rest = rawjson.without(part, "text")
    place = max((place for place, made in enumerate(derived) if list(made) == ["text"]), default=-1)
    for number, made in enumerate(derived):
        yield {**rest, **made} if number == place else made
    if rest and place < 0:
        yield {**rest, "text": _EMPTY}


def _spelt(part: Fields) -> Fields:
    return {key: rawjson.string(member) if isinstance(member, str) else member for key, member in part.items()}


def _told(parts: Iterable[Fields]) -> list[Any]:
    """What parts say, whatever their spelling; one that is an empty text alone says nothing."""
    values = [{key: rawjson.value(member) for key, member in part.items()} for part in parts]
    return [value for value in values if value != {"text": ""}]


def _put(target: dict[str, Any], partial: Fields) -> None:
    """Put one piece of streamed arguments where its path says (`$.recipe.items[0].name`); strings go on."""
    path = rawjson.word(partial, "jsonPath")
    steps: list[str | int] = [int(at) if at else key or quoted for key, at, quoted in _STEP.findall(path)]
    found = [rawjson.value(partial[key]) for key in ("stringValue", "numberValue", "boolValue") if key in partial]
    given = found[0] if found else None
    place: Any = target
    for step, following in pairwise(steps):
        inner: Any = [] if isinstance(following, int) else {}
        place = _entered(place, step, inner)
        if place is None:
            return
    if not steps or ("nullValue" not in partial and not found):
        return
    before = _entered(place, steps[-1], given)
    if before is not given and isinstance(before, str) and isinstance(given, str):
        place[steps[-1]] = before + given


def _entered(place: Any, step: str | int, new: Any) -> Any:
    """What stands at a step, `new` where nothing did; None where no such step can be taken."""
    if isinstance(place, dict) and isinstance(step, str):
        return place.setdefault(step, new)
    if isinstance(place, list) and isinstance(step, int) and step <= len(place):
        if step == len(place):
            place.append(new)
        return place[step]
    return None


class _Gemini:
    """The wire."""

    name = "gemini"
    names_events = False
    lanes_follow = False
    calls_are_whole = True
    call_prefix = "call_"

    def form(self, path: str, content_type: str) -> Form | None:
        """Events, or JSON: an array of replies where a stream was asked for without `alt=sse`."""
        form = form_of(content_type)
        return "json_array" if form == "whole" and _method(path).endswith(_STREAM) else form

    def matches(self, path: str) -> bool:
        """Any path that ends in one of the two methods: versions, projects and gateways stand before it."""
        return _method(path).endswith((_STREAM, _WHOLE))

    def codec(self, *, streamed: bool) -> Codec:
        """A codec for one reply."""
        return _Codec(streamed=streamed)

    def request(self, body: bytes) -> Request:
        """Function declarations, the mode, and the contents' texts by role."""
        fields = rawjson.loaded(body)
        outer = fields if isinstance(fields, dict) else {}
        fields = outer["request"] if isinstance(outer.get("request"), dict) else outer
        if not isinstance(fields.get("contents"), list | dict | str):
            raise ValueError("the request body has no `contents`")
        given = fields["contents"]
        contents = given if isinstance(given, list) else [given]
        model = outer.get("model")
        config = either(fields, "generationConfig", "generation_config")
        return Request(
            tools=tuple(_allowed(tools_of(fields.get("tools")), either(fields, "toolConfig", "tool_config"))),
            tool_choice=choice_of(either(fields, "toolConfig", "tool_config")),
            model=model if isinstance(model, str) else "",
            system="\n".join(_texts(either(fields, "systemInstruction", "system_instruction"))),
            assistant=tuple("".join(_texts(one)) for one in contents if _role(one) == "model" and any(_texts(one))),
            quotable=tuple(text for one in contents if _role(one) != "model" for text in _texts(one, answers=True)),
            response_format=_is_structured(config),
        )


def _method(path: str) -> str:
    return unquote(urlsplit(path).path).rstrip("/")


def either(fields: Any, *keys: str) -> Any:
    """The member under the first of its spellings that is there: JSON's own, or the one of protocol buffers."""
    return next((fields[key] for key in keys if isinstance(fields, dict) and key in fields), None)


def tools_of(value: object) -> Iterator[Tool]:
    """The functions that a request's `tools` declare; tools that Google runs itself are passed over."""
    for item in value if isinstance(value, list) else (value,):
        declared = either(item, "functionDeclarations", "function_declarations")
        for function in declared if isinstance(declared, list) else ():
            name = function.get("name") if isinstance(function, dict) else None
            if isinstance(name, str) and name:
                schema = either(function, "parametersJsonSchema", "parameters_json_schema")
                schema = lowered(function.get("parameters")) if schema is None else schema
                about = function.get("description")
                yield Tool(name, schema if isinstance(schema, dict) else {}, about if isinstance(about, str) else "")


def lowered(schema: object, depth: int = 0) -> object:
    """An OpenAPI schema (`type: "STRING"`, `nullable`) as JSON Schema; what is malformed stays as it is."""
    if depth > 64 or not isinstance(schema, dict):
        return schema
    made = dict(schema)
    if isinstance(kind := made.get("type"), str):
        made["type"] = [kind.lower(), "null"] if made.get("nullable") is True else kind.lower()
    for key in ("items", "additionalProperties"):
        if key in made:
            made[key] = lowered(made[key], depth + 1)
    if isinstance(made.get("properties"), dict):
        made["properties"] = {key: lowered(inner, depth + 1) for key, inner in made["properties"].items()}
    if isinstance(branches := made.get("anyOf"), list):
        made["anyOf"] = [lowered(branch, depth + 1) for branch in branches]
    return made


def choice_of(config: object) -> str:
    """A request's `toolConfig` in the words of `Request.tool_choice`."""
    calling = either(config, "functionCallingConfig", "function_calling_config")
    mode = calling.get("mode") if isinstance(calling, dict) else None
    names = either(calling, "allowedFunctionNames", "allowed_function_names")
    if mode == "ANY" and isinstance(names, list) and len(names) == 1 and isinstance(names[0], str):
        return names[0]
    return _CHOICES.get(mode, "auto") if isinstance(mode, str) else "auto"


def _allowed(tools: Iterable[Tool], config: object) -> Iterator[Tool]:
    """The tools that a request's `toolConfig` leaves the model, where it leaves several; one is a choice."""
    calling = either(config, "functionCallingConfig", "function_calling_config")
    names = either(calling, "allowedFunctionNames", "allowed_function_names")
    some = isinstance(names, list) and bool(names) and choice_of(config) in {"auto", "required"}
    return (tool for tool in tools if not some or tool.name in names)


def _is_structured(config: object) -> bool:
    kind = either(config, "responseMimeType", "response_mime_type")
    return isinstance(kind, str) and kind.partition(";")[0].strip() == "application/json"


def _role(content: object) -> str:
    return str(content.get("role") or "user") if isinstance(content, dict) else "user"


def _texts(content: object, *, answers: bool = False) -> Iterator[str]:
    """The texts of a content; with `answers` also those that functions answered."""
    if isinstance(content, str):
        yield content
        return
    parts = content.get("parts") if isinstance(content, dict) else content
    for part in parts if isinstance(parts, list) else (parts,):
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict) and isinstance(part.get("text"), str) and part.get("thought") is not True:
            yield part["text"]
        elif isinstance(part, dict) and answers:
            answer = either(part, "functionResponse", "function_response")
            yield from _strings(answer.get("response") if isinstance(answer, dict) else None)


def _strings(value: object) -> list[str]:
    """All strings in a value, in order."""
    found, pending = [], [value]
    while pending:
        one = pending.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, dict | list):
            pending.extend(reversed(list(one.values()) if isinstance(one, dict) else one))
    return found


WIRE = _Gemini()
