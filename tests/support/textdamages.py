"""The ways in which a call in text comes damaged: tags, quotes and brackets lost, doubled, moved, escaped or cut off.

Each damage takes a call as its dialect writes it and a source of randomness. It gives the text that a model or a server
may have sent in its place; the text itself where it has no such part.
"""

import re
from collections.abc import Callable
from random import Random

_TAG = re.compile(r"<[^<>\n]{1,80}>|\[/?[A-Z_]+\]")
_CLOSING = re.compile(r"<[^<>\n]{0,20}/[^<>\n]{1,80}>|\[/[A-Z_]+\]")
_HALVES = ("<tool", "</tool_call>", "<|", "[TOOL", "</", "<invoke name=", "```", "<function=", '{"name": ', "<｜")

type Damage = Callable[[str, Random], str]


def _of_one(found: re.Pattern[str], change: Callable[[str, Random], str]) -> Damage:
    """What changes one of the places that a pattern finds."""

    def damage(text: str, random: Random) -> str:
        places = list(found.finditer(text))
        if not places:
            return text
        place = random.choice(places)
        return text[: place.start()] + change(place[0], random) + text[place.end() :]

    return damage


def _spaced(tag: str, random: Random) -> str:
    blank = random.choice(" \n\u00a0")
    return random.choice((tag[0] + blank + tag[1:], f"{tag[:-1]}{blank}{tag[-1]}"))


def _moved(text: str, random: Random) -> str:
    """Two tags that follow each other have changed places."""
    tags = list(_TAG.finditer(text))
    if len(tags) < 2:
        return text
    at = random.randrange(len(tags) - 1)
    one, two = tags[at], tags[at + 1]
    return text[: one.start()] + two[0] + text[one.end() : two.start()] + one[0] + text[two.end() :]


def _unwrapped(text: str, random: Random) -> str:  # noqa: ARG001 - as all damages have it
    """The first tag and the last one are lost."""
    tags = list(_TAG.finditer(text))
    return text[tags[0].end() : tags[-1].start()] if len(tags) > 1 else text


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


DAMAGES: tuple[Damage, ...] = (
    _of_one(_TAG, lambda tag, _: ""),  # noqa: ARG005
    _of_one(_TAG, lambda tag, random: tag + random.choice(("", "\n")) + tag),
    _of_one(_TAG, lambda tag, _: tag[1:]),
    _of_one(_TAG, lambda tag, _: tag[:-1]),
    _of_one(_TAG, lambda tag, _: _escaped(tag)),
    _of_one(_TAG, _spaced),
    _of_one(_CLOSING, lambda tag, _: tag.replace("/", "", 1)),
    _of_one(_CLOSING, lambda tag, _: tag[tag.index("/") + 1 :]),
    _of_one(re.compile("[\"']"), lambda quote, random: random.choice(("", quote * 2, "'", '"', '\\"'))),
    _of_one(re.compile("[,:=]"), lambda sign, random: random.choice(("", sign * 2))),
    _of_one(re.compile(r"[{}\[\]]"), lambda bracket, random: random.choice(("", bracket * 2))),
    _of_one(re.compile(" "), lambda _blank, random: random.choice(("\u00a0", "", "\n", "\t"))),
    _moved,
    _unwrapped,
    lambda text, _: _escaped(text),
    lambda text, _: text.replace('"', '\\"'),
    lambda text, _: text.replace("\n", "\r\n"),
    lambda text, _: text + text,
    lambda text, random: text[: random.randrange(len(text))],
    lambda text, random: random.choice(_HALVES) + random.choice(("", "\n")) + text,
    lambda text, random: text + random.choice(("", "\n")) + random.choice(_HALVES),
    lambda text, random: random.choice(("I look: ", "I look. ", "I look.\n", "\ufeff", "> ", "    ", "`")) + text,
    lambda text, random: text + random.choice((" So.", "\nSo.", "`", "\n<|im_end|>", "\n```")),
    lambda text, random: random.choice(("<think>a</think>", "<think>", "</think>\n", "<!-- ", "```\n")) + text,
)
