"""JSON whose strings lost their escapes, or that is escaped as a whole: read where only one reading is left.

Strategy: sound objects lose the escapes of their quotes, and what is read is what was meant, or nothing. Sound objects
lose a comma, a colon or a quote of their own instead, and then no such repair may make something of them.
"""

import json
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.strategies import law
from toolcalls.values.conversion import escape
from toolcalls.values.damaged_json import DamagedJson
from toolcalls.values.transducer import Transducer

WORDS = ["hi", "a b", "", " ", "{x}", "[1]", "say: ", "x, ", "k", "1", "; ", "print(", ")", "\n", "é", "</b>", "'"]
plain = st.lists(st.sampled_from(WORDS), max_size=4).map("".join)
quoting = st.lists(st.one_of(st.sampled_from(WORDS), st.sampled_from(['"hi"', '"a", "b"', '""', '"'])), max_size=5)
keys = st.sampled_from(["command", "path", "a b", "k", "x/y"])


def objects(texts: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, object]]:
    values = st.one_of(texts, st.integers(0, 9), st.lists(texts, max_size=2), st.dictionaries(keys, texts, max_size=2))
    return st.dictionaries(keys, values, max_size=3)


def read(pieces: list[str], reader: Transducer | None = None) -> tuple[str, bool, tuple[str, ...], int]:
    """What leaves, whether it is whole, its repairs, and how much was consumed; as the grammars feed it."""
    reader = DamagedJson() if reader is None else reader
    made, unread, consumed = "", "", 0
    for number, piece in enumerate([*pieces, ""]):
        unread += piece
        last = number == len(pieces)
        out, end = reader.feed(unread, final=last) if isinstance(reader, DamagedJson) else reader.feed(unread)
        made, unread, consumed = made + out, unread[end:], consumed + end
        if reader.done or reader.failed:
            break
    return made, reader.done, tuple(reader.repairs), consumed


def cut(text: str, places: list[int]) -> list[str]:
    ends = sorted({0, *(place for place in places if place < len(text)), len(text)})
    return [text[start:end] for start, end in pairwise(ends)]


def unescaped(text: str) -> str:
    return text.replace('\\"', '"')


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('{"command": "echo "hi""}', {"command": 'echo "hi"'}),
        ('{"command": ""ls""}', {"command": '"ls"'}),
        ('{"command": "grep "a b" x.txt | head", "timeout": 5}', {"command": 'grep "a b" x.txt | head', "timeout": 5}),
        ('{"content": "print("hi")\\nprint("x", 1)\\n"}', {"content": 'print("hi")\nprint("x", 1)\n'}),
        ('{"content": "x = {"a": 1, "b": 2}"}', {"content": 'x = {"a": 1, "b": 2}'}),
        ('{"content": "<a href="x">y</a>", "k": 1}', {"content": '<a href="x">y</a>', "k": 1}),
        ('{"a": "say "hi", then go", "k": 1}', {"a": 'say "hi", then go', "k": 1}),
    ],
)
def test_quotes_that_lost_their_escapes_are_text(text: str, meant: object) -> None:
    for size in (len(text), 1, 3):
        made, done, repairs, consumed = read([text[at : at + size] for at in range(0, len(text), size)])
        assert (done, repairs, consumed) == (True, ("nested_quotes",), len(text))
        assert json.loads(made) == meant


def test_keys_without_quotes_are_keys() -> None:
    made, whole, repairs, _ = read(['{path: "a \\"b', '\\"", to_line: 3}'])
    assert (json.loads(made), whole) == ({"path": 'a "b"', "to_line": 3}, True)
    assert "bare_key" in " ".join(repairs)


def test_such_a_string_is_known_before_the_text_has_ended() -> None:
    reader = DamagedJson()
    made, _ = reader.feed('{"command": "echo "hi""}\n')
    assert (reader.done, json.loads(made)) == (True, {"command": 'echo "hi"'})
    endless = DamagedJson()
    endless.feed('{"command": "echo "' + "x" * 4096)
    assert endless.failed


def test_a_doubled_comma_may_follow_such_a_string() -> None:
    text = '{"a": "say "b"", , "c": 1,, "d": 2}'
    for size in (len(text), 1, 3):
        made, done, repairs, consumed = read([text[at : at + size] for at in range(0, len(text), size)])
        assert (done, repairs, consumed) == (True, ("nested_quotes", "doubled_separator"), len(text))
        assert json.loads(made) == {"a": 'say "b"', "c": 1, "d": 2}


def test_keys_are_bare_where_the_first_one_is() -> None:
    text = '{a: 1, b: "x"}'
    for size in (len(text), 1, 3):
        read_ = read([text[at : at + size] for at in range(0, len(text), size)])
        assert read_ == ('{"a": 1, "b": "x"}', True, ("bare_key",), len(text))


@pytest.mark.parametrize("inside", ["x", '"x"', ""])
def test_three_quotes_are_a_string_of_another_language(inside: str) -> None:
    text = f'{{"a": """{inside}"""}}'
    for size in (len(text), 1, 3):
        _, done, repairs, _ = read([text[at : at + size] for at in range(0, len(text), size)])
        assert (done, repairs) == (False, ())


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "x" "k": "y"}',  # a comma is missing
        '{"a": "x"; "k": "y"}',
        '{"a": "x", k": "y"}',  # a quote is
        '{"a": "x", k: 1, "b": "y"}',
        '{"a": "x, "k": "y"}',
        '{"a": "say "hi}',
        '{"a": "say "hi", "k": 1}',  # one of two is: which one?
        '{"a": "b" c\n"}',
        '{"a": "x" y}}</tool_call><tool_call>{"name": "z"}',
        '{"a": "x" y<|im_end|>"z"}',
        '{"a": ["say "b" c", "d"]}',
    ],
)
def test_what_may_be_meant_in_two_ways_is_left(text: str) -> None:
    for size in (len(text), 1):
        _, done, repairs, _ = read([text[at : at + size] for at in range(0, len(text), size)])
        assert (done, repairs) == (False, ())


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("{&quot;a&quot;: 1}", '{"a": 1}'),
        ("{&#34;a&#34;: {&#34;b&#34;: [true, &#34;x&#34;]}}", '{"a": {"b": [true, "x"]}}'),
        (
            "{&quot;a&quot;: &quot;&lt;i&gt; &amp; &#39;b&apos; &amp;amp; & \\&quot;c\\&quot;&quot;}",
            '{"a": "<i> & \'b\' &amp; & \\"c\\""}',
        ),
    ],
)  # fmt: skip
def test_an_object_that_is_escaped_for_html_is_read_as_what_it_says(text: str, made: str) -> None:
    for size in (len(text), 1, 3):
        read_ = read([text[at : at + size] for at in range(0, len(text), size)])
        assert read_ == (made, True, ("entities",), len(text))


@pytest.mark.parametrize("text", ['{&quot;a&quot;: "x"}', "{&quot;a&quot;: &quot;<&quot;}", "{&quot;a&quot;: &quot;b"])
def test_what_is_escaped_for_html_in_part_is_left(text: str) -> None:
    for size in (len(text), 1):
        assert not read([text[at : at + size] for at in range(0, len(text), size)])[1]


@pytest.mark.parametrize(
    "text",
    ['{"command": "a &gt; b &amp;&amp; c"}', '{"x": {"script": "&lt;"}}', '{"cmd": "sed -i \'s/&lt;br&gt;//g\' x"}'],
)
def test_entities_in_a_string_are_its_own(text: str) -> None:
    for size in range(1, len(text) + 1):
        assert read([text[at : at + size] for at in range(0, len(text), size)]) == (text, True, (), len(text))


@law
@given(objects(plain), st.booleans(), st.lists(st.integers(0, 90), max_size=6))
def test_sound_json_is_read_as_it_stands(value: dict[str, object], dense: bool, places: list[int]) -> None:
    text = json.dumps(value, separators=(",", ":") if dense else None, ensure_ascii=dense)
    assert read(cut(text, places)) == read([text], Transducer()) == (text, True, (), len(text))


@law
@given(objects(quoting.map("".join)), st.lists(st.integers(0, 90), max_size=6))
def test_what_lost_its_escapes_is_read_as_it_was_meant_or_not_at_all(
    value: dict[str, object], places: list[int]
) -> None:
    text = unescaped(json.dumps(value))
    made, done, repairs, consumed = read([text])
    assert (made, done, repairs, consumed) == read(cut(text, places))
    if done and "nested_quotes" in repairs and consumed == len(text):
        assert json.loads(made) == value


@law
@given(objects(plain), st.integers(0, 30))
@example({"k": "x", "command": "y"}, 1)
def test_a_comma_colon_or_quote_that_is_missing_is_not_made_up_for(value: dict[str, object], which: int) -> None:
    text = json.dumps(value)
    signs = [at for at, char in enumerate(text) if char in ',:"']
    if signs:
        at = signs[which % len(signs)]
        assert "nested_quotes" not in read([text[:at] + text[at + 1 :]])[2]


@law
@given(objects(quoting.map("".join)), st.lists(st.integers(0, 200), max_size=6))
def test_an_object_that_is_escaped_as_a_whole_is_read_as_what_it_says(
    value: dict[str, object], places: list[int]
) -> None:
    if value:
        text = json.dumps(json.dumps(value))[1:-1]
        made, done, repairs, consumed = read(cut(text, places))
        assert (json.loads(made), done, repairs, consumed) == (value, True, ("escaped_quotes",), len(text))


def passing_over(pieces: list[str]) -> tuple[str, bool, str | None, tuple[str, ...], int]:
    """What leaves where a piece that is all content of a string is not fed; as the reader lets it leave."""
    reader, made, unread, passed = DamagedJson(), "", "", 0
    for number, piece in enumerate([*pieces, ""]):
        wakes = reader.wake_on
        if piece and not unread and wakes is not None and not wakes(piece):
            made += escape(piece)
            reader.skip(len(piece))
            passed += 1
            continue
        unread += piece
        out, end = reader.feed(unread, final=number == len(pieces))
        made, unread = made + out, unread[end:]
        if reader.done or reader.failed:
            break
    return made, reader.done, reader.failed, tuple(reader.repairs), passed


@law
@given(
    st.one_of(
        objects(quoting.map("".join)).map(json.dumps).map(unescaped),
        objects(quoting.map("".join)).map(lambda value: json.dumps(value, ensure_ascii=False)),
        objects(quoting.map("".join)).map(repr),
        objects(st.sampled_from(["a &lt; b", "x &amp;& y", "a\u2028b", "\x7f"])).map(
            lambda value: json.dumps(value, ensure_ascii=False)
        ),
        objects(plain).map(json.dumps).map(lambda text: text.replace('"', '\\"')),
        objects(plain).map(json.dumps).map(lambda text: text.replace('"', "&quot;")),
    ),
    st.integers(1, 6),
)
def test_a_piece_that_is_all_string_need_not_be_fed(text: str, size: int) -> None:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    fed = DamagedJson()
    made, done, repairs, _ = read(pieces, fed)
    assert passing_over(pieces)[:4] == (made, done, fed.failed, repairs)


def test_most_pieces_of_a_long_string_are_not_fed() -> None:
    text = json.dumps({"k": "plain words " * 20})
    assert passing_over([text[at : at + 4] for at in range(0, len(text), 4)])[4] > 50
