"""Checks the prose that people read: `make lint` runs it, `.venv/bin/python scripts/prose.py [PAGE…]` a part of it.

proselint (https://github.com/amperser/proselint) has the general checks: weasel words, hedging, clichés, redundancy,
spelling. Two small ones are the project's own: sentences that are too long, and words that `scripts/prose.toml` bans.
Code is left out, in pages and in messages. A finding is one line with its place; with one, the exit status is 1.
"""

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from proselint import checks
from proselint.registry import CheckRegistry
from proselint.tools import LintFile

REPO = Path(__file__).parents[1]
SETTINGS: Mapping[str, Any] = tomllib.loads((REPO / "scripts" / "prose.toml").read_text(encoding="utf-8"))
CODE = "`code`"  # what stands for a piece of code: one word
_BETWEEN = "¶"  # no word, so that nothing is found over two blocks
_SENTENCE_END = re.compile(r"(?<![.( ][a-z])[.!?:;](?=[\s)]|$)")
_BANNED = [
    (re.compile(rf"(?<![\w`-])(?:{one['words']})(?![\w`-])", re.IGNORECASE), one["instead"])
    for one in SETTINGS["banned"]
]


@dataclass(frozen=True, slots=True)
class Block:
    """One block of prose: a paragraph, a heading, a cell of a table, a message.

    place   where it is: `docs/faq.md:3`, or the name of a message
    text    on one line, with code replaced by `CODE`
    """

    place: str
    text: str


def blocks(name: str, markdown: str) -> Iterator[Block]:
    """The prose of a page."""
    line = 1
    for token in MarkdownIt().enable("table").parse(markdown):
        if token.map:
            line = token.map[0] + 1
        if token.type == "inline":
            yield Block(f"{name}:{line}", _plain(token.children or ()))


def _plain(children: Sequence[Token]) -> str:
    said = {"code_inline": CODE, "softbreak": " ", "hardbreak": " "}
    pieces = [
        said.get(child.type, child.content if child.type == "text" else "" if child.type != "image" else child.content)
        for child in children
    ]
    return "".join(pieces)


def findings(found: Sequence[Block]) -> Iterator[str]:
    """What is wrong with these blocks, a line for each."""
    yield from _general(found)
    for block in found:
        for sentence in _SENTENCE_END.split(block.text):
            words = len(sentence.split())
            if words > SETTINGS["longest_sentence"]:
                yield f"{block.place}: a sentence of {words} words: {sentence.strip()[:60]}…"
        yield from _banned(block)


def _banned(block: Block) -> Iterator[str]:
    """The banned words in a block, a line for each."""
    for pattern, instead in _BANNED:
        for match in pattern.finditer(block.text):
            yield f"{block.place}: {match[0]!r}: write {instead}"


def _general(found: Sequence[Block]) -> Iterator[str]:
    """proselint's findings; one run over all blocks, each on a line of its own, since each run costs the same."""
    if not found:
        return
    registry = CheckRegistry()
    if not registry.checks:
        registry.register_many(checks.__register__)
    page = LintFile("prose", f"\n{_BETWEEN}\n".join(block.text for block in found))
    enabled = {**dict.fromkeys(SETTINGS["proselint_off"], False), **dict.fromkeys(SETTINGS["proselint"], True)}
    for one in page.lint({"max_errors": 1000, "checks": enabled}):
        begin, end = one.check_result.span
        line = page.content.count("\n", 0, begin + 1)  # the content begins with an empty one
        block = found[min((line - 1) // 2, len(found) - 1)]
        what = " ".join(page.content[begin:end].split())
        yield f"{block.place}: {what!r}: {' '.join(one.check_result.message.split())} ({one.check_result.check_path})"


# --- what is read -----------------------------------------------------------------------------------------------------


def pages() -> list[Path]:
    """The pages that people read, and the list of changes."""
    return [
        *(REPO / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
        *sorted((REPO / "docs").rglob("*.md")),
        *(REPO / name for name in ("recordings/README.md", "tests/cases/README.md")),
    ]


def messages() -> Iterator[Block]:
    """What the addon and its commands say of calls, replies and themselves; each is Markdown."""
    sys.path.insert(0, str(REPO / "addon"))
    from toolcalls import cli  # noqa: PLC0415 - only now it is on the path
    from toolcalls.insight.vocabulary.glossary import GLOSSARY  # noqa: PLC0415
    from toolcalls.insight.vocabulary.words import (  # noqa: PLC0415
        CONDITIONS,
        NOTES,
        OUTCOMES,
        REASONS,
        REPAIRS,
    )

    said: dict[str, str] = {
        **{f"reason {code}": one.sentence for code, one in REASONS.items()},
        **{f"remedy of {code}": one.remedy.words for code, one in REASONS.items()},
        **{f"repair {code}": one.sentence for code, one in REPAIRS.items()},
        **{f"note {code}": f"{one.sentence}. {one.remedy}" for code, one in NOTES.items()},
        **{f"outcome {code}": one.sentence for code, one in OUTCOMES.items()},
        **{f"condition {number}": words for number, words in CONDITIONS.items()},
        **{f"word {word}": meaning for word, meaning in GLOSSARY.items()},
        **dict(_help(cli._parser(), "toolcalls")),
    }
    for place, text in said.items():
        yield from (Block(place, block.text) for block in blocks(place, text))


def _help(parser: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, str]]:
    """What `--help` says of a command and of its options."""
    if parser.description:
        yield f"{name} --help", parser.description
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action._choices_actions:
                yield f"{name} {one.dest} in --help", one.help or ""
            for word, command in action.choices.items():
                yield from _help(command, f"{name} {word}")
        elif action.help and action.help != argparse.SUPPRESS:
            yield f"{name} {'/'.join(action.option_strings) or action.dest}", action.help


def main() -> int:
    """Check. Returns the exit status."""
    parser = argparse.ArgumentParser(description="Check the prose of the pages and of the messages.")
    parser.add_argument("page", nargs="*", type=Path, help="only these pages, and no messages")
    chosen = [page.resolve() for page in parser.parse_args().page]
    read = [
        block
        for page in chosen or pages()
        for block in blocks(str(page.relative_to(REPO)), page.read_text(encoding="utf-8"))
    ]
    wrong = list(findings([*read, *([] if chosen else messages())]))
    print("\n".join(wrong), end="\n" if wrong else "")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
