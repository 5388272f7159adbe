"""A reply of our own making with calls (`wires.answers`).

Where the API could not make a call of what its model wrote, its reply is no error: the candidate ends with
`MALFORMED_FUNCTION_CALL`, and `finishMessage` says what it was.
"""

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import answers
from toolcalls.wires.answers import Answer
from toolcalls.wires.gemini.parts import parts_of, unwrapped

_MALFORMED = "MALFORMED_FUNCTION_CALL"


def whole(answer: Answer) -> bytes:
    """A whole reply, which is also the only frame of a stream."""
    candidate = {"content": {"parts": _parts(answer), "role": "model"}, "finishReason": "STOP", "index": 0}
    named = {"promptTokenCount": answer.tokens.input, "candidatesTokenCount": answer.tokens.output}
    counts = {name: count for name, count in named.items() if count is not None}
    return rawjson.written({
        "candidates": [candidate],
        **({"usageMetadata": {**counts, "totalTokenCount": sum(counts.values())}} if counts else {}),
        "modelVersion": rawjson.string(answer.model),
        "responseId": answer.digest,
    })  # fmt: skip


class Answering(answers.Answering):
    """Goes on with a stream, or writes a frame anew whose candidate ends with a call that the API refused."""

    def __init__(self) -> None:
        super().__init__()
        self._envelope: Fields | None = None

    def saw(self, payload: bytes) -> None:
        reply, self._envelope = unwrapped(payload)
        for place, raw in enumerate(rawjson.items(reply.get("candidates"))):
            candidate = rawjson.fields(raw)
            calls = any("functionCall" in part for part in parts_of(candidate))
            ended = rawjson.word(candidate, "finishReason")
            self.answered = self.answered or bool(calls or ended or rawjson.number(candidate, "index", place))

    def refuses(self, payload: bytes) -> bool:
        if _MALFORMED.encode() not in payload:
            return False
        reply, _ = unwrapped(payload)
        candidates = [rawjson.fields(raw) for raw in rawjson.items(reply.get("candidates"))]
        if len(candidates) != 1 or rawjson.word(candidates[0], "finishReason") != _MALFORMED:
            return False
        return bool(rawjson.word(candidates[0], "finishMessage"))

    def in_place(self, payload: bytes, answer: Answer) -> bytes | None:
        reply, around = unwrapped(payload)
        candidate = rawjson.fields(rawjson.items(reply.get("candidates"))[0])
        parts = parts_of(candidate)
        if self.answered or any("functionCall" in part for part in parts):
            return None
        content = {"role": "model", **rawjson.fields(candidate.get("content")), "parts": [*parts, *_parts(answer)]}
        made = {**rawjson.without(candidate, "finishMessage"), "content": content, "finishReason": "STOP"}
        reply = {**reply, "candidates": [made]}
        return rawjson.written(reply if around is None else {**around, "response": reply})

    def rest(self, answer: Answer) -> list[bytes] | None:
        if self.answered:
            return None
        made = whole(answer)
        return [made if self._envelope is None else rawjson.written({"response": rawjson.raw(made)})]


def _parts(answer: Answer) -> list[Fields]:
    parts: list[Fields] = []
    if answer.reasoning:
        parts.append({"text": rawjson.string(answer.reasoning), "thought": True})
    if answer.text:
        parts.append({"text": rawjson.string(answer.text)})
    calls = ({"name": rawjson.string(call.name), "args": call.object} for call in answer.calls)
    return [*parts, *({"functionCall": call} for call in calls)]
