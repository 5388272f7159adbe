"""What is decided of a text client's text, piece by piece (`screening.py`, `guarded_text.py`, `stages/screen.py`).

`screening.txt` says for each text what leaves, `·` between what leaves with one piece and with the next: `=` for one
that is shown at once, 'text' that is shown, -what is taken out-, "a text of ours", and each verdict and note.
`make steps` writes it anew, for review in a diff.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from support.processorcases import TOOLS, no_reactors, route_of
from support.repository import REPO
from toolcalls.events import Event, Markup, Note, Removed, Text, Verdict
from toolcalls.processors import Processors, Reply
from toolcalls.processors.careless_calls import Hidden
from toolcalls.processors.guarded_text import GuardedText
from toolcalls.processors.screening import ScreenedText, TooManyCandidates
from toolcalls.replies.calls import Calls
from toolcalls.replies.stages import End, Item
from toolcalls.replies.stages.screen import Screening
from toolcalls.replies.stages.write import Write
from toolcalls.request import Request
from toolcalls.requests.evidence import Decision, call_policy_of
from toolcalls.writing.roundtrip import ClientText

STEPS = REPO / "tests" / "processors" / "screening.txt"
NO_RM = {"access": {"message": "No.", "rules": [{"name": "no-rm", "action": "block", "arguments": {"command": "rm"}}]}}
FORMS = {
    "invoke": ('<invoke name="Bash">', '<parameter name="command">', "</parameter>", "</invoke>"),
    "tagged": ("<Bash>", "<command>", "</command>", "</Bash>"),
    "hermes": ('<tool_call>\n{"name": "Bash", "arguments": {"command": "', "", '"}}', "</tool_call>"),
}
# The pieces of a text, with · between them: {0} to {3} are what FORMS says.
TEXTS = [
    "So. ·It is a < b,· and\n·more.\n",
    "So.\n·{0}\n·{1}ls· -l·a x·{2}\n{3}·\nMore.",
    "So.\n·{0}\n·{1}rm· -r·f x·{2}\n{3}·\nMore.",
    "So. {0}{1}rm{2}{3} More. {0}{1}ls{2}{3} End.",
    "{0}{1}ls{2}{3}·\nSo.\n ·{0}{1}rm{2}{3}·End.",
    "{0}{1}ls{2}{3}· · {0}{1}rm{2}{3}·End.",
    "Use `{0}` for it.· So it is.",
    "{0}{1}ls",
    "{0}{1}rm",
    "> So.·\n> it· is\n·More.\n",
    "So.·\n·>· it is\n·\n More > that.·\n",
    " · > So.\n\t>· it\n",
    "> {0}\n> {1}ls{2}\n> {3}\n·More.",
    "> {0}\n> {1}rm{2}\n> {3}\n·More.",
    "> {0}·\n> {1}rm·{2}\n·> {3}\nMore.\n> a\n",
    "{0}\n{1}a\n> b·\n> rm\n·> c{2}\n{3}\n> d\n",
    "{0}\n{1}a\n> b·\n> c{2}\n{3}\n·> {0}{1}rm{2}{3}\n",
    "```\n{0}\n{1}rm{2}\n{3}\n```\n·More.",
    "So {0}{1}rm{2} and words· More.\n\n·And more.",
    "So.\n{0} words {1}rm{2}{3}More.·And· more.",
    "{0}\n{1}ls{2}\n{3}\n·> So.\n> {0}\n> {1}rm{2}\n> {3}\n·More.",
]


def pieces(text: str, dialect: str) -> list[str]:
    return text.format(*FORMS[dialect]).split("·")


class Parts:
    """What looks at the text of one lane, one around the other."""

    def __init__(self, dialect: str, calls: Calls, access: dict[str, Any] = NO_RM) -> None:
        route = route_of(access)
        policy, tools = call_policy_of(route, Request(tools=TOOLS), Decision("roundtrip", "text", "auto", dialect, ()))
        reply = Reply(Processors(route, run=no_reactors), whole=False, as_text=True)
        rules, careless = reply.screen(), reply.careless((dialect,), tools)
        assert rules is not None
        trip = Write(calls, ClientText(dialect, (dialect,)), tools, route).round_trip()
        self.screened = ScreenedText(policy, tools, rules, trip)
        if careless is not None:
            self.guarded = GuardedText(self.screened, *careless, dialect, notices=False)


def shown(what: Event | Item) -> str:
    match what:
        case str():
            return f'"{what!r}"'
        case Text(text):
            return repr(text)
        case Markup(text) | Removed(text):
            return f"-{repr(text)[1:-1]}-"
        case Verdict():
            return f"[{what.status} {what.rule or what.reason} {what.name} {what.start}-{what.end}]"
        case Note():
            return f"[{what.rule}: {what.text}]"
    raise AssertionError(what)


def decided(look: ScreenedText | GuardedText, text: list[str]) -> Iterator[list[str]]:
    """What leaves with each piece."""

    def tried(found: Callable[[], Iterable[Event | str]]) -> Iterator[str]:
        try:
            yield from map(shown, found())
        except (Hidden, TooManyCandidates) as why:
            yield f"[{why}]"
        if look.removing:
            yield "…"

    for piece in text:
        yield ["="] if look.passes(piece) else list(tried(lambda piece=piece: look.read(piece)))  # type: ignore[misc]
    yield list(tried(look.finish))


def staged(look: ScreenedText | GuardedText, calls: Calls, text: list[str]) -> Iterator[list[str]]:
    """What leaves of the stage: after each piece stands the row's verdict of a call, as far as the piece goes."""
    stage = Screening(look, calls, room=120)
    at = 0
    for piece in text:
        at += len(piece)
        judged = [Verdict("declined", "fenced", "d", "Bash", 0, at)] if "rm" in piece else []
        yield [*map(shown, stage.feed([Text(piece), *judged]))]
    yield ["+" * calls.broken_off, *map(shown, stage.finish(End("stop")))]


WAYS: dict[str, Callable[[str, list[str]], Iterator[list[str]]]] = {
    "screened": lambda dialect, text: decided(Parts(dialect, Calls()).screened, text),
    "guarded": lambda dialect, text: decided(Parts(dialect, Calls()).guarded, text),
    "staged": lambda dialect, text: staged(Parts(dialect, calls := Calls()).guarded, calls, text),
}


def outcomes(dialect: str, way: str) -> str:
    return "".join(
        f"{text!r}\n    {'·'.join(' '.join(step) for step in WAYS[way](dialect, pieces(text, dialect)))}\n"
        for text in TEXTS
    )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dialect", FORMS)
def test_each_piece_gives_what_the_table_says(dialect: str, way: str) -> None:
    parts = STEPS.read_text(encoding="utf-8").removeprefix("# ").split("\n\n# ")
    tables = dict(part.split("\n", 1) for part in parts)
    assert len(tables) == len(FORMS) * len(WAYS)
    assert outcomes(dialect, way).splitlines() == tables[f"{dialect}, {way}"].splitlines()


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("dialect", FORMS)
def test_every_character_is_accounted_for(dialect: str, text: str) -> None:
    for size in (0, 1, 3):
        found = Parts(dialect, Calls()).screened
        whole = "".join(pieces(text, dialect))
        came: list[Event | str] = []
        for piece in [whole[at : at + size] for at in range(0, len(whole), size)] if size else pieces(text, dialect):
            came += [Text(piece)] if found.passes(piece) else found.read(piece)
        came += found.finish()
        events = [what for what in came if isinstance(what, Text | Markup | Removed)]
        # The marks of block quotes are blanks there.
        assert "".join(what.text for what in events).replace(">", " ") == whole.replace(">", " ")


def screened(found: ScreenedText, text: str, size: int) -> list[Event | str]:
    """What leaves of a text, `size` characters at a time, 0 for all at once."""
    came: list[Event | str] = []
    for piece in [text[at : at + size] for at in range(0, len(text), size)] if size else [text]:
        came += [Text(piece)] if found.passes(piece) else found.read(piece)
    return [*came, *found.finish()]


FRAMED = {  # messages in which no call stands, in the frames of their dialects
    "harmony": "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Done.<|return|>",
    "harmony_stripped": "analysisHm.assistantfinalDone.",
    "gemma4": "<|channel>thought\nHm.<channel|>Done.",
    "kimi_k3": "<|open|>think<|sep|>Hm.<|close|>think<|sep|><|open|>response<|sep|>Done.<|close|>response<|sep|>",
    "functionary_v32": ">>>all\nDone.",
    "functionary_v2": "<|from|>assistant\n<|recipient|>all\n<|content|>Done.",
}


@pytest.mark.parametrize("dialect", FRAMED)
def test_what_no_rule_blocks_keeps_its_frame(dialect: str) -> None:
    """A client that reads such a dialect reads its frames, too."""
    for size in (0, 1, 5):
        came = screened(Parts(dialect, Calls()).screened, FRAMED[dialect], size)
        left = "".join(what.text if isinstance(what, Text) else f"<{what}>" for what in came)
        assert left == FRAMED[dialect].replace(">>>", "   ")  # as the marks of a block quote


REDIRECT = "{0}{1}ls\n> x{2}{3}"
BEFORE = [
    "",
    "> a\n",
    "> a\n\n",
    "a\n > b\n",
    "> a\n>\n\nb\n",
    " \t>> a\n\t\n",
    "> {0}{1}ls{2}{3}\n",
    "> {0}\n> {1}ls{2}{3}\n\n",
]


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("dialect", ["invoke", "tagged"])
def test_only_in_a_block_quote_its_marks_are_none_of_a_value(dialect: str, before: str) -> None:
    """After one they are: a rule sees the value as the client will."""
    access = {"access": {"rules": [{"name": "no-redirect", "action": "block", "arguments": {"command": ">"}}]}}
    text = f"{before}{REDIRECT}".format(*FORMS[dialect])
    for size in (0, 1, 2, 3, 7):
        came = screened(Parts(dialect, Calls(), access).screened, text, size)
        assert [what.rule for what in came if isinstance(what, Verdict)] == ["no-redirect"]
        came = screened(Parts(dialect, Calls(), access).screened, f"> {REDIRECT}".format(*FORMS[dialect]), size)
        assert not any(isinstance(what, Verdict) for what in came)


if __name__ == "__main__":
    rows = (f"# {dialect}, {way}\n{outcomes(dialect, way)}" for dialect in FORMS for way in WAYS)
    print("\n".join(rows), end="")
