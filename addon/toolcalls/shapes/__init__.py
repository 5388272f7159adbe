"""The grammar forms that dialects share, and what a dialect is to the reader and the writer.

A shape reads and writes; a dialect is a shape with its strings filled in. A grammar gets three things: a scanner to
read from, a `CallSink` to report to, and a toolbox to ask. In goes text from an opener on; out come reports of calls
and their argument JSON, piece by piece. The way back is `write`, from calls to text. Read this file first, then
`json/marked_json`, a shape that is easy to follow.

What is where:

    `tags/`            names and values between tags; which closer ends a value, and the repairs of tags
    `json/`            JSON objects and arrays that are calls
    `code/`            calls as code: `f(a="x")`, `call:f{a:1}`
    `headers/`         a name in a header, an element or words, then JSON
    `arguments`        argument JSON made of text that still arrives
    `containers`       objects and arrays that are not quite JSON
    `channels`         frames of special tokens around messages
    `words`            names, and what comes ahead of a place
    `spaced_closers`   closers with blanks in them
    `writable`         whether a form can hold a call
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from toolcalls.events import Reason, Repair
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

# Where an opener counts:
#   anywhere   also in the middle of a line: special tokens, which nobody writes by chance
#   line       at the start of a line; elsewhere on it the candidate is declined as `inline`
#   start      at the start of a line, and nowhere else is it looked for: words that are in any prose
#   message    as the first thing of a message whose calls nothing but white space follows: JSON and code in the open.
#              `lenient` takes it at the start of any line, and inside one where it begins with a declared tool's name
OpenerPlace = Literal["anywhere", "line", "start", "message"]


class Call(NamedTuple):
    """A complete call: its name and its argument object as JSON text."""

    name: str
    arguments: str


# The families that the README's table puts dialects into.
Form = Literal[
    "function tags",
    "invoke",
    "keys and values",
    "JSON in tags",
    "JSON in the open",
    "arrays behind a mark",
    "header and JSON",
    "channels",
    "Python",
    "notations",
    "elements",
    "agents and gateways",
]


# How strong the sign is by which a dialect's calls are known (`reading/strength.py` says what each must show besides):
#   mark   nobody writes it by chance: special tokens, tags whose name says that they are calls
#   form   a declared name with its parameters, in a form that markup, data and code have as well
#   rest   what a leak leaves of a form: a name and a sign
Strength = Literal["mark", "form", "rest"]


@dataclass(frozen=True, kw_only=True)
class Sign:
    """By what a dialect's calls are known, as data.

    strength  how strong it is
    marks     beginnings of openers that are marks all the same
    rests     beginnings of openers that are rests all the same
    alone     nobody else writes what is in front of the name in a rest, or right behind it
    models    parts of the names of models that are known for the rest, in small letters
    empty     empty arguments are written, as `{}` or `()`: that shows as much as a parameter
    """

    strength: Strength = "mark"
    marks: tuple[str, ...] = ()
    rests: tuple[str, ...] = ()
    alone: bool = False
    models: tuple[str, ...] = ()
    empty: bool = False

    def of(self, opener: str) -> Strength:
        """How strong the sign is of what begins with this opener."""
        if opener.startswith(self.marks):
            return "mark"
        return "rest" if opener.startswith(self.rests) else self.strength


@dataclass(frozen=True, kw_only=True)
class About:
    """What a dialect is, as data. Every file in `dialects/` declares one as `ABOUT`.

    written_by  the models, agents or servers that write it
    source      where it is documented or was seen: a URL, a public template or parser, issues by number
    example     a text that this dialect reads as exactly the one call in `call`
    sign        by what its calls are known
    one_call    its clients take one call a message: they drop the others, or end in an error
    since       the version of this project that first had the dialect, where that is not the first one
    """

    form: Form
    written_by: str
    source: str
    example: str
    call: Call = Call("read_file", '{"path": "src/a.ts"}')  # noqa: RUF009 - it is immutable
    sign: Sign = Sign()
    one_call: bool = False
    since: str = "0.1.0"


class Unwritable(ValueError):
    """A dialect cannot hold this call; the message says which value and why."""


class CallSink(Protocol):
    """What a grammar reports to while it reads."""

    def expect(self, name: str) -> None:
        """What comes is a call of this tool, as far as is known, and is begun when all of it has been read."""

    def begin(self, name: str, refused: Reason | None = None) -> str:
        """The commit point: the name is complete and its arguments follow. From here on it is a call or declined.

        Returns the tool that the name means (`Toolbox.resolve`).

        refused   why the dialect itself declines it: its payload is still its own
        """

    def piece(self, json: str) -> None:
        """The next piece of the argument JSON."""

    def collect(self, size: int) -> bool:
        """So many characters more are kept for a piece to come. False: nobody wants it, so they need not be."""

    def end(self) -> None:
        """Every argument is closed: the call is complete. Of one that failed: what was consumed is its own."""

    def fail(self) -> None:
        """The arguments can be read no further. What is consumed from here to `end`, or to the block's, is its own."""

    def note_repair(self, name: Repair) -> None:
        """Something was accepted that the dialect does not write; `name` says what."""

    def leave_open(self, closers: tuple[str, ...]) -> None:
        """The block ends, and the wrapper around its calls was not closed: `closers` would do it. () where it was."""

    # A dialect whose messages have a frame of special tokens (channels, roles) reports what is in it as well.

    def may_remove_frame(self) -> bool:
        """Whether a frame may be taken away here; False: leave it as text, and report nothing of it."""

    def begins_line(self) -> bool:
        """Whether nothing but white space comes before the block on its line, or a message's frame right before it."""

    def mark_frame(self) -> None:
        """What was consumed and is undecided is frame: it goes, and is shown nowhere."""

    def mark_text(self) -> None:
        """What was consumed and is undecided is text for the client."""

    def mark_reasoning(self) -> None:
        """What was consumed and is undecided is the model's reasoning."""


class Listener:
    """A `CallSink`, all but its `begin` and `piece`, that keeps nothing and leaves frames as text."""

    def expect(self, name: str) -> None:
        """Nothing waits for it."""

    def collect(self, size: int) -> bool:  # noqa: ARG002 - it is all the same
        return True

    def end(self) -> None:
        """It keeps nothing."""

    fail = end

    def note_repair(self, name: Repair) -> None:
        """Nor the repairs."""

    def leave_open(self, closers: tuple[str, ...]) -> None:
        """Nor what is open."""

    def may_remove_frame(self) -> bool:
        return False

    def begins_line(self) -> bool:
        return False

    def mark_frame(self) -> None:
        """There is none."""

    mark_text = mark_reasoning = mark_frame


class Dialect(Protocol):
    """A form in which a call is written as text."""

    @property
    def name(self) -> str:
        """The name in configuration, verdicts and files."""

    @property
    def place(self) -> OpenerPlace:
        """Where an opener counts."""

    @property
    def stray_words(self) -> tuple[str, ...]:
        """Words that models leak alone in front of an opener; they go with the call."""

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The literals that a candidate begins with, where tools of these names are declared."""

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """Read one block of calls that begins at an opener.

        Returns whether what was consumed since the last call's end (or since the opener, when none began) belongs to
        the block; what does not is given back and read as text.
        """

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """The calls as this dialect's text. Raises `Unwritable`."""


class Grammar(ABC):
    """A dialect, with what is the same for most: openers that do not depend on the tools, calls written one by one.

    opening        the openers
    before, after  what is written around all calls
    between        what is written between two calls
    """

    name: str
    place: OpenerPlace = "line"
    stray_words: tuple[str, ...] = ()
    opening: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    between: str = "\n"

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        return self.opening

    @abstractmethod
    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]: ...

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        written = self.between.join(self.write_call(call, tools) for call in calls)
        return f"{self.before}{written}{self.after}" if calls else ""

    @abstractmethod
    def write_call(self, call: Call, tools: Toolbox) -> str:
        """One call as text. Raises `Unwritable`."""
