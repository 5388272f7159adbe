"""What each reason means: why text was not taken as a call, or why a call did not come whole or was not delivered.

Nothing of an entry may be left out: a new reason says what people read of it and what they can do about it, what the
model did, what the client got, and how it counts. Over 300 lines: one table, an entry for each reason.
"""

from collections.abc import Mapping
from typing import get_args

from toolcalls.events import Quotation, Reason
from toolcalls.insight.vocabulary.entries import ConditionNumber, Description, ReasonEntry, Remedy, Subject
from toolcalls.insight.vocabulary.statuses import AS_WRITTEN, NOT_GOT

NO_REMEDY = Remedy("", "")

A_CALL = Subject("a call", None)
_SHOWN_RESULT = Subject("a tool result", Description("wrote a tool result itself", AS_WRITTEN, "stays as it is"))
_DROPPED_RESULT = Subject("a tool result", Description("wrote a tool result itself", NOT_GOT, "not delivered"))
_UNREAD_TEXT = Subject("the rest", Description("wrote more that begins like a call", AS_WRITTEN, "stays as it is"))


_ENTRIES = (
    ReasonEntry(
        code="observed",
        sentence="the route does not turn this reply's text into calls",
        in_docs="the route does not turn this reply's text into calls: the client waits for none, or the route says so",
        condition=1,
        remedy=Remedy("the route has client: native and upstream: text", "`client: native` and `upstream: text`"),
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="no_tools",
        sentence="the request declares no tools",
        condition=2,
        remedy=Remedy("the route has tools, or take: [undeclared]", "`tools`, or `take: [undeclared]`"),
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
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="not_allowed",
        sentence="allowed_tools does not let this tool pass",
        in_docs="`allowed_tools` does not let this tool pass",
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
        sentence="other text stands before it on its line",
        in_docs="other text stands before the call on its line",
        condition=3,
        remedy=Remedy.take("inline"),
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="fenced",
        sentence="it stands in a fenced code block",
        in_docs=(
            "the call stands in a fenced code block, in HTML that is shown as it is (`<pre>`, `<html>`, CDATA), or "
            "in what another notation marks as literal: a heredoc, a string or comment over lines, a hunk of a diff, "
            "an indented block behind `::` or `key: \\|`, LaTeX's `verbatim`, Org's, AsciiDoc's, roff's and forums' "
            "blocks"
        ),
        condition=4,
        remedy=Remedy.take("fenced"),
        subject=A_CALL,
        outcomes={"declined": "decline"},
    ),
    ReasonEntry(
        code="indented_code",
        sentence="it stands in an indented code block",
        in_docs="the call stands in an indented code block",
        condition=4,
        remedy=Remedy.take("indented_code"),
        subject=A_CALL,
        outcomes={"declined": "decline"},
    ),
    ReasonEntry(
        code="inline_code",
        sentence="it stands in inline code",
        in_docs="the call stands between backticks, or in an element of HTML for code (`<code>`, `<kbd>`)",
        condition=4,
        remedy=Remedy.take("inline_code"),
        subject=A_CALL,
        outcomes={"declined": "decline"},
    ),
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
        code="block_quote",
        sentence="it stands in a block quote, or in an element that quotes, such as <example>",
        in_docs=(
            "the call stands in a block quote, or below a line that begins with an element whose name says that its "
            "text is shown: `<blockquote>`, `<example>`, `<sample>`, `<quote>`, `<excerpt>`, `<snippet>`, "
            "`<document>`, `<template>`, `<transcript>`, `<file_content>` and the like, up to its closing tag"
        ),
        condition=4,
        remedy=Remedy.take("block_quote"),
        subject=A_CALL,
        outcomes={"declined": "decline"},
    ),
    ReasonEntry(
        code="html_comment",
        sentence="it stands in an HTML comment",
        in_docs="the call stands in an HTML comment",
        condition=4,
        remedy=Remedy.take("html_comment"),
        subject=A_CALL,
        outcomes={"declined": "decline"},
    ),
    ReasonEntry(
        code="reasoning",
        sentence="it stands in the model's reasoning",
        in_docs="the call stands in the model's reasoning",
        condition=4,
        remedy=Remedy.take("reasoning"),
        subject=A_CALL,
        outcomes={"declined": "decline"},
    ),
    ReasonEntry(
        code="echo",
        sentence="the same text stands in a tool result or user message of the request",
        in_docs=(
            "a tool result or user message of the request holds the same text, be it escaped, wrapped, or with "
            "something before each line: the model repeats it"
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
        code="repeated",
        sentence="the same call had come as text before it, and the client has that one",
        in_docs=(
            "of a native call: the same one had come as text before it, and the client has that one, so it does not "
            "get it twice"
        ),
        condition=None,
        remedy=Remedy.take("duplicate"),
        subject=A_CALL,
        outcomes={"blocked": "decline", "native": "success"},
    ),
    ReasonEntry(
        code="look_alike",
        sentence="it only looks like a tag: some of its characters are others, or show nothing",
        in_docs="it only looks like a call: characters of its tag are others than they seem, or show nothing",
        condition=None,
        remedy=NO_REMEDY,
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="multiple_calls",
        sentence="the route takes only the first call of a reply",
        condition=None,
        remedy=Remedy("the route has multiple_calls: true", "`multiple_calls: true`"),
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="missing_argument",
        sentence="an argument that the tool requires is missing",
        in_docs="an argument that the tool requires is missing (`strict`)",
        condition=None,
        remedy=Remedy("the route has require without arguments", "`require` without `arguments`"),
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="not_terminal",
        sentence="other text follows it, and the policy takes calls only at the end",
        in_docs="other text follows the call (`strict`)",
        condition=None,
        remedy=Remedy("the route has require without terminal", "`require` without `terminal`"),
        subject=A_CALL,
        outcomes={"declined": "leak"},
    ),
    ReasonEntry(
        code="overflow",
        sentence="it grew past the limit for held text",
        in_docs="the call had to be held and grew past the limit, or too much came beside it that had to wait for it",
        condition=None,
        remedy=Remedy.larger("max_buffer_bytes", "max_frame_bytes"),
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
        sentence="from here on nothing is read: the reply holds more candidates than the route's max_candidates",
        in_docs="no candidate itself: there were so many that nothing behind them is read",
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
        code="not_a_call",
        sentence="what follows the opener is not the dialect's grammar",
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
        code="invented_result",
        sentence="the model wrote a tool result itself, behind its own call",
        in_docs="no call at all: behind its call the model wrote a tool result itself; it is shown",
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
        sentence="the client's dialect cannot hold a value of this call",
        in_docs="the client's dialect cannot hold a value of this call, so the call passed as it was",
        condition=None,
        remedy=NO_REMEDY,
        subject=A_CALL,
        outcomes={"native": "success", "declined": "leak"},
    ),
    ReasonEntry(
        code="bad_arguments",
        sentence="the call's arguments are not a JSON object",
        in_docs="the arguments of the call are not a JSON object",
        condition=7,
        remedy=NO_REMEDY,
        subject=A_CALL,
        outcomes={"malformed": "broken"},
    ),
    ReasonEntry(
        code="access",
        sentence="an access rule forbids this call",
        condition=None,
        remedy=Remedy("", "the rule, in `access`"),
        subject=A_CALL,
        outcomes={"blocked": "broken"},
    ),
    ReasonEntry(
        code="undecided",
        sentence="a rule that blocks could not be decided, so it blocks",
        in_docs="an access rule that may block could not be decided: the arguments ended early or cannot be read",
        condition=None,
        remedy=NO_REMEDY,
        subject=A_CALL,
        outcomes={"blocked": "broken"},
    ),
    ReasonEntry(
        code="loop",
        sentence="the model runs in circles",
        condition=None,
        remedy=Remedy("", "`loops`"),
        subject=A_CALL,
        outcomes={"blocked": "broken"},
    ),
    ReasonEntry(
        code="dropped",
        sentence="a reactor dropped it",
        condition=None,
        remedy=Remedy("", "`reactors`"),
        subject=A_CALL,
        outcomes={"blocked": "broken"},
    ),
)

# By their codes; a code of a file may be any.
REASONS: Mapping[str, ReasonEntry] = {one.code: one for one in _ENTRIES}

# The reasons of text that is quoted.
QUOTATIONS: frozenset[Reason] = frozenset(get_args(Quotation))


def with_sentence(code: str, unknown: str = "") -> str:
    """A reason with its sentence: `fenced: it stands in a fenced code block`. `unknown` is said of no code of ours."""
    entry = REASONS.get(code)
    return f"{code}: {entry.sentence if entry else unknown}"


def remedy_of(code: str) -> str:
    """What would take such a call all the same, as a sentence goes on behind "unless"; "" for nothing."""
    entry = REASONS.get(code)
    return entry.remedy.words if entry else ""


def failing(condition: ConditionNumber) -> frozenset[Reason]:
    """The reasons that a condition gives."""
    return frozenset(entry.code for entry in _ENTRIES if entry.condition == condition)
