"""Calls whose names, values or JSON came damaged, mended by choice: `mend: [types, names, json]`, on every wire.

Strategy: each damage of a sound call comes in pieces of any size, with a sound call after it, and the client must get
the sound calls: by a strict reading, with the ids that came. Without the kind, nothing changes, byte for byte.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import pytest

from support.damaging import LS, Sound, chat_stream, entries
from support.exchanges import in_pieces as bytes_in_pieces
from support.exchanges import of_kind, of_request, run, same_wherever_it_is_cut
from support.processorcases import no_reactors, route_of
from support.sampling import a_few, some
from support.valuedamages import FORMS, KINDS, NO_JSON, NO_NAMES, SOUND, TOOLS, UNSURE, Damage, Form, in_pieces
from toolcalls.events import Change, Verdict
from toolcalls.insight.descriptions import describe
from toolcalls.insight.report import make_report
from toolcalls.processors import Processors
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.route import Route
from toolcalls.wires import all_wires

EVERY = ("protocol", "types", "names", "json")
SIZES = (0, 1, 4)
each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
EACH = [
    pytest.param(kind, damage, id=f"{kind}: {title}") for kind, row in KINDS.items() for title, damage in row.items()
]


def exchange(form: Form, *mend: str, **route: Any) -> Exchange:
    request = Request(tools=TOOLS, model="m")
    made = Route(mend=mend, **route)  # type: ignore[arg-type]
    return of_request(all_wires()[form.wire], request, made, form=form.form, seed=b"s")  # type: ignore[arg-type]


def body_of(form: Form, call: Sound, size: int) -> bytes:
    """A reply with this call in pieces, and a sound one after it."""
    return form.body((replace(call, pieces=in_pieces(call.arguments, size)), LS))


def natives(one: Exchange) -> list[Verdict]:
    return [verdict for _, verdict in one.verdicts]


def same_value(heard: str, wanted: str) -> bool:
    """Whether two argument texts say the same, in the same order, digit for digit."""
    return _spelt(heard) == _spelt(wanted)


def _spelt(text: str) -> Any:
    return json.loads(text, object_pairs_hook=list, parse_int=str, parse_float=str)


def _decoded(text: str) -> Any:
    """Arguments whose strings that hold an object or array are read, since a server has its own spelling for these."""
    made = json.loads(text)
    return {
        key: json.loads(one) if str(one)[:1] in set("[{") and isinstance(one, str) else one for key, one in made.items()
    }


def sizes(form: Form) -> Sequence[int]:
    return SIZES if form.form == "sse" and form.as_text else (0,)


@each_form
@pytest.mark.parametrize(("kind", "damage"), EACH)
def test_the_call_comes_back(form: Form, kind: str, damage: Damage) -> None:
    for mend in ((kind,), EVERY):
        for size in sizes(form):
            body = body_of(form, damage.call, size)
            if not form.as_text and kind == "json" and "protocol" not in mend:
                continue  # a string for an object is the protocol's
            one = exchange(form, *mend)
            out = run(one, [body])
            (id_, name, text), behind = form.heard(out)
            assert (id_, name) == (damage.call.id, damage.name)
            if form.as_text or kind == "json":
                assert same_value(text, damage.arguments), (size, text)
            else:
                assert _decoded(text) == _decoded(damage.arguments)
            assert behind[1:] == form.heard(form.body((SOUND, LS)))[1][1:]
            first, second = natives(one)
            assert damage.repairs <= set(first.repairs), first
            assert (first.status, second.status, second.repairs) == ("native", "native", ())
            assert first.reason is not None


@pytest.mark.parametrize(("kind", "damage"), EACH)
def test_no_piece_of_arguments_follows_their_end(kind: str, damage: Damage) -> None:
    """On Responses, where an event of its own says that all arguments have come, with all of them in it."""
    for size in SIZES:
        out = run(exchange(FORMS["openai_responses"], kind), [body_of(FORMS["openai_responses"], damage.call, size)])
        pieces: dict[int, str] = {}
        ended: dict[int, str] = {}
        for line in out.decode().splitlines():
            event = json.loads(line[6:]) if line.startswith("data: {") else {}
            if event.get("type") == "response.function_call_arguments.delta":
                assert event["output_index"] not in ended, (size, line)
                pieces[event["output_index"]] = pieces.get(event["output_index"], "") + event["delta"]
            elif event.get("type") == "response.function_call_arguments.done":
                ended[event["output_index"]] = event["arguments"]
        assert pieces
        assert pieces == ended


@each_form
@pytest.mark.parametrize(("kind", "damage"), EACH)
def test_it_is_mended_by_choice_only(form: Form, kind: str, damage: Damage) -> None:
    body = body_of(form, damage.call, 3)
    others = tuple(one for one in ("types", "names", "json") if one != kind)
    assert run(exchange(form, *others), [body]) == body
    assert run(exchange(form), [body]) == body


@pytest.mark.sampled(12)
@each_form
@pytest.mark.parametrize(("kind", "damage"), a_few(EACH, 4, "cut values"))
def test_any_cut_gives_the_same(form: Form, kind: str, damage: Damage) -> None:
    body = body_of(form, damage.call, 5)
    same_wherever_it_is_cut(lambda: exchange(form, "protocol", kind), body, step=61)


@each_form
def test_what_is_sound_leaves_at_once(form: Form) -> None:
    """Frame by frame: nothing waits for anything after it, but a comma at the end of a piece."""
    for size in sizes(form):
        body = body_of(form, SOUND, size)
        one, plain = exchange(form, *EVERY), exchange(form)
        frames = bytes_in_pieces(body) if form.form == "whole" else body.splitlines(keepends=True)
        assert run(one, frames) == body
        assert not any(verdict.repairs for verdict in natives(one))
        one = exchange(form, "protocol", "types", "names")
        assert [one.feed(frame) for frame in frames] == [plain.feed(frame) for frame in frames]


@each_form
def test_a_sound_call_waits_for_one_piece_at_most(form: Form) -> None:
    if not (form.as_text and form.form == "sse"):
        return
    one = exchange(form, "json")
    frames = [frame + b"\n\n" for frame in body_of(form, SOUND, 1).split(b"\n\n") if frame]
    came = left = 0
    for frame in frames:
        left += len(one.feed(frame))
        assert came + len(frame) - left <= 3 * max(map(len, frames))
        came += len(frame)


@each_form
@pytest.mark.parametrize("text", UNSURE.values(), ids=UNSURE)
def test_what_is_not_sure_stays(form: Form, text: str) -> None:
    for size in sizes(form):
        body = body_of(form, replace(SOUND, pieces=(text,)), size)
        one = exchange(form, *EVERY)
        assert run(one, [body]) == body
        first, _ = natives(one)
        assert (first.status, first.reason, first.repairs) == ("native", "wrong_type", ())


@each_form
@pytest.mark.parametrize("text", NO_JSON.values(), ids=NO_JSON)
def test_what_is_cut_off_or_unsure_is_not_completed(form: Form, text: str) -> None:
    for size in sizes(form)[: 1 if "}{" in text else None]:
        body = body_of(form, replace(SOUND, pieces=(text,)), size)
        one, protocol = exchange(form, *EVERY), exchange(form, "protocol")
        assert run(one, [body]) == run(protocol, [body]), size
        assert [verdict.repairs for verdict in natives(one)] == [verdict.repairs for verdict in natives(protocol)]


@each_form
@pytest.mark.parametrize("name", NO_NAMES)
def test_a_name_that_means_no_tool_stays(form: Form, name: str) -> None:
    body = body_of(form, Sound("call_r", name, ('{"path": "a"}',)), 4)
    one = exchange(form, *EVERY)
    assert run(one, [body]) == body
    assert not natives(one)[0].repairs


@pytest.mark.parametrize("reason", [None, "tool_calls"])
def test_what_waits_leaves_also_where_no_reason_to_finish_comes(reason: str | None) -> None:
    """A comma waits for what follows it; the arguments are cut off after it."""
    call = Sound("c", "read_file", ('{"path": "a"', ","))
    body = chat_stream([{"tool_calls": [entry]} for entry in entries(call, 0)], reason)
    out = run(exchange(FORMS["openai_chat"], "json"), [body])
    chunks = [json.loads(line[6:]) for line in out.split(b"\n\n") if line.startswith(b"data: {")]
    came = [entry for chunk in chunks for entry in chunk["choices"][0]["delta"].get("tool_calls", ())]
    assert "".join(entry["function"]["arguments"] for entry in came) == '{"path": "a",'
    assert out.endswith(b"data: [DONE]\n\n")


def test_the_nearest_of_two_tools_is_not_taken() -> None:
    tools = tuple(replace(tool, name=name) for tool, name in zip(TOOLS, ("get-x", "get_x", "a", "b", "c"), strict=True))
    form = FORMS["openai_chat"]
    body = form.body((Sound("c", "Get X", ("{}",)),))
    route = Route(mend=EVERY)  # type: ignore[arg-type]
    one = of_request(all_wires()["openai_chat"], Request(tools=tools), route, form="sse", seed=b"s")
    assert run(one, [body]) == body


@each_form
@pytest.mark.parametrize(("kind", "damage"), some(EACH, 8, "text clients"))
def test_a_text_client_gets_the_mended_call(form: Form, kind: str, damage: Damage) -> None:
    one = exchange(form, "protocol", kind, client="text", client_dialect="invoke", upstream="native")
    out = run(one, [body_of(form, damage.call, 3)])
    assert b'name=\\"' + damage.name.encode() + b'\\"' in out.replace(b"\\u003c", b"<")
    assert [verdict.status for verdict in natives(one)] == ["lowered"] * 2


# --- what is said -----------------------------------------------------------------------------------------------------


def mended_once(form: Form, damage: Damage) -> tuple[Exchange, Verdict, Change]:
    """A reply whose first call is damaged so: its exchange, and the verdict of that call with its one change."""
    one = exchange(form, *EVERY)
    run(one, [body_of(form, damage.call, 3)])
    first = natives(one)[0]
    (change,) = first.changes
    return one, first, change


@each_form
def test_the_verdict_says_what_was_before_and_after(form: Form) -> None:
    damage = KINDS["types"]["an array as a string"]
    one, first, change = mended_once(form, damage)
    assert change.rule == "mend"
    assert change.after is not None
    assert json.loads(change.before[1]) == json.loads(damage.call.arguments)
    assert json.loads(change.after[1]) == json.loads(SOUND.arguments)
    (defect,) = first.defects
    assert (defect.code, defect.path, defect.wanted) == ("wrong_type", "/edits", "array")
    assert change.before[1][defect.at :].startswith('"[')
    told = make_report(one)
    assert describe(told["verdicts"][0], told)[1] == "got it, mended"


@each_form
def test_the_verdict_says_how_the_tool_was_named(form: Form) -> None:
    _, first, change = mended_once(form, KINDS["names"]["a prefix"])
    assert change.after is not None
    assert (change.before[0], change.after[0], first.name) == ("functions.read_file", "read_file", "read_file")
    assert first.reason == "misspelt_name"


# --- rules ------------------------------------------------------------------------------------------------------------

RULES = [
    {"name": "no-etc", "action": "block", "tools": "read_file", "arguments": {"path": "^/etc"}},
    {"name": "no-rm", "action": "block", "tools": "run", "arguments": {"argv": "^rm /etc"}},
]
FORBIDDEN: dict[str, Sound] = {
    "encoded as a string": Sound("a", "run", ('{"argv": "[\\"rm', '\\", \\"/etc/x\\"]"}')),
    "single quotes": Sound("a", "read_file", ("{'path': '/e", "tc/x'}")),
    "another name": Sound("a", "ReadFile", ('{"path": "/etc/x"}',)),
    "in the name": Sound("a", "read_file<arg_key>path</arg_key><arg_value>/etc/x</arg_value>", ("{}",)),
}


@each_form
@pytest.mark.parametrize("call", FORBIDDEN.values(), ids=FORBIDDEN)
def test_rules_see_the_mended_call(form: Form, call: Sound) -> None:
    route = route_of({"mend": [*EVERY], "access": {"message": "No.", "rules": RULES}})
    processors = Processors(route, model="m", agent="test/1", history=(), run=no_reactors)
    wire = all_wires()[form.wire]
    one = of_kind(wire, TOOLS, route, "process", form=form.form, upstream="auto", processors=processors)  # type: ignore[arg-type]
    out = run(one, [form.body((call,))])
    assert b"etc" not in out
    (verdict,) = natives(one)
    assert (verdict.status, verdict.reason) == ("blocked", "access")


# --- what is held -----------------------------------------------------------------------------------------------------

HELD = KINDS["types"]["an array as a string"].call


@pytest.mark.parametrize("name", ["openai_chat", "anthropic"])
def test_what_is_held_has_a_limit(name: str) -> None:
    """After it the call leaves as it came, and another one is mended all the same."""
    form = FORMS[name]
    long = replace(HELD, pieces=(HELD.arguments.replace("a, }", "a" * 5000),))
    body = body_of(form, long, 50)
    assert run(exchange(form, *EVERY, max_frame_bytes=4096), [body]) == body
    mended = run(exchange(form, *EVERY), [body])
    assert json.loads(form.heard(mended)[0][2])["edits"][0]["old"] == "a" * 5000
    both = form.body(
        (
            replace(HELD, pieces=in_pieces(HELD.arguments, 50)),
            replace(long, pieces=in_pieces(long.arguments, 50), id="c"),
        )
    )
    first, second = form.heard(run(exchange(form, *EVERY, max_frame_bytes=8192), [both]))
    assert json.loads(first[2]) == json.loads(SOUND.arguments)
    assert json.loads(second[2]) == json.loads(long.arguments)


@each_form
def test_a_fault_gives_back_what_is_held(form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(*_: object) -> None:
        raise AssertionError("a fault of our own")

    monkeypatch.setattr("toolcalls.values.value_mending.mended_types", fault)
    body = body_of(form, HELD, 5)
    for size in (0, 97):
        one = exchange(form, *EVERY)
        out = b"".join([*map(one.feed, bytes_in_pieces(body, size)), one.close()])
        assert one.failure is not None
        assert out == body


@pytest.mark.parametrize(("name", "frames"), [("openai_chat", 20), ("openai_responses", 25), ("anthropic", 20)])
def test_what_is_held_when_the_connection_breaks(name: str, frames: int) -> None:
    form = FORMS[name]
    body = body_of(form, HELD, 5)
    cut = b"\n\n".join(body.split(b"\n\n")[:frames]) + b"\n\ndata: {"
    one = exchange(form, *EVERY)
    assert run(one, bytes_in_pieces(cut, 31), ends=False) == cut


def test_values_over_websocket() -> None:
    """Its messages are read like the lines of a stream."""
    form = FORMS["openai_responses"]
    body = body_of(form, HELD, 5)
    lines = b"".join(line[6:] + b"\n" for line in body.splitlines() if line.startswith(b"data: "))
    request = Request(tools=TOOLS, model="m")
    route = Route(mend=EVERY)  # type: ignore[arg-type]
    one = of_request(all_wires()[form.wire], request, route, form="ndjson", seed=b"s")
    out = run(one, lines.splitlines(keepends=True))
    first, _ = form.heard(b"".join(b"data: " + line + b"\n\n" for line in out.splitlines()))
    assert json.loads(first[2]) == json.loads(SOUND.arguments)


@pytest.mark.parametrize("reason", ["tool_calls", "stop", "length", None])
def test_calls_that_come_interleaved(reason: str | None) -> None:
    """Each is mended for itself, and those that are not leave as they came."""
    form = FORMS["openai_chat"]
    damaged, broken = KINDS["types"]["all of them"], KINDS["json"]["everything"]
    calls = [
        replace(damaged.call, pieces=in_pieces(damaged.call.arguments, 9)),
        replace(broken.call, id="b", pieces=in_pieces(broken.call.arguments, 4)),
        Sound("c", "read_file", in_pieces('{"path": "sound", "x": 1}', 3)),
        replace(SOUND, id="d", pieces=in_pieces(UNSURE["a word for an array"], 3)),
    ]
    body = chat_stream(interleaved(calls), reason)
    one = exchange(form, *EVERY)
    heard = [text for _, _, text in form.heard(run(one, [body]))]
    wanted = [damaged.arguments, broken.arguments, *(call.arguments for call in calls[2:])]
    assert all(same_value(text, other) for text, other in zip(heard, wanted, strict=True))
    assert [bool(verdict.repairs) for verdict in natives(one)] == [True, True, False, False]
    sound = chat_stream(interleaved(calls[2:]), reason)
    assert run(exchange(form, *EVERY), [sound]) == run(exchange(form, "protocol"), [sound])


def interleaved(calls: Sequence[Sound]) -> list[dict[str, Any]]:
    rows = [entries(call, index) for index, call in enumerate(calls)]
    return [{"tool_calls": [one]} for row in zip_longest(*rows) for one in row if one is not None]
