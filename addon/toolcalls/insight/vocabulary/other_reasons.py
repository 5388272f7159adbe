"""The reasons that policies, limits, routes and processors give: what is asked beyond the seven conditions."""

from toolcalls.insight.vocabulary.entries import A_CALL, NO_REMEDY, Description, ReasonEntry, Remedy, Subject
from toolcalls.insight.vocabulary.statuses import AS_WRITTEN, NOT_GOT

_SHOWN_RESULT = Subject("a tool result", Description("wrote a tool result itself", AS_WRITTEN, "stays as it is"))
_DROPPED_RESULT = Subject("a tool result", Description("wrote a tool result itself", NOT_GOT, "not delivered"))
_UNREAD_TEXT = Subject("the rest", Description("wrote more that begins like a call", AS_WRITTEN, "stays as it is"))

OTHER_REASONS = (
    ReasonEntry(
        code="escaped",
        sentence="its markup is escaped, as quoted markup is",
        in_docs="the call is escaped for HTML (`&lt;invoke …`), and the policy is `strict`",
        condition=None,
        remedy=Remedy("the route has take: [escaped], or names the dialect", "`take: [escaped]`, or name the dialect"),
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="repeated",
        sentence="the client already got the same call, which came as text before it",
        in_docs=(
            "of a native call: the client already got the same call, which came as text before it, so it does not "
            "get it twice"
        ),
        condition=None,
        remedy=Remedy.take("duplicate"),
        subject=A_CALL,
        outcomes={"blocked": "decline", "native": "success"},
    ),
    ReasonEntry(
        code="look_alike",
        sentence="it only looks like a tag: some of its characters are look-alikes or invisible",
        in_docs="it only looks like a call: some characters of its tag are look-alikes or invisible",
        condition=None,
        remedy=NO_REMEDY,
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="multiple_calls",
        sentence="the client is given only the first call of a reply",
        in_docs=(
            "the client is given only the first call of a reply: the route says so, or its client is known to take one "
            "call a message. A client that reads text does not get a second native call at all (`blocked`)"
        ),
        condition=None,
        remedy=Remedy("the route has multiple_calls: true", "`multiple_calls: true`"),
        subject=A_CALL,
        outcomes={"declined": "leak", "blocked": "decline"},
    ),
    ReasonEntry(
        code="missing_argument",
        sentence="an argument that the tool requires is missing",
        in_docs="an argument that the tool requires is missing: of a call in text (`strict`), or of a native one",
        condition=None,
        remedy=Remedy("the route's require does not list arguments", "`require` without `arguments`"),
        subject=A_CALL,
        outcomes={"declined": "leak", "native": "broken", "lowered": "broken"},
    ),
    ReasonEntry(
        code="not_terminal",
        sentence="other text follows it, and the policy accepts calls only at the end",
        in_docs="other text follows the call (`strict`)",
        condition=None,
        remedy=Remedy("the route's require does not list terminal", "`require` without `terminal`"),
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="overflow",
        sentence="it grew past the limit for held text",
        in_docs="the call had to be held and grew past the limit, or too much came beside it that had to wait for it",
        condition=None,
        remedy=Remedy.larger("max_held_call_bytes", "max_buffer_bytes", "max_frame_bytes"),
        subject=A_CALL,
        outcomes={"declined": "leak", "truncated": "broken"},
    ),
    ReasonEntry(
        code="max_call_chars",
        sentence="its arguments are longer than the route's max_call_chars",
        in_docs=(
            "the arguments of the call are longer than the limit; what the client has of it stays open. A native "
            "call passes, and its arguments are not kept for the view"
        ),
        condition=None,
        remedy=Remedy.larger("max_call_chars"),
        subject=A_CALL,
        outcomes={"declined": "leak", "truncated": "broken", "native": "success"},
    ),
    ReasonEntry(
        code="max_depth",
        sentence="its arguments are nested deeper than the route's max_depth",
        in_docs="the arguments of the call nest deeper than the limit; what the client has of it stays open",
        condition=None,
        remedy=Remedy.larger("max_depth"),
        subject=A_CALL,
        outcomes={"declined": "leak", "truncated": "broken"},
    ),
    ReasonEntry(
        code="max_calls",
        sentence="the reply holds more calls than the route's max_calls",
        in_docs="the reply has more calls than the limit",
        condition=None,
        remedy=Remedy.larger("max_calls"),
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="max_candidates",
        sentence="the rest of the reply is not searched: more places look like calls than the route's max_candidates",
        in_docs="not about one place: so many places look like calls that the rest of the reply is not searched",
        condition=None,
        remedy=Remedy.larger("max_candidates"),
        subject=_UNREAD_TEXT,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="max_payload_chars",
        sentence="its JSON is longer than the route's max_payload_chars",
        in_docs="the JSON of a marked call is longer than the limit",
        condition=None,
        remedy=Remedy.larger("max_payload_chars"),
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="invented_result",
        sentence="the model wrote a tool result itself, after its own call",
        in_docs="no call at all: after its call the model wrote a tool result itself; it is shown",
        condition=None,
        remedy=NO_REMEDY,
        subject=_SHOWN_RESULT,
        outcomes={"declined": "decline"},
    ),
    ReasonEntry(
        code="dropped_result",
        sentence="the model wrote a tool result itself, and the route drops such text",
        in_docs="the same, and the route keeps such text from the client (`drop_invented_results`)",
        condition=None,
        remedy=NO_REMEDY,
        subject=_DROPPED_RESULT,
        outcomes={"declined": "decline"},
    ),
    ReasonEntry(
        code="unwritable",
        sentence="the client's dialect cannot hold this call, or not in this place",
        in_docs=(
            "the client's dialect cannot hold a value of this call, or no call after the text before it, so the call "
            "passed as it was; one that a processor changed so was not delivered (`blocked`)"
        ),
        condition=None,
        remedy=NO_REMEDY,
        subject=A_CALL,
        outcomes={"native": "success", "declined": "leak", "blocked": "blocked"},
    ),
    ReasonEntry(
        code="other_dialect",
        sentence="the client seems to read another dialect, and neither its route nor its prompt names exactly one",
        in_docs=(
            "the client reads text, but in another dialect, by its history or prompt; neither the route nor the prompt "
            "names exactly one that the call could be written in, so it passed as it was"
        ),
        condition=None,
        remedy=Remedy("the route names the client's dialect", "`client: NAME`, the client's dialect"),
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="unknown_arguments",
        sentence="it holds members that the tool does not declare, and no arguments",
        in_docs="the call's JSON has no arguments, but members that the tool does not declare",
        condition=None,
        remedy=Remedy(
            "the tool's schema declares them, in the request or in tools",
            "the tool's schema, in the request or in `tools`",
        ),
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="undeclared_arguments",
        sentence="the tool declares none of its parameters",
        in_docs="the call is an element named after a tool, with elements in it that the tool does not declare",
        condition=None,
        remedy=Remedy.take("undeclared_arguments"),
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="no_arguments",
        sentence="it is bare JSON with only a tool's name in it",
        in_docs="a bare JSON object holds the name of a tool and no arguments",
        condition=None,
        remedy=Remedy.take("no_arguments"),
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="access",
        sentence="an access rule forbids this call",
        condition=None,
        remedy=Remedy("", "the rule, in `access`"),
        subject=A_CALL,
        outcomes={"blocked": "blocked"},
    ),
    ReasonEntry(
        code="undecided",
        sentence="a rule that blocks could not be decided, so it blocks",
        in_docs=(
            "an access rule that may block could not be decided: the arguments ended early, or the patterns of "
            "this reply had used up their budget (SECURITY.md). Arguments that cannot be read are `bad_arguments`, and "
            "`rule` names what blocked them"
        ),
        condition=None,
        remedy=NO_REMEDY,
        subject=A_CALL,
        outcomes={"blocked": "blocked"},
    ),
    ReasonEntry(
        code="loop",
        sentence="the model repeats itself in a loop",
        condition=None,
        remedy=Remedy("", "`loops`"),
        subject=A_CALL,
        outcomes={"blocked": "blocked"},
    ),
    ReasonEntry(
        code="dropped",
        sentence="a reactor dropped it",
        condition=None,
        remedy=Remedy("", "`reactors`"),
        subject=A_CALL,
        outcomes={"blocked": "blocked"},
    ),
    ReasonEntry(
        code="code",
        sentence="it is a call as a line of Python, which no dialect has outside of its own marks",
        in_docs="the call is a line of Python, alone or in a code block, which no dialect has outside of its own marks",
        condition=None,
        remedy=NO_REMEDY,
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="response_format",
        sentence="the request asks for an answer in JSON, so JSON is the answer and not a call",
        in_docs=(
            "the request asks for an answer in JSON (`response_format`, `text.format`, `output_config.format`, "
            "`responseMimeType`, `format`), so JSON text is the answer and not a call"
        ),
        condition=None,
        remedy=NO_REMEDY,
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="beside_native",
        sentence="the reply has native calls, and marker text only replaces them",
        in_docs=(
            "the reply already has native calls, and text after a marker (`TOOL_CALL`) only replaces them; "
            "before the first native call it is lifted"
        ),
        condition=None,
        remedy=NO_REMEDY,
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
)
