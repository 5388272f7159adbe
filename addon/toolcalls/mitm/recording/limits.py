"""How a recording is cut into files and how much of it is kept."""

from dataclasses import dataclass
from typing import Literal

type Split = Literal["size", "session"]


@dataclass(frozen=True, slots=True)
class Limits:
    """How a recording is cut into files and how much of it is kept.

    split       one file after the other, or one for each session of an agent
    file_size   bytes of a file; one exchange may be larger
    file_age    seconds from a file's beginning until the next one begins
    total       bytes of all recordings in the folder with their indexes; the oldest files go first
    """

    split: Split = "size"
    file_size: int = 100 * 1024**2
    file_age: int = 86400
    total: int = 10 * 1024**3

    @property
    def largest_file(self) -> int:
        """The bytes that a file may have: a quarter of all that is kept at most, so that something is left of it."""
        return max(1, min(self.file_size, self.total // 4))
