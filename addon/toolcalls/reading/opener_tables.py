"""The openers that are looked for at one kind of place, and whose each of them is.

Most openers hold the name of a declared tool, in over a hundred ways for each tool. What is around the name is the
same for every request, so it is worked out once in a process (`Table`); a request adds its names and nothing else. An
opener with a name is found by what comes before the name, then by the name, then by what comes after it. The name may
be spelt otherwise (`values/tool_names.py`).

That holds for `ORDINARY` names. Others (with quotes, with letters that no tag takes) are written in a way of their own
by some dialects, so a table has their openers in full.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from toolcalls.shapes import Dialect
from toolcalls.text.any_of import AnyOf, any_literal
from toolcalls.text.scanner import past, prefixes_of
from toolcalls.values.tool_names import MARKS, PREFIXES, ToolNames, letters

BLANKS = " \t"
NOTHING = re.compile(r"(?!)")
_LINE = re.compile(r"[\n\r][ \t]*+")
_HEAD = 3  # characters of an opener or a name by which it is looked up
_DEEP = 6  # those by which `<list_files>` is no `<li>`

# Names that every dialect writes as they are, or not at all. `functions.` is a module, and no beginning of a name.
ORDINARY = re.compile(r"(?!functions\.)[A-Za-z][A-Za-z0-9_.-]*")
PROBE = "zqProbe9"  # stands for any of them; no dialect has it in its own marks
_FIRST_OF_NAME = "[A-Za-z]"
_LONG = 4096  # characters: a text of this length or more is asked first whether it has any opener at all

# Dialects that may begin with an opener, by the turn in which they are asked. A mark that opens no call has none.
type Owners = dict[int, Dialect]


class _Around(NamedTuple):
    """What comes before a name, what may come after it, all beginnings of that, and its first characters."""

    before: str
    after: dict[str, Owners]
    begun: frozenset[str]
    heads_after: frozenset[str]


class Table:
    """Openers in which `PROBE` stands for a tool's name. Never changes.

    literals   those without a name, by their first three characters
    around     the others, by the first three characters before the name
    prefixes   all beginnings of both, up to where a name begins
    first      finds a character that an opener begins with
    heads      finds the first three characters of one, or as many as the text has
    sizes      how many characters these are, the most first
    known      these characters; `short`: those of openers that have no more; `begun`: what the others begin with
    deep       the first six characters of those that have them; `shallow`: the first three of the others
    leads      what is before a name where that is shorter than three characters, in its letters; what may come after it
    prefixed   the same with the prefix of a name; `prefixed_at` finds one, or its beginning where the text ends
    prefix_heads   the first characters of these, up to three
    spans      some are on two lines
    angled     a `<` stands only where one begins
    any        asked first of a long text: whether it may have one, but for those of a sign and a tool's name
    """

    def __init__(self, openers: Mapping[str, Owners]) -> None:
        self.literals: dict[str, list[tuple[str, Owners]]] = {}
        around: dict[str, dict[str, Owners]] = {}
        self.longest = self.longest_around = 0
        for opener, owners in openers.items():
            before, name, after = opener.partition(PROBE)
            if name:
                around.setdefault(before, {})[after] = owners
                self.longest_around = max(self.longest_around, len(before) + len(after))
            else:
                self.literals.setdefault(opener[:_HEAD], []).append((opener, owners))
                self.longest = max(self.longest, len(opener))
        self.around: dict[str, list[_Around]] = {}
        for before, afters in around.items():
            entry = _Around(before, afters, prefixes_of(afters), frozenset(after[:_HEAD] for after in afters))
            self.around.setdefault(before[:_HEAD], []).append(entry)
        self.sizes = _sizes((*self.literals, *self.around))
        literals = [opener for opener in openers if PROBE not in opener]
        self.prefixes = prefixes_of((*literals, *(before + PROBE[0] for before in around)))
        self.spans = any("\n" in opener[:-1] for opener in openers)
        signs = sorted({opener[0] for opener in openers})
        self.angled = signs == ["<"] and all(opener.rfind("<") == 0 for opener in openers)
        self.first = re.compile(f"[{re.escape(''.join(signs))}]") if signs else NOTHING
        self._literals, self._around = literals, tuple(around)
        whole = {*self.literals, *(head for head in self.around if len(head) == _HEAD)}
        self.known = whole | prefixes_of(whole)
        self.deep = frozenset(opener[:_DEEP] for opener in (*literals, *around) if len(opener) >= _DEEP)
        self.shallow = frozenset(opener[:_HEAD] for opener in (*literals, *around) if len(opener) < _DEEP)
        self.begun = _begun(whole)
        self.short = tuple(head for head in whole if len(head) < _HEAD)
        short = [each for head, entries in self.around.items() if len(head) < _HEAD for each in entries]
        self.leads = [(letters(each.before), each.heads_after) for each in short]
        self.prefixed = tuple(each.before + prefix for each in short for prefix in PREFIXES)
        begun = {each[:size] for each in self.prefixed for size in range(1, len(each))}
        parts = "|".join([*map(re.escape, self.prefixed), *(rf"{re.escape(each)}\Z" for each in sorted(begun))])
        self.prefixed_at = (re.compile(parts) if parts else NOTHING).match
        self.prefix_heads = frozenset(each[:size] for each in self.prefixed for size in range(1, _HEAD + 1))

    @cached_property
    def heads(self) -> re.Pattern[str]:
        """Made when first asked for: only openers inside a line are looked for so."""
        return _heads(self._literals, self._around)

    @cached_property
    def any(self) -> AnyOf:
        """What a long text is asked for first. `Literals` adds those with a tool's name right at their beginning."""
        around = (before for before in self._around if len(before) >= _HEAD)
        return AnyOf(opener[:_DEEP] for opener in (*self._literals, *around))


def _sizes(heads: Iterable[str]) -> tuple[int, ...]:
    """The lengths that occur, the longest first."""
    return tuple(sorted({len(head) for head in heads}, reverse=True))


def _begun(heads: Iterable[str]) -> frozenset[str]:
    """The proper beginnings of whole heads: an opener of which only that much has come is not complete."""
    return prefixes_of(head for head in heads if len(head) == _HEAD) - {""}


def _heads(literals: Iterable[str], around: Iterable[str]) -> re.Pattern[str]:
    """A pattern for the first characters of openers, which matches the first alone, so that none hides another."""
    short = {before for before in around if before and len(before) < _HEAD}
    heads = {opener[:_HEAD] for opener in (*literals, *around) if opener} - (short - set(literals))
    at_end = {*short, *(head[:size] for head in {*heads, *short} for size in range(1, len(head)))}
    behind: dict[str, list[str]] = {}
    for first in sorted({head[0] for head in (*heads, *short)}):
        behind[first] = [any_literal(head[1:] for head in sorted(heads) if head[0] == first)]
        behind[first] += [re.escape(before[1:]) + _FIRST_OF_NAME for before in sorted(short) if before[0] == first]
        behind[first] += [re.escape(part[1:]) + r"\Z" for part in sorted(at_end) if part[0] == first]
        if not any(head[0] == first for head in heads):
            del behind[first][0]
    branches = [f"{re.escape(first)}(?={'|'.join(rest)})" for first, rest in behind.items()]
    return re.compile("|".join(branches)) if branches else NOTHING


class Standing(NamedTuple):
    """An opener that stands somewhere.

    name    the tool's name in it as it is written, "" for none, which begins behind `before`
    prefix  characters of that name that are a prefix
    """

    literal: str
    owners: Owners
    before: int = 0
    name: str = ""
    prefix: int = 0


class Literals:
    """The openers of a table where tools of some names are declared. Never changes."""

    __slots__ = ("_any", "_known", "_names", "_prefix_heads", "_short", "_table", "first", "longest", "spans")

    def __init__(self, table: Table, names: ToolNames) -> None:
        self._table, self._names = table, names
        self.first, self.spans = table.first, table.spans
        self.longest = max(table.longest, table.longest_around + names.longest if table.around else 0)
        # What one begins with, in the letters of its name: three characters, or fewer where it or the text has no more.
        known, heads = set[str](), names.heads()
        for lead, heads_after in table.leads:
            for head in [(lead + head)[:_HEAD] for head in heads]:
                known.update((head,) if len(head) == _HEAD else {(head + after)[:_HEAD] for after in heads_after})
        self._short = tuple(head for head in known if len(head) < _HEAD)
        self._known = frozenset((*known, *[head[:size] for head in known for size in range(1, len(head))]))
        self._prefix_heads = table.prefix_heads if names else frozenset()
        self._any: AnyOf | None = None  # of those with names; made when first asked for

    def standing(self, text: str, begin: int) -> Iterator[Standing]:
        """The openers at `begin`, in no order; one may come twice."""
        literals, around = self._table.literals, self._table.around
        for size in self._table.sizes:
            head = text[begin : begin + size]
            for literal, owners in literals.get(head, ()):
                if text.startswith(literal, begin):
                    yield Standing(literal, owners)
            for before, after, _, _ in around.get(head, ()):
                if text.startswith(before, begin):
                    for name, prefix in self._names.at(text, begin + len(before)):
                        behind = begin + len(before) + len(name)
                        for end, owners in after.items():
                            if text.startswith(end, behind):
                                yield Standing(text[begin : behind + len(end)], owners, len(before), name, prefix)

    def may_begin(self, text: str, begin: int) -> bool:
        """Whether an opener may begin at `begin`, by its first characters. This excludes nearly all places."""
        head, table = text[begin : begin + _HEAD], self._table
        if head in table.known and (
            head in table.shallow or text[begin : begin + _DEEP] in table.deep or len(text) - begin < _DEEP
        ):
            return True
        if head.startswith(table.short):
            return True
        spelt = head.translate(MARKS).lower()
        if spelt in self._known or spelt.startswith(self._short):
            return True
        return head in self._prefix_heads and table.prefixed_at(text, begin) is not None

    def at(self, text: str, begin: int) -> bool:
        """Whether an opener is at `begin`."""
        return self.may_begin(text, begin) and next(self.standing(text, begin), None) is not None

    def arriving(self, text: str, begin: int) -> bool:
        """Whether the text from `begin` to its end may still become an opener, or a longer one."""
        if len(text) - begin >= self.longest:
            return False
        tail = text[begin:]
        return tail in self._table.prefixes or self._names_arrive(tail)

    def _names_arrive(self, tail: str) -> bool:
        """Whether `tail` ends inside an opener with a name, in that or after it."""
        for size in self._table.sizes:
            for before, _, begun, _ in self._table.around.get(tail[:size], ()):
                if tail.startswith(before):
                    if self._names.continue_from(tail[len(before) :]):
                        return True
                    if any(tail[len(before) + len(name) :] in begun for name, _ in self._names.at(tail, len(before))):
                        return True
        return False

    def maybe(self, text: str) -> bool:
        """Whether an opener is in the text, or may begin at its end."""
        return self.undecided(text, 0) < len(text)

    def maybe_in_line(self, text: str, *, line_start: bool) -> bool:
        """Whether an opener is at the start of a line, or what ends the text may become one."""
        if line_start and self.maybe_at(text, past(text, 0, BLANKS)):
            return True
        if self._is_not_in(text, at_line=True):
            last = max(text.rfind("\n"), text.rfind("\r")) + 1
            return last > 0 and self.maybe_at(text, past(text, last, BLANKS))
        return any(self.maybe_at(text, line.end()) for line in _LINE.finditer(text))

    def maybe_at(self, text: str, begin: int) -> bool:
        """Whether an opener is at `begin`, or the text from there to its end may become one."""
        if begin == len(text) or not self.may_begin(text, begin):
            return False
        return self.arriving(text, begin) or self.at(text, begin)

    def _is_not_in(self, text: str, *, at_line: bool = False) -> bool:
        """Whether a long text surely has no whole opener, or (`at_line`) none at the start of a line but the first."""
        if len(text) < _LONG:
            return False
        if self._any is None:
            literals = (*self._table.short, *(self._table.prefixed if self._names else ()))
            self._any = AnyOf(literals, (*self._short, *(each for each in self._known if len(each) == _HEAD)))
        return not (self._table.any.maybe_in(text, at_line=at_line) or self._any.maybe_in(text, at_line=at_line))

    def search(self, text: str, start: int, stop: int) -> int:
        """Where the first opener that begins in a stretch is; it may end behind the stretch. -1 for none."""
        for found in self._table.heads.finditer(text, start, min(len(text), stop + _HEAD)):
            if found.start() >= stop:
                break
            if self.at(text, found.start()):
                return found.start()
        return -1

    def at_line(self, text: str, start: int, limit: int, *, line_start: bool) -> int:
        """Where the first opener at the start of a line is, up to `limit`; -1 for none."""
        if line_start:
            begin = past(text, start, BLANKS)
            if begin <= limit and self.at(text, begin):
                return begin
        for line in _LINE.finditer(text, start, min(len(text), limit + 1)):
            if line.end() > limit:
                break
            if self.at(text, line.end()):
                return line.end()
        return -1

    def undecided(self, text: str, start: int) -> int:
        """Where the end of the text begins that may become an opener, len(text) for nowhere; -1 if one comes first."""
        if self._is_not_in(text):
            return self.tail(text, start)
        search, begun, end = self._table.heads.search, self._table.begun, len(text)
        found = search(text, start)
        while found is not None:
            begin = found.start()
            if end - begin < _HEAD and text[begin:] in begun:
                return begin
            if self.may_begin(text, begin):
                if self.arriving(text, begin):
                    return begin
                if self.at(text, begin):
                    return -1
            found = search(text, begin + 1)
        return end

    def tail(self, text: str, start: int) -> int:
        """Where the end of the text begins that may become an opener; len(text) for nowhere."""
        end = len(text)
        begin = max(start, end - self.longest)
        if self._table.angled:
            last = text.rfind("<", begin)
            return last if last >= 0 and self.arriving(text, last) else end
        for match in self.first.finditer(text, begin):
            if self.may_begin(text, match.start()) and self.arriving(text, match.start()):
                return match.start()
        return end

    def whole_tail(self, text: str, begin: int) -> int:
        """`begin` where all the text from there on may become an opener, else len(text)."""
        return begin if begin < len(text) and self.arriving(text, begin) else len(text)
