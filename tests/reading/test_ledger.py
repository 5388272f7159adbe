"""What becomes of the text that a grammar consumes and of the calls that it reports (`reading/ledger.py`, `block.py`).

SCRIPTS are what a grammar does, step by step, TERMS under what. `ledger.txt` says for each pair which events leave
after which steps: so it says when text and calls leave, not only that they do. `make steps` writes it
anew, for review in a diff.

`'text'` is text, `<text>` markup, `Bash#0` the start of a call, `0:{}` a piece of it, `end#0` its end, then its verdict
with its span; `[behind]` says that white space may go with the call, `[quoted]` that it began in quoted text.
"""

from typing import Any

import pytest

from support.repository import REPO
from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Markup, Reasoning, Text, Verdict
from toolcalls.reading.block import Block, Quoted
from toolcalls.reading.ledger import Ledger
from toolcalls.reading.policy import CallPolicy
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.text.markdown import Position
from toolcalls.text.scanner import Scanner
from toolcalls.values.toolbox import Toolbox

TOOLS = (
    Tool("Bash", {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}),
    Tool("Read"),
)


class Books:
    """A ledger, and the block that is open."""

    def __init__(self, *, native: str = "", quotable: str = "", place: Any = None, **terms: Any) -> None:
        whole = {key: terms.pop(key, False) for key in ("whole_message", "whole_call")}
        lift, emit = terms.pop("lift", True), terms.pop("emit_incomplete", False)
        policy = CallPolicy(
            Route(**terms),
            Request(tools=TOOLS, quotable=(quotable,) if quotable else ()),
            lift=lift,
            emit_incomplete=emit,
        )
        self._scan = Scanner()
        self._ledger = Ledger(self._scan, policy, Toolbox(TOOLS), Position())
        if native:
            self._ledger.natives.add(native, "{}")
        self._place, self._whole = place, whole
        self._block: Block | None = None
        self._found: list[str] = []

    def step(self, step: str) -> str:
        """Do one thing, and say what left and what was found."""
        return " ".join([*map(shown, self.events(step)), *self._found])

    def events(self, step: str) -> list[Event]:
        """Do one thing, and say what left."""
        word, _, rest = step.partition(" ")
        self._found = []
        getattr(self, f"_{word}")(rest)
        out, self._ledger.text.out[:] = list(self._ledger.text.out), []
        return out

    def _take(self, text: str) -> None:
        self._scan.feed(text)
        self._scan.take(len(text))

    def _open(self, place: str) -> None:
        self._block = Block(
            self._ledger,
            "invoke",
            place or self._place,
            begins_line=True,
            asked=(),
            refused=None,
            frames=True,
            respelt_element=False,
            **self._whole,
        )

    @property
    def _calls(self) -> Block:
        assert self._block is not None
        return self._block

    def _begin(self, name: str) -> None:
        """A call of this name; after a `!` stands why the grammar refuses it."""
        name, _, refused = name.partition("!")
        try:
            self._calls.begin(name, refused or None)  # type: ignore[arg-type]
        except Quoted:
            self._found.append("[quoted]")

    def _piece(self, json: str) -> None:
        self._calls.piece(json)

    def _end(self, _: str) -> None:
        self._calls.end()

    def _fail(self, _: str) -> None:
        self._calls.fail()

    def _frame(self, _: str) -> None:
        self._calls.mark_frame()

    def _text(self, _: str) -> None:
        self._calls.mark_text()

    def _reasoning(self, _: str) -> None:
        self._calls.mark_reasoning()

    def _close(self, own: str) -> None:
        behind = self._calls.close(own=own != "not")
        if behind:
            self._found.append("[behind]")
        self._ledger.close()

    def _frameclose(self, own: str) -> None:
        self._calls.close_frame(own=own != "not")

    def _repair(self, name: Any) -> None:
        self._calls.note_repair(name)

    def _trim(self, _: str) -> None:
        self._calls.trim()

    def _stream(self, text: str) -> None:
        """Text of a string argument: at once where that may be, else as the grammar reports it."""
        made = self._ledger.streams(text)
        if made is not None:
            self._ledger.text.out.extend((Markup(text), made))
            return
        self._found.append("[waits]")
        self._take(text)
        self._piece(text)

    def _fence(self, _: str) -> None:
        """The next call is in a fence, and after it only the fence's end."""
        self._ledger.ends_message = self._ledger.in_fence = True

    def _give(self, _: str) -> None:
        self._calls.give_back()

    def _rest(self, _: str) -> None:
        self._scan.take(self._scan.rest())
        self._ledger.show()

    def _show(self, _: str) -> None:
        self._ledger.show()

    def _pause(self, _: str) -> None:
        self._ledger.pause()

    def _finish(self, cut: str) -> None:
        self._scan.end(cut=cut == "cut")
        self._ledger.finish()


def shown(event: Event) -> str:
    match event:
        case Text(text):
            return repr(text)
        case Markup(text):
            return f"<{text}>"
        case CallStart(index, name):
            return f"{name}#{index}"
        case CallPiece(index, json):
            return f"{index}:{json}"
        case CallEnd(index):
            return f"end#{index}"
        case Reasoning(text):
            return f"thought({text})"
        case Verdict():
            repairs = f"+{','.join(event.repairs)}" if event.repairs else ""
            number = "" if event.index is None else f"#{event.index}"
            return f"{event.status}{number}({event.reason or ''} {event.name} {event.start}-{event.end}{repairs})"
    raise AssertionError(event)


ONE = ["take A", "open", "take [", "begin Bash", "take {", "piece {", "take 1", 'piece "command":1', "pause"]
WHOLE = [*ONE, "take }", "piece }", "end", "take ]", "close", "take B", "show", "finish"]
REST = ["take }", "piece }", "end"]
SCRIPTS: dict[str, list[str]] = {
    "a whole call": WHOLE,
    "its closer is not its own": [*WHOLE[:-4], "close not", "rest", "finish"],
    "broken off": [*ONE, "close", "finish cut"],
    "ended inside": [*ONE, "close", "finish"],
    "it fails": [*ONE, "take x", "fail", "take y", "close", "finish"],
    "it fails at once": [*ONE[:4], "take x", "fail", "take y", "close", "finish"],
    "two calls": [*WHOLE[:13], *ONE[2:-1], "take }", "piece }", "end", "take ]", "close", "finish"],
    "two calls, the second broken off": [*WHOLE[:13], *ONE[2:-1], "close", "finish cut"],
    "a frame": ["take A", "show", "open", "take (", "frame", *WHOLE[2:12], "take )", "frame", "close", "finish"],
    "text inside": ["open", "take (", "text", *ONE[2:], *REST, "take )", "text", "close", "finish"],
    "reasoning inside": ["open", "take (", "reasoning", *ONE[2:], *REST, "take )", "reasoning", "close", "finish"],
    "a name that is respelt": ["open", "take [", "begin bash", "take {}", "piece {}", "end", "close", "finish"],
    "an undeclared name": ["open", "take [", "begin Rea", "take {}", "piece {}", "end", "take ]", "close", "finish"],
    "a name like no other": ["open", "take [", "begin Zz", "take {}", "piece {}", "end", "take ]", "close", "finish"],
    "no name": ["open", "take [", "begin ", "take {}", "piece {}", "end", "take ]", "close", "finish"],
    "an array in it": [*ONE[:4], "take [1]", 'piece {"command":[1]', "pause", *REST, "close", "finish"],
    "no required argument": ["open", "take [", "begin Bash", "take {}", "piece {}", "end", "take ]", "close", "finish"],
    "pauses": [
        "take A", "show", "open", "take [", "pause", "begin Bash", "take {", "piece {", "pause", "take 1",
        'piece "command"', "pause", "take 2", "piece :", "pause", "take 3", "piece 1", "pause", "take 4", "piece }",
        "pause", "end", "pause", "close", "finish"
    ],
    "the grammar refuses it": [
        "open", "take [", "begin Bash!undeclared_arguments", "take {}", "piece {}", "end", "take ]", "close", "finish"
    ],
    "the grammar refuses it, and nothing takes that": [
        "open", "take [", "begin Read!not_a_call", "take {}", "piece {}", "end", "take ]", "close", "finish"
    ],
    "the grammar refuses one without a name": [
        "open", "take [", "begin !no_arguments", "take {}", "piece {}", "end", "take ]", "close", "finish"
    ],
    "repairs": [
        *ONE, "repair trailing_comma", "repair single_quotes", "repair trailing_comma", *REST, "close", "finish"
    ],
    "what stands behind it is read again": [*ONE, *REST, "take ]", "trim", "take B", "close", "rest", "finish"],
    "text of a string": [
        *ONE[:4], "take {", 'piece {"command":"', "stream a", "pause", "stream b", "stream cccccc", "stream d",
        "take }", 'piece "}', "end", "close", "finish"
    ],
    "a call in a fence": ["fence", *WHOLE[:-2], "show", "finish"],
    "a call in a fence, cut off": ["fence", *WHOLE[:-2], "show", "finish cut"],
    "a whole message in a fence": ["fence", *WHOLE[:-3], "finish"],
    "a frame behind it": [
        *WHOLE[:-3], "open", "take (", "frame", "take y", "text", "frameclose", "take B", "show", "finish"
    ],
    "a frame that does not end": [*WHOLE[:-3], "open", "take (", "frame", "take y", "frameclose not", "rest", "finish"],
    "it is given back": [*WHOLE[:6], "give", "rest", "finish"],
    "another call behind it": [
        *WHOLE[:-2], "open", "take [", "begin Read", "take {}", "piece {}", "end", "close", "take C", "show", "finish"
    ],
}  # fmt: skip
TERMS: dict[str, dict[str, Any]] = {
    "standard": {},
    "strict": {"policy": "strict"},
    "lenient": {"policy": "lenient"},
    "nothing is lifted": {"lift": False},
    "quoted": {"place": "fenced"},
    "inline": {"place": "inline"},
    "a native call": {"native": "Bash"},
    "an echo": {"quotable": "A[{1}]B says the request, and A[{1}][{1}] too; [{}], and all of it again: ([{1})"},
    "one call": {"multiple_calls": False},
    "at most one call": {"max_calls": 1},
    "no room": {"max_buffer_bytes": 4, "max_held_call_bytes": 4, "policy": "strict"},
    "no room for arguments": {"max_call_chars": 12},
    "a whole message": {"whole_message": True},
    "a whole call alone": {"whole_call": True},
    "no room while it streams": {"max_buffer_bytes": 4, "max_held_call_bytes": 4},
    "a native call of another": {"native": "Read"},
    "flat arguments": {"max_depth": 1},
    "no depth at all": {"max_depth": 0},
    "a whole call, strictly": {"whole_message": True, "require": ("complete", "arguments")},
    "incomplete ones too": {"emit_incomplete": True, "whole_call": True},
}
STEPS = REPO / "tests" / "reading" / "ledger.txt"


def outcome(script: list[str], terms: dict[str, Any]) -> str:
    books = Books(**terms)
    left = ((step, books.step(step)) for step in script)
    return " | ".join(f"{step} -> {events}" for step, events in left if events)


def outcomes(title: str) -> str:
    """Those of a script, with the terms under which each of them comes about."""
    found: dict[str, list[str]] = {}
    for name, terms in TERMS.items():
        found.setdefault(outcome(SCRIPTS[title], terms), []).append(name)
    return "".join(f"{', '.join(terms)}:\n    {line}\n" for line, terms in found.items())


@pytest.mark.parametrize("title", SCRIPTS)
def test_each_step_gives_what_the_table_says(title: str) -> None:
    parts = STEPS.read_text(encoding="utf-8").removeprefix("# ").split("\n\n# ")
    tables = dict(part.split("\n", 1) for part in parts)
    assert tables.keys() == SCRIPTS.keys()
    assert outcomes(title).splitlines() == tables[title].splitlines()


@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("title", SCRIPTS)
def test_nothing_is_lost_and_each_call_has_one_verdict(title: str, terms: str) -> None:
    script = SCRIPTS[title]
    books = Books(**TERMS[terms])
    events = [event for step in script for event in books.events(step)]
    taken = "".join(step.partition(" ")[2] for step in script if step.startswith(("take", "stream")))
    assert "".join(event.text for event in events if isinstance(event, Text | Markup)) == taken
    begun = sum(step.startswith("begin") for step in script) - script.count("give")
    verdicts = [event for event in events if isinstance(event, Verdict) and event.name != "other"]
    assert len(verdicts) == begun
    started = [event.index for event in events if isinstance(event, CallStart)]
    ended = [event.index for event in events if isinstance(event, CallEnd)]
    assert started == sorted(started) == [one.index for one in verdicts if one.index is not None]
    assert ended == [one.index for one in verdicts if one.index is not None and one.reason is None]


if __name__ == "__main__":
    print("\n".join(f"# {title}\n{outcomes(title)}" for title in SCRIPTS), end="")
