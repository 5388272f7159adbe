"""What each note about a reply as a whole means: a reply that leaves its client without the call that it needs."""

from collections.abc import Mapping

from toolcalls.insight.vocabulary.entries import NoteEntry

_ENTRIES = (
    NoteEntry(
        code="finish_denies_calls",
        sentence="the reply holds a call, and its finish reason says that there is none",
        in_docs="the reply holds a call, and its finish reason is another than that of calls: some agents stop then. A "
        "`stop` is right where `tool_choice` names a function",
        remedy="the server should send the finish reason of calls",
    ),
    NoteEntry(
        code="finish_promises_calls",
        sentence="the finish reason says that there are calls, and the reply holds none",
        remedy="look in the reply's text and reasoning for a call that the server's parser did not find",
    ),
    NoteEntry(
        code="no_finish",
        sentence="the reply ended without a finish reason",
        in_docs="the reply ended without a finish reason, although its connection did not break",
        remedy="look at the server's log: most servers end a reply so when they fail in its middle",
    ),
    NoteEntry(
        code="empty",
        sentence="the reply holds neither text nor a call nor a refusal",
        remedy="look at the finish reason and the tokens: with tokens, the server dropped what the model wrote",
    ),
    NoteEntry(
        code="call_in_reasoning",
        sentence="the reasoning holds a whole call, and the reply neither text nor a call",
        remedy="the server should parse calls after reasoning that does not end, or its chat template end it; "
        "`mend: [reasoning]` takes such a call",
    ),
    NoteEntry(
        code="reasoning_in_text",
        sentence="reasoning in tags is in the text, though the API has a field for it",
        remedy="the server needs a parser for the model's reasoning; `mend: [reasoning]` moves what a text begins with",
    ),
    NoteEntry(
        code="call_in_error",
        sentence="the error quotes a call of the model's that the server could not parse",
        remedy="the server's parser should fall back to text; ask the model again, or turn its parser off; "
        "`mend: [errors]` takes such a call",
    ),
    NoteEntry(
        code="malformed_function_call",
        sentence="the server refused the call that the model made as malformed",
        remedy="ask the model again, with simpler schemas or lower temperature; `mend: [errors]` takes a call that the "
        "reply quotes whole",
    ),
)

# By their codes; a code of a file may be any.
NOTES: Mapping[str, NoteEntry] = {one.code: one for one in _ENTRIES}
