"""Markup that a value swallowed, and markup that a value is about."""

import pytest

from toolcalls.mending.markup import in_name, place_in_value


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("ls", None),
        ("a < b", None),
        ("ls</parameter>", 2),
        ("ls</parameter></invoke>\n", 2),
        ('ls</parameter>\n<parameter name="b">x', 2),
        ("ls</parameter> and more", None),
        ("</parameter>", 0),
        ("<parameter>ls</parameter>", None),
        ("ls<|im_end|>", 2),
    ],
)
def test_closing_markup_that_nothing_opened(value: str, place: int | None) -> None:
    assert place_in_value(value) == place


KEYS = ("path", "mode", "lines")


@pytest.mark.parametrize(
    ("value", "key", "place"),
    [
        ("a.txt</path><mode>rw", "path", 5),
        ("a.txt</path>\n<lines>1", "path", 5),
        ("</path><mode>rw", "path", 0),
        ("a.txt</path><path>b", "path", None),  # the argument itself, once more
        ("a.txt</path><other>b", "path", None),
        ("a.txt</path> <mode>, as said", "path", 5),
        ("a.txt</path>", "path", None),
        ("<path>a.txt</path><mode>rw", "path", None),  # the value opened it itself
        ("a.txt</path><mode>rw", "mode", None),
        ("a.txt</><mode>rw", "", None),
        ("<mode>rw", "path", None),
        ("<mode>rw", "", None),
        ("a<mode>rw", "lines", None),
        ("abcdef<mode>rw", "path", None),
        ("a< <mode>rw", "", None),
        ("ab< <mode>rw", "", None),
    ],
)
def test_the_closing_tag_of_the_argument_itself(value: str, key: str, place: int | None) -> None:
    assert place_in_value(value, key, KEYS) == place


def test_the_first_place_counts() -> None:
    assert place_in_value("a</path><mode>b</parameter>", "path", KEYS) == 1
    assert place_in_value("a</parameter></path><mode>b", "path", KEYS) == 13


@pytest.mark.parametrize("name", ["Bash", "mcp__x.y-z", "functions.Bash:0"])
def test_a_name(name: str) -> None:
    assert not in_name(name)


@pytest.mark.parametrize("sign", "<>|｜{}[]()=\"'\n\r＜＞")
def test_what_no_name_holds(sign: str) -> None:
    assert in_name(f"Ba{sign}sh")
