"""The arguments of one native call: what leaves of them at every cut, and what is said of it before and after."""

from functools import partial

import pytest

from support.dialectcases import chunks
from support.growth import grows_with_its_input
from toolcalls.values.native_arguments import NativeArguments

OBJECT = '{"path": "a.ts", "n": 1}'
ENCODED = '"{\\"path\\": \\"a.ts\\", \\"n\\": 1}"'

MENDED = [
    pytest.param(OBJECT * 2, OBJECT, ["repeated_arguments"], id="twice"),
    pytest.param(OBJECT + "\n" + OBJECT * 2, OBJECT + "\n", ["repeated_arguments"], id="three times"),
    pytest.param(ENCODED, OBJECT, ["double_encoded"], id="as a string"),
    pytest.param('"{\\"re\\": \\"\\d\\"}"', '{"re": "\\d"}', ["double_encoded"], id="a backslash that escapes nothing"),
    pytest.param(f" {ENCODED} ", f" {OBJECT} ", ["double_encoded"], id="as a string between blanks"),
    pytest.param(f'"{ENCODED[1:-1] * 2}"', OBJECT, ["double_encoded", "repeated_arguments"], id="twice in a string"),
    pytest.param(
        '"{\\"smile\\": \\"\\ud83d\\ude00\\"}"',
        '{"smile": "\U0001f600"}',
        ["double_encoded"],
        id="as a string, two halves",
    ),
    *(
        pytest.param(
            f'"{written}{ENCODED[1:]}', f"{space}{OBJECT}", ["double_encoded"], id=f"as a string behind {written!r}"
        )
        for written, space in (("\\n", "\n"), ("\\t", "\t"), ("\\n\\t", "\n\t"), ("  ", "  "), (" \\n", " \n"))
    ),
]

SOUND = [
    "{}",
    OBJECT,
    f"\n{OBJECT}\n",
    f'{OBJECT}{{"path": "b.ts"}}',
    OBJECT + OBJECT[:-1],
    '"a word"',
    '"\\n a word"',
    '"\\n\\t"',
    '"\\\\"',
    '"',
    '"\\',
    '"\\n\\',
    "17",
    '""',
    " ",
]


def through(pieces: list[str], *, cut: bool = False, **known: bool) -> tuple[str, NativeArguments]:
    arguments = NativeArguments(**known)
    left = "".join(arguments.feed(piece) for piece in pieces)
    return left + arguments.end(cut=cut), arguments


@pytest.mark.parametrize(("came", "left", "repairs"), MENDED)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_what_has_one_reading_is_mended(came: str, left: str, repairs: list[str], size: int) -> None:
    made, arguments = through(chunks(came, size))
    assert (made, arguments.repairs, arguments.whole) == (left, repairs, True)
    assert arguments.change == (came, left)


@pytest.mark.parametrize("came", SOUND)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_what_needs_no_mending_leaves_as_it_came(came: str, size: int) -> None:
    made, arguments = through(chunks(came, size))
    assert (made, arguments.repairs, arguments.change) == (came, [], None)


@pytest.mark.parametrize("came", [*SOUND, *(param.values[0] for param in MENDED)])
def test_nothing_is_mended_where_nothing_may_be(came: str) -> None:
    made, arguments = through(chunks(came, 3), mends=False)
    assert (made, arguments.repairs, arguments.change) == (came, [], None)
    assert arguments.begun is bool(came.strip())
    assert arguments.whole is came.strip().startswith("{")


def test_a_sound_piece_leaves_at_once() -> None:
    arguments = NativeArguments()
    assert [arguments.feed(piece) for piece in chunks(OBJECT, 4)] == chunks(OBJECT, 4)


@pytest.mark.parametrize("came", ["", "  "])
def test_no_arguments_are_an_object_where_the_tool_takes_none(came: str) -> None:
    made, arguments = through([came], takes_nothing=True)
    assert (made, arguments.repairs) == (came + "{}", ["empty_arguments"])
    assert arguments.change == (came, came + "{}")
    assert through([came])[0] == came
    assert through([came], takes_nothing=True, cut=True)[0] == came
    assert through([came], takes_nothing=True, mends=False)[0] == came


@pytest.mark.parametrize("stop", range(1, len(ENCODED)))
def test_what_was_cut_off_is_not_completed(stop: int) -> None:
    made, arguments = through([ENCODED[:stop]], cut=True)
    assert not made or not made.startswith("{") or OBJECT.startswith(made)
    assert arguments.repairs in ([], ["double_encoded"])


@pytest.mark.parametrize("stop", range(1, len(OBJECT)))
def test_the_start_of_a_repetition_stays(stop: int) -> None:
    came = OBJECT + OBJECT[:stop]
    assert through(chunks(came, 2))[0] == came


def test_of_long_arguments_neither_side_is_kept() -> None:
    long = '{"text": "' + "x" * 70_000 + '"}'
    made, arguments = through([long + "\n" + long])
    assert (made, arguments.change) == (long + "\n" + long, None)
    half = '{"text": "' + "x" * 25_000 + '"}'
    made, arguments = through([half, half])
    assert (made, arguments.repairs, arguments.change) == (half, ["repeated_arguments"], None)


@pytest.mark.parametrize(("size", "times"), [(64 * 1024, 1), (64 * 1024 + 1, 2)])
def test_a_repetition_is_known_up_to_a_length(size: int, times: int) -> None:
    long = '{"text": "' + "x" * (size - 12) + '"}'
    assert len(long) == size
    assert through([long, long])[0] == long * times


@pytest.mark.parametrize("begins", ['"', '"\\n', "{", "{}", '"{\\"a\\": 1}'])
@pytest.mark.parametrize("goes_on", ["    ", "\\n\\d", "{}"])
def test_work_grows_with_the_arguments(begins: str, goes_on: str) -> None:
    grows_with_its_input(lambda size: partial(through, [begins, *[goes_on] * size]), 4000)


@pytest.mark.parametrize(("blanks", "read"), [(1023, True), (1024, False)])
def test_an_object_far_inside_a_string_is_not_looked_for(blanks: int, read: bool) -> None:
    came = f'"{" " * blanks}{ENCODED[1:]}'
    for size in (1, 100, 5000):
        made, arguments = through(chunks(came, size))
        assert (made == came, arguments.repairs) == (not read, ["double_encoded"] if read else [])
