"""What an entry of each table of the vocabulary says. No field may be left out, unless the docs would repeat it.

`code` is what is in verdicts and files, `in_docs` the meaning for the docs, in Markdown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from toolcalls.events import Reason, Repair, ReplyDefect, Status

type Outcome = Literal["success", "repair", "decline", "leak", "broken", "blocked"]
type Deed = Literal["accepted", "mended"]
type ConditionNumber = Literal[1, 2, 3, 4, 5, 6, 7]


@dataclass(frozen=True, slots=True)
class _Entry[Code]:
    """A code and what it means.

    code       in verdicts, files and exports, and on the page
    sentence   for people, in the views and on the page
    in_docs    the same for the docs (Markdown), where they say more; "" where they say the same
    """

    code: Code
    sentence: str
    in_docs: str = ""


@dataclass(frozen=True, slots=True)
class OutcomeEntry(_Entry[Outcome]):
    """One outcome. On the page it goes by the words for its calls that people know from everywhere else.

    words   the statuses that it counts
    """

    words: str = field(kw_only=True)


class RepairEntry(_Entry[Repair]):
    """One repair. The views and the page show the sentence after the code."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Description:
    """What happened to a call, after "the model" and "the client". `{dialect}` is the verdict's dialect.

    model, client   what it did, and what it got
    became          what became of the call, in a word or two
    """

    model: str
    client: str
    became: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusEntry:
    """One status.

    code         in verdicts and files
    in_docs      what it means, for the docs (Markdown)
    severity     how much it needs a look: 0 is the best
    in_summary   its place in a summary: 0 comes first
    mark         the name of mitmproxy's mark of a reply whose worst status this is; "" for none
    native       what happened where the model made a native call
    text         what happened where the model wrote text
    changed      what the client got of a call that was mended or that processors changed, in front of `, mended` or
                 `, changed`; "" for a status with which processors change none
    outcome      how it counts, unless the reason says so (`reasons`)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyStatus:
    """What a reply may be beside the statuses of its verdicts. The fields are those of `StatusEntry`."""

    code: str = field(kw_only=False)
    in_docs: str
    severity: int
    mark: str


@dataclass(frozen=True, slots=True)
class Remedy:
    """Which setting would make it a call after all.

    words     how a sentence goes on that ends in "unless" or "if"; "" where it depends on what the user wrote
    setting   the key, for the docs (Markdown)
    does      what is done to the call then
    """

    words: str
    setting: str
    does: Deed = "accepted"

    @classmethod
    def take(cls, reason: Reason) -> Self:
        """`take`, with this reason."""
        return cls(f"the route has take: [{reason}]", f"`take: [{reason}]`")

    @classmethod
    def mend(cls, kind: str) -> Self:
        """`mend`, with this kind of damage."""
        return cls(f"the route has mend: [{kind}], and it has one reading", f"`mend: [{kind}]`", "mended")

    @classmethod
    def larger(cls, *limits: str) -> Self:
        """A larger limit: one of these keys."""
        return cls(f"the route's {' or '.join(limits)} is larger", ", ".join(f"`{limit}`" for limit in limits))


NO_REMEDY = Remedy("", "")


@dataclass(frozen=True, slots=True)
class Subject:
    """What a verdict is about.

    name          what stands for it where no tool's name is known
    description   what the model did and what the client got; None for a call, of which the status says it (`statuses`)
    """

    name: str
    description: Description | None


A_CALL = Subject("a call", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonEntry:
    """One reason.

    code        in verdicts and files
    sentence    for people, after the code: in views, on the page, in the log
    in_docs     the same for the docs (Markdown), where they say more; "" where they say the same
    condition   the number of the condition that failed; None for what a policy or a route asks beyond these
    remedy      what would accept the call anyway, or NO_REMEDY
    subject     what the verdict is about, and with it what the model did and what the client got
    outcomes    the statuses that it comes with, and how each counts on the scorecard; a leak counts as a decline where
                the client waits for no calls
    """

    code: Reason
    sentence: str
    condition: ConditionNumber | None
    remedy: Remedy
    subject: Subject
    outcomes: Mapping[Status, Outcome]
    in_docs: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteEntry:
    """One thing that is noted of a reply as a whole.

    code       in notes and files
    sentence   for people, after the code
    in_docs    the same for the docs (Markdown), where they say more; "" where they say the same
    remedy     what can be done about it, as a sentence; "" for nothing
    """

    code: ReplyDefect
    sentence: str
    remedy: str
    in_docs: str = ""


type JsonSchema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
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
