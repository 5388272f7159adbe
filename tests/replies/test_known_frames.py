"""Frames that are known by their bytes, and text that just passes, do what frames that are decoded and read do.

Strategy: rows of frames as servers send them (text, text that is empty, finish reasons in each frame, reasoning between
them, another choice, messages of several blocks), through exchanges with and without processors, for native and text
clients, under each policy. The same rows go through an exchange that decodes every frame and in which all text takes
the long way; frame by frame the same bytes leave both.
"""

from collections.abc import Sequence
from typing import Any, get_args
from unittest.mock import patch

from hypothesis import example, given
from hypothesis import strategies as st

from support import geminiclient
from support.chatclient import HEAD, chunk, ending, event
from support.exchanges import of_kind, outcome
from support.messages import BODIES
from support.sampling import examples
from support.strategies import TOOLS, cut, decodable, invoke_of, replies
from toolcalls.processors import Keep, Processors
from toolcalls.processors.chain import Chain
from toolcalls.replies import lane
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.evidence import Kind
from toolcalls.route import Access, AccessRule, Condition, Filter, Loops, PolicyName, Reactor, Route
from toolcalls.wires import all_wires
from toolcalls.wires.envelope import Envelope

RULE = Access((AccessRule("never", "block", arguments=(Condition("*", matches="never said"),)),))
PROCESSED: dict[str, dict[str, Any]] = {
    "none": {"loops": None},
    "a rule": {"access": RULE},
    "a rule, nothing mended": {"access": RULE, "mend": ()},
    "reactors": {"reactors": (Reactor("none.py", "keep"),)},
    "filters": {"filters": (Filter("word", literal="word", replace="said"),)},
    "all": {"access": RULE, "loops": Loops(action="replace"), "reactors": (Reactor("none.py", "keep"),)},
    "loops": {"loops": Loops(action="replace", same_call=2)},
    "a small room": {"access": RULE, "max_frame_bytes": 1_500},
}
CALL = invoke_of("Bash", {"command": "echo a long line of words " * 6})
# Frames of Chat between those with text, by letter.
BETWEEN = {
    "e": event(chunk({"content": ""})),
    "r": event(chunk({"reasoning_content": "so"})),
    "o": event(chunk({"content": "other <b"}, index=1)),
    "s": event(chunk({"content": "and"}, "stop")),
    "f": event(chunk({}, "stop")),
    "c": b": a comment\n\n",
}


def exchange(wire: str, settings: dict[str, Any], policy: PolicyName, client: str) -> Exchange:
    route = Route(upstream="text", policy=policy, **settings)
    processors = Processors(route, run=lambda *_: Keep()) if route.processes else None
    kind: Kind = "lift" if client == "native" else "roundtrip"
    return of_kind(all_wires()[wire], TOOLS, route, kind, form="sse", dialect=client, processors=processors)


def compare(wire: str, pieces: Sequence[bytes], processed: str, policy: PolicyName, client: str, *, ends: bool) -> None:
    with (
        patch.object(Envelope, "text_of", lambda *_: None),
        patch.object(lane, "passing_text", lambda *_: lambda _piece: False),
        patch.object(lane, "numbered_piece", lambda _row: None),
        patch.object(lane, "streamed_piece", lambda *_: lambda *_: None),
        patch.object(Chain, "quiet", lambda *_: False),
    ):
        decoded = outcome(exchange(wire, PROCESSED[processed], policy, client), pieces, ends=ends)
    assert outcome(exchange(wire, PROCESSED[processed], policy, client), pieces, ends=ends) == decoded


SETTINGS = {
    "processed": st.sampled_from(sorted(PROCESSED)),
    "policy": st.sampled_from(get_args(PolicyName)),
    "client": st.sampled_from(["native", "native", "invoke", "hermes", "tagged", "fenced_json"]),
    "ends": st.booleans(),
}
texts = st.lists(st.one_of(replies, st.just(CALL), st.just("\n\n")), max_size=4).map("".join).map(decodable)


def in_pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@examples(300)
@given(text=texts, size=st.sampled_from([2, 5, 20]), between=st.text("    erosfc", max_size=20), **SETTINGS)
@example(
    text=CALL, size=5, between="s" * 30, processed="none", policy="standard", client="native", ends=True,
)  # fmt: skip
@example(
    text=CALL + "\nSo.", size=5, between="f" * 30, processed="a rule", policy="standard", client="native", ends=True
)
@example(
    text=CALL, size=5, between="e" * 30, processed="a rule", policy="standard", client="invoke", ends=True,
)  # fmt: skip
@example(
    text=CALL + "\nSo.", size=5, between="f", processed="a rule, nothing mended", policy="standard", client="invoke",
    ends=True,
)  # fmt: skip
@example(
    text=CALL + "\nSo.", size=5, between="   f", processed="none", policy="strict", client="native", ends=True,
)  # fmt: skip
@example(
    text=CALL + "\nSo.", size=5, between="   s", processed="a rule", policy="strict", client="hermes", ends=False,
)  # fmt: skip
def test_chat(text: str, size: int, between: str, processed: str, policy: PolicyName, client: str, ends: bool) -> None:
    frames = [event(chunk(HEAD))]
    for number, piece in enumerate(in_pieces(text, size)):
        frames.append(event(chunk({"content": piece})))
        if (letter := between[number % len(between)] if between else " ") != " ":
            frames.append(BETWEEN[letter])
    compare("openai_chat", [*frames, ending()], processed, policy, client, ends=ends)


@examples(200)
@given(
    st.data(), st.lists(texts, min_size=1, max_size=3), st.sampled_from(["anthropic", "responses"]),
)  # fmt: skip
def test_messages_of_several_blocks(data: st.DataObject, blocks: list[str], key: str) -> None:
    wire, _, body = BODIES[key]
    drawn = {name: data.draw(strategy) for name, strategy in SETTINGS.items()}
    compare(wire, data.draw(cut(body([block or "x" for block in blocks]))), **drawn)


@examples(200)
@given(text=texts, size=st.sampled_from([2, 5, 20]), finish=st.sampled_from([None, "STOP"]), **SETTINGS)
def test_gemini(
    text: str, size: int, finish: str | None, processed: str, policy: PolicyName, client: str, ends: bool
) -> None:
    said = [geminiclient.reply([piece], finish) for piece in in_pieces(text, size)]
    frames = [geminiclient.body_of([one]) for one in [*said, geminiclient.reply([""], "STOP")]]
    compare("gemini", frames, processed, policy, client, ends=ends)


def test_what_hides_a_call_is_left_out_each_time() -> None:
    """Frames of text that wait behind a call, each with one beside it that no rule would see."""
    hidden = {"function": {"name": "Bash", "arguments": '{"command": "hidden"}'}}
    said = [CALL[at : at + 5] for at in range(0, len(CALL), 5)]
    frames = [event(chunk({**HEAD, "content": "So.\n"})), *(event(chunk({"content": piece})) for piece in said[:12])]
    frames += [event({**chunk({"content": "long"}), "message": {"tool_calls": [hidden]}}) for _ in range(5)]
    frames += [event(chunk({"content": piece})) for piece in said[12:]]
    for client in ("native", "invoke"):
        made = exchange("openai_chat", PROCESSED["a rule"], "standard", client)
        out = b"".join([*map(made.feed, frames), made.feed(ending()), made.close()])
        assert b"hidden" not in out
        assert [note.rule for _, note in made.notes] == ["unread"]
