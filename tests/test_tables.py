"""The tables of the pages that come from the code (`scripts/tables.py`)."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
import tables


def test_no_page_is_stale() -> None:
    stale = [page for page, (was, should) in tables.pages().items() if was != should]
    assert not stale, f"{', '.join(stale)}: the code says something else; run make tables"


def test_a_table_is_put_between_its_comments() -> None:
    table = tables.Table(
        "page.md", "fruits", lambda: tables.markdown(("fruit", "is"), [("`pear`", "green"), ("x", "")])
    )
    page = "a\n\n<!-- fruits: written by make tables -->\nold\n<!-- end of fruits -->\nb\n"
    once = table.written(page)
    assert once == (
        "a\n\n<!-- fruits: written by make tables -->\n\n| fruit | is |\n| --- | --- |\n| `pear` | green |\n| x | |\n\n"
        "<!-- end of fruits -->\nb\n"
    )
    assert table.written(once) == once


def test_a_bar_does_not_end_its_cell() -> None:
    assert list(tables.markdown(("a",), [("`<|x|>`",), (r"z\|",)]))[2:] == [r"| `<\|x\|>` |", r"| z\| |"]


@pytest.mark.parametrize(
    "page",
    [
        "",
        "<!-- fruits: written by make tables -->\n",
        "<!-- end of fruits -->\n<!-- fruits: written by make tables -->\n",
        2 * "<!-- fruits: written by make tables -->\n<!-- end of fruits -->\n",
    ],
)
def test_a_page_without_a_place_for_a_table_is_an_error(page: str) -> None:
    with pytest.raises(ValueError, match=r"page\.md"):
        tables.Table("page.md", "fruits", list).written(page)
