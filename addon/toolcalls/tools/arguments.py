"""Command lines: an argparse that reports an error in one line, and the values of options."""

import argparse
import re
from collections.abc import Collection, Sequence
from typing import NoReturn

_LISTED = 12  # names that an error lists; of more it says the nearest


def _did_you_mean(word: str, known: Collection[str]) -> str:
    from toolcalls.config.mistakes import did_you_mean

    return did_you_mean(word, known)


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that reports an error in one line.

    With a default `rest`, all words but -h and --help are kept in `rest`: they are options of another program.
    """

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        rest = self.get_default("rest")
        if rest is None or args is None:
            return super().parse_known_args(args, namespace)
        known = [word for word in args if word in {"-h", "--help"}]
        parsed, _ = super().parse_known_args(known, namespace)
        parsed.rest = list(args)
        return parsed, []

    def error(self, message: str) -> NoReturn:
        """Print `message` and exit with status 2. Of a word that is not known it says the nearest."""
        if choice := re.fullmatch(r"argument (.+): invalid choice: '(.*)' \(choose from (.+)\)", message):
            known = re.findall(r"[\w-]+", choice[3])
            listed = "" if len(known) > _LISTED else f"; known are {', '.join(known)}"
            message = f"{choice[1]}: unknown '{choice[2]}'{_did_you_mean(choice[2], known) or listed}"
        self.exit(2, f"{self.prog}: {message} ({self.prog} --help shows the use)\n")

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """As argparse's, but it is the command that refuses an option that it does not know."""
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            choices = (action.choices for action in self._actions if isinstance(action.choices, dict))
            command = next((found[parsed.command] for found in choices if parsed.command in found), self)
            near = _did_you_mean(unknown[0].partition("=")[0], command._option_string_actions)
            command.error(f"unknown {unknown[0]}{near}")
        return parsed


def port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"expected a port from 0 to 65535, found {text!r}")
    return int(text)


def speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0.001 <= speed <= 1e6:
        raise argparse.ArgumentTypeError(f"expected a number from 0.001, found {text!r}")
    return speed


def positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 1 << 40:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, found {text!r}")
    return int(text)
