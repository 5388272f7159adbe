"""The parts of a candidate: text, thoughts, calls; and why it ended."""

from collections.abc import Iterable
from typing import Any

from toolcalls.events import Defect
from toolcalls.values import rawjson
from toolcalls.values.conversion import is_object
from toolcalls.values.rawjson import Fields

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
EMPTY = rawjson.string("")
# Parts that hold what tools of the provider's own gave back.
RESULTS = ("codeExecutionResult", "code_execution_result", "toolResponse", "tool_response")


class Call:
    """A call that the client gets, as far as it came: one that was made, or a native one.

    `id` is the one that its event has, "" for none.
    """

    def __init__(self, index: int, name: str, id_: str = "") -> None:
        self.index = index
        self.name = name
        self.id = id_
        self.pieces: list[str] = []

    @property
    def arguments(self) -> str:
        """Its argument JSON."""
        return "".join(self.pieces)

    def part(self, *, with_id: bool = False) -> Fields:
        """The call as a part. `with_id`: its upstream gave it an id."""
        call = {"name": rawjson.string(self.name), "args": rawjson.json_text(self.arguments)}
        return {"functionCall": {"id": rawjson.string(self.id), **call} if with_id and self.id else call}


def unwrapped(payload: bytes) -> tuple[Fields, Fields | None]:
    """The reply's own members, and those of the envelope that it came in; None for none."""
    members = rawjson.fields(payload)
    if "candidates" not in members and rawjson.is_object(members.get("response")):
        return rawjson.fields(members["response"]), members
    return members, None


def parts_of(candidate: Fields) -> list[Fields]:
    """The parts of a candidate's content."""
    parts = rawjson.items(rawjson.fields(candidate.get("content")).get("parts"))
    return [rawjson.present(rawjson.fields(part)) for part in parts]


def is_thought(part: Fields) -> bool:
    """Whether a part's text is what the model thought."""
    return rawjson.value(part.get("thought")) is True


def is_text(part: Fields) -> bool:
    """Whether a part is text of the reply, which may be empty."""
    return "text" in part and "functionCall" not in part and not is_thought(part)


def has_only_content(reply: Fields, candidate: Fields) -> bool:
    """Whether a frame has only content, and members that other frames repeat."""
    content = rawjson.present(rawjson.fields(candidate.get("content")))
    kinds = [set(part) for part in parts_of(candidate)]
    return (
        set(rawjson.present(reply)) <= _REPEATED
        and set(rawjson.present(candidate)) <= {"content", "index"}
        and set(content) <= {"parts", "role"}
        and (kinds == [{"text"}] or all(kind == {"functionCall"} for kind in kinds))
    )


def arguments_of(call: Fields) -> str:
    """The arguments as JSON text. What is no object is returned as it is, and belongs to no call."""
    return "{}" if rawjson.value(call.get("args")) is None else rawjson.text_of(call["args"])


def of_string(arguments: str) -> Defect:
    """What is wrong with arguments that are a string."""
    if is_object(arguments):
        return Defect("double_encoded", wanted="object", got="string that holds an object")
    return Defect("bad_arguments", wanted="object", got="string")


def is_whole(call: Fields) -> bool:
    """Whether a native call is in one part."""
    return (
        bool(rawjson.word(call, "name"))
        and "partialArgs" not in call
        and rawjson.value(call.get("willContinue")) is not True
    )


def with_json_texts(part: Fields) -> Fields:
    """A part with its texts as JSON."""
    return {key: rawjson.string(member) if isinstance(member, str) else member for key, member in part.items()}


def values_of(parts: Iterable[Fields]) -> list[Any]:
    """The values of parts, whatever their spelling, without parts that are an empty text alone."""
    values = [{key: rawjson.value(member) for key, member in part.items()} for part in parts]
    return [value for value in values if value != {"text": ""}]


def reason_of(finish_reason: str) -> str:
    """A finish reason in the hub's words; one that it has no word for stays."""
    return _REASONS.get(finish_reason, finish_reason)


def written_reason(written: str, reason: str) -> str:
    """A finish reason of the hub as it is written: as it was where that says it, for this API has one word for two."""
    same = {"tool_calls": "stop", "stop": "tool_calls"}.get(reason, reason)
    return written if reason_of(written) in {reason, same} else _WORDS.get(reason, written)
