"""What a text client gets of calls that processors keep, take out or change, event by event (`writing/roundtrip.py`).

`roundtrip.txt` says for each client, dialect and plan what leaves, `·` between what leaves with one event of the reader
and with the next: 'text', <markup>, -what is taken out-, and each verdict. `!` says that the text of a call may be
streamed from there on, `+` that text of our own is to come at the end. `make steps` writes it anew,
for review in a diff.
"""

from collections.abc import Iterator, Sequence

import pytest

from support.repository import REPO
from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Markup, Removed, Text, Verdict
from toolcalls.processors import Answer, Drop, Edit, Processors, Reply
from toolcalls.processors import Call as Seen
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.replies.calls import Calls
from toolcalls.replies.stages import End, Item
from toolcalls.replies.stages.write import Write
from toolcalls.request import Request, Tool
from toolcalls.route import Access, AccessRule, Reactor, Route
from toolcalls.shapes import Call
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.roundtrip import ClientText
from toolcalls.writing.writer import calls_in, write

STEPS = REPO / "tests" / "writing" / "roundtrip.txt"
# What becomes of a call is its name: it stays, a rule blocks it and says so, a reactor drops or changes it.
ACTIONS = ("keep", "drop", "lose", "edit")
TOOLS = tuple(Tool(name, {"type": "object", "properties": {"path": {"type": "string"}}}) for name in ACTIONS)
BOX = Toolbox(TOOLS)
ROUTE = Route(
    access=Access((AccessRule("no", "block", ("drop",)),), message="No."),
    reactors=(Reactor("r.py", "f", ("edit", "lose")),),
)
# The client's dialect, and the one that calls are written in.
SPOKEN = [
    ("lfm2", "lfm2"), ("deepseek_dsml", "deepseek_dsml"), ("hermes", "hermes"), ("lfm2", "hermes"), ("hermes", "lfm2"),
    ("deepseek_dsml", "lfm2"),
]  # fmt: skip
PLANS = [
    *((first, second) for first in ACTIONS for second in ACTIONS),
    ("keep", "drop", "keep"), ("drop", "keep", "edit"), ("edit", "drop", "keep"), ("keep", "keep", "drop"),
]  # fmt: skip


def react(_: Reactor, call: Seen) -> Answer:
    return Drop("") if call.name == "lose" else Edit(arguments={"path": "x"})


def shown(item: Item) -> str:
    match item:
        case str() | Text():
            return repr(item if isinstance(item, str) else item.text)
        case Markup(text):
            return f"<{repr(text)[1:-1]}>"
        case Removed(text):
            return f"-{repr(text)[1:-1]}-"
        case Verdict():
            return " ".join(map(str, filter(None, (f"[{item.status}", item.reason, item.dialect, *item.repairs)))) + "]"
    raise AssertionError(item)


def events(written: str, plan: Sequence[str]) -> list[Event]:
    calls = [Call(name, f'{{"path": "{number}"}}') for number, name in enumerate(plan)]
    text = f"So.\n\n{write(written, calls, BOX)}\n\nEnd."
    reader = Reader(CallPolicy(Route(dialects=(written,)), Request(tools=TOOLS), open_calls=True))
    found = [event for at in range(0, len(text), 12) for event in reader.feed(text[at : at + 12])]
    return [*found, *reader.finish(cut=False)]


def left(client: str, written: str, plan: Sequence[str]) -> Iterator[tuple[str, list[Item]]]:
    """What leaves with each event, and how the stage stands then."""
    reply = Reply(Processors(ROUTE, run=react), whole=False, as_text=True)
    chain = reply.chain()
    stage = Write(Calls(), ClientText(client, (client,)), BOX, ROUTE)
    for event in events(written, plan):
        out = list(stage.feed(chain.read([event])))  # type: ignore[arg-type]
        yield "!" * stage.streams + "+" * stage.adds_at_end, out
    yield "", [*stage.feed(chain.finish(cut=False)), *stage.finish(End("stop"))]  # type: ignore[arg-type]


def outcome(client: str, written: str, plan: Sequence[str]) -> str:
    steps = (f"{''.join(map(shown, out))}{state}" for state, out in left(client, written, plan))
    return "·".join(filter(None, steps))


def outcomes(client: str, written: str) -> str:
    return "".join(f"{', '.join(plan)}: {outcome(client, written, plan)}\n" for plan in PLANS)


@pytest.mark.parametrize(("client", "written"), SPOKEN)
def test_each_event_gives_what_the_table_says(client: str, written: str) -> None:
    parts = STEPS.read_text(encoding="utf-8").removeprefix("# ").split("\n\n# ")
    tables = dict(part.split("\n", 1) for part in parts)
    assert len(tables) == len(SPOKEN)
    assert outcomes(client, written).splitlines() == tables[f"{client} from {written}"].splitlines()


@pytest.mark.parametrize("plan", PLANS, ids=" ".join)
@pytest.mark.parametrize(("client", "written"), SPOKEN)
def test_the_client_has_the_calls_that_are_left(client: str, written: str, plan: Sequence[str]) -> None:
    """And the texts around them, and what the rules say, outside of them."""
    items = [item for _, out in left(client, written, plan) for item in out]
    text = "".join(item if isinstance(item, str) else item.text for item in items if isinstance(item, str | Text))
    reader = Reader(CallPolicy(Route(dialects=(client,)), Request(tools=TOOLS)))
    read = [*reader.feed(text), *reader.finish(cut=False)]
    wanted = [
        (name, '{"path":"x"}' if name == "edit" else f'{{"path":"{number}"}}')
        for number, name in enumerate(plan)
        if name in {"keep", "edit"}
    ]
    assert [(call.name, call.arguments.replace(" ", "")) for call in calls_in(read)] == wanted
    rest = "".join(event.text for event in read if isinstance(event, Text)).split()
    assert rest == ["So.", *["No."] * ("drop" in plan), "End."]


@pytest.mark.parametrize(("behind", "left"), [(Text("x"), "', ''x'"), (Removed("x"), "<, >-x-")])
def test_what_separates_two_calls_goes_only_with_the_second(behind: Event, left: str) -> None:
    trip = Write(Calls(), ClientText("lfm2", ("lfm2",)), BOX, ROUTE).round_trip()
    opener = '<|tool_call_start|>[keep(path="0")'
    call = [Markup(opener), CallStart(0, "keep", "lfm2"), CallPiece(0, '{"path":"0"}'), CallEnd(0), Markup(", ")]
    verdict = Verdict("lifted", None, "lfm2", "keep", 0, len(opener), index=0)
    items = [item for event in (*call, verdict, behind) for item in trip.feed(event)]
    assert "".join(map(shown, [*items, *trip.finish()])) == f"{opener!r}[lowered lfm2]{left}"


if __name__ == "__main__":
    print("\n".join(f"# {client} from {written}\n{outcomes(client, written)}" for client, written in SPOKEN), end="")
