"""The pages of the site: all of them, with links that work there as they do in the repository.

`make lint` builds the site itself, which finds links that lead nowhere.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.repository import REPO

sys.path.insert(0, str(REPO / "scripts"))
import build_site as site


def test_the_navigation_has_every_page() -> None:
    assert site.missing() == []
    assert len(set(site.pages())) == len(list(site.pages()))


def test_a_page_that_the_navigation_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    all_but_one = [page for page in site.pages() if page != Path("docs/apis.md")]
    monkeypatch.setattr(site, "pages", lambda: iter(all_but_one))
    assert site.missing() == [Path("docs/apis.md")]


def test_links_lead_to_what_was_copied(tmp_path: Path) -> None:
    site.gather(tmp_path)
    pages = list(tmp_path.rglob("*.md"))
    assert tmp_path / "index.md" in pages
    found = 0
    for page in pages:
        for target in re.findall(r"\]\((?!https?://|#)([^)\s#]+)", page.read_text(encoding="utf-8")):
            found += 1
            assert (page.parent / target).is_file(), f"{page.name}: {target}"
    assert found > 50


SCREEN_AND_A_HALF = 100  # lines
A_WHOLE_SETUP = {"docs/deploy.md"}  # with its files


def _named(entries: object) -> Iterator[str]:
    """The pages below an entry of the navigation."""
    if isinstance(entries, str):
        yield entries
    elif isinstance(entries, list | dict):
        for entry in entries.values() if isinstance(entries, dict) else entries:
            yield from _named(entry)


def _how_to() -> list[str]:
    nav = tomllib.loads(site.SETTINGS.read_text(encoding="utf-8"))["project"]["nav"]
    (found,) = (entry["How to"] for entry in nav if "How to" in entry)
    return list(_named(found))


@pytest.mark.parametrize("page", [page for page in _how_to() if page not in A_WHOLE_SETUP])
def test_a_how_to_page_is_short(page: str) -> None:
    assert len((REPO / page).read_text(encoding="utf-8").splitlines()) <= SCREEN_AND_A_HALF


@pytest.mark.parametrize("page", sorted(map(str, site.pages())))
def test_headings_go_two_levels_deep(page: str) -> None:
    """Below a page's title; deeper ones are a sign of two pages."""
    prose = re.sub(r"^(```|~~~).*?^\1$", "", (REPO / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"^####", prose, re.MULTILINE)
