"""The hub: what a reply consists of, whoever wrote it and however it was framed.

Read this first. Wires decode bytes into these events and encode them again, dialects read text into them and write them
back as text, processors see nothing else. N dialects and M wires meet only here.

Every event is frozen. `index` counts the calls of one reply from 0 and is the same in `CallStart`, `CallPiece` and
`CallEnd`. `CallPiece.json` is a piece of the argument object as JSON text; the pieces of one call, joined, are that
text exactly, and a call without its `CallEnd` was cut off (law 6: nobody closes it).

`Text` and `Markup` together are the reply's own text: joined in order they give back, character for character, what
went in (law 3). `Text` is shown to the client, `Markup` belongs to a call and is not. Processors add `Removed`, text
that they took away: then all three account for what went in.
"""

from typing import Literal

import msgspec


class Text(msgspec.Struct, frozen=True, gc=False):
    """Text that the client sees."""

    text: str


class Place(msgspec.Struct, frozen=True, gc=False):
    """Position within the frame of the next `Text`, counted after the parts that are no text."""

    at: int


class ParagraphEnd(msgspec.Struct, frozen=True, gc=False):
    """A native call separates the text before from the text after in this lane: a paragraph ends."""


class MovedCalls(msgspec.Struct, frozen=True, gc=False):
    """Native calls are decoded before the text that they stand behind. `here`: this is where they stand."""

    here: bool


class Fetched(msgspec.Struct, frozen=True, gc=False):
    """A text that a tool of the provider's own gave back: a call after it that is in it is an echo."""

    text: str


class Markup(msgspec.Struct, frozen=True, gc=False):
    """Text of the reply that became part of a call and is no longer shown."""

    text: str


class Removed(msgspec.Struct, frozen=True, gc=False):
    """Text of the reply that a processor took away; it never was a call's."""

    text: str


class Reasoning(msgspec.Struct, frozen=True, gc=False):
    """Text of the model's reasoning, never searched for calls to make.

    `moved`: it was in the reply's text, in a frame that says so (then it follows its `Markup`), and belongs into the
    wire's reasoning field; else it is there, and an empty text only says that there is some. `said`: what it says,
    where the text is empty because its frame stays as it is whatever becomes of it.
    """

    text: str
    moved: bool = False
    said: str = ""


class OtherContent(msgspec.Struct, frozen=True, gc=False):
    """Content that is neither text nor reasoning nor a call: a refusal, a picture, what the server runs itself."""


class CallStart(msgspec.Struct, frozen=True, gc=False):
    """A call whose name is final, unless there may be `more` of it. `id` is "" until the exchange gives it one.

    `more` of a name is likely where its arguments have not begun, and perhaps comes where they have, but are empty.
    `dialect` is None for a native call as its upstream made it, and "" for a call that a processor has made anew.
    `form` is the wire's own word for a call that is no function's (a custom tool's, a shell's), "" for a function's,
    and one of `FUNCTION_FORMS` for a function's in an older form. `space` is the namespace that declares the tool; what
    the name is where another tool has it, too, says `Toolbox.in_space`. `entry` and `mended` are as in `CallPiece`.

    `takes`: how a native call's arguments come: in pieces of a text; so, or not at all where there are none ("maybe");
    or at once and as an object, in an API whose calls need no id ("object").
    """

    index: int
    name: str
    dialect: str | None = None
    id: str = ""
    form: str = ""
    space: str = ""
    more: Literal["", "perhaps", "likely"] = ""  # of the name, which is final with the first piece that is not empty
    entry: int = -1
    mended: bool = False
    takes: Literal["text", "maybe", "object"] = "text"


FUNCTION_FORMS = frozenset({"", "function_call"})  # `CallStart.form` of functions: the usual one, and the older one


class CallUpdate(msgspec.Struct, frozen=True, gc=False):
    """What a wire says of a native call that has begun, and has not said before.

    name       all of its name
    arguments  its argument JSON, where the wire repeats it at the end and it differs; None: more of the name came
    piece      the name as this frame alone has it, which some clients take
    space      the namespace that declares the tool
    """

    name: str
    arguments: str | None = None
    piece: str = ""
    space: str = ""


class CallPiece(msgspec.Struct, frozen=True, gc=False):
    """The next piece of a call's argument JSON. `update`: what else its frame says of the call, None for nothing.

    `entry`: which of the calls of its frame it is about, in the wire's own order; -1 for one that is in none of them.
    `mended`: it is a native call's, and not what its frame says; the frame is to say this instead.
    """

    index: int
    json: str
    update: CallUpdate | None = None
    entry: int = -1
    mended: bool = False


class CallEnd(msgspec.Struct, frozen=True, gc=False):
    """The call is complete: its argument JSON is one whole object."""

    index: int


class Unplaced(msgspec.Struct, frozen=True, gc=False):
    """A piece of a call's arguments whose frame does not say for every client whose it is.

    Its index is that of no call, or of one that some SDK finds at another place: -1, "1", that of a block out of order.
    It changes nothing, except that a frame with it is left out where a rule may block a call. `waits` is the index of a
    call of which only arguments have come; those frames may leave, as long as the name comes to the same call.
    """

    waits: int | None = None


class Withdrawn(msgspec.Struct, frozen=True, gc=False):
    """A call's beginning, or a piece of a native one, that does not leave: what stands for it in a frame is left out.

    `index` is the one that it came with.
    """

    index: int


class Finish(msgspec.Struct, frozen=True, gc=False):
    """The reply's own end, in the words of the wire: "stop", "length", "tool_calls", ..."""

    reason: str


class PartEnd(Finish, frozen=True, gc=False):
    """The end of one text block, part or item, after which others of the same message may follow."""


# What became of a candidate or of a native call. `insight.vocabulary` says what each status, reason and repair means; a
# code that it does not know fails its tests, and one that is not declared here fails mypy.
Status = Literal["lifted", "lowered", "native", "declined", "truncated", "malformed", "blocked"]

# Why a call was not taken, not delivered, or did not come whole.
Reason = Literal[
    "observed",
    "api_without_calls",
    "no_tools",
    "undeclared",
    "not_allowed",
    "tool_choice_none",
    "inline",
    "escaped",
    "fenced",
    "indented_code",
    "inline_code",
    "block_quote",
    "html_comment",
    "reasoning",
    "echo",
    "duplicate",
    "repeated",
    "look_alike",
    "multiple_calls",
    "missing_argument",
    "weak_sign",
    "not_terminal",
    "not_alone",
    "code",
    "response_format",
    "beside_native",
    "overflow",
    "max_call_chars",
    "max_depth",
    "max_calls",
    "max_candidates",
    "max_payload_chars",
    "not_a_call",
    "unclosed",
    "cut_off",
    "invented_result",
    "dropped_result",
    "unwritable",
    "other_dialect",
    "bad_arguments",
    "unknown_arguments",
    "undeclared_arguments",
    "no_arguments",
    "access",
    "undecided",
    "loop",
    "dropped",
    "wrong_type",
    "misspelt_name",
    "markup_in_name",
    "no_name",
    "repeated_name",
    "no_id",
    "repeated_id",
    "changed_id",
    "no_index",
    "empty_arguments",
    "double_encoded",
    "object_arguments",
    "glued_calls",
    "repeated_arguments",
    "markup_in_value",
    "empty_beside_text",
]

# What is noted of a reply as a whole that leaves its client without the call it needs (`Note.rule`).
ReplyDefect = Literal[
    "finish_denies_calls",
    "finish_promises_calls",
    "no_finish",
    "empty",
    "call_in_reasoning",
    "reasoning_in_text",
    "call_in_error",
    "malformed_function_call",
    "likely_meant",
    "unknown_form",
    "announced",
]

# The reasons that Markdown gives: the candidate is in text that is quoted.
Quotation = Literal["fenced", "indented_code", "inline_code", "block_quote", "html_comment", "reasoning"]

# What a reader accepted although the dialect does not write it so, or what had to change to write it.
Repair = Literal[
    "missing_closer",
    "duplicate_closer",
    "unclosed_tag",
    "duplicate_argument",
    "single_quotes",
    "backticks",
    "doubled_braces",
    "raw_newline",
    "trailing_comma",
    "doubled_separator",
    "python_literal",
    "comment",
    "bare_key",
    "invalid_escape",
    "number",
    "missing_opener",
    "wrong_closer",
    "stray_closer",
    "stray_tag",
    "alias",
    "inferred_name",
    "misplaced_name",
    "missing_mark",
    "nested_quotes",
    "missing_quote",
    "unclosed_key",
    "unopened_key",
    "unopened_value",
    "escaped_line_end",
    "escaped_quotes",
    "lost_opener",
    "surplus_bracket",
    "missing_brace",
    "other_brackets",
    "echoed",
    "unclosed_value",
    "wrapped_arguments",
    "free_text",
    "nameless_argument",
    "misspelt_tag",
    "damaged_tag",
    "entities",
    "value_as_text",
    "flat_arguments",
    "left_out",
    "unknown_argument",
    "name",
    "no_id",
    "repeated_id",
    "changed_id",
    "repeated_name",
    "no_index",
    "shared_index",
    "empty_arguments",
    "object_arguments",
    "string_arguments",
    "double_encoded",
    "repeated_arguments",
    "wrong_type",
    "markup_in_name",
    "call_in_reasoning",
    "call_in_error",
]


class Change(msgspec.Struct, frozen=True, gc=False):
    """What a processor did to a call: the call before and after it, each its name and its argument JSON.

    `after` is None for a call that went.
    """

    rule: str
    before: tuple[str, str]
    after: tuple[str, str] | None


class Note(msgspec.Struct, frozen=True, gc=False):
    """What was noticed of a reply, or done to anything but a call: one line without values, for the report.

    `rule`: the processor's, or a `ReplyDefect`. `warns`: it is worth a look. `mended`: the client did not get what it
    is about.
    """

    rule: str
    text: str
    warns: bool = False
    mended: bool = False


class Defect(msgspec.Struct, frozen=True, gc=False):
    """One thing that is wrong with a call. It says where and what, and holds no value of the call's.

    code          the reason that says it
    path          where in the arguments, as a JSON Pointer (`/edits/0/oldText`); "" for the call or all its arguments
    wanted, got   what the schema or the API asks for, and what came, in a few words; "" where `code` says all
    at            the character of the argument text at which it begins; None where it is no place there
    """

    code: Reason
    path: str = ""
    wanted: str = ""
    got: str = ""
    at: int | None = None


class Break(msgspec.Struct, frozen=True, gc=False):
    """Where in a reply's text a call can be read no further.

    line, column  of the first character that was not understood, both from 1
    after         the last characters that were understood: of the text, or of the arguments that have left
    """

    line: int
    column: int
    after: str


class Damage(msgspec.Struct, frozen=True, gc=False):
    """What a wire notices of a native call that no other event shows: an id that changes, a name that is repeated.

    It changes nothing. `index` is the call's; one that no call has is said of an entry that has begun none.
    """

    index: int
    defect: Defect


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """What became of one candidate or of one native call (law 10: exactly one each).

    `start` and `end` are character offsets into the reply's text; both are 0 for a native call that never was in it.
    `reason` is None when all went cleanly. `index` is the call's index, None when
    nothing of it became a call. `rule` names the processor's rule that blocked it, `changes` say what processors did.
    `nearest` are the declared tools whose names come close to one that is not declared, the closest first. `defects`
    are what is wrong with a native call as its upstream made it, or with the arguments of a lifted one; the first one,
    or the first that was not mended, is its reason. `likely_meant`: it is quoted, and the only call of a reply that
    ends with it. `broke` is where text that is malformed or unclosed stops being a call.
    """

    status: Status
    reason: Reason | None
    dialect: str | None
    name: str | None
    start: int
    end: int
    repairs: tuple[Repair, ...] = ()
    index: int | None = None
    rule: str | None = None
    changes: tuple[Change, ...] = ()
    nearest: tuple[str, ...] = ()
    defects: tuple[Defect, ...] = ()
    likely_meant: bool = False
    broke: Break | None = None


type Event = (
    Text
    | Place
    | ParagraphEnd
    | MovedCalls
    | Fetched
    | Markup
    | Removed
    | Reasoning
    | OtherContent
    | CallStart
    | CallPiece
    | CallEnd
    | Damage
    | Unplaced
    | Withdrawn
    | Finish
    | Note
    | Verdict
)
