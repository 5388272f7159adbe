"""The reasons that Markdown gives: the call is in text that is quoted. `reasons` has the others."""

from toolcalls.insight.vocabulary.entries import A_CALL, ReasonEntry, Remedy

QUOTATION_ENTRIES = (
    ReasonEntry(
        code="fenced",
        sentence="it is in a fenced code block",
        in_docs=(
            "the call is in a fenced code block, in HTML that is shown as it is (`<pre>`, `<html>`, CDATA), or "
            "in what another notation marks as literal: a heredoc, a string or comment over lines (of most "
            "languages), a hunk of a diff, conflict markers, `<tool_result …>`, `<file path=…>`, "
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
        sentence="it is in an indented code block",
        in_docs="the call is in an indented code block",
        condition=4,
        remedy=Remedy.take("indented_code"),
        subject=A_CALL,
        outcomes={"declined": "decline"},
    ),
    ReasonEntry(
        code="inline_code",
        sentence="it is in inline code",
        in_docs="the call is between backticks, or in an element of HTML for code (`<code>`, `<kbd>`)",
        condition=4,
        remedy=Remedy.take("inline_code"),
        subject=A_CALL,
        outcomes={"declined": "decline"},
    ),
    ReasonEntry(
        code="block_quote",
        sentence="it is in a block quote, in an element that quotes, such as <example>, or in a conversation",
        in_docs=(
            "the call is in a block quote, or below a line that begins with an element whose name says that its "
            "text is shown: `<blockquote>`, `<example>`, `<sample>`, `<quote>`, `<excerpt>`, `<snippet>`, "
            "`<document>`, `<template>`, `<transcript>`, `<file_content>` and the like, up to its closing tag; or in a "
            "conversation in which "
            "the model plays both sides, with labels at the start of lines (`User:`, then `Assistant:`)"
        ),
        condition=4,
        remedy=Remedy.take("block_quote"),
        subject=A_CALL,
        outcomes={"declined": "decline"},
    ),
    ReasonEntry(
        code="html_comment",
        sentence="it is in an HTML comment",
        in_docs="the call is in an HTML comment",
        condition=4,
        remedy=Remedy.take("html_comment"),
        subject=A_CALL,
        outcomes={"declined": "decline"},
    ),
    ReasonEntry(
        code="reasoning",
        sentence="it is in the model's reasoning",
        in_docs=(
            "the call is in the model's reasoning; `policy: lenient` takes one in reasoning that never closes, if "
            "only calls follow it"
        ),
        condition=4,
        remedy=Remedy.take("reasoning"),
        subject=A_CALL,
        outcomes={"declined": "decline"},
    ),
)
