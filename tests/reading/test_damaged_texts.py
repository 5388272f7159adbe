"""However a call is damaged: what becomes of it does not depend on where the text is cut, and nothing of it is lost.

Strategy: calls in the form of each dialect, damaged once or twice in the ways of `support.textdamages`, read by all
dialects and by the one alone, by every policy, whole, character by character and in random pieces.
"""

from random import Random
from typing import get_args

import pytest

from support.quoting import TOOLS, written
from support.readings import shown, verdicts
from support.sampling import DEEP, SAMPLED, SEED
from support.textdamages import DAMAGES
from toolcalls.dialects import all_dialects
from toolcalls.events import Event, Markup, Text
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request
from toolcalls.route import PolicyName, Route
from toolcalls.shapes import Call
from toolcalls.writing.writer import calls_in

CALLS = (
    Call("run_shell", '{"command": "ls -la | grep \'x\' > out.txt"}'),
    Call("run_shell", '{"command": "git status"}'),
    Call("write_file", '{"path": "a.html", "content": "<p>hi & \\"you\\"</p>\\n  x\\n"}'),
)
TEXTS = 2000 if DEEP else 12 if SAMPLED else 30  # for each dialect


def _read(route: Route, pieces: list[str], *, cut: bool) -> list[Event]:
    reader = Reader(CallPolicy(route, Request(tools=TOOLS), open_calls=True))
    events = [event for piece in pieces for event in reader.feed(piece)]
    return [*events, *reader.finish(cut=cut)]


@pytest.mark.sampled(40)
@pytest.mark.parametrize("dialect", all_dialects())
def test_no_cut_matters_and_nothing_is_lost(dialect: str) -> None:
    random = Random(f"{SEED} {dialect}")
    sound = list(filter(None, (written(dialect, call) for call in CALLS)))
    for _ in range(TEXTS if sound else 0):
        text = "\n".join(random.sample(sound, random.choice((1, min(2, len(sound))))))
        for damage in random.sample(DAMAGES, random.choice((1, 2))):
            text = damage(text, random) or " "
        policy: PolicyName = random.choice(get_args(PolicyName))
        route, cut = Route(dialects=random.choice((None, (dialect,))), policy=policy), random.random() < 0.2
        once = _read(route, [text], cut=cut)
        places = sorted(random.choices(range(len(text) + 1), k=random.randrange(1, 6)))
        pieces = [text[at:to] for at, to in zip([0, *places], [*places, len(text)], strict=True)]
        for again in (_read(route, list(text), cut=cut), _read(route, pieces, cut=cut)):
            assert shown(again) == shown(once), (text, route, cut)
            assert calls_in(again) == calls_in(once), (text, route, cut)
            assert verdicts(again) == verdicts(once), (text, route, cut)
        whole = "".join(event.text for event in once if isinstance(event, Text | Markup))
        assert whole == text, (text, route, cut)


@pytest.mark.parametrize("dialect", all_dialects())
def test_a_line_end_in_the_place_of_a_blank_may_end_a_piece(dialect: str) -> None:
    """A grammar that looks ahead must not take the end of a line for the end of what it looks for."""
    sound = written(dialect, CALLS[1])
    route = Route(dialects=(dialect,), policy="lenient")
    for at, sign in enumerate(sound):
        for end in ("\n", "\r\n") if sign in " :>]" else ():
            before = sound[:at] + ("" if sign == " " else sign)
            text, places = before + end + sound[at + 1 :], (len(before), len(before) + 1, len(before) + len(end))
            once = _read(route, [text], cut=False)
            for pieces in (list(text), *([text[:place], text[place:]] for place in places)):
                again = _read(route, pieces, cut=False)
                assert (shown(again), calls_in(again), verdicts(again)) == (
                    shown(once), calls_in(once), verdicts(once)
                ), pieces  # fmt: skip
