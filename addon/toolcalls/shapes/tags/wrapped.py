"""Arguments that are wrapped once more: one parameter that the schema does not know holds all of them as an object."""

from toolcalls.values.conversion import members, to_json, to_text


class Collected:
    """A value that is only collected."""

    wake_on = None

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def add(self, piece: str) -> None:
        self._pieces.append(piece)

    def end(self, *, literal: bool = False) -> None:
        """Nothing depends on it."""

    def text(self) -> str:
        """The pieces so far, joined."""
        return "".join(self._pieces)


class LeftOut:
    """A value that nobody wants."""

    wake_on = None

    def add(self, piece: str) -> None:
        """Not kept."""

    def end(self, *, literal: bool = False) -> None:
        """Not kept."""


def inner_object(text: str, declared: tuple[str, ...]) -> str | None:
    """The object in `text`, or in the string that `text` is, when all its keys are declared; None for anything else."""
    decoded, _ = to_text(text)
    try:
        keys = {key for key, _ in members(decoded)}
    except ValueError:
        return None
    return to_json(decoded, frozenset({"object"})) if keys.issubset(declared) else None
