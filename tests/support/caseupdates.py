"""What a failing case should say instead: to paste, or written into its file by `pytest --update-cases`."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from support.caseedits import Edit, Uneditable, edited, lines_of
from support.casefiles import Place
from support.caseoutcomes import changes, order_of
from support.repository import REPO


def pasteable(place: Place) -> str:
    """A case as it would have to be written for what comes out of it; "" where it says just that.

    Raises `NotUpdated`.
    """
    new = changes(place)
    if not new:
        return ""
    source = _source(place.file)
    return lines_of(edited(source, [Edit(place.line, new, order_of(place))]), place.line)


class Updates:
    """The edits of a run of tests, written at its end, each file once."""

    def __init__(self) -> None:
        self._edits: defaultdict[str, list[Edit]] = defaultdict(list)
        self._sources: dict[str, str] = {}

    def add(self, place: Place) -> Mapping[str, Any]:
        """What changes in a case. Raises `NotUpdated`."""
        new = changes(place)
        if new:
            source = self._sources.setdefault(place.file, _source(place.file))
            edit = Edit(place.line, new, order_of(place))
            edited(source, [edit])
            self._edits[place.file].append(edit)
        return new

    def write(self) -> list[str]:
        """Write all edits; returns a line for each file. Raises `Uneditable`: then nothing of that file is written."""
        done = []
        for file, edits in self._edits.items():
            if _source(file) != self._sources[file]:
                raise Uneditable(f"{file} changed while the tests ran; run them again")
            (REPO / file).write_text(edited(self._sources[file], edits), encoding="utf-8", newline="")
            lines = ", ".join(str(edit.line) for edit in sorted(edits, key=lambda edit: edit.line))
            done.append(f"{file}: {len(edits)} updated (line {lines})")
        return done


def _source(file: str) -> str:
    with (REPO / file).open(encoding="utf-8", newline="") as opened:
        return opened.read()
