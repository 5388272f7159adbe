"""The checker of prose (`scripts/prose.py`), which `make lint` runs over all pages and messages: it can fail."""

import sys

import pytest

from support.repository import REPO

sys.path.insert(0, str(REPO / "scripts"))
import prose

LONG = " ".join(f"w{number}" for number in range(41))


def _found(markdown: str) -> list[str]:
    return list(prose.findings(list(prose.blocks("page.md", markdown))))


@pytest.mark.parametrize(
    ("markdown", "finding"),
    [
        (f"# A page\n\n{LONG}.", "page.md:3: a sentence of 41 words"),
        (f"| a | b |\n| --- | --- |\n| c | {LONG} |", "page.md:3: a sentence of 41 words"),
        ("Short.\n\nIt is a very good page.", "page.md:3: 'very'"),
        ("Short.\n\nAn ATM machine.", "page.md:3: 'ATM machine'"),
        ("The agent is told so.", "page.md:1: 'told': write"),
    ],
)
def test_what_is_found(markdown: str, finding: str) -> None:
    (found,) = _found(markdown)
    assert found.startswith(finding)


@pytest.mark.parametrize(
    "markdown",
    [
        f"```\n{LONG} very told\n```",
        f"It is `{LONG} very told`.",
        f"{LONG[:100]}. {LONG[:100]}.",
        "yes\n\nyes",
        "- one thing\n- one thing",
    ],
)
def test_what_is_not_found(markdown: str) -> None:
    assert _found(markdown) == []


def test_messages_are_read_too() -> None:
    places = {block.place for block in prose.messages()}
    assert {"reason fenced", "repair missing_closer", "toolcalls run --web"} <= places
