"""What an entry of each table of the vocabulary says, by the keys of `words.toml`.

`code` is what is in verdicts and files. `sentence` is for people, after the code: in views, on the page, in the log.
`in_docs` is the same for the docs (Markdown), where they say more; "" where they say the same.
"""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from toolcalls.events import Reason, Repair, ReplyDefect, Status

Outcome = Literal["success", "repair", "decline", "possible", "leak", "broken", "blocked"]
Deed = Literal["accepted", "mended"]
ConditionNumber = Literal[1, 2, 3, 4, 5, 6, 7]


class OutcomeEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One outcome. On the page it goes by the words for its calls that people know from everywhere else.

    words   the statuses that it counts
    """

    code: Outcome
    sentence: str
    words: str
    in_docs: str = ""


class RepairEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One repair. The views and the page show the sentence after the code."""

    code: Repair
    sentence: str
    in_docs: str = ""


class Description(Struct, frozen=True, forbid_unknown_fields=True):
    """What happened to a call, after "the model" and "the client". `{dialect}` is the verdict's dialect.

    model, client   what it did, and what it got
    became          what became of the call, in a word or two
    """

    model: str
    client: str
    became: str


class StatusEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One status.

    severity     how much it needs a look: 0 is the best
    in_summary   its place in a summary: 0 comes first
    mark         the name of mitmproxy's mark of a reply whose worst status this is; "" for none
    native       what happened where the model made a native call
    text         what happened where the model wrote text
    changed      what the client got of a call that was mended or that processors changed, in front of `, mended` or
                 `, changed`; "" for a status with which processors change none
    outcome      how it counts, unless the reason says so
    """

    code: Status
    in_docs: str
    severity: int
    in_summary: int
    mark: str
    native: Description
    text: Description
    changed: str
    outcome: Outcome


class ReplyStatus(Struct, frozen=True, forbid_unknown_fields=True):
    """What a reply may be beside the statuses of its verdicts. The fields are those of `StatusEntry`."""

    code: str
    in_docs: str
    severity: int
    mark: str


class Remedy(Struct, frozen=True, forbid_unknown_fields=True):
    """Which setting would make it a call after all. `take`, `mend` and `larger` are short forms (`words._remedy`).

    words     how a sentence goes on that ends in "unless" or "if"; "" where it depends on what the user wrote
    setting   the key, for the docs (Markdown)
    does      what is done to the call then
    """

    words: str
    setting: str
    does: Deed = "accepted"


NO_REMEDY = Remedy("", "")


class Subject(Struct, frozen=True, forbid_unknown_fields=True):
    """What a verdict is about.

    name          what stands for it where no tool's name is known
    description   what the model did and what the client got; None for a call, of which the status says it
    """

    name: str
    description: Description | None


A_CALL = Subject("a call", None)


class ReasonEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One reason.

    outcomes    the statuses that it comes with, and how each counts on the scorecard; a leak counts as a decline where
                the client waits for no calls
    condition   the number of the condition that failed; None for what a policy or a route asks beyond these
    remedy      what would accept the call anyway
    subject     what the verdict is about, and with it what the model did and what the client got
    """

    code: Reason
    sentence: str
    outcomes: dict[Status, Outcome]
    in_docs: str = ""
    condition: ConditionNumber | None = None
    remedy: Remedy = NO_REMEDY
    subject: Subject = A_CALL


class NoteEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that is noted of a reply as a whole.

    remedy     what can be done about it, as a sentence; "" for nothing
    possible   a call may have been lost; of the others it is certain that something is wrong
    """

    code: ReplyDefect
    sentence: str
    remedy: str
    in_docs: str = ""
    possible: bool = False


type JsonSchema = Mapping[str, Any]


class Field(Struct, frozen=True, forbid_unknown_fields=True):
    """One field of an exchange, by its place in the lines that `toolcalls export --format jsonl` writes.

    path          `tokens.input`, `verdicts[].status`
    in_docs       what it means, for the docs (Markdown)
    schema        its type, as JSON Schema; of an object or a list without the fields that have entries of their own
    har           its place in an entry of a HAR; "" where there is none
    otel          the name of the attribute or event of OpenTelemetry spans; "" where there is none
    presence      when a line has it: always; in lines of this version, but not of older ones; only with `--content`
    in_report     whether it is in the report that the flow keeps
    in_log        whether the log of the option `toolcalls_log` has it
    filter_word   what is before its value in a filter: `~meta reason:fenced`; "" where none does
    """

    path: str
    in_docs: str
    schema: JsonSchema
    har: str
    otel: str
    presence: Literal["always", "later", "content"] = "always"
    in_report: bool = False
    in_log: bool = False
    filter_word: str = ""
