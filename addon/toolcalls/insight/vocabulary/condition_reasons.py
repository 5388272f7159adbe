"""The reasons that the conditions give, but those of quoted text (`quotations`)."""

from toolcalls.insight.vocabulary.entries import A_CALL, NO_REMEDY, ReasonEntry, Remedy

CONDITION_REASONS = (
    ReasonEntry(
        code="observed",
        sentence="the route does not turn this reply's text into calls",
        in_docs="the route says that the upstream makes native calls (`upstream: native`), so its text holds none",
        condition=1,
        remedy=Remedy("the route has upstream: text", "`upstream: text`"),
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="api_without_calls",
        sentence="the API of this reply has no place for calls",
        in_docs="the API of the reply has no place for calls (`/completions`, `/api/generate`)",
        condition=1,
        remedy=NO_REMEDY,
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="no_tools",
        sentence="the request declares no tools",
        in_docs="the request declares no tools, so nothing says that the client waits for calls",
        condition=2,
        remedy=Remedy(
            "the route has client: native, and tools or take: [undeclared]",
            "`client: native`, and `tools` or `take: [undeclared]`",
        ),
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="undeclared",
        sentence="the request does not declare a tool of this name",
        in_docs="the request declares tools, but none of this name",
        condition=2,
        remedy=Remedy("the route has tools of this name, or take: [undeclared]", "`tools`, or `take: [undeclared]`"),
        subject=A_CALL,
        outcomes={"declined": "leak", "native": "broken", "malformed": "broken", "truncated": "broken"},
    ),
    ReasonEntry(
        code="not_allowed",
        sentence="allowed_tools does not include this tool",
        in_docs="`allowed_tools` does not include this tool",
        condition=2,
        remedy=Remedy("the route's allowed_tools names it", "`allowed_tools`"),
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="tool_choice_none",
        sentence="the request said that no tool may be called",
        in_docs="the request's `tool_choice` is none",
        condition=2,
        remedy=NO_REMEDY,
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="inline",
        sentence="other text is before it on its line",
        in_docs="other text is before the call on its line; before a special token that counts to `strict` only",
        condition=3,
        remedy=Remedy.take("inline"),
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="echo",
        sentence="the same text is in a tool result or user message of the request",
        in_docs=(
            "a tool result or user message of the request holds the same text, or a result of the provider's own tools "
            "in the request or earlier in the reply, be it escaped, wrapped, or with something before each line: the "
            "model repeats it"
        ),
        condition=5,
        remedy=Remedy.take("echo"),
        subject=A_CALL,
        outcomes={"declined": "decline"},
    ),
    ReasonEntry(
        code="duplicate",
        sentence="the reply carries the same call natively",
        in_docs="the reply carries the same call natively, too",
        condition=6,
        remedy=Remedy.take("duplicate"),
        subject=A_CALL,
        outcomes={"declined": "decline"},
    ),
    ReasonEntry(
        code="not_a_call",
        sentence="what follows its beginning is not the dialect's grammar",
        condition=7,
        remedy=NO_REMEDY,
        subject=A_CALL,
        outcomes={"malformed": "broken", "declined": "decline"},
    ),
    ReasonEntry(
        code="unclosed",
        sentence="the reply ended before the call did",
        in_docs="the reply ended, by its own account normally, before the call did",
        condition=7,
        remedy=NO_REMEDY,
        subject=A_CALL,
        outcomes={"truncated": "broken"},
    ),
    ReasonEntry(
        code="cut_off",
        sentence="the reply was cut off inside the call",
        in_docs="the reply was cut off inside the call, by its length or by its connection",
        condition=7,
        remedy=NO_REMEDY,
        subject=A_CALL,
        outcomes={"truncated": "broken"},
    ),
    ReasonEntry(
        code="bad_arguments",
        sentence="the call's arguments are not a JSON object",
        in_docs="the arguments of the call are not a JSON object",
        condition=7,
        remedy=NO_REMEDY,
        subject=A_CALL,
        outcomes={"malformed": "broken", "native": "broken"},
    ),
    ReasonEntry(
        code="not_alone",
        sentence="other text is beside it, and in this dialect a call is the whole message",
        in_docs=(
            "other text is beside the call, and in this dialect (JSON or Python, in the open or in a fence) a call "
            "is the whole message"
        ),
        condition=3,
        remedy=Remedy.take("inline"),
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
)
