"""A reply on the page: what the model wrote beside what the agent got."""

import re
from typing import Any

import pytest

from support.turns import turn, verdict
from toolcalls.insight.exchange_rows import glossary
from toolcalls.insight.passages import Passage
from toolcalls.insight.turn import Verdict
from toolcalls.insight.turn_sides import is_delivered, sides
from toolcalls.insight.vocabulary.glossary import GLOSSARY

ARGUMENTS = {"arguments": '{"path":"a.py"}', "size": 15}
LIFTED = verdict("lifted", "success", **ARGUMENTS)
NATIVE = verdict("native", "success", dialect=None, **ARGUMENTS)
FENCED = verdict("declined", "leak", reason="fenced")
BLOCKED = verdict("blocked", "blocked", rule="no-read", client="did not get it", dialect=None, **ARGUMENTS)
CUT = verdict("truncated", "broken", reason="cut_off", client="got the beginning of it")
WROTE = (Passage("Look: ", 6), Passage("<invoke>", 8, 0))


def _words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({}, ""),
        ({"written": (Passage("Hi.", 3),), "text": "Hi."}, "The model wrote, and the agent got copy text Hi."),
        (
            {"written": WROTE, "text": "Look: ", "verdicts": (LIFTED,)},
            "The model wrote copy text Look: <invoke> The agent got Look: → read_file copy arguments path a.py",
        ),
        (
            {"written": WROTE, "text": "Look: <invoke>", "verdicts": (FENCED,)},
            "The model wrote, and the agent got copy text Look: <invoke>",
        ),
        ({"verdicts": (NATIVE,)}, "The model wrote, and the agent got → read_file copy arguments path a.py"),
        (
            {"verdicts": (BLOCKED,)},
            "The model wrote native call read_file The agent got read_file: the agent did not get it",
        ),
        (
            {"written": WROTE, "text": "", "verdicts": (CUT,)},
            "The model wrote copy text Look: <invoke> The agent got read_file: the agent got the beginning of it",
        ),
        (
            {"verdicts": (verdict("native", "repair", dialect=None, repairs=("no_id",), **ARGUMENTS),)},
            "The model wrote native call read_file The agent got → read_file copy arguments path a.py",
        ),
    ],
)
def test_both_sides_or_one_where_the_agent_got_what_was_written(fields: dict[str, Any], shown: str) -> None:
    assert _words(sides(turn(**fields))).replace("&lt;", "<").replace("&gt;", ">") == shown


def test_each_call_is_marked_in_its_place_with_its_reason() -> None:
    shown = sides(turn(written=WROTE, text="Look: <invoke>", verdicts=(FENCED,)))
    assert '<mark class="leak" title="declined: fenced: it is in a fenced code block">&lt;invoke&gt;</mark>' in shown
    shown = sides(turn(written=WROTE, text="Look: ", verdicts=(LIFTED,)))
    assert 'Look: <mark class="lifted" title="lifted">&lt;invoke&gt;</mark>' in shown


def test_what_is_left_out_of_a_long_text_is_said() -> None:
    assert "<small> 4,900 characters more</small>" in sides(turn(written=(Passage("x" * 100 + "…", 5000),), text="x"))


@pytest.mark.parametrize(
    ("one", "delivered"),
    [
        (LIFTED, True),
        (NATIVE, True),
        (FENCED, False),
        (BLOCKED, False),
        (CUT, False),
        (verdict("lifted", "success"), False),
    ],
)
def test_a_call_that_the_agent_got(one: Verdict, delivered: bool) -> None:
    assert is_delivered(one) is delivered


def test_a_call_that_a_rule_took_is_not_delivered() -> None:
    assert not is_delivered(verdict("lifted", "blocked", rule="r", **ARGUMENTS))


def test_the_glossary_has_every_word() -> None:
    made = glossary()
    assert made.startswith('<template id="words">{')
    assert all(f"&quot;{word}&quot;: " in made for word in GLOSSARY)
    assert "<script" not in made
