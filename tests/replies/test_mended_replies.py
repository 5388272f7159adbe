"""A mended reply equals what the undamaged one would have given: each wire, each damage, any calls, any cut.

Strategy: calls are drawn, and damaged in every way of `support.damaging` and `support.damagedwires`, also several of a
kind in one reply. The sound reply with these calls goes through the same route. Both must give a strict client, and a
client that reads text, the same calls. What was mended is told; without mending, the damaged reply leaves as it came.
"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import damaging
from support.damagedwires import EVERY, Damaged
from support.damaging import Sound, repairs, same_calls
from support.exchanges import in_pieces, of_request, run
from support.sampling import examples
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.route import Route
from toolcalls.wires import all_wires

VALUES = st.text(st.sampled_from('abc <{}[]"\\,:é\x7f\n\U0001f600'), max_size=40)
COMMANDS = st.fixed_dictionaries({"command": VALUES}, optional={"n": st.sampled_from([5, 1e10, True, None, ["x"]])})


@st.composite
def sound(draw: st.DrawFn, name: str) -> Sound:
    """A call of this tool, sent in any pieces."""
    arguments = {} if name == "now" else draw(COMMANDS)
    text = json.dumps(arguments, ensure_ascii=draw(st.booleans()))
    cuts = sorted(draw(st.sets(st.integers(1, len(text) - 1), max_size=6))) if len(text) > 2 else []
    pieces = tuple(text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True))
    return Sound(f"call_{name}", name, pieces)


CALLS = st.lists(st.sampled_from(["Bash", "Read", "now"]), min_size=1, max_size=3, unique=True).flatmap(
    lambda names: st.tuples(*map(sound, names))
)
ROUTES: dict[str, dict[str, Any]] = {
    "observed": {},
    "lifted": {"client": "native", "upstream": "text"},
    "with values": {"mend": ("protocol", "json", "types", "names")},
}


def exchange(of: Damaged, **route: Any) -> Exchange:
    request = Request(tools=damaging.TOOLS, model="m")
    return of_request(all_wires()[of.wire], request, Route(**route), form=of.form, seed=b"s")  # type: ignore[arg-type]


def given_calls(one: Exchange) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(call.arguments)) for _, call in one.client_calls]


@examples(40)
@pytest.mark.parametrize("form", EVERY)
@given(st.data())
def test_a_mended_reply_equals_the_sound_one(form: str, data: st.DataObject) -> None:
    of = EVERY[form]
    calls = data.draw(CALLS)
    damaged = of.damages[data.draw(st.sampled_from(sorted(of.damages)))](calls)
    settings = ROUTES[data.draw(st.sampled_from(sorted(ROUTES)))]
    size = data.draw(st.integers(0, 40))
    one, undamaged = exchange(of, **settings), exchange(of, **settings)
    out = run(one, in_pieces(damaged, size))
    sound_body = of.sound(calls)
    assert run(undamaged, [sound_body]) == sound_body
    same_calls(of.heard(out), calls)
    assert given_calls(one) == given_calls(undamaged)
    assert [verdict.status for _, verdict in one.verdicts] == ["native"] * len(calls)
    assert all(bool(verdict.reason) == bool(verdict.repairs) for _, verdict in one.verdicts)
    assert (out != damaged) == bool(repairs(one))
    assert run(exchange(of, **settings), [damaged]) == out
    assert run(exchange(of, **settings | {"mend": ()}), in_pieces(damaged, size)) == damaged


@examples(15)
@pytest.mark.parametrize("form", EVERY)
@given(st.data())
def test_a_client_that_reads_text_gets_the_same(form: str, data: st.DataObject) -> None:
    of = EVERY[form]
    calls = data.draw(CALLS)
    damaged = of.damages[data.draw(st.sampled_from(sorted(of.damages)))](calls)
    route = {"client": "text", "client_dialect": "hermes", "upstream": "native"}
    one, undamaged = exchange(of, **route), exchange(of, **route)
    run(one, in_pieces(damaged, data.draw(st.integers(0, 40))))
    run(undamaged, [of.sound(calls)])
    assert [(verdict.status, verdict.name) for _, verdict in one.verdicts] == [
        (verdict.status, verdict.name) for _, verdict in undamaged.verdicts
    ]
    assert given_calls(one) == given_calls(undamaged)
