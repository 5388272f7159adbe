"""Every recorded stream of `shared/suites/streams`, with mending on: no byte changes of one that is not damaged itself.

Strategy: each goes through an exchange with its own request, whole and in the pieces in which it came, and through one
that mends nothing; those that differ are the damaged ones that are listed, and what they become has another reading.
"""

import pytest

from support.exchanges import run
from support.recordedstreams import DAMAGED, FILES, RecordedStream, recorded_streams
from support.sampling import some
from toolcalls.route import Route

IN_TEXT = {"dd-trace-py__anthropic_completion_tools_stream__0__a5ec0efc"}  # begins its text with `<thinking>`


def through(stream: RecordedStream, pieces: list[bytes], route: Route) -> tuple[bytes, bool]:
    """What leaves, and whether anything was said to be mended."""
    exchange = stream.exchange(route)
    out = run(exchange, pieces)
    said = any(verdict.repairs for _, verdict in exchange.verdicts if verdict.dialect is None)
    return out, said or any("the client was given" in note.text for _, note in exchange.notes)


@pytest.mark.parametrize("name", FILES)
def test_what_is_mended_by_choice_changes_no_sound_stream(name: str) -> None:
    changed = set()
    streams = some(recorded_streams(name), 25, name)
    for stream in streams:
        off, _ = through(stream, [stream.body], Route(mend=()))
        on, _ = through(stream, [stream.body], Route(mend=("reasoning", "errors")))
        changed |= {stream.id} if on != off else set()
    assert changed == {stream.id for stream in streams} & IN_TEXT


@pytest.mark.parametrize("name", FILES)
def test_only_damaged_streams_are_mended(name: str) -> None:
    changed = set()
    streams = some(recorded_streams(name), 25, name)
    for stream in streams:
        outs = [through(stream, pieces, Route()) for pieces in ([stream.body], stream.pieces)]
        off, said = through(stream, [stream.body], Route(mend=()))
        assert outs[0] == outs[1], stream.id
        assert not said
        assert (outs[0][0] != off) == outs[0][1], stream.id
        if outs[0][0] != off:
            changed.add(stream.id)
    assert changed == {stream.id for stream in streams} & set(DAMAGED)
