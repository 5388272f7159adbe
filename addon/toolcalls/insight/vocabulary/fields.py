"""The fields of an exchange and of its verdicts: what each means, its type, and its names in exports, log and filters.

An exported field that is missing here fails `tests/insight/test_vocabulary.py`. The JSON Schema of the lines
(`exports/exchange.schema.json`) and the table in docs/exports.md are written from here by `make tables`.
"""

from collections.abc import Mapping
from typing import get_args

from toolcalls.events import Status
from toolcalls.insight.vocabulary.entries import Field, JsonSchema
from toolcalls.insight.vocabulary.statuses import SEVERITY
from toolcalls.insight.vocabulary.words import OUTCOMES
from toolcalls.requests.evidence import Kind

SCHEMA = "toolcalls.exchange"
VERSION = 1  # of the lines; it changes when a field changes its meaning

_VERDICT = "verdicts[]."

_TEXT: JsonSchema = {"type": "string"}
_TEXT_OR_NULL: JsonSchema = {"type": ["string", "null"]}
_TEXTS: JsonSchema = {"type": "array", "items": {"type": "string"}}
_NUMBER: JsonSchema = {"type": "integer"}
_NUMBER_OR_NULL: JsonSchema = {"type": ["integer", "null"]}
_COUNT: JsonSchema = {"type": "integer", "minimum": 0}
_COUNT_OR_NULL: JsonSchema = {"type": ["integer", "null"], "minimum": 0}
_AMOUNT_OR_NULL: JsonSchema = {"type": ["number", "null"]}
_SECONDS: JsonSchema = {"type": ["number", "null"], "minimum": 0}
_TRUTH: JsonSchema = {"type": "boolean"}
_OBJECT: JsonSchema = {"type": "object"}
_OBJECTS: JsonSchema = {"type": "array", "items": {"type": "object"}}
_CALL: JsonSchema = {
    "type": ["array", "null"],
    "items": {"type": "string"},
    "description": "the tool's name, and the arguments as JSON text; null: the call was taken away",
}
_CHANGES: JsonSchema = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"rule": _TEXT, "before": _CALL, "after": _CALL},
        "required": ["rule"],
    },
}
_DEFECTS: JsonSchema = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"code": _TEXT, "path": _TEXT, "wanted": _TEXT, "got": _TEXT, "at": _COUNT_OR_NULL},
        "required": ["code", "path", "wanted", "got", "at"],
    },
}
_NOTES: JsonSchema = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"rule": _TEXT, "text": _TEXT, "warns": _TRUTH, "lane": _NUMBER, "mended": _TRUTH},
        "required": ["rule", "text", "warns", "lane"],
    },
}

FIELDS: tuple[Field, ...] = (
    Field("schema", "`toolcalls.exchange`", {"const": SCHEMA}, har="", otel=""),
    Field("version", "1", {"const": VERSION}, har="", otel=""),
    Field(
        "flow",
        "the flow's id in mitmproxy; the replies of a WebSocket after its first bear `.1`, `.2`, … after it",
        _TEXT,
        har="_toolcalls.flow",
        otel="toolcalls.flow",
        in_log=True,
    ),
    Field(
        "started",
        "when the request began: ISO 8601, UTC",
        {"type": "string", "format": "date-time"},
        har="startedDateTime",
        otel="",
    ),
    Field(
        "session",
        "the session's id as the agent sent it; one that begins with `~` is made of how the conversation begins",
        _TEXT,
        har="_toolcalls.session",
        otel="gen_ai.conversation.id",
    ),
    Field(
        "agent",
        "the agent's name, or that of its library",
        _TEXT_OR_NULL,
        har="_toolcalls.agent",
        otel="gen_ai.agent.name",
    ),
    Field(
        "server",
        "who answered: the host, with its port where that is not the scheme's own",
        _TEXT,
        har="_toolcalls.server",
        otel="server.address",
        presence="later",
    ),
    Field("method", "of the request", _TEXT, har="request.method", otel=""),
    Field("url", "of the request, without secrets", _TEXT, har="request.url", otel=""),
    Field("status", "the HTTP status; null without a reply", _NUMBER_OR_NULL, har="response.status", otel=""),
    Field("error", "why the connection broke", _TEXT_OR_NULL, har="_toolcalls.error", otel=""),
    Field(
        "model",
        "as the request names it",
        _TEXT_OR_NULL,
        har="_toolcalls.model",
        otel="gen_ai.request.model",
        in_report=True,
        in_log=True,
        filter_word="model",
    ),
    Field(
        "wire",
        "the API",
        _TEXT_OR_NULL,
        har="_toolcalls.wire",
        otel="gen_ai.provider.name",
        in_report=True,
        in_log=True,
        filter_word="wire",
    ),
    Field(
        "route",
        "the route that held",
        _TEXT_OR_NULL,
        har="_toolcalls.route",
        otel="toolcalls.route",
        in_report=True,
        in_log=True,
        filter_word="route",
    ),
    Field(
        "kind",
        "what was done: `lift`, `lower`, `roundtrip`, `process`, `observe`",
        {"enum": [*get_args(Kind.__value__), None]},
        har="_toolcalls.kind",
        otel="toolcalls.kind",
        in_report=True,
        in_log=True,
        filter_word="kind",
    ),
    Field("client", "what the client speaks", _TEXT_OR_NULL, har="_toolcalls.client", otel="", in_report=True),
    Field("upstream", "what the upstream speaks", _TEXT_OR_NULL, har="_toolcalls.upstream", otel="", in_report=True),
    Field(
        "dialect",
        "the dialect that calls were written in",
        _TEXT_OR_NULL,
        har="_toolcalls.dialect",
        otel="",
        in_report=True,
    ),
    Field(
        "policy",
        "the route's policy",
        _TEXT_OR_NULL,
        har="_toolcalls.policy",
        otel="toolcalls.policy",
        in_report=True,
        in_log=True,
        filter_word="policy",
    ),
    Field("evidence", "why, a list of sentences", _TEXTS, har="_toolcalls.evidence", otel="", in_report=True),
    Field(
        "verdicts",
        "one for each call, see [log.md](log.md#in-the-flow)",
        _OBJECTS,
        har="_toolcalls.verdicts",
        otel="toolcalls.verdict",
        in_report=True,
    ),
    Field(
        "verdicts[].status",
        "what became of it",
        {"enum": list(get_args(Status))},
        har="_toolcalls.verdicts[].status",
        otel="toolcalls.status",
        in_report=True,
        in_log=True,
        filter_word="status",
    ),
    Field(
        "verdicts[].reason",
        "the rule that said no",
        _TEXT_OR_NULL,
        har="_toolcalls.verdicts[].reason",
        otel="toolcalls.reason",
        in_report=True,
        in_log=True,
        filter_word="reason",
    ),
    Field(
        "verdicts[].dialect",
        "the dialect it was written in; null for a native call",
        _TEXT_OR_NULL,
        har="_toolcalls.verdicts[].dialect",
        otel="toolcalls.dialect",
        in_report=True,
        in_log=True,
        filter_word="dialect",
    ),
    Field(
        "verdicts[].name",
        "the tool",
        _TEXT_OR_NULL,
        har="_toolcalls.verdicts[].name",
        otel="toolcalls.name",
        in_report=True,
        in_log=True,
        filter_word="name",
    ),
    Field(
        "verdicts[].start",
        "its place in the model's text, in characters",
        _COUNT,
        har="_toolcalls.verdicts[].start",
        otel="",
        in_report=True,
        in_log=True,
    ),
    Field(
        "verdicts[].end", "the end of it", _COUNT, har="_toolcalls.verdicts[].end", otel="", in_report=True, in_log=True
    ),
    Field(
        "verdicts[].repairs",
        "what was put right",
        _TEXTS,
        har="_toolcalls.verdicts[].repairs",
        otel="toolcalls.repairs",
        in_report=True,
        in_log=True,
        filter_word="repair",
    ),
    Field(
        "verdicts[].nearest",
        "of one that no tool is declared for: the declared tools whose names come close, the closest first",
        _TEXTS,
        har="_toolcalls.verdicts[].nearest",
        otel="toolcalls.nearest",
        presence="later",
        in_report=True,
    ),
    Field(
        "verdicts[].defects",
        "what is wrong with a call, native or lifted: `code` (a reason), `path` (a JSON Pointer into the arguments), "
        "`wanted`, `got`, and `at`, the character of the argument text; without values",
        _DEFECTS,
        har="_toolcalls.verdicts[].defects",
        otel="toolcalls.defects",
        presence="later",
        in_report=True,
        in_log=True,
    ),
    Field(
        "verdicts[].lane", "the choice", _NUMBER, har="_toolcalls.verdicts[].lane", otel="", in_report=True, in_log=True
    ),
    Field(
        "verdicts[].index",
        "the call's index in it",
        _NUMBER_OR_NULL,
        har="_toolcalls.verdicts[].index",
        otel="",
        in_report=True,
        in_log=True,
    ),
    Field(
        "verdicts[].id",
        "the call's id, as the client got it",
        _TEXT_OR_NULL,
        har="_toolcalls.verdicts[].id",
        otel="toolcalls.id",
        in_report=True,
        in_log=True,
    ),
    Field(
        "verdicts[].rule",
        "the rule that blocked it",
        _TEXT_OR_NULL,
        har="_toolcalls.verdicts[].rule",
        otel="",
        in_report=True,
        in_log=True,
        filter_word="rule",
    ),
    Field(
        "verdicts[].changes",
        "what processors did to the call, in order: `rule`, and with `--content` `before` and `after`",
        _CHANGES,
        har="_toolcalls.verdicts[].changes",
        otel="",
        in_report=True,
    ),
    Field(
        "verdicts[].outcome",
        "how it counts in the scorecard, see below",
        {"enum": list(OUTCOMES)},
        har="_toolcalls.verdicts[].outcome",
        otel="",
    ),
    Field(
        "verdicts[].arguments",
        "only with `--content`: its arguments, JSON text as far as it came",
        _TEXT_OR_NULL,
        har="_toolcalls.verdicts[].arguments",
        otel="",
        presence="content",
        in_report=True,
    ),
    Field(
        "notes",
        "what was noticed of the reply as a whole: `rule`, `text`, `warns`, `lane`, and `mended` where it was",
        _NOTES,
        har="_toolcalls.notes",
        otel="",
        in_report=True,
    ),
    Field(
        "damage",
        "what the reply came with that costs its client a call, by kind",
        _OBJECTS,
        har="_toolcalls.damage",
        otel="",
        presence="later",
    ),
    Field(
        "damage[].code",
        "the kind: the reason of a native call, a note, or `call_in_text`, a call as text for a client that waits for "
        "native ones",
        _TEXT,
        har="_toolcalls.damage[].code",
        otel="toolcalls.damage",
        filter_word="damage",
    ),
    Field("damage[].count", "how often it came", _COUNT, har="_toolcalls.damage[].count", otel=""),
    Field(
        "damage[].mended",
        "how many of these were mended or lifted",
        _COUNT,
        har="_toolcalls.damage[].mended",
        otel="toolcalls.mended",
    ),
    Field("summary", "the flow's comment", _TEXT, har="_toolcalls.summary", otel="toolcalls.summary", in_report=True),
    Field(
        "worst",
        "the status that most needs a look; `mended` or `damaged` for a reply whose native calls or end came so",
        {"enum": [*SEVERITY, None]},
        har="_toolcalls.worst",
        otel="toolcalls.worst",
        in_report=True,
    ),
    Field(
        "judged",
        "where the verdicts come from; null where they are those of when the reply passed",
        _TEXT_OR_NULL,
        har="_toolcalls.judged",
        otel="",
        presence="later",
    ),
    Field("failure", "a fault of the addon", _TEXT_OR_NULL, har="_toolcalls.failure", otel="", in_report=True),
    Field(
        "finish",
        "the finish reason that the client got; null when the reply broke off",
        _TEXT_OR_NULL,
        har="",
        otel="gen_ai.response.finish_reasons",
    ),
    Field("tokens", "as the server counted them", _OBJECT, har="_toolcalls.tokens", otel=""),
    Field(
        "tokens.input",
        "all of the input, cached or not",
        _COUNT_OR_NULL,
        har="_toolcalls.tokens.input",
        otel="gen_ai.usage.input_tokens",
    ),
    Field(
        "tokens.output",
        "all of the output",
        _COUNT_OR_NULL,
        har="_toolcalls.tokens.output",
        otel="gen_ai.usage.output_tokens",
    ),
    Field(
        "tokens.cached",
        "of the input",
        _COUNT_OR_NULL,
        har="_toolcalls.tokens.cached",
        otel="gen_ai.usage.cache_read.input_tokens",
    ),
    Field(
        "tokens.reasoning",
        "of the output",
        _COUNT_OR_NULL,
        har="_toolcalls.tokens.reasoning",
        otel="gen_ai.usage.reasoning.output_tokens",
    ),
    Field(
        "cost",
        "of the tokens, by the `prices` of the configuration (`--config FILE`), in their currency; null without them",
        _AMOUNT_OR_NULL,
        har="_toolcalls.cost",
        otel="toolcalls.cost",
        presence="later",
    ),
    Field("seconds", "when things happened", _OBJECT, har="_toolcalls.seconds", otel=""),
    Field("seconds.requested", "the request was whole", _SECONDS, har="_toolcalls.seconds.requested", otel=""),
    Field("seconds.replied", "the reply's headers came", _SECONDS, har="_toolcalls.seconds.replied", otel=""),
    Field(
        "seconds.first_byte",
        "the client got the first byte of the body",
        _SECONDS,
        har="_toolcalls.seconds.first_byte",
        otel="toolcalls.seconds_to_first_byte",
    ),
    Field(
        "seconds.first_argument",
        "the client got the first byte of a call's arguments",
        _SECONDS,
        har="_toolcalls.seconds.first_argument",
        otel="toolcalls.seconds_to_first_argument",
    ),
    Field(
        "seconds.call_complete",
        "the client got the last byte of a call's arguments; null when a call is not whole",
        _SECONDS,
        har="_toolcalls.seconds.call_complete",
        otel="toolcalls.seconds_to_call_complete",
    ),
    Field("seconds.end", "the reply ended", _SECONDS, har="_toolcalls.seconds.end", otel=""),
    Field("request", "what was asked", _OBJECT, har="", otel=""),
    Field("request.messages", "how many messages", _COUNT, har="", otel=""),
    Field("request.tools", "the names of the tools it declares", _TEXTS, har="", otel=""),
    Field("request.bytes", "its size", _COUNT, har="", otel=""),
    Field(
        "request.body",
        "only with `--content`: its body, without secrets",
        _TEXT,
        har="request.postData.text",
        otel="",
        presence="content",
    ),
    Field(
        "text",
        "only with `--content`: the text that the client got",
        _TEXT,
        har="response.content.text",
        otel="gen_ai.output.messages",
        presence="content",
    ),
)

# The fields of a verdict, by their names in it.
VERDICT_FIELDS: Mapping[str, Field] = {
    field.path.removeprefix(_VERDICT): field for field in FIELDS if field.path.startswith(_VERDICT)
}
# Those of an exchange, by their names at the top of a line.
EXCHANGE_FIELDS: Mapping[str, Field] = {field.path: field for field in FIELDS if "." not in field.path}
# The kinds of damage of an exchange.
DAMAGE: Field = next(field for field in FIELDS if field.path == "damage[].code")

LOG_FIELDS: list[str] = [name for name, field in EXCHANGE_FIELDS.items() if field.in_log and field.in_report]
LOG_VERDICT_FIELDS: list[str] = [name for name, field in VERDICT_FIELDS.items() if field.in_log]
