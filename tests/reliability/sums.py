"""The parts of a run, added up in a file: what takes too long at once is run piece by piece (`--part`, `--into`)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reliability.rows import Row


class Unlike(ValueError):
    """The file holds the parts of another run, or this part already; the text says so."""


class Sum:
    """The file, with room for one part more.

    asked   what all parts of a run have in common
    Raises Unlike, and OSError for a file that cannot be read.
    """

    def __init__(self, path: Path, asked: Mapping[str, Any], part: int) -> None:
        self._path = path
        self._part = str(part)
        self._known: dict[str, Any] = {"asked": dict(asked), "parts": {}}
        if path.exists():
            self._known = json.loads(path.read_text(encoding="utf-8"))
        if self._known["asked"] != asked:
            raise Unlike(f"{path} holds parts of {self._known['asked']}, not of {dict(asked)}")
        if self._part in self._known["parts"]:
            raise Unlike(f"{path} holds part {part} already")

    @property
    def parts(self) -> list[int]:
        """The numbers of the parts that it holds."""
        return sorted(map(int, self._known["parts"]))

    def add(self, rows: Sequence[Row]) -> list[Row]:
        """Put the rows of the part to those in the file; returns the rows of all parts. Raises OSError."""
        self._known["parts"][self._part] = [asdict(row) for row in rows]
        self._path.write_text(json.dumps(self._known, indent=1), encoding="utf-8")
        return [
            Row(**{**row, "failures": tuple(row["failures"])}) for one in self._known["parts"].values() for row in one
        ]
