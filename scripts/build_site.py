"""Builds the documentation as a site: `make docs`. Nothing of it is loaded from the network when it is read.

The pages are those of the repository, at the same places, so their links work in both. Zensical
(https://zensical.org/docs/) reads one folder, so pages and what they link to are copied into one first; the README
becomes its index. A link that leads nowhere, or a page that the navigation lacks, ends the build with status 1.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

REPO = Path(__file__).parents[1]
SETTINGS = REPO / "docs" / "site.toml"
OUT = REPO / "build" / "site"
_LINK = re.compile(r"(?<=\]\()(?!https?://|#)([^)\s#]+)")
_INDEX = "README.md"


def pages() -> Iterator[Path]:
    """The pages that the navigation names, relative to the repository."""

    def named(entries: object) -> Iterator[str]:
        match entries:
            case str():
                yield entries
            case list():
                for entry in entries:
                    yield from named(entry)
            case dict():
                for entry in entries.values():
                    yield from named(entry)

    settings = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))
    for name in named(settings["project"]["nav"]):
        yield Path(_INDEX if name == "index.md" else name)


def missing() -> list[Path]:
    """Pages of `docs/` that the navigation lacks."""
    return sorted({path.relative_to(REPO) for path in (REPO / "docs").rglob("*.md")} - set(pages()))


def linked(page: Path) -> Iterator[tuple[str, Path]]:
    """The links of a page to the repository's own files, as they are written and as paths in the repository."""
    for found in _LINK.finditer((REPO / page).read_text(encoding="utf-8")):
        yield found[1], (REPO / page.parent / found[1]).resolve().relative_to(REPO)


def gather(folder: Path) -> None:
    """Copy the pages and what they link to."""
    known = set(pages())
    for page in known:
        text = (REPO / page).read_text(encoding="utf-8")
        for link, target in linked(page):
            if target == Path(_INDEX):
                text = text.replace(f"]({link}", f"]({link.removesuffix(_INDEX)}index.md")
            elif (REPO / target).is_dir():
                text = re.sub(rf"\[([^\]]*)\]\({re.escape(link)}\)", r"\1", text)  # a site lists no folders
            elif target not in known and (REPO / target).exists():
                _copy(target, folder / target)
        place = folder / ("index.md" if page == Path(_INDEX) else page)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def _copy(target: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(REPO / target, place)


def main() -> int:
    """Build. Returns the exit status."""
    parser = argparse.ArgumentParser(description="build the documentation as a site")
    parser.add_argument("--quiet", action="store_true", help="say something only where the build fails")
    args = parser.parse_args()
    if lacking := missing():
        print(f"docs/site.toml: the navigation lacks {', '.join(map(str, lacking))}", file=sys.stderr)
        return 1
    shutil.rmtree(OUT, ignore_errors=True)
    gather(OUT / "pages")
    shutil.copyfile(SETTINGS, OUT / "zensical.toml")
    zensical = Path(sys.executable).with_name("zensical")
    built = subprocess.run(
        [zensical, "build", "--strict", "--clean"],
        cwd=OUT,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode:
        print(built.stdout + built.stderr, file=sys.stderr)
    elif not args.quiet:
        print(f"{(OUT / 'html' / 'index.html').relative_to(REPO)} is the site's first page")
    return built.returncode


if __name__ == "__main__":
    sys.exit(main())
