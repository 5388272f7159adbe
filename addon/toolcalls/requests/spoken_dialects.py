"""Which dialects a prompt teaches and which the model's earlier replies use, decided by their grammars.

A dialect counts where it reads a whole call. Many share an opener, and some read each other's calls: of those that read
the same place, the ones count that cover most of it, need no repair and write the calls as they are. Where several are
left, all of them are returned.

A prompt shows calls with placeholders (`{"name": <function-name>}`, `...`), in sentences, lists and fences: the
placeholders are filled in, and every place counts. In a reply a call counts only where its dialect allows one. JSON and
code in the open may be in any prompt, so prompts teach them in words, which a dialect's file gives as `TAUGHT`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module

from toolcalls.dialects import FIRST, LAST, all_dialects, grammar
from toolcalls.events import Verdict
from toolcalls.reading.policy import TAKE, CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request
from toolcalls.requests.collected_calls import CollectedCalls
from toolcalls.requests.present_openers import may_hold_calls, openers_in
from toolcalls.requests.prompt_tools import tools_in
from toolcalls.route import Route
from toolcalls.shapes import Dialect, Unwritable
from toolcalls.text.linear_search import LinearSearches
from toolcalls.text.scanner import SPACE, Scanner
from toolcalls.values.toolbox import Toolbox

_TEXT = 1 << 18  # characters of a prompt or a reply that are searched
_CALLS = 1 << 14  # characters of a prompt that one block of calls may have
_TRIES = 24  # places in a prompt where one dialect is tried
_REMEMBERED = 64  # prompts and replies whose dialects are remembered: a session sends them again with each request

# Placeholders: `"name": <function-name>`, `<tool_call>{function-name}`, `<invoke name="$TOOL_NAME">`, lines of dots.
_NAME = re.compile(r"""(["'](?:name|tool|tool_name|function)["']\s*:\s*)<[^<>{}\n"']{1,80}>""")
_VALUE = re.compile(r"""(["'][\w-]{1,40}["']\s*:\s*)<[^<>{}\n"']{1,80}>""")
_BRACED = re.compile(r"\{([A-Za-z][\w -]{0,60})\}")
_DOLLAR = re.compile(r"\$([A-Z][A-Z0-9_]{1,60})\b")
_AND_SO_ON = re.compile(r"^[ \t]*(?:\.\.\.|…)[ \t]*\n", re.MULTILINE)
_PLACEHOLDERS = (_NAME, _VALUE, _BRACED, _DOLLAR, _AND_SO_ON)


@dataclass(frozen=True, slots=True)
class _Fit:
    """Calls that a dialect reads in a text. `distance` is how far they are from what it would write, 0 for the same."""

    dialect: str
    start: int
    end: int
    distance: int


def taught_in(prompt: str, own: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The dialects that a system prompt teaches: () for none, several where it may be any of them.

    own   those of the configuration, which are tried with those of the package
    """
    return _named(_taught_in(prompt[:_TEXT], own), own)


def used_in(replies: Iterable[str], prompt: str, own: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The dialects of the calls in the model's earlier replies, as in `taught_in`. `prompt` may declare the tools."""
    found = [group for reply in replies for group in _used_in(reply[:_TEXT], prompt[:_TEXT], own)]
    return _named(_in_common(found), own)


def _named(found: Iterable[str], own: Sequence[str]) -> tuple[str, ...]:
    """Dialects by the names that routes know them by; those of the configuration before others that read the same."""
    names = tuple(next((one for one in own if one == name), name) for name in found)
    return tuple(name for name in names if name in own) or names


def begins_with_call(text: str, tools: Toolbox) -> bool:
    """Whether a prompt's example begins with a whole call of some dialect."""
    shown = _filled_in(text).strip(SPACE)
    return any(
        fit.start == 0
        for dialect in all_dialects().values()
        if dialect.place != "message" and shown.startswith(dialect.openers(tools.names))
        for fit in _fits(dialect, shown, tools)
    )


@lru_cache(maxsize=_REMEMBERED)
def _taught_in(prompt: str, own: tuple[str, ...]) -> tuple[str, ...]:
    possible = _words_in(prompt)
    text = prompt if possible.isdisjoint(_PLACEHOLDERS) else _filled_in(prompt)
    tools = _tools_of(prompt)
    present = openers_in(text, tools)
    found = [
        fit
        for dialect in all_dialects().values()
        if dialect.place != "message" and not present.isdisjoint(dialect.openers(tools.names))
        for fit in _fits(dialect, text, tools)
    ]
    found += [fit for name in own for fit in _fits(grammar(name), text, tools)]
    words = [(name,) for name, taught in _taught().items() if taught in possible and taught.search(prompt) is not None]
    return _in_common([*map(_best, _places(found)), *words])


@lru_cache(maxsize=_REMEMBERED)
def _used_in(reply: str, prompt: str, own: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    tools = _tools_of(prompt)
    if not own and not may_hold_calls(reply, tools):
        return ()
    route = Route(own=own, max_buffer_bytes=4 * _TEXT, take=(*TAKE["standard"], "weak_sign"))
    reader = Reader(CallPolicy(route, Request(), allow_undeclared=True), tools=tools)
    events = [*reader.feed(reply), *reader.finish(cut=False)]
    lifted = [event for event in events if isinstance(event, Verdict) and event.status == "lifted"]
    asked = (*all_dialects().values(), *map(grammar, own))
    groups = []
    end = 0
    for verdict in lifted:
        if reply[end : verdict.start].strip() or not end:  # calls side by side are one block
            fits = (_fit_at(dialect, reply, verdict.start, tools) for dialect in asked)
            groups.append(_best([fit for fit in fits if fit is not None]) or (verdict.dialect or "",))
        end = verdict.end
    return tuple(groups)


@lru_cache(maxsize=8)
def _tools_of(prompt: str) -> Toolbox:
    return Toolbox(tools_in(prompt), textual=True)


@cache
def _taught() -> dict[str, re.Pattern[str]]:
    """By dialect, the words of prompts that teach it."""
    modules = {name: import_module(f"toolcalls.dialects.{name}") for name in all_dialects()}
    return {
        name: re.compile(module.TAUGHT, re.MULTILINE) for name, module in modules.items() if hasattr(module, "TAUGHT")
    }


def _words_in(prompt: str) -> frozenset[re.Pattern[str]]:
    """The placeholders and the teaching words that may be in a prompt; a long one holds few of them."""
    wanted, search = _words()
    return frozenset(wanted[one] for one in search.possible(prompt))


@cache
def _words() -> tuple[tuple[re.Pattern[str], ...], LinearSearches]:
    wanted = (*_PLACEHOLDERS, *_taught().values())
    return wanted, LinearSearches(wanted)


def _filled_in(prompt: str) -> str:
    """A prompt with words in place of its placeholders."""
    prompt = _VALUE.sub(r"\1{}", _NAME.sub(r'\1"a_tool"', prompt))
    prompt = _BRACED.sub(lambda found: found[1].replace(" ", "_"), prompt)
    return _AND_SO_ON.sub("", _DOLLAR.sub(r"\1", prompt))


# Of several dialects


def _in_common(groups: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The dialects that all groups have in common, else those of all groups."""
    if not groups:
        return ()
    common = [name for name in groups[0] if all(name in group for group in groups)]
    return tuple(common) or tuple(dict.fromkeys(name for group in groups for name in group))


def _places(found: Iterable[_Fit]) -> Iterator[list[_Fit]]:
    """The calls grouped by place: those that overlap are together."""
    place: list[_Fit] = []
    end = 0
    for fit in sorted(found, key=lambda one: one.start):
        if place and fit.start >= end:
            yield place
            place = []
        place.append(fit)
        end = max(end, fit.end)
    if place:
        yield place


def _best(place: Sequence[_Fit]) -> tuple[str, ...]:
    """The dialects that read a place best."""
    if not place:
        return ()
    longest = max(fit.end - fit.start for fit in place)
    widest = [fit for fit in place if fit.end - fit.start == longest]
    # What they look for, the others would read as something else: the reader asks them first, too.
    widest = [fit for fit in widest if fit.dialect in FIRST] or widest
    least = min((fit.distance, fit.dialect in LAST) for fit in widest)
    return tuple(dict.fromkeys(fit.dialect for fit in widest if (fit.distance, fit.dialect in LAST) == least))


# Of one dialect


@lru_cache(maxsize=256)
def _any_of(literals: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(literals, key=len, reverse=True))) or r"(?!)")


def _fits(dialect: Dialect, text: str, tools: Toolbox) -> Iterator[_Fit]:
    """The calls of a dialect anywhere in a text."""
    openers = _any_of(dialect.openers(tools.names))
    found = openers.search(text)
    for _ in range(_TRIES):
        if found is None:
            return
        start = _with_stray_word(dialect, text, found.start())
        fit = None
        if dialect.place != "start" or not text[text.rfind("\n", 0, start) + 1 : start].strip(" \t"):
            fit = _read(dialect, text, start, found.start(), tools)
        if fit is not None:
            yield fit
        found = openers.search(text, found.end() if fit is None else max(fit.end, found.end()))


def _fit_at(dialect: Dialect, text: str, start: int, tools: Toolbox) -> _Fit | None:
    """The calls of a dialect that begin in this place, None for none."""
    found = _any_of(dialect.openers(tools.names)).search(text, start, start + _CALLS)
    if found is None or _with_stray_word(dialect, text, found.start()) != start:
        return None
    return _read(dialect, text, start, found.start(), tools)


def _with_stray_word(dialect: Dialect, text: str, opener: int) -> int:
    """Where an opener begins with the stray word in front of it, if there is one."""
    before = text[max(0, opener - 64) : opener].rstrip(SPACE)
    size = max((len(word) for word in dialect.stray_words if before.endswith(word)), default=0)
    return opener if not size else opener - len(text[max(0, opener - 64) : opener]) + len(before) - size


def _read(dialect: Dialect, text: str, start: int, opener: int, tools: Toolbox) -> _Fit | None:
    """One block of calls from `start` on; None where the dialect reads no whole call."""
    scan = Scanner()
    scan.feed(text[start : start + _CALLS])
    scan.end(cut=False)
    scan.take(opener - start)
    collected = CollectedCalls(scan, tools)
    run = dialect.read(scan, collected, tools)
    try:
        next(run)
    except StopIteration as done:
        end = scan.pos if done.value else collected.end_of_last
    else:
        raise AssertionError("a grammar waits for text behind the end")
    if not collected.calls or collected.failed:
        return None
    shown = text[start : start + end].strip(SPACE)
    end = start + end - (len(text[start : start + end]) - len(text[start : start + end].rstrip(SPACE)))
    return _Fit(dialect.name, start, end, _distance(dialect, shown, collected, tools))


def _distance(dialect: Dialect, shown: str, collected: CollectedCalls, tools: Toolbox) -> int:
    """0 for calls as the dialect writes them, 1 with other white space, 2 for another spelling, 3 with repairs."""
    if collected.repairs:
        return 3
    try:
        written = dialect.write(collected.calls, tools)
    except (Unwritable, ValueError):
        return 2
    if written.strip(SPACE) == shown:
        return 0
    return 1 if "".join(written.split()) == "".join(shown.split()) else 2
