"""What a client's stream owes (`wires.content_blocks`).

The table in the module's docstring is the specification: each of its cells is run, in words of no API. Calls that are
shown when they are complete are made by chance, and cut by chance.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Markup, Reasoning, Text
from toolcalls.values.rawjson import Fields
from toolcalls.wires import content_blocks
from toolcalls.wires.content_blocks import Block, CompleteCalls, ContentBlocks

START = CallStart(3, "Read", dialect="invoke")
OTHER = CallStart(4, "Read", dialect="invoke")
MOVED = Reasoning("thought", moved=True)

# What brings a stream into the state of a column, and what comes in a row.
STATES: dict[str, list[Event]] = {
    "nothing open": [],
    "a text open": [Text("said")],
    "reasoning open": [MOVED],
    "a call open": [START],
}
COMES: dict[str, Event | None] = {
    "text": Text("more"),
    "reasoning from text": MOVED,
    "a call begins": OTHER,
    "a piece of that call": CallPiece(3, "{}"),
    "the end of that call": CallEnd(3),
    "another block of the upstream's, the end": None,
}
WIDTHS = (22, 16, 18, 18)  # of the docstring's columns, but for the last


class Words(ContentBlocks):
    """A client that is told of its blocks in words of no API."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def _start(self, block: Block, opener: Fields | None, call: CallStart | None) -> None:  # noqa: ARG002
        self.told.append(f"begins {block.index}")

    def _say(self, block: Block, text: str, event: Fields | None) -> None:  # noqa: ARG002
        self.told.append(f"says {block.index} {text}")

    def _break_off(self, block: Block) -> None:
        super()._break_off(block)
        self.told.append("breaks off")

    def _stop(self, block: Block) -> None:
        self.told.append(f"ends {block.index}")


class SideBySide(Words):
    """One whose calls stay open."""

    calls_stay_open = True


class BlanksWait(Words):
    """One whose texts do not begin with white space alone."""

    blanks_wait = True


def _cells(line: str) -> list[str]:
    cells, at = [], 0
    for width in WIDTHS:
        cells.append(line[at : at + width].strip())
        at += width
    return [*cells, line[at:].strip()]


def _table() -> dict[str, dict[str, str]]:
    """The docstring's table: what comes → state → what the client is told."""
    paragraphs = (content_blocks.__doc__ or "").split("\n\n")
    head, *lines = next(one for one in paragraphs if "nothing open" in one).splitlines()
    _, *states = _cells(head.removeprefix("    "))
    found: dict[str, dict[str, str]] = {}
    before = ""
    for line in lines:
        name, *cells = _cells(line.removeprefix("    "))
        if not any(cells):  # the name goes on in the next line
            before = f"{name} "
            continue
        found[before + name] = dict(zip(states, cells, strict=True))
        before = ""
    return found


def _run(client: Words, state: str, comes: str) -> str:
    """What a client in this state is told, as the table says it."""
    for event in STATES[state]:
        client.event(0, event)
    client.told = []
    event = COMES[comes]
    client.close() if event is None else client.event(0, event)
    verbs = [words.split(" ")[0] for words in client.told]
    if "breaks off" in client.told:
        verbs = ["breaks off", *verbs[verbs.index("ends") + 1 :]]
    if "begins" in verbs:
        verbs = [verb for verb in verbs if verb != "says"]
    return ", ".join(verbs).replace("says", "goes on") or "-"


def test_the_table_has_every_state_and_event() -> None:
    assert {name: list(row) for name, row in _table().items()} == {name: list(STATES) for name in COMES}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("comes", COMES)
def test_each_cell_of_the_table(state: str, comes: str) -> None:
    assert _run(Words(), state, comes) == _table()[comes][state]


@pytest.mark.parametrize("comes", COMES)
def test_a_call_that_stays_open(comes: str) -> None:
    """The same table, where a call that does not end is still open behind the next block."""
    said = _table()[comes]["a call open"].removeprefix("breaks off").removeprefix(", ") or "-"
    assert _run(SideBySide(), "a call open", comes) == said


def test_a_call_goes_on_behind_another_block() -> None:
    client = SideBySide()
    client.emit([(0, START), (0, CallPiece(3, '{"a"')), (0, Text("said")), (0, CallPiece(3, ":1}")), (0, CallEnd(3))])
    assert client.told == ["begins 0", 'says 0 {"a"', "begins 1", "says 1 said", "says 0 :1}", "ends 0"]
    assert client.left == {}


def test_a_call_of_another_lane_is_another() -> None:
    client = Words()
    client.emit([(0, START), (1, CallPiece(3, "{}")), (1, CallEnd(3)), (0, CallPiece(3, "[]")), (0, CallEnd(3))])
    assert client.told == ["begins 0", "says 0 []", "ends 0"]


@pytest.mark.parametrize(("pieces", "told"), [([], ["{"]), ([""], ["", "{"]), (['{"a'], ['{"a'])])
def test_a_call_that_broke_off_has_no_whole_arguments(pieces: list[str], told: list[str]) -> None:
    """One of which nothing came would look like a call without arguments."""
    client = Words()
    client.emit([(0, START), *((0, CallPiece(3, piece)) for piece in pieces)])
    client.close()
    assert client.told == ["begins 0", *(f"says 0 {piece}" for piece in told), "breaks off", "ends 0"]


def test_blanks_that_wait() -> None:
    """White space goes with what follows it in its text, and is nothing before another block."""
    client = BlanksWait()
    client.emit([(0, Text("\n")), (0, MOVED), (0, Text(" ")), (0, START), (0, CallEnd(3)), (0, Text("\n"))])
    client.emit([(0, Text(" said"))])
    client.emit([(0, Text(" "))])
    assert client.told == [
        *("begins 0", "says 0 thought", "ends 0", "begins 1", "ends 1"),
        *("begins 2", "says 2 \n said", "says 2  "),
    ]


def test_what_is_held_opens_the_first_text() -> None:
    opened: list[object] = []

    class Openers(Words):
        def _start(self, block: Block, opener: Fields | None, call: CallStart | None) -> None:
            super()._start(block, opener, call)
            opened.append(opener)

    client = Openers()
    client.held = {"type": "opener"}
    client.emit([(0, START), (0, CallEnd(3)), (0, Text("a")), (0, MOVED), (0, Text("b"))])
    assert opened == [None, {"type": "opener"}, None, None]


# --- complete calls ---------------------------------------------------------------------------------------------------

words = st.text("ab<>\n", min_size=1, max_size=6)
texts = words.map(lambda text: ("text", [text], True))
calls = st.tuples(st.just("call"), st.lists(words, min_size=1, max_size=3), st.booleans())
rows = st.lists(st.one_of(texts, calls), max_size=6)


def _events(row: list[tuple[str, list[str], bool]]) -> list[Event]:
    """The events of texts and of calls, which are complete or broke off; each piece is markup and arguments alike."""
    made: list[Event] = []
    for index, (kind, pieces, whole) in enumerate(row):
        if kind == "text":
            made.append(Text(pieces[0]))
            continue
        made += [Markup("<call>"), CallStart(index, "Read", dialect="invoke")]
        for piece in pieces:
            made += [Markup(piece), CallPiece(index, piece)]
        made += [CallEnd(index)] if whole else []
        made.append(Markup(""))
    return made


@given(rows)
def test_calls_are_complete_or_text(row: list[tuple[str, list[str], bool]]) -> None:
    complete = CompleteCalls()
    made = [*complete.of(_events(row)), *complete.decide()]
    expected: list[Event] = []
    for index, (kind, pieces, whole) in enumerate(row):
        said = "".join(pieces)
        if kind == "call" and whole:
            expected += [CallStart(index, "Read", dialect="invoke"), CallPiece(index, said), CallEnd(index)]
        else:
            expected.append(Text(said if kind == "text" else f"<call>{said}"))
    assert made == expected
    assert complete.broken == any(kind == "call" and not whole for kind, _, whole in row)


@given(rows, st.data())
def test_complete_calls_in_frames(row: list[tuple[str, list[str], bool]], data: st.DataObject) -> None:
    """What comes of the events does not depend on the frames that they come in."""
    events = _events(row)
    cut = data.draw(st.integers(0, len(events)))
    at_once, in_two = CompleteCalls(), CompleteCalls()
    assert [*in_two.of(events[:cut]), *in_two.of(events[cut:])] == [*at_once.of(events)]


@pytest.mark.parametrize(
    "follows", [Text("x"), MOVED, CallStart(9, "Read", dialect="invoke")], ids=lambda one: type(one).__name__
)
def test_what_follows_a_call_without_a_verdict_decides_it(follows: Event) -> None:
    made = [*CompleteCalls().of([Markup("<call>"), START, Markup("{"), follows])]
    assert made[0] == Text("<call>{")


def test_native_calls_pass() -> None:
    native = [CallStart(0, "Read"), CallPiece(0, "{"), CallPiece(0, "}"), CallEnd(0)]
    assert [*CompleteCalls().of(native)] == native
