"""Which closer ends a value between tags, and the repair that the end needs.

Strategy: the engine alone, on a form with names in attributes, in a call that has one parameter and lacks another. Each
text is what comes behind the value's opening tag; it is read whole and one character at a time.
"""

from collections.abc import Sequence

import pytest

from support.damaged import TOOLS
from toolcalls.shapes.tags.call_end import Parameters
from toolcalls.shapes.tags.form import TagForm
from toolcalls.shapes.tags.value_end import read_value
from toolcalls.shapes.tags.wrapped import Collected
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

FORM = TagForm("form")
CLOSER, END, NEXT = "</parameter>", "</invoke>", '<parameter name="content">'
CALL = f'<invoke name="Write"><parameter name="path">x{CLOSER}{END}'


def run[T](step: Step[T], scan: Scanner, pieces: Sequence[str], *, cut: bool = False) -> T:
    """What a step returns that is fed these pieces."""
    left = list(pieces)
    try:
        while True:
            next(step)
            if left:
                scan.feed(left.pop(0))
            else:
                scan.end(cut=cut)
    except StopIteration as stop:
        result: T = stop.value
        scan.feed("".join(left))
        return result


def read(text: str, *, cut: bool = False, own_lines: bool = False) -> tuple[str, str | None, str]:
    """The value, how it ended, and what is left behind it."""
    found = set()
    for pieces in ([text], text):
        scan, value, place = Scanner(), Collected(), Parameters(FORM, Toolbox(TOOLS), "Write")
        place.given("path")
        ended = run(read_value(scan, value, place, own_lines=own_lines), scan, pieces, cut=cut)
        found.add((value.text(), ended, scan.text[scan.pos :]))
    assert len(found) == 1
    return found.pop()


@pytest.mark.parametrize(
    ("text", "value", "ended", "left"),
    [
        pytest.param(f"a{CLOSER}{END}", "a", "", END, id="its closer, and the call's"),
        pytest.param(f"a{CLOSER}{NEXT}b", "a", "", f"{NEXT}b", id="its closer, and another parameter"),
        pytest.param(f"a{CLOSER}", "a", "", "", id="its closer, and the reply's end"),
        pytest.param(f"a\n{CLOSER}{END}", "a\n", "", END, id="a line end before it is the value's"),
        pytest.param(f"a{CLOSER} b{CLOSER}{END}", f"a{CLOSER} b", "", END, id="a closer that text follows"),
        pytest.param(f"{CALL} b{CLOSER}{END}", f"{CALL} b", "", END, id="a quoted call"),
        pytest.param(f"{CALL}{CLOSER}{END}", CALL, "", END, id="a quoted call right before it"),
        pytest.param(f"a{CLOSER}{CLOSER}{END}", "a", "duplicate_closer", END, id="its closer twice"),
        pytest.param(
            f'a<parameter name="x">b{CLOSER}{CLOSER}{END}',
            f'a<parameter name="x">b{CLOSER}',
            "",
            END,
            id="twice, where an opener is what the first one closes",
        ),
        pytest.param(f"a<parameter>{END}", "a", "wrong_closer", END, id="without its slash"),
        pytest.param(
            f'a<parameter><parameter name="path">b{CLOSER}{END}',
            'a<parameter><parameter name="path">b',
            "",
            END,
            id="without its slash, before what the call has already",
        ),
        pytest.param(f"a</parameter{END}", "a", "unclosed_tag", END, id="without its bracket"),
        pytest.param(f"a\n{NEXT}b{CLOSER}{END}", "a", "unclosed_value", f"{NEXT}b{CLOSER}{END}", id="missing"),
        pytest.param(f"a\n{END}", "a", "unclosed_value", END, id="missing in front of the call's"),
        pytest.param(
            f"a\n{NEXT}b{CLOSER} c{CLOSER}{END}", f"a\n{NEXT}b{CLOSER} c", "", END, id="the next parameter is quoted"
        ),
        pytest.param(f"a {END} b{CLOSER}{END}", f"a {END} b", "", END, id="the call's closer in prose"),
    ],
)
def test_where_a_value_ends(text: str, value: str, ended: str, left: str) -> None:
    assert read(text) == (value, ended, left)


def test_on_lines_of_its_own_the_last_line_end_is_layout() -> None:
    assert read(f"a\n\n{CLOSER}{END}", own_lines=True) == ("a\n", "", END)


@pytest.mark.parametrize("text", ["a", "a</para", f"a{CLOSER}"])
def test_what_is_cut_off_is_not_complete(text: str) -> None:
    value, ended, left = read(text, cut=True)
    assert (ended, left) == (None, "")
    assert value in {"a", f"a{CLOSER}"}
