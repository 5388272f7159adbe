"""Pieces that just pass (`Passing.passes`), compared with a reader that looks at each line end and each line's start.

Strategy: texts of openers, their beginnings, stray words, line ends and ordinary words, in pieces of a few characters,
since that is where the short way could take for text what is none. What leaves with each piece must be the same, and so
must the place that is reached.
"""

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from support.readings import call_policy_for, calls_in, verdicts
from support.sampling import examples
from support.strategies import NOISE, TOOLS, routes
from toolcalls.dialects import all_dialects
from toolcalls.events import Event, Text
from toolcalls.reading.passing import Passing
from toolcalls.reading.reader import Reader
from toolcalls.route import Route

OPENERS = sorted(
    {opener for dialect in all_dialects().values() for opener in dialect.openers(tuple(tool.name for tool in TOOLS))}
)
ENDS = ("\n", "\r\n", "\r", "\n\n", "\n \n", "\n\t")
WORDS = (
    "The",
    "quick",
    ".",
    "T",
    "B",
    "Ba",
    "S",
    "Sav",
    "call",
    "court",
    "count",
    "co",
    "f",
    "func",
    "- ",
    "1. ",
    " ",
    "{",
)
ODD = (
    "</Think>",
    "</THINK>",
    "\n</Think>",
    "\n</Think> ",
    "[/Think]",
    '\uff1cinvoke name="Bash">',
    "\n\uff1ctool_call\uff1e",
)
# Nobody reads these where other text is; a verdict says so.
IN_THE_OPEN = (
    '{"name": "Bash", "arguments": {"command": "ls"}}',
    '```json\n{"name": "Bash", "arguments": {"command": "ls"}}\n```',
    '[Bash(command="ls")]',
    'Bash(command="ls")',
)
PIECES = st.one_of(
    st.sampled_from(ENDS),
    st.sampled_from(WORDS),
    st.tuples(st.sampled_from(WORDS), st.sampled_from(ENDS), st.sampled_from(WORDS)).map("".join),
    st.sampled_from(NOISE),
    st.sampled_from(ODD),
    st.tuples(st.sampled_from(OPENERS), st.integers(1, 12)).map(lambda one: one[0][: one[1]]),
    st.sampled_from(OPENERS),
)


TEXTS = st.lists(
    st.one_of(
        st.lists(PIECES, max_size=5),
        st.sampled_from(IN_THE_OPEN).map(lambda call: [call[at : at + 3] for at in range(0, len(call), 3)]),
    ),
    max_size=4,
).map(lambda parts: [piece for part in parts for piece in part])


def left_with_each(route: Route, pieces: list[str]) -> tuple[list[str], list[object], list[Event]]:
    """What has been shown after each piece, the place reached by then, and all that was read."""
    reader = Reader(call_policy_for(route))
    shown, places = list[str](), list[object]()
    events = list[Event]()
    for piece in pieces:
        events += reader.feed(piece)
        shown.append("".join(event.text for event in events if isinstance(event, Text)))
        places.append((reader.idle, reader.inside, reader._position.line_start))
    return shown, places, [*events, *reader.finish(cut=False)]


@examples(300)
@given(routes, TEXTS)
def test_a_line_end_that_passes_is_one_that_is_read(route: Route, pieces: list[str]) -> None:
    with patch.object(Passing, "_passes_line_end", lambda *_: False):
        long_way = left_with_each(route, pieces)
    short_way = left_with_each(route, pieces)
    assert short_way[:2] == long_way[:2]
    assert (calls_in(short_way[2]), verdicts(short_way[2])) == (calls_in(long_way[2]), verdicts(long_way[2]))
