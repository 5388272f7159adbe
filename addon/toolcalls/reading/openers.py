"""Where candidates begin: the openers of all dialects that a route reads, found in one linear pass.

`find` gives the next opener in a text; `held` says from where on the end of a text may still become one. Three kinds of
places are looked at: any place of a line, the start of a line, and the start of a message (`shapes.OpenerPlace`).
Models leak a stray word alone in front of an opener; where a dialect names such words, they are part of the opener.

Two kinds of marks are found on the way that open no call: a closer of reasoning, after which a message begins, and,
after the first call, the markup of tool results that a model invents (`invented_results.py`).
"""

import re
from collections.abc import Iterable
from functools import lru_cache, partial
from typing import NamedTuple

from toolcalls.reading.invented_results import INVENTED_RESULTS
from toolcalls.reading.opener_tables import BLANKS, ORDINARY, PROBE, Literals, Owners, Standing, Table
from toolcalls.shapes import Dialect, OpenerPlace
from toolcalls.text.lookalike import LookAlike, LookAlikes, Spellings
from toolcalls.text.quoting_marks import REASONING_CLOSERS
from toolcalls.text.scanner import SPACE, Search, past, prefixes_of
from toolcalls.values.tool_names import ToolNames

MODULE = "functions."  # in front of a tool's name in the header of a call; no prose has such a word with a colon
# After its first letter, which is in all prose: whether it is that word, or the text ends inside it. A word that
# only ends like it (`of`) is none (`Reader`).
_MODULE_REST = r"(?:(?<!f)|(?<![A-Za-z]f)(?:unctions\.|(?:u(?:n(?:c(?:t(?:i(?:on?s?)?)?)?)?)?)?\Z))"

type Dialects = tuple[Dialect, ...]


class Opener(NamedTuple):
    """An opener at `start`, with `stray` characters of a leaked word before it that go with it.

    `dialects` may begin with it, the longest literal's first; none do with a mark that opens no call. `respelt` are the
    names in it, or in a shorter one at the same place, that mean a declared tool and are not declared.
    """

    start: int
    stray: int
    literal: str
    dialects: Dialects
    respelt: frozenset[str] = frozenset()


class _Places:
    """The openers by the kind of place where they are looked for, for any tools. Never changes.

    odd     names that are in the openers in full, since some dialects write them in their own way
    named   other names are declared, too
    """

    def __init__(
        self,
        dialects: Dialects,
        odd: tuple[str, ...],
        *,
        named: bool,
        anywhere: bool,
        results: bool,
        wrappers: tuple[str, ...],
        closers: tuple[str, ...],
    ) -> None:
        by_place: dict[str, dict[str, Owners]] = {"inline": {}, "start": {}, "message": {}}
        stray_words: dict[str, None] = {}
        for turn, dialect in enumerate(dialects):
            stray_words.update(dict.fromkeys(dialect.stray_words))
            literals = (*dialect.openers(odd), *(dialect.openers((PROBE,)) if named else ()))
            for literal in literals:
                if dialect.place == "message" and not anywhere and literal[1:] and literal[0] in literals:
                    continue  # where a message begins, the bracket alone is enough
                place = _looked_for(dialect.place, literal, anywhere=anywhere)
                if place == "inline" and literal.startswith(PROBE):
                    raise ValueError(f"{dialect.name}: what begins with a tool's name may be in any line")
                by_place[place].setdefault(literal, {})[turn] = dialect
        self.look_alike_signs = frozenset(
            literal[0] for literal, owners in by_place["inline"].items() if owners and not literal[0].isalnum()
        )
        for literal in (*REASONING_CLOSERS, *closers):
            by_place["inline"].setdefault(literal, {})
        for literal in wrappers:
            by_place["start"].setdefault(literal, {})
        if results:
            for literal in INVENTED_RESULTS:
                by_place["start"].setdefault(literal, {})
        self.inline = Table(by_place["inline"])
        self.start = Table(by_place["start"])
        self.message = Table(by_place["message"])
        self.special: dict[re.Pattern[str], Search] = {}
        self.stray_before = self.stray_at_end = None
        self.stray_reach = 0
        self.stray_first = frozenset(word[0] for word in stray_words)
        if stray_words:
            words = "|".join(map(re.escape, stray_words))
            parts = "|".join(re.escape(part) for part in sorted(prefixes_of(stray_words), reverse=True) if part)
            gap = r"[ \t]*(?:\r?\n)?[ \t]*"
            self.stray_before = re.compile(rf"(?:^|[\n\r])[ \t]*((?:{words}){gap})\Z")
            self.stray_at_end = re.compile(rf"(?:^|[\n\r])[ \t]*((?:{words})[ \t]*\r?(?:\n[ \t]*)?|{parts})\Z")
            self.stray_reach = max(map(len, stray_words)) + 32


_places = lru_cache(maxsize=64)(_Places)


@lru_cache(maxsize=4)
def _spellings(dialects: Dialects, names: tuple[str, ...], *, anywhere: bool) -> Spellings:
    """How the openers that are in a line are spelt and drawn. Few replies ask, so few are kept."""
    return Spellings(
        literal
        for dialect in dialects
        for literal in dialect.openers(names)
        if _looked_for(dialect.place, literal, anywhere=anywhere) == "inline"
    )


class Openers:
    """The openers of some dialects where tools of these names are declared. Never changes.

    anywhere   whole-message dialects count at the start of any line (`lenient`), and inside one where a declared tool's
               name follows the bracket
    results    invented results are looked for
    wrappers   opening tags of elements around calls, looked for at the start of a line
    closers    closing tags of such an element, looked for anywhere
    """

    def __init__(
        self,
        dialects: Dialects,
        names: tuple[str, ...],
        *,
        anywhere: bool,
        results: bool,
        wrappers: tuple[str, ...] = (),
        closers: tuple[str, ...] = (),
    ) -> None:
        names = tuple(filter(None, names))
        ordinary = ToolNames(name for name in names if ORDINARY.fullmatch(name))
        self._places = places = _places(
            dialects,
            tuple(name for name in names if not ORDINARY.fullmatch(name)),
            named=bool(ordinary),
            anywhere=anywhere,
            results=results,
            wrappers=wrappers,
            closers=closers,
        )
        self._names = ordinary
        self._inline = Literals(places.inline, ordinary)
        self._start = Literals(places.start, ordinary)
        self._message = Literals(places.message, ordinary)
        self._reach_back = max(self._inline.longest, self._start.longest, self._message.longest)
        self._looks = LookAlikes(
            places.look_alike_signs,
            self._inline.longest,
            partial(_spellings, dialects, names, anywhere=anywhere),
        )

    def special(self, markdown: re.Pattern[str]) -> Search:
        """What finds a character that is special to the Markdown (`markdown`) or begins an opener inside a line."""
        special = self._places.special
        if markdown not in special:
            patterns = (markdown.pattern, self._inline.first.pattern, self._looks.first.pattern)
            special[markdown] = re.compile(_but_for_module("|".join(patterns))).search
        return special[markdown]

    def possible(self, piece: str, *, line_start: bool, message_start: bool) -> bool:
        """Whether anything in `piece`, after which more may come, is or may become an opener. None is missed."""
        if self._inline.maybe(piece):
            return True
        if message_start and self._message.maybe_at(piece, past(piece, 0)):
            return True
        if not piece.isascii() and self._looks.find(piece, 0, len(piece)):
            return True
        if not (line_start or "\n" in piece or "\r" in piece):
            return False
        if self._start.maybe_in_line(piece, line_start=line_start):
            return True
        return self._stray_from(piece, 0, line_start=line_start) < len(piece)

    def may_start_line(self, piece: str) -> bool:
        """Whether a line that begins with `piece` may begin with an opener or a stray word, or blanks come first."""
        first = piece[0]
        return first in " \t" or first in self._places.stray_first or self._start.may_begin(piece, 0)

    def find(self, text: str, start: int, *, line_start: bool, message_start: bool, ended: bool) -> Opener | None:
        """The first opener at or after `start`; None also where a longer one may still be arriving.

        line_start      only white space comes before `start` on its line
        message_start   only white space comes before it in its message
        ended           no more text comes
        """
        begin = limit = self._first_at(text, start, line_start=line_start)
        if message_start and self._message.longest:
            at_message = past(text, start)
            begin = at_message if at_message <= limit and self._message.at(text, at_message) else limit
        if begin == len(text):
            return None
        sets = [self._inline]
        if self._start.longest and _begins_line(text, start, begin, line_start=line_start):
            sets.append(self._start)
        if message_start and self._message.longest and past(text, start) >= begin:
            sets.append(self._message)
        if not ended:
            # It may be the beginning of a longer one, or lie inside one that began before it.
            if any(literals.arriving(text, begin) for literals in sets):
                return None
            if (
                begin > start
                and len(text) - begin < self._reach_back
                and self.held(text, start, line_start=line_start, message_start=message_start) < begin
            ):
                return None
        standing = _likely([list(literals.standing(text, begin)) for literals in sets])
        literal, dialects = _longest([_owners(each) for each in standing])
        stray = 0
        if any(dialect.stray_words for dialect in dialects):
            stray = begin - self._stray(self._places.stray_before, text, start, begin, line_start=line_start)
        respelt = frozenset({one.name for each in standing for one in each if one.name and one.name not in self._names})
        return Opener(begin, stray, literal, dialects, respelt)

    def arrive(self, text: str, begin: int, *, message_start: bool) -> bool:
        """Whether all from `begin`, the start of a line, to the text's end may become an opener, or a longer one."""
        if self._inline.arriving(text, begin) or self._start.arriving(text, begin):
            return True
        return message_start and self._message.arriving(text, begin)

    def inside_line(self, text: str, start: int) -> int:
        """Up to where all from `start` on is text, and from where on it may still become an opener.

        For the commonest places: not the start of a line, after which more may come. -1 where `find` must look.
        """
        if text.find("\n", start) >= 0 or text.find("\r", start) >= 0:
            return -1
        return self._inline.undecided(text, start)

    def look_alike(self, text: str, start: int, opener: Opener | None) -> LookAlike | None:
        """Text that only looks like an opener or may still do so, in front of `opener` where there is one."""
        look = self._looks.find(text, start, len(text) if opener is None else opener.start)
        # What is an opener is no part of anything else.
        return look if look is None or opener is None or (look.literal and look.end <= opener.start) else None

    def resembled(self, literal: str) -> Dialect:
        """The dialect that an opener most likely belongs to."""
        return next(iter(_owners(self._inline.standing(literal, 0))[literal].values()))

    def _first_at(self, text: str, start: int, *, line_start: bool) -> int:
        """Where the first opener of a line begins; len(text) for none.

        The two kinds are looked for side by side in growing stretches, so that what is looked at and not read is never
        longer than what was read.
        """
        at = line_end = start
        size = 256
        while True:
            stop = min(len(text), at + size)
            inline = self._inline.search(text, at, stop)
            limit = inline if inline >= 0 else stop
            if self._start.longest:
                line = self._start.at_line(text, line_end, limit, line_start=line_start and line_end == start)
                if line >= 0:
                    return line
            if inline >= 0 or stop == len(text):
                return limit
            at = line_end = stop
            while line_end > start and text[line_end - 1] in SPACE:
                line_end -= 1
            size *= 2

    def held(self, text: str, start: int, *, line_start: bool, message_start: bool) -> int:
        """The offset from which on the end of `text` may still become an opener; len(text) when none may."""
        begin = self._inline.tail(text, start)
        if self._start.longest:
            line = max(text.rfind("\n", start), text.rfind("\r", start)) + 1
            if line or line_start:
                begin = min(begin, self._start.whole_tail(text, past(text, line or start, BLANKS)))
            if line and self._start.spans and len(text) - line < self._start.longest:
                begin = min(begin, self._spanning(text, start, line, line_start=line_start))
        if message_start and self._message.longest:
            begin = min(begin, self._message.whole_tail(text, past(text, start)))
        if begin < len(text):  # the opener that is arriving may have a stray word before it, or be one
            begin = self._stray(self._places.stray_before, text, start, begin, line_start=line_start)
        return min(begin, self._stray_from(text, start, line_start=line_start))

    def _spanning(self, text: str, start: int, line: int, *, line_start: bool) -> int:
        """Where the line before the one at `line` begins, if all from there on may become an opener of two lines."""
        while line > start and text[line - 1] in "\r\n":
            line -= 1
        before = max(text.rfind("\n", start, line), text.rfind("\r", start, line)) + 1
        if not (before or line_start):
            return len(text)
        return self._start.whole_tail(text, past(text, before or start, BLANKS))

    def _stray_from(self, text: str, start: int, *, line_start: bool) -> int:
        if not (line_start or "\n" in text or "\r" in text):
            return len(text)
        return self._stray(self._places.stray_at_end, text, start, len(text), line_start=line_start)

    def _stray(self, pattern: re.Pattern[str] | None, text: str, start: int, end: int, *, line_start: bool) -> int:
        """Where a stray word begins that ends at `end`, else `end`."""
        if pattern is None:
            return end
        begin = max(start, end - self._places.stray_reach)
        # What comes before `begin` decides whether its first line begins there.
        at_line_start = line_start and begin == start
        tail = text[begin:end] if at_line_start else "x" + text[begin:end]
        found = pattern.search(tail)
        return end if found is None else found.start(1) + begin - (0 if at_line_start else 1)


openers_of = lru_cache(maxsize=64)(Openers)  # the turns of a session share them


def _likely(standing: list[list[Standing]]) -> list[list[Standing]]:
    """The openers at a place, without those whose name has a prefix that another opener there has for its own.

    `functions.` and the like are in front of names in forms that have them as their own.
    """
    every = [one for each in standing for one in each]
    if not any(one.prefix for one in every):
        return standing
    own = {one.before + len(one.name) if one.name else len(one.literal) for one in every if not one.prefix}
    return [[one for one in each if not (one.prefix and _is_own(one, own))] for each in standing]


def _is_own(standing: Standing, own: set[int]) -> bool:
    """Whether another opener ends where the prefix of a name does, or has the name without it."""
    return standing.before + standing.prefix in own or standing.before + len(standing.name) in own


def _owners(standing: Iterable[Standing]) -> dict[str, Owners]:
    """The dialects of each opener, the longest opener first."""
    found: dict[str, Owners] = {}
    for each in standing:
        found[each.literal] = {**found.get(each.literal, {}), **each.owners}
    return {literal: dict(sorted(found[literal].items())) for literal in sorted(found, key=len, reverse=True)}


def _longest(standing: list[dict[str, Owners]]) -> tuple[str, Dialects]:
    """The longest opener at a place, of any kind, and the dialects that may begin with it.

    They may also begin with what it begins with: those of a longer one are asked first, then those of its own kind.
    """
    dialects: dict[int, Dialect] = {}
    found = sorted((next(iter(each)) for each in standing if each), key=len, reverse=True)
    for longest in found:
        for each in standing:
            if longest in each:
                for literal, owners in each.items():
                    if len(literal) <= len(longest):
                        dialects |= {turn: owner for turn, owner in owners.items() if turn not in dialects}
    return found[0], tuple(dialects.values())


def _but_for_module(characters: str) -> str:
    """A pattern for these characters, in which the first letter of `MODULE` counts only where the word may follow."""
    return f"(?:{characters}){_MODULE_REST}" if "f" in characters else characters


def _looked_for(place: OpenerPlace, literal: str, *, anywhere: bool) -> str:
    """The kind of place at which an opener is looked for.

    A token that has lost its beginning begins with a word, maybe a tool's name, or with a dash. Those are everywhere,
    so it is only looked for where it would begin a line, but where it is `MODULE` with such a name. So are JSON and
    code in the open, but where a declared tool's name follows.
    """
    if place == "message":
        if anywhere and len(literal) > 1 and literal[0] in "{[":
            return "inline"
        return "start" if anywhere else "message"
    word = (literal[0].isalnum() or literal[0] == "-") and not literal.startswith(MODULE)
    return "start" if place == "start" or (place == "anywhere" and word) else "inline"


def _begins_line(text: str, start: int, at: int, *, line_start: bool) -> bool:
    """Whether only blanks come before `at` on its line."""
    while at > start and text[at - 1] in " \t":
        at -= 1
    return text[at - 1] in "\r\n" if at > start else line_start
