"""transducer.py: strict JSON passes, what people and Python write becomes strict JSON, the rest fails or stays open.

Strategy: tables for what each rule says, hypothesis for the laws (strict JSON unchanged, Python's spelling understood,
any text harmless, any split the same), JSONTestSuite for strictness, CPU time compared for linear work.
"""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.growth import grows_with_its_input
from support.repository import shared_path
from support.transducing import Outcome, run
from toolcalls.values.conversion import is_json
from toolcalls.values.spans import decoded_end, spans
from toolcalls.values.transducer import MAX_DEPTH, Path, Transducer


def whole(text: str, **options: bool) -> Outcome:
    """The outcome of the text in one piece; it is the same character by character."""
    outcome = run([text], **options)
    assert run(list(text), **options) == outcome
    return outcome


def joined(text: str) -> str:
    """Surrogate halves that are side by side are one character, as in every JSON reader."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def has_surrogates(text: str) -> bool:
    """Whether UTF-8 cannot carry the text."""
    return any("\ud800" <= char <= "\udfff" for char in text)


any_text = st.text(alphabet=st.characters(exclude_categories=()))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)
_CHARACTERS = "{}[]\"':,\\/*# \t\n\r0123456789.+-eEuxUaé\x00\x7f\u2028\ud83d\ude00\ufeff"
_WORDS = [
    "true", "null", "None", "False", "NaN", "tru", "//", "/*", "*/", '"a"', "'b'", '"a":', "\\u12", "\\'", "\\x4",
    "[1,", "},",
]  # fmt: skip
tokens = st.sampled_from([*_CHARACTERS, *_WORDS])
jsonish = st.lists(tokens, max_size=40).map("".join) | st.lists(tokens, max_size=20).map(lambda p: "[" + "".join(p))


# --- strict JSON ------------------------------------------------------------------------------------------------------

STRICT = [
    '""', '"a"', "true", "false", "null", "[]", "{}", "[ ]", "{ }", '{"a" : [1 , {"a": {}}, []]\t,\r\n"a":null }',
    '"\\" \\\\ \\/ \\b\\f\\n\\r\\t \\u00e9 \\ud800 \\ud83d\\ude00 é😀\x7f\x85\u2028"', "\"it's\"", '"{[,]}//#/*"',
    "[0,-0,-1.5e+10,1e400,1.10,0e1,1E-7]", "[" + "7" * 5000 + "]", '{"a":1,"a":2,"":3}', '[1,"",[[],[{}]]]',
    "[" * MAX_DEPTH + "]" * MAX_DEPTH, '{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH,
]  # fmt: skip


@pytest.mark.parametrize("text", STRICT, ids=lambda text: text[:20])
@pytest.mark.parametrize("behind", ["", "x", " ", "]", '"', ",1", "//"])
def test_strict_json_passes_and_what_follows_is_left(text: str, behind: str) -> None:
    assert whole(text + behind) == Outcome(text, len(text), True, None, [])


def test_strict_json_passes_between_other_text() -> None:
    transducer = Transducer()
    assert transducer.feed('xx {"a"', 2) == ('{"a"', 7)
    assert transducer.feed("<>: 1}yy", 2) == (": 1}", 6)
    assert transducer.done
    assert transducer.feed("2", 0) == ("", 0)


@given(json_values, st.booleans(), st.sampled_from([None, 0, 2, "\t"]), st.sampled_from([(",", ":"), (" , ", " : ")]))
def test_what_json_writes_passes(
    value: Any, ascii_only: bool, indent: int | str | None, marks: tuple[str, str]
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent, separators=marks)
    got = whole(text)
    assert (got.offset, got.done, got.failed, got.repairs) == (len(text), True, None, [])
    if not has_surrogates(text):
        assert got.text == text
    assert not has_surrogates(got.text)
    assert json.loads(got.text) == json.loads(text)


@pytest.mark.parametrize("number", ["0", "-0", "12", "1.5", "1e9", "-1.5E-10", "9" * 40])
def test_a_number_at_the_top_ends_with_the_text_or_before_what_is_none(number: str) -> None:
    assert whole(number) == Outcome(number, len(number), True, None, [])
    for behind in (" ", "]", ",", "x", "//", '"'):
        assert whole(number + behind) == Outcome(number, len(number), True, None, [])
    transducer = Transducer()
    transducer.feed(number)
    assert not transducer.done


def test_jsontestsuite() -> None:
    counted = {"accept": 0, "reject": 0, "either": 0, "transform": 0}
    for line in shared_path("suites/json_jsontestsuite.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        counted[row["expect"]] += 1
        text = base64.b64decode(row["body_b64"]).decode("utf-8", "surrogateescape")
        got = run([text])
        assert run([text[at : at + 3] for at in range(0, len(text), 3)]) == got, row["name"]
        if got.done:
            assert is_json(got.text), row["name"]
            assert not has_surrogates(got.text), row["name"]
        if row["expect"] == "accept":
            assert (got.text, got.done, got.repairs) == (text.strip(" \t\r\n"), True, []), row["name"]
        elif row["expect"] == "reject":
            # It fails, stays open, is repaired by name, or ends before what does not belong to it; or it was no UTF-8.
            left = text[got.offset :].strip(" \t\r\n")
            assert not got.done or got.repairs or left or has_surrogates(text), row["name"]
    assert counted["accept"] >= 95
    assert counted["reject"] >= 188


def values_in(text: str, path: Path = (), at: int = 0) -> list[tuple[Path, str, int]]:
    """The way to each value in a container, its first character and its offset, in their order."""
    found: list[tuple[Path, str, int]] = []
    for step, begin, _ in spans(text, at, decoded_end) if text[at] in "[{" else ():
        place = (*path, None if isinstance(step, int) else step)
        found += [(place, text[begin], begin), *values_in(text, place, begin)]
    return found


@given(st.dictionaries(any_text.map(lambda key: key[:20]), json_values, max_size=3), st.booleans(), st.integers(1, 9))
def test_each_value_is_told_with_the_way_to_it_when_it_begins(
    value: dict[str, Any], ascii_only: bool, size: int
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    told: list[tuple[Path, str, int]] = []
    reader = Transducer(watch=lambda path, char, offset: told.append((path, char, offset)))
    for at in range(0, len(text), size):
        reader.feed(text[at : at + size])
        assert [one[2] for one in told] == [one[2] for one in values_in(text) if one[2] < at + size]
    assert [one[1:] for one in told] == [one[1:] for one in values_in(text)]
    assert [joined("/".join(map(str, one[0]))) for one in told] == [
        joined("/".join(map(str, one[0]))) for one in values_in(text)
    ]
    assert reader.path == ()


# --- repairs ----------------------------------------------------------------------------------------------------------

REPAIRED = [
    # what arrives, what leaves, what is named
    pytest.param("'a'", '"a"', ["single_quotes"], id="single-quotes"),
    pytest.param("{'a': 'b'}", '{"a": "b"}', ["single_quotes"], id="named-once"),
    pytest.param(r"'it\'s'", '"it\'s"', ["single_quotes"], id="apostrophe"),
    pytest.param("""'say "hi"'""", r'"say \"hi\""', ["single_quotes"], id="double-in-single"),
    pytest.param(r"""'\"'""", r'"\""', ["single_quotes"], id="escaped-double-in-single"),
    pytest.param(r"'a\\'", r'"a\\"', ["single_quotes"], id="backslash-before-the-quote"),
    pytest.param("[`a`]", '["a"]', ["backticks"], id="backticks"),
    pytest.param('{"a": `say "hi"\n`}', r'{"a": "say \"hi\"\n"}', ["backticks", "raw_newline"], id="lines-in-them"),
    pytest.param(r'{"a": `\` \$ \n`}', r'{"a": "` $ \n"}', ["backticks"], id="escapes-in-backticks"),
    pytest.param('{{"a": 1}}', '{"a": 1}', ["doubled_braces"], id="doubled-braces"),
    pytest.param(
        '{{"a": {{"b": [{{}}]}}, "c": 2}}', '{"a": {"b": [{}]}, "c": 2}', ["doubled_braces"], id="nested-ones"
    ),
    pytest.param('{{"a": {"b": 1}}}', '{"a": {"b": 1}}', ["doubled_braces"], id="single-ones-inside"),
    pytest.param(r'"it\'s"', '"it\'s"', ["invalid_escape"], id="apostrophe-in-double"),
    pytest.param('"a\nb\tc\r\n\x00"', r'"a\nb\tc\r\n\u0000"', ["raw_newline"], id="control-characters"),
    pytest.param('{"a\nb": 1}', r'{"a\nb": 1}', ["raw_newline"], id="in-a-key"),
    pytest.param('"\\\n"', r'"\\\n"', ["invalid_escape", "raw_newline"], id="backslash-at-line-end"),
    pytest.param(r'"\d+ C:\Users"', r'"\\d+ C:\\Users"', ["invalid_escape"], id="unknown-escape"),
    pytest.param(r'"\u12g4 \u"', r'"\\u12g4 \\u"', ["invalid_escape"], id="no-hexadecimal"),
    pytest.param(r'"\u12\n\x4"', r'"\\u12\n\\x4"', ["invalid_escape"], id="short-hexadecimal"),
    pytest.param(r'"\U00110000"', r'"\\U00110000"', ["invalid_escape"], id="beyond-unicode"),
    pytest.param(r"'\x41\x0a\U0001f600'", '"\\u0041\\u000a😀"', ["single_quotes", "invalid_escape"], id="python"),
    pytest.param(r'"\U00000022\U0000d800"', r'"\"\ud800"', ["invalid_escape"], id="python-special"),
    pytest.param("[1,]", "[1]", ["trailing_comma"], id="array"),
    pytest.param('{"a": 1 , \n}', '{"a": 1  \n}', ["trailing_comma"], id="object"),
    pytest.param('{"a":1,,}', '{"a":1}', ["doubled_separator", "trailing_comma"], id="twice-at-the-end"),
    pytest.param('{"a"::1,, ,"b":2}', '{"a":1, "b":2}', ["doubled_separator"], id="separators-that-stand-twice"),
    pytest.param("[[1,],2,]", "[[1],2]", ["trailing_comma"], id="twice"),
    pytest.param("[True,False,None]", "[true,false,null]", ["python_literal"], id="python-literals"),
    pytest.param("None", "null", ["python_literal"], id="none"),
    pytest.param('{"a": 1, // b, "c"\n"d": 2}', '{"a": 1, \n"d": 2}', ["comment"], id="line"),
    pytest.param("[1 # one\r\n, 2]", "[1 \r\n, 2]", ["comment"], id="hash"),
    pytest.param('{/*a*/"a"/**/:/***/1/*/ * / **/,/*"*/"b":2}', '{"a":1,"b":2}', ["comment"], id="block"),
    pytest.param(" // a\n/* b */ # c\n{}", "{}", ["comment"], id="before"),
    pytest.param("[1, // last\n]", "[1 \n]", ["comment", "trailing_comma"], id="behind-a-comma"),
    pytest.param("[1, /* a */ 2]", "[1,  2]", ["comment"], id="comma-that-stays"),
    pytest.param("[+1,.5,-.5,+.5e1]", "[1,0.5,-0.5,0.5e1]", ["number"], id="numbers"),
    pytest.param("{'a':True,}", '{"a":true}', ["single_quotes", "python_literal", "trailing_comma"], id="order"),
    pytest.param('["\ud83d\ude00\ud83d"]', r'["\ud83d\ude00\ud83d"]', [], id="raw-surrogates"),
]


@pytest.mark.parametrize(("text", "expected", "repairs"), REPAIRED)
def test_what_is_meant_becomes_strict_json(text: str, expected: str, repairs: list[str]) -> None:
    assert whole(text + "}") == Outcome(expected, len(text), True, None, repairs)
    assert is_json(expected)


def test_bare_keys_only_when_asked() -> None:
    text = "{a: 1, b_2-c.d :{é$:null},1:2}"
    assert whole(text, bare_keys=True) == Outcome(
        '{"a": 1, "b_2-c.d" :{"é$":null},"1":2}', len(text), True, None, ["bare_key"]
    )
    assert whole(text).failed == "no key at offset 1"
    assert whole("{.a:1}", bare_keys=True).failed == "no key at offset 1"
    assert whole("{a:b}", bare_keys=True).failed == "no value at offset 3"


def test_only_an_object_when_asked() -> None:
    assert whole(' // a\n{"a":[1]}', only_object=True).text == '{"a":[1]}'
    for text in ("[{}]", '"a"', "1", "+1", "null", "x"):
        assert whole(f" {text}", only_object=True) == Outcome("", 1, False, "not an object at offset 1", [])


@given(json_values)
def test_what_python_writes_is_understood(value: Any) -> None:
    got = whole(repr(value))
    assert got.done
    assert is_json(got.text)
    assert joined(json.dumps(json.loads(got.text), ensure_ascii=False)) == joined(json.dumps(value, ensure_ascii=False))


# --- what fails, and what stays open ----------------------------------------------------------------------------------

FAILING = [
    # what arrives, what has left before, the verdict
    ("x", "", "no value at offset 0"),
    ("\ufeff{}", "", "no value at offset 0"),
    (" \xa01", "", "no value at offset 1"),
    ("}", "", "no value at offset 0"),
    ("NaN", "", "no value at offset 1"),
    ("[Infinity]", "[", "no value at offset 1"),
    ("[-Infinity]", "[-", "no number at offset 2"),
    ("[trux]", "[", "no value at offset 4"),
    ("[nullx]", "[null", "neither a comma nor ] at offset 5"),
    ("[007]", "[0", "no number at offset 2"),
    ("[0x1F]", "[0", "neither a comma nor ] at offset 2"),
    ("[1_000]", "[1", "neither a comma nor ] at offset 2"),
    ("[5.]", "[5.", "no number at offset 3"),
    ("[+-1]", "[", "no number at offset 2"),
    ("[1e]", "[1e", "no number at offset 3"),
    ("[,1]", "[", "no value at offset 1"),
    ("[1,,2]", "[1,", "no value at offset 3"),
    ("[1 2]", "[1 ", "neither a comma nor ] at offset 3"),
    ("[1}", "[1", "neither a comma nor ] at offset 2"),
    ('["a" "b"]', '["a" ', "neither a comma nor ] at offset 5"),
    ('["""a"""]', '[""', "neither a comma nor ] at offset 3"),
    ("[1, (2)]", "[1, ", "no value at offset 4"),
    ("[1 /x]", "[1 ", "no comment at offset 4"),
    ('{"a" 1}', '{"a" ', "no colon at offset 5"),
    ('{"a"=1}', '{"a"', "no colon at offset 4"),
    ('{"a":}', '{"a":', "no value at offset 5"),
    ('{"a":,}', '{"a":', "no value at offset 5"),
    ('{"a":1;}', '{"a":1', "neither a comma nor } at offset 6"),
    ("{,}", "{", "no key at offset 1"),
    ("{1:2}", "{", "no key at offset 1"),
    ("{{{1", "{", "no key at offset 2"),
    ('{"a":1,{', '{"a":1', "no key at offset 7"),
    ('{{"a":1} 2', '{"a":1 ', "no second brace at offset 9"),
    ("`a`", "", "no value at offset 0"),
    ("{`a`:1}", "{", "no key at offset 1"),
    ("[" * (MAX_DEPTH + 1), "[" * MAX_DEPTH, f"too deep at offset {MAX_DEPTH}"),
]


@pytest.mark.parametrize(("text", "before", "failed"), FAILING, ids=lambda value: value[:20])
def test_what_is_not_certain_fails_where_it_is_seen(text: str, before: str, failed: str) -> None:
    got = whole(text)
    assert (got.done, got.failed) == (False, failed)
    assert got.text == before
    assert failed.endswith(f"at offset {got.offset}")


def test_nothing_leaves_behind_a_failure() -> None:
    transducer = Transducer()
    assert transducer.feed("[1 2") == ("[1 ", 3)
    assert transducer.feed("]") == ("", 0)
    transducer.finish()
    assert not transducer.done


OPEN = [
    # what arrives and is consumed whole, what has left
    ("", ""), (" \n", ""), ("[", "["), ("[1", "[1"), ("[1, ", "[1"), ("[1,2", "[1,2"), ('"a', '"a'), ('"a\\', '"a'),
    ('"a\\u00', '"a'), ("tru", ""), ("[Non", "["), ('{"a"', '{"a"'), ('{"a":', '{"a":'), ('{"a":1', '{"a":1'),
    ('{"a":{}', '{"a":{}'), ("// a", ""), ("[1 /* a *", "[1 "), ("[1 /", "[1 "), ("-", "-"), ("1.", "1."),
    ("1e+", "1e+"), ("+", ""), ("'a\"", '"a\\"'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "left"), OPEN)
def test_what_was_cut_off_is_not_completed(text: str, left: str) -> None:
    got = whole(text)
    assert (got.text, got.offset, got.done, got.failed) == (left, len(text), False, None)


# --- laws -------------------------------------------------------------------------------------------------------------


@given(jsonish | any_text | json_values.map(json.dumps), st.booleans(), st.booleans())
def test_any_text_is_harmless_and_any_split_the_same(text: str, bare_keys: bool, only_object: bool) -> None:
    got = whole(text, bare_keys=bare_keys, only_object=only_object)
    assert not (got.done and got.failed)
    assert got.done or got.failed or got.offset == len(text)
    assert not has_surrogates(got.text)
    if got.done:
        assert is_json(got.text)
    if not got.repairs and not has_surrogates(text):
        assert text[: got.offset].lstrip(" \t\r\n").startswith(got.text)
    if is_json(text) and not only_object:
        assert got.done
        assert not got.repairs


@given(jsonish | json_values.map(repr), st.data())
def test_any_cut_in_two_is_the_same(text: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(text)))
    assert run([text[:cut], text[cut:]], bare_keys=True) == run([text], bare_keys=True)


REPEATED = {
    "string": ('"', "plain text, "),
    "escapes": ('"', 'a\\n\\"\\u00e9'),
    "backslashes": ('"', "\\"),
    "raw line ends": ("'", 'a\n"'),
    "items": ("[1", ', {"a": [true]}'),
    "white space behind a comma": ("[1,", " \n"),
    "digits": ("", "7"),
    "comment": ("/*", "* "),
    "comments": ("[", "//\n/**/"),
    "bare key": ("{", "abc"),
}


@pytest.mark.parametrize("kind", REPEATED)
def test_work_grows_with_the_text(kind: str) -> None:
    begin, unit = REPEATED[kind]

    def work(length: int) -> Callable[[], object]:
        text = begin + unit * (length // len(unit))
        pieces = [text[at : at + 4] for at in range(0, len(text), 4)]

        def reading() -> None:
            assert run(pieces, bare_keys=True).failed is None

        return reading

    grows_with_its_input(work, 20_000)


def test_long_texts_in_one_piece() -> None:
    """No depth, no length and no number of escapes is too much for the one regular expression."""
    for text in ('"' + "a" * 2_000_000 + '"', '"' + "\\n" * 500_000 + '"', "[" + "9" * 500_000 + "]"):
        assert run([text]) == Outcome(text, len(text), True, None, [])
