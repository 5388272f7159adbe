"""The pages of the site: all of them, with links that work there as they do in the repository.

`make lint` builds the site itself, which finds links that lead nowhere.
"""

import re
import sys
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
