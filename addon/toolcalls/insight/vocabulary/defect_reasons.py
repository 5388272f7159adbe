"""The reasons of native calls that came damaged: the client got them, or what there was of them, as they are."""

from collections.abc import Mapping

from toolcalls.events import Reason, Status
from toolcalls.insight.vocabulary.entries import A_CALL, NO_REMEDY, Outcome, ReasonEntry, Remedy

_BROKEN: Mapping[Status, Outcome] = dict.fromkeys(("native", "lowered", "malformed", "truncated"), "broken")


# An empty native call that the client did not get, since it has the call from the text.
_WITHDRAWN: Mapping[Status, Outcome] = {**_BROKEN, "blocked": "decline"}


def _entry(
    code: Reason,
    sentence: str,
    in_docs: str = "",
    remedy: Remedy = NO_REMEDY,
    outcomes: Mapping[Status, Outcome] = _BROKEN,
) -> ReasonEntry:
    return ReasonEntry(
        code=code,
        sentence=sentence,
        in_docs=in_docs,
        condition=None,
        remedy=remedy,
        subject=A_CALL,
        outcomes=outcomes,
    )


DEFECT_REASONS = (
    _entry(
        "wrong_type",
        "a value has another type than the tool's schema declares",
        "a value of a native call has another type than the tool's schema declares: an array as a string, an object "
        "where a string is wanted",
        Remedy.mend("types"),
    ),
    _entry(
        "misspelt_name",
        "the request declares this tool in another spelling",
        "the name of a native call differs from exactly one declared name by case, by a prefix such as `functions.`, "
        "or by `-`, `_` and blanks",
        Remedy.mend("names"),
    ),
    _entry(
        "markup_in_name",
        "markup of the model's template is in the tool's name",
        "the name of a native call holds markup of the model's template: `read<|channel|>commentary`",
        Remedy.mend("names"),
    ),
    _entry("no_name", "it has no name", "a native call has no name, so no client can run it"),
    _entry(
        "repeated_name",
        "its name was sent more than once, and clients that join the pieces get another name",
        "the name of a native call came more than once, in every piece or within itself (`bashbashbash`)",
    ),
    _entry("no_id", "it has no id, so no result can answer it", "a native call has no id, or an empty one"),
    _entry(
        "repeated_id",
        "an earlier call has its id, or the id came with more than one piece",
        "two native calls of a reply have the same id, so that results meet the wrong call; or it came with more than "
        "one piece of the call, which some clients join",
    ),
    _entry(
        "changed_id",
        "its id changed before it was complete",
        "the id of a native call changed before the call was complete, so that it falls apart in some clients",
    ),
    _entry(
        "no_index",
        "its pieces do not say which call they belong to",
        "the pieces of a streamed native call have no index",
    ),
    _entry("empty_arguments", "its arguments are an empty text, not an object", "the arguments are an empty text"),
    _entry(
        "double_encoded",
        "its arguments are a string that holds the object",
        "the arguments are a JSON string that holds the object, where the API has the object itself",
    ),
    _entry(
        "object_arguments",
        "its arguments are an object, where the API has a string",
        "the arguments are a JSON object where the API has a string that holds it",
    ),
    _entry(
        "glued_calls",
        "several calls came under one index",
        "several calls came under one index, or their arguments as one text",
    ),
    _entry(
        "repeated_arguments",
        "its whole arguments came more than once",
        "the whole arguments came more than once, one after the other",
    ),
    _entry(
        "markup_in_value",
        "a value swallowed markup of the call around it",
        "a value of a native call holds closing markup of the call that it was read from, and what was after it",
    ),
    _entry(
        "empty_beside_text",
        "it is empty, and the reply's text holds the same call with its arguments",
        "a native call has no arguments, and the reply's text holds a call of the same tool with them",
        outcomes=_WITHDRAWN,
    ),
)
