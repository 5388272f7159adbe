"""What each outcome of a call means: how it is counted on the scorecard."""

from collections.abc import Mapping

from toolcalls.insight.vocabulary.entries import Outcome, OutcomeEntry

_ENTRIES = (
    OutcomeEntry("success", "the client got the call as the model meant it", words="lifted, lowered, native"),
    OutcomeEntry("repair", "the client got the call, and something of it had to be put right", words="mended"),
    OutcomeEntry(
        "decline",
        "text stayed text as it should: quoted, repeated or no call at all, or the client waits for no calls",
        "text stayed text as it should: quoted, a repetition, no call at all, or the client waits for no calls; or a "
        "native call did not come twice (`repeated`)",
        words="declined",
    ),
    OutcomeEntry(
        "leak", "text that a model meant as a call reached a client that waits for native calls", words="leak"
    ),
    OutcomeEntry(
        "broken", "the call was cut off, cannot be read, or came damaged", words="truncated, malformed, damaged"
    ),
    OutcomeEntry("blocked", "a rule, the loop guard or a reactor kept the call from the client", words="blocked"),
)

OUTCOMES: Mapping[Outcome, OutcomeEntry] = {one.code: one for one in _ENTRIES}
