"""Which pieces pass in each state of `Passing`, and what becomes of consumed text by its fate."""

import pytest

from support.readings import call_policy_for
from toolcalls.dialects import configured
from toolcalls.events import Event, Markup, Reasoning, Text
from toolcalls.reading.consumed import Consumed, Fate
from toolcalls.reading.openers import openers_of
from toolcalls.reading.passing import Passing
from toolcalls.reading.place import Place
from toolcalls.route import Route
from toolcalls.text.markdown import Position
from toolcalls.text.scanner import Scanner


def passing(text: str, *, held: str = "", idle: bool = True) -> Passing:
    """Behind a text that was shown, with what is held of its line."""
    route = Route(dialects=("invoke", "bare_json"))
    policy = call_policy_for(route)
    scan, position = Scanner(), Position()
    place = Place(position, message_start=not text.strip())
    dialects = configured(route.dialects, route.marker, route.max_payload_chars, structured=False, alone=policy.alone)
    place.openers = openers_of(dialects, ("Bash",), anywhere=False, results=False)
    consumed = Consumed(scan, position)
    consumed.pass_on(text)
    made = Passing(scan, consumed, place)
    scan.feed(held)
    made.rest(idle=idle, in_line=bool(held))
    return made


@pytest.mark.parametrize(
    ("text", "piece", "passes"),
    [
        ("", "Words", True),
        ("", "{", False),  # a message may be JSON
        ("Words", "{", True),
        ("Words", " and more", True),
        ("Words", " a < b", True),
        ("Words", " <inv", False),
        ("Words", " <invoice>", True),
        ("Words", ".\nMore", True),
        ("Words", ".\n<invoke", False),
        ("Words.\n", "More", True),
        ("Words.\n", "  ", True),
        ("Words", "", True),
    ],
)
def test_a_piece_passes_where_nothing_begins_in_it(text: str, piece: str, passes: bool) -> None:
    assert passing(text).passes(piece) is passes


def test_nothing_passes_while_something_is_read() -> None:
    made = passing("Words")
    made.busy()
    assert not made.passes(" and more")


def test_the_end_of_a_line_that_was_held_is_shown_with_what_follows() -> None:
    made = passing("Words", held=" <inv", idle=False)
    assert not made.passes("oice")
    assert made.read_in_line("oice") == [Text(" <invoice")]
    assert made.idle


def test_what_may_become_an_opener_stays_held() -> None:
    made = passing("Words", held=" <in", idle=False)
    assert made.read_in_line("vo") == [Text(" ")]
    assert not made.idle
    assert made.read_in_line("ke ") is None


def test_a_closer_of_reasoning_ends_what_passes_as_one_line() -> None:
    made = passing("Words")
    assert made.passes(" more")
    assert not made.passes("</think>")


@pytest.mark.parametrize(
    ("fate", "leaves"), [(Fate.SHOWN, [Text("ab")]), (Fate.TAKEN, [Markup("ab")])], ids=["shown", "taken"]
)
def test_consumed_text_leaves_by_its_fate(fate: Fate, leaves: list[Event]) -> None:
    scan = Scanner()
    consumed = Consumed(scan, Position())
    scan.feed("abc")
    scan.take(3)
    consumed.fate = fate
    consumed.drain(2, is_payload=False)
    assert consumed.out == leaves
    assert (consumed.drained, consumed.at) == (2, 3)


def test_what_is_put_back_is_consumed_again() -> None:
    scan = Scanner()
    consumed = Consumed(scan, Position())
    scan.feed("abc")
    scan.take(3)
    consumed.hold()
    consumed.rewind(1)
    assert (consumed.at, scan.rest()) == (1, 2)


def test_reasoning_leaves_as_such() -> None:
    scan = Scanner()
    consumed = Consumed(scan, Position())
    scan.feed("Hm.")
    scan.take(3)
    consumed.take_reasoning()
    assert consumed.out == [Markup("Hm."), Reasoning("Hm.", moved=True)]
    assert consumed.reasoned


@pytest.mark.parametrize("complete", [True, False])
def test_the_payload_of_a_declined_call_ends_on_no_lines_start(complete: bool) -> None:
    scan, position = Scanner(), Position()
    consumed = Consumed(scan, position)
    scan.feed("<b>\n")
    scan.take(4)
    consumed.drain()
    consumed.end_payload(complete=complete)
    assert position.line_start is complete
