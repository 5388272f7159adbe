"""A dialect's own marks of reasoning: they end what the prompt began, and what is between them is no call.

A dialect whose models think between marks of their own needs a line in `OWN_MARKS` of `support/reasonings.py`; all
others think in `<think>`.
"""

import pytest

from support.quoting import CALL, TOOLS, written
from support.reasonings import FRAMED, OWN_MARKS
from toolcalls.dialects import all_dialects
from toolcalls.events import CallStart, Event, Reasoning, Text, Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request
from toolcalls.route import Route
from toolcalls.text.quoting_marks import REASONING_CLOSERS, REASONING_TAGS

# A message's end ends the thought that it is.
ENDS = {"atem": "<|eom|>", "harmony": "<|end|>", "inkling": "<|end_message|>"}
DIALECTS = [name for name, dialect in all_dialects().items() if written(name) and dialect.place in {"anywhere", "line"}]
READ = [pytest.param(name, named, id=f"{name}-{named}") for name in DIALECTS for named in ("named", "auto")]


def read(text: str, name: str, named: str, size: int, *, starts: bool = False) -> list[Event]:
    dialects = (name,) if named == "named" else None
    route = Route(client="native", upstream="text", dialects=dialects, starts_in_reasoning=starts)
    reader = Reader(CallPolicy(route, Request(tools=TOOLS), may_start_in_reasoning=False))
    pieces = [text[at : at + size] for at in range(0, len(text), size)] if size else [text]
    return [*(event for piece in pieces for event in reader.feed(piece)), *reader.finish(cut=False)]


def outcome(text: str, name: str, named: str, *, starts: bool = False) -> tuple[int, str, str, list[str | None]]:
    """How many calls, the text, the reasoning, why candidates are none; the same however the text is cut."""
    seen = []
    for size in (0, 1, 7):
        events = read(text, name, named, size, starts=starts)
        seen.append(
            (
                sum(isinstance(event, CallStart) for event in events),
                "".join(event.text for event in events if isinstance(event, Text)),
                "".join(event.text for event in events if isinstance(event, Reasoning)),
                [event.reason for event in events if isinstance(event, Verdict) and event.reason],
            )
        )
    assert seen[0] == seen[1] == seen[2]
    return seen[0]


def marks(name: str) -> tuple[str, str]:
    return OWN_MARKS.get(name, ("<think>", "</think>"))


def test_every_mark_is_known_to_the_place() -> None:
    for opener, closer in OWN_MARKS.values():
        assert closer in REASONING_CLOSERS
        assert not opener or opener in REASONING_TAGS or opener.startswith("<|channel>")


@pytest.mark.parametrize(("name", "named"), READ)
def test_a_closer_ends_what_the_prompt_began(name: str, named: str) -> None:
    closer = ENDS.get(name) or marks(name)[1]
    calls, text, _, reasons = outcome(f"I look.\n{closer}\n{written(name)}", name, named, starts=True)
    assert (calls, set(reasons) - {"not_a_call"}) == (1, set())
    if name not in ENDS:
        assert text.strip() == "I look."


@pytest.mark.parametrize(("name", "named"), READ)
def test_a_draft_in_what_the_prompt_began_is_no_call(name: str, named: str) -> None:
    if name in ENDS:
        pytest.skip("a call is a message, and its own end ends the thought")
    closer = marks(name)[1]
    draft = f"Shall I?\n{written(name)}\nNo.\n{closer}\n"
    calls, text, _, reasons = outcome(f"{draft}Done.", name, named, starts=True)
    assert calls == 0
    assert "reasoning" in reasons
    assert text.startswith(f"Shall I?\n{written(name)}\nNo.")
    assert outcome(f"{draft}{written(name)}", name, named, starts=True)[0] == 1


@pytest.mark.parametrize(("name", "named"), READ)
def test_a_draft_between_the_marks_is_no_call(name: str, named: str) -> None:
    opener, closer = marks(name)
    if not opener or name in ENDS:
        pytest.skip("nothing opens a thought in a reply")
    draft = f"{opener}Shall I?\n{written(name)}\nNo.\n{closer}"
    for before in ("", "Well.\n"):
        calls, text, thought, _ = outcome(f"{before}{draft}\nDone.", name, named)
        assert calls == 0
        assert CALL.name in (thought if name in FRAMED and not before else text)
        assert outcome(f"{before}{draft}\n{written(name)}", name, named)[0] == 1
    assert outcome(f"{written(name)}\n{draft}\nDone.", name, named)[0] == 1


@pytest.mark.parametrize("name", FRAMED)
def test_what_a_model_thinks_between_its_tokens_is_moved_to_the_reasoning(name: str) -> None:
    opener, closer = OWN_MARKS[name]
    calls, text, thought, _ = outcome(f"{opener}I look.{closer}{written(name)}", name, "auto")
    assert (calls, text, thought) == (1, "", "I look.")


@pytest.mark.parametrize("mark", ["<|close|> think <|sep|>", "<|close|>think <|sep|>", "<|close|><|sep|>"])
def test_a_mark_of_kimi_k3_that_came_damaged_ends_what_the_prompt_began(mark: str) -> None:
    call = written("kimi_k3")
    assert outcome(f"I look.{mark}{call}", "kimi_k3", "auto", starts=True) == (1, "I look.", "", [])
    calls, text, _, reasons = outcome(f"{call} No.{mark}Done.", "kimi_k3", "auto", starts=True)
    assert calls == 0
    assert text.endswith(" No.Done.")
    assert "reasoning" in reasons


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_the_end_of_a_draft_in_a_thought_is_the_drafts_own(size: int) -> None:
    text = f"Shall I?\n{written('inkling')}\nNo.<|end_message|>Done."
    reader = Reader(CallPolicy(Route(starts_in_reasoning=True), Request(tools=TOOLS)), starts_in_reasoning=True)
    events = [event for at in range(0, len(text), size) for event in reader.feed(text[at : at + size])]
    events += reader.finish(cut=False)
    shown = "".join(event.text for event in events if isinstance(event, Text))
    assert shown == text  # and the mark behind it ends no message that began here
    assert not [event for event in events if isinstance(event, CallStart)]
