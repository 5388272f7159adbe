"""Frames that are known by their bytes: what is read in them is what a JSON reader finds, and nothing else is known."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.strategies import law
from toolcalls.wires.envelope import Envelope


def frame(text: str, *, ascii_only: bool = False, **more: object) -> bytes:
    return b"data: %b\n\n" % json.dumps({"text": text, **more}, ensure_ascii=ascii_only).encode(errors="surrogatepass")


def decoded(raw: bytes) -> tuple[int, str] | None:
    fields = json.loads(raw[6:])
    return (3, fields["text"]) if fields.keys() == {"text"} else None


def learned(text: str, *, takes_escapes: bool) -> Envelope:
    envelope = Envelope(decoded, takes_escapes=takes_escapes)
    assert envelope.learn(frame(text), 3, text)
    return envelope


@law
@given(st.text(), st.booleans(), st.booleans())
def test_what_is_known_is_what_is_decoded(text: str, ascii_only: bool, takes_escapes: bool) -> None:
    raw = frame(text, ascii_only=ascii_only)
    known = learned("some text", takes_escapes=takes_escapes).text_of(raw)
    assert known in {text, None}
    has_escapes = b"\\" in raw
    assert (known == text) is (takes_escapes or not has_escapes)


@pytest.mark.parametrize("text", ["\n", 'a "b"', "back\\slash", "<a>\n"])
def test_a_text_with_escapes_is_learned_where_such_texts_are_taken(text: str) -> None:
    assert learned(text, takes_escapes=True).text_of(frame("another")) == "another"
    assert not Envelope(decoded).learn(frame(text), 3, text)


@pytest.mark.parametrize(
    "raw",
    [
        frame("x", more=1),
        frame("x")[:-1],
        frame("half a pair \ud83d", ascii_only=True),
        b'data: {"text": "a\nb"}\n\n',
        b'data: {"text": "a", "text": "b"}\n\n',
        b'data: {"text": "a\\"}\n\n',
        b'data: {"text": "\xff\\n"}\n\n',
    ],
)
def test_any_other_frame_is_not_known(raw: bytes) -> None:
    assert learned("some text", takes_escapes=True).text_of(raw) is None


def test_what_was_forgotten_is_not_known() -> None:
    envelope = learned("some text", takes_escapes=True)
    envelope.forget()
    assert envelope.text_of(frame("another")) is None
    assert envelope.learn(frame("some text"), 3, "some text")
    assert envelope.text_of(frame("another")) == "another"
