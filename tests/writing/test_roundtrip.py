"""Calls in text for a text client (`writing/roundtrip.py`): what stays as it is, and what is written anew.

Strategy: texts with calls in the client's own dialect and in others, read in pieces of any size, with texts of our own
put between any two events. What is the client's own stays byte for byte; what is not is read by the client as the same
calls; a text of our own stands whole, in its place, and never inside a block of calls.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product

import pytest

from support.casefiles import canonical
from toolcalls.dialects import all_dialects
from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Markup, Removed, Text, Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.replies.calls import Calls
from toolcalls.replies.stages import End, Item
from toolcalls.replies.stages.write import Write
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.shapes import Call
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.roundtrip import ClientText
from toolcalls.writing.writer import calls_in, write

TOOLS = tuple(
    Tool(name, {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})
    for name in ("read_file", "list_files")
)
CALLS = (Call("read_file", '{"path": "a"}'), Call("list_files", '{"path": "b c"}'))
BOX = Toolbox(TOOLS)
# A list, a wrapper around all calls, calls that stand for themselves, a special token, the names of tools as tags.
DIALECTS = ("lfm2", "deepseek_dsml", "hermes", "invoke", "tagged", "kimi_k2", "mistral")
JOINED = ("lfm2", "deepseek_dsml", "kimi_k2")  # their calls are in one block
OURS = "A word of ours."


def events(text: str, size: int = 0, *, cut: bool = False, dialects: tuple[str, ...] | None = None) -> list[Event]:
    reader = Reader(CallPolicy(Route(dialects=dialects), Request(tools=TOOLS), open_calls=True))
    size = size or max(1, len(text))
    found = [event for at in range(0, len(text), size) for event in reader.feed(text[at : at + size])]
    return [*found, *reader.finish(cut=cut)]


def said(calls: Iterable[Call]) -> list[tuple[str, str]]:
    return [(call.name, canonical(call.arguments)) for call in calls]


@dataclass
class Got:
    """What leaves: each text, the verdicts, and all text joined."""

    pieces: list[str] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    markup: str = ""

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def calls(self, *dialects: str) -> list[tuple[str, str]]:
        return said(calls_in(events(self.text, dialects=dialects)))


def sent(items: Iterable[Item], client: ClientText, *, acts: bool = True) -> Got:
    stage = Write(Calls(), client, BOX, Route(), acts=acts)
    got = Got()
    for item in [*stage.feed(items), *stage.finish(End("stop"))]:
        if isinstance(item, Text | str):
            got.pieces.append(item if isinstance(item, str) else item.text)
        elif isinstance(item, Verdict):
            got.verdicts.append(item)
        elif isinstance(item, Markup | Removed):
            got.markup += item.text
    return got


def speaks(dialect: str, **more: bool) -> ClientText:
    return ClientText(dialect, (dialect,), **more)


def block(dialect: str, calls: Sequence[Call] = CALLS) -> str:
    return write(dialect, calls, BOX)


@pytest.mark.parametrize("acts", [True, False])
@pytest.mark.parametrize("size", [0, 1, 5])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_clients_own_calls_stay_byte_for_byte(dialect: str, size: int, acts: bool) -> None:
    one = block(dialect, CALLS[:1])
    for text in (block(dialect), f"I look.\n\n{block(dialect)}\n\nSo.", f"{one}\n", f"I look.\n\n{one} \n\n Then."):
        got = sent(events(text, size), speaks(dialect), acts=acts)
        assert got.text == text
        assert {(one.status, one.reason, one.dialect) for one in got.verdicts} == {("lowered", None, dialect)}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_call_that_broke_off_stays_as_far_as_it_came(dialect: str) -> None:
    whole = f"I look.\n\n{block(dialect)}"
    for text in (whole[:-15], whole[: whole.index("read_file") + 11]):
        for size, acts in product((0, 1), (True, False)):
            got = sent(events(text, size, cut=True), speaks(dialect), acts=acts)
            assert got.text == text
            assert {one.status for one in got.verdicts} <= {"lowered", "truncated", "malformed"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_calls_in_another_dialect_are_written_in_the_clients_own(dialect: str) -> None:
    for other in set(DIALECTS) - {dialect}:
        for size in (0, 1):
            got = sent(events(f"I look.\n\n{block(other)}\n\nSo.", size, dialects=(other,)), speaks(dialect))
            assert got.calls(dialect) == said(CALLS)
            assert got.calls(other) == []
            assert got.text.startswith("I look.\n\n")
            assert got.text.endswith("\n\nSo.")
            assert "".join((got.markup + block(dialect)).split()) == "".join((block(other) + block(dialect)).split())
            assert [(one.status, one.dialect) for one in got.verdicts] == [("lowered", other)] * 2


@pytest.mark.parametrize("dialect", DIALECTS)
def test_where_it_is_not_certain_what_the_client_reads_all_stays(dialect: str) -> None:
    client = speaks(dialect, translates=False)
    for other in set(DIALECTS) - {dialect}:
        text = f"I look.\n\n{block(other)}\n\nSo."
        got = sent(events(text, dialects=(other,)), client)
        assert got.text == text
        assert [(one.status, one.reason) for one in got.verdicts] == [("declined", "other_dialect")] * 2
    own = sent(events(block(dialect)), client)
    assert [(one.status, one.reason) for one in own.verdicts] == [("lowered", None)] * 2


def test_any_dialect_is_the_clients_own_where_none_is_named() -> None:
    client = ClientText(None, ())
    for dialect in DIALECTS:
        got = sent(events(block(dialect)), client)
        assert got.text == block(dialect)
        assert [one.status for one in got.verdicts] == ["lowered"] * 2
    assert client.is_own("hermes")
    assert not client.is_own(None)
    assert not client.is_own("")
    assert not speaks("hermes").is_own("invoke")


@pytest.mark.parametrize("other", [name for name in DIALECTS if name != "hermes"])
def test_a_client_of_one_call_gets_the_first(other: str) -> None:
    got = sent(events(block(other), dialects=(other,)), speaks("hermes", one_call=True))
    assert got.calls("hermes") == said(CALLS[:1])
    assert [(one.status, one.reason, one.index) for one in got.verdicts] == [
        ("lowered", None, 0),
        ("blocked", "multiple_calls", None),
    ]
    own = sent(events(block("hermes")), speaks("hermes", one_call=True))
    assert own.text == block("hermes")
    assert [one.status for one in own.verdicts] == ["lowered"] * 2


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_call_that_the_clients_dialect_cannot_hold_stays_what_it_is(dialect: str) -> None:
    call = Call("read_file", '{"path": "a", "path": "b"}')
    text = block("hermes" if dialect != "hermes" else "mistral", [call])
    got = sent(events(text), speaks(dialect))
    if got.verdicts[0].status == "lowered":
        assert got.calls(dialect) == said([call])
    else:
        assert got.text == text
        assert (got.verdicts[0].status, got.verdicts[0].reason) == ("declined", "unwritable")


@pytest.mark.parametrize("dialect", ["lfm2", "pythonic"])
def test_a_key_that_python_cannot_write_leaves_the_call_as_text(dialect: str) -> None:
    text = f"I look.\n{block('hermes', [Call('read_file', '{"a b": 1}')])}\nSo."
    got = sent(events(text), speaks(dialect))
    assert got.text == text
    assert [(one.status, one.reason) for one in got.verdicts] == [("declined", "unwritable")]


# --- texts of our own -------------------------------------------------------------------------------------------------


def with_ours(found: Sequence[Event], at: int) -> list[Item]:
    return [*found[:at], OURS, *found[at:]]


def outside_calls(found: Sequence[Event]) -> list[int]:
    """The places between events that are not inside a call."""
    inside, places = False, [0]
    for at, event in enumerate(found, 1):
        inside = isinstance(event, CallStart) or (inside and not isinstance(event, CallEnd))
        if not inside and not isinstance(event, CallEnd | Markup):
            places.append(at)
    return places


@pytest.mark.parametrize("size", [0, 4])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_text_of_ours_stands_whole_and_parts_no_block(dialect: str, size: int) -> None:
    text = f"I look.\n\n{block(dialect)}\n\nSo."
    found = events(text, size)
    for at in outside_calls(found):
        got = sent(with_ours(found, at), speaks(dialect))
        before, ours, behind = got.text.partition(OURS)
        assert ours
        assert OURS not in behind
        assert "".join((before + behind).split()) == "".join(text.split())
        assert got.calls(dialect) == said(CALLS)
        if dialect in JOINED:
            begun, ended = (call.name in before for call in CALLS)
            assert begun == ended


@pytest.mark.parametrize("other", DIALECTS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_so_it_does_beside_calls_that_are_written(dialect: str, other: str) -> None:
    found = events(f"I look.\n\n{block(other)}\n\nSo.", 4, dialects=(other,))
    for at in outside_calls(found):
        got = sent(with_ours(found, at), speaks(dialect))
        assert got.text.count(OURS) == 1
        assert got.calls(dialect) == said(CALLS)
        assert got.text.replace(OURS, "").strip().startswith("I look.")
        assert got.text.replace(OURS, "").rstrip().endswith("So.")
        before = got.text.partition(OURS)[0]
        if dialect in JOINED:
            assert (CALLS[0].name in before) == (CALLS[1].name in before)


def test_texts_of_ours_alone_leave_at_once() -> None:
    stage = Write(Calls(), speaks("hermes"), BOX, Route())
    assert list(stage.feed([OURS])) == [OURS]
    assert list(stage.feed([Text("a")])) == [Text("a")]
    assert not stage.adds_at_end
    assert list(stage.finish(End("stop"))) == []


def test_behind_a_text_of_ours_the_clients_call_stands_apart() -> None:
    for text in (block("hermes"), f"\n{block('hermes')}"):
        got = sent([OURS, *events(text)], speaks("hermes"))
        assert got.text == f"{OURS}{'' if text[0].isspace() else '\n\n'}{text}"
        again = sent([OURS, Text("So. "), *events(block("hermes"))], speaks("hermes"))
        assert again.text == f"{OURS}So. {block('hermes')}"


def test_between_two_calls_of_the_clients_what_parts_them_comes_behind_a_text_of_ours() -> None:
    found = events(block("hermes"))
    behind = next(at for at, event in enumerate(found, 1) if isinstance(event, Verdict))
    one, other = (block("hermes", [call]) for call in CALLS)
    assert sent(with_ours(found, behind), speaks("hermes")).text == f"{one}{OURS}\n{other}"


@pytest.mark.parametrize("dialect", [name for name, one in all_dialects().items() if one.place == "message"][:4])
def test_a_client_whose_calls_are_a_whole_message_gets_our_texts_alone(dialect: str) -> None:
    client = speaks(dialect)
    assert sent([Text("So."), OURS], client).text == f"So.{OURS}"
    got = sent([OURS, *events(block(dialect, CALLS[:1]))], client)
    assert got.text == block(dialect, CALLS[:1])


# --- as it comes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_clients_own_call_leaves_as_it_comes(dialect: str) -> None:
    """From the tool's name on, all but what may be the separator of the next call leaves with its event."""
    for acts in (False, True):
        stage = Write(Calls(), speaks(dialect), BOX, Route(), acts=acts)
        came = left = ""
        begun = False
        for event in events(block(dialect, [CALLS[0]]), 1):
            came += event.text if isinstance(event, Text | Markup) else ""
            left += "".join(one.text for one in stage.feed([event]) if isinstance(one, Text))
            begun = (begun or isinstance(event, CallStart)) and not isinstance(event, CallEnd)
            assert came.startswith(left)
            if begun and not isinstance(event, CallStart):
                assert len(came) - len(left) <= (2 if acts else 1), (came, left)
        rest = "".join(one.text for one in stage.finish(End("stop")) if isinstance(one, Text))
        assert left + rest == came == block(dialect, [CALLS[0]])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_held_is_released(dialect: str) -> None:
    text = block(dialect)
    found = events(text, 3)
    for at in range(len(found)):
        stage = Write(Calls(), speaks(dialect), BOX, Route())
        out = [*stage.feed(found[:at]), *stage.release()]
        assert list(stage.release()) == []
        came = "".join(event.text for event in found[:at] if isinstance(event, Text | Markup))
        assert "".join(one.text for one in out if isinstance(one, Text | Markup)) == came
        rest = [*stage.feed(found[at:]), *stage.finish(End("stop"))]
        assert "".join(one.text for one in [*out, *rest] if isinstance(one, Text | Markup)) == text


@pytest.mark.parametrize("acts", [True, False])
@pytest.mark.parametrize("other", DIALECTS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_short_way_is_offered_inside_the_clients_own_calls_alone(dialect: str, other: str, acts: bool) -> None:
    """Markup and a piece in one step; what leaves is the same as in two."""
    found = events(f"I look.\n\n{block(other)}\n\nSo.", 3, dialects=(other,))
    client = speaks(dialect)
    stage = Write(Calls(), client, BOX, Route(), acts=acts)
    got, at, inside, taken = "", 0, False, 0
    while at < len(found):
        assert not stage.streams or (inside and dialect == other)
        event, piece = found[at], found[at + 1] if at + 1 < len(found) else None
        if stage.streams and isinstance(event, Markup) and isinstance(piece, CallPiece):
            got += stage.streamed(event, piece).text
            at, taken = at + 2, taken + 1
            continue
        got += shown(stage.feed([event]))
        inside = isinstance(event, CallStart) or (inside and not isinstance(event, CallEnd))
        at += 1
    got += shown(stage.finish(End("stop")))
    assert got == sent(found, client, acts=acts).text
    assert bool(taken) <= (dialect == other)


def shown(items: Iterable[Item]) -> str:
    return "".join(item if isinstance(item, str) else item.text for item in items if isinstance(item, Text | str))
