"""Mistakes: each is one line with its place."""

from collections.abc import Collection
from difflib import get_close_matches

MAX_MISTAKES = 20


class ConfigError(ValueError):
    """A configuration that cannot be used. `errors` holds one line per mistake, `str` joins them with newlines."""

    @property
    def errors(self) -> tuple[str, ...]:
        """The mistakes in line order, each `source:line: what is wrong`; at most MAX_MISTAKES."""
        return self.args

    def __str__(self) -> str:
        return "\n".join(self.args)


class Mistake(Exception):
    """One mistake on its way to its line in a ConfigError. `placed`: its text names the file and the line already."""

    def __init__(self, line: int, text: str, *, placed: bool = False) -> None:
        super().__init__(text)
        self.line = line
        self.placed = placed


def config_error(source: str, mistakes: list[Mistake]) -> ConfigError:
    """An error for mistakes in one file, or in whatever else `source` names."""
    ordered = sorted(mistakes, key=lambda mistake: mistake.line)
    said = (str(mistake) if mistake.placed else f"{source}:{mistake.line}: {mistake}" for mistake in ordered)
    return ConfigError(*map(_printable, said))


def _printable(text: str) -> str:
    """`text` on one line: what could break a line, move a cursor or hide is written as its escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def short(text: str) -> str:
    """The beginning of a text, as much as a mistake shows."""
    return text if len(text) <= 60 else text[:60] + "…"


def quote(text: str) -> str:
    """`short`, in quotes."""
    return f'"{short(text)}"'


def did_you_mean(word: str, known: Collection[str]) -> str:
    """A question that names the known word which is most like this one, "" for none."""
    close = get_close_matches(word[:60], known, n=1)
    return f'; did you mean "{close[0]}"?' if close else ""
