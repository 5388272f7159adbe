"""Access rules: which calls a client may get.

Strategy: the rules are in order, and the first one that holds decides. A rule may hold, not hold, or not be known yet
(an argument that it asks for has not ended). A call is undecided only while the answer depends on what is not known:
where all that may still come of it is the same, it is decided.

Written to fail closed: what cannot be evaluated while a rule that blocks may hold is blocked. A key that comes once
more after a decision is looked at again, since readers of JSON take the last one. A rule that blocks takes a name in
any spelling that a client may take for it (`spellings`), and an argument wherever it is in the call; a rule that
allows takes neither.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from html import unescape

from toolcalls.events import Reason
from toolcalls.processors.arguments import leaves, members_in, plain
from toolcalls.processors.paths import lies_in_one
from toolcalls.route import Access, AccessRule, Condition
from toolcalls.text.lookalike import skeleton
from toolcalls.text.patterns import Pattern, TooMuchWork, Work, compiled

# What parts a tool's name from whose it is: `functions.x`, `server:x`, `server/x`, `mcp__server__x`; and what some
# models put after it: `x:0`, `x<|channel|>`.
_PARTS = re.compile(r"[.:/]|__+")
_BEHIND = re.compile(r"(?::\d+|<\|.*)$", re.DOTALL)
_JOINED = re.compile(r"(?<=[^\W_])[-_ ](?=[^\W_])")  # what parts the words of a name; two `_` part more than that
_AROUND = " \t\r\n`'\"<>()"  # what some models put around a name
_CUT = re.compile(r"[\"'<>]")  # with which a name's markup goes on
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SUFFIX = re.compile(r"(?:[-_ ]?tool){1,2}\Z", re.IGNORECASE)
_GUESS = 100  # how many times as long as a search it takes to compare two names
_CLOSE = 0.7  # of `difflib`, from which on agents take one name for another
_LONGEST = 128  # characters of a name that a text may say
_NAME = re.compile(rf"[\w.:/-]{{1,{_LONGEST}}}")
_NAMES = 256  # whose rules are kept
_REFUSES = ("(?!", "(?<!")  # a pattern that says what a name is not


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call is not let through: the rule, the reason, and what the client gets instead."""

    rule: str
    reason: Reason
    text: str


class Gate:
    """The rules of one exchange: those that are for its model and its client, in order.

    work       what their patterns may cost, with whatever else shares it
    declared   the names of the tools that the client has, as far as they are known
    """

    def __init__(
        self, access: Access, *, model: str, agent: str, work: Work | None = None, declared: Iterable[str] = ()
    ) -> None:
        self._access = access
        self.work = work or Work()
        self._declared = {name.casefold(): name for name in declared}
        applying = [rule for rule in access.rules if _applies(rule, model, agent)]
        self._rules = [_Rule(rule) for rule in sorted(applying, key=lambda rule: -rule.priority)]
        self._known: dict[str, tuple[list[_Rule], set[_Rule]]] = {}  # by name, the rules that are about it

    def judge(self, name: str, other_names: Collection[str] = ()) -> "Judgement":
        """A judgement of one call, whose name is final. A rule whose patterns cannot tell is about it if it blocks.

        other_names   what a client may take for the name instead, to rules that block
        """
        if other_names:
            return Judgement(self, name, *self._about(name, other_names))
        known = self._known.get(name)
        if known is None:
            known = self._about(name, ())
            if len(self._known) < _NAMES and len(name) <= _LONGEST:
                self._known[name] = known
        return Judgement(self, name, *known)

    def _about(self, name: str, other_names: Collection[str]) -> "tuple[list[_Rule], set[_Rule]]":
        """The rules that are about a name, and those of them that could not tell."""
        rules: list[_Rule] = []
        unsure: set[_Rule] = set()
        meant = self._meant(name)
        for rule in self._rules:
            try:
                if rule.blocks and meant is None:
                    raise TooMuchWork
                others = (*other_names, *(meant or ())) if rule.blocks else ()
                if any(rule.names(one, self.work) for one in (name, *others)):
                    rules.append(rule)
            except TooMuchWork:
                if rule.blocks:
                    rules.append(rule)
                    unsure.add(rule)
        return rules, unsure

    def _meant(self, name: str) -> list[str] | None:
        """The tools for which agents take a name that is not declared; None where that takes too much work."""
        if name in self._declared.values():
            return []
        repaired = list(repairs(name))
        written = repaired[0].casefold()
        # A name twice as long as another one cannot come close to it.
        if len(written) > 2 * max(map(len, self._declared), default=0):
            return repaired
        try:
            self.work.search(_GUESS * len(written) * len(self._declared))
        except TooMuchWork:
            return None
        return repaired + [self._declared[one] for one in get_close_matches(written, self._declared, cutoff=_CLOSE)]

    def refuses_always(self, name: str) -> Refusal | None:
        """Why a tool may not be called whatever the arguments are, None where some call of it may pass."""
        judgement = self.judge(name)
        return judgement.refusal if judgement.decided else None

    def refuses_unread(self) -> Refusal | None:
        """Why a call of which nothing can be read is refused, None where nothing is ever blocked."""
        blocking = next((rule.rule for rule in self._rules if rule.blocks), None)
        return self.refusal("", blocking, "undecided") if blocking is not None or self.denies else None

    def refusal(self, name: str, rule: AccessRule | None, reason: Reason = "access") -> Refusal:
        """What a rule says of a call; None is the default's."""
        text = (rule.message if rule else None) or self._access.message
        called = rule.name if rule else "default"
        return Refusal(called, reason, text.replace("{tool}", printable_name(name)).replace("{rule}", called))

    @property
    def denies(self) -> bool:
        """Whether calls that no rule is about are blocked."""
        return self._access.default == "deny"


class Judgement:
    """One call before the rules, while its arguments arrive.

    `decided`: the client may be shown the call, or must not be (`refusal`). A refusal may still come after that.
    """

    def __init__(self, gate: Gate, name: str, rules: "list[_Rule]", unsure: "Collection[_Rule]" = ()) -> None:
        self._gate = gate
        self._unsure = unsure
        self._name = name
        self._known = [(rule, _Known(rule)) for rule in rules]
        self.watches = any(rule.conditions for rule in rules)
        self.decided = False
        self.refusal: Refusal | None = None
        self._decide(whole=False)

    @property
    def only_blocks(self) -> bool:
        """Whether no argument makes the call pass that would be blocked without it."""
        return not self._gate.denies and all(rule.blocks for rule, _ in self._known)

    def asks(self, key: str) -> bool:
        """Whether a rule may ask for an argument of this name."""
        usual = visible(key).casefold()
        return any(condition.asks(usual) for rule, _ in self._known for condition in rule.conditions)

    def learn(self, key: str, raw: str) -> None:
        """Take one final argument."""
        if self.refusal is not None:
            return
        for rule, known in self._known:
            try:
                known.learn(key, raw, self._gate.work)
            except Exception:  # noqa: BLE001 - fails closed: whatever goes wrong in a rule, it lets nothing through
                known.failed = True
                if rule.blocks:
                    self._refuse(rule, "undecided")
                    return
        self._decide(whole=False)

    def end(self, *, whole: bool) -> None:
        """No more arguments come. `whole`: the object was complete and could be read; else nothing is known of it."""
        if self.refusal is not None:
            return
        if whole:
            self._decide(whole=True)
        elif not self.decided:
            open_ = (rule for rule, known in self._known if rule.blocks and known.holds(whole=False) is not False)
            self._refuse(next(open_, None), "undecided")

    def mark_invalid(self) -> None:
        """What came is no JSON object. A client that mends it may find more in it than a rule that blocks has seen."""
        self.end(whole=False)
        blocking = next((rule for rule, _ in self._known if rule.blocks and rule.conditions), None)
        if self.refusal is None and blocking is not None:
            self._refuse(blocking, "undecided")

    def _decide(self, *, whole: bool) -> None:
        """Let the first rule that holds decide, unless one before it may still hold and says otherwise."""
        perhaps: list[_Rule] = []
        found: _Rule | None = None
        for rule, known in self._known:
            holds = known.holds(whole=whole)
            if holds:
                found = rule
                break
            if holds is None:
                perhaps.append(rule)
        blocks = found.blocks if found else self._gate.denies
        # An argument that comes once more may open again what was decided.
        self.decided = not any(rule.blocks != blocks for rule in perhaps)
        if not self.decided:
            return
        if blocks:
            self._refuse(found, "access")

    def _refuse(self, rule: "_Rule | None", reason: Reason) -> None:
        reason = "undecided" if rule in self._unsure else reason
        self.refusal = self._gate.refusal(self._name, rule.rule if rule else None, reason)
        self.decided = True


class _Known:
    """What is known of one rule's conditions in one call.

    Of an argument that comes twice the worse one counts: a rule that blocks needs one that meets its condition, a rule
    that allows must find it met each time.
    """

    __slots__ = ("_met", "_rule", "failed")

    def __init__(self, rule: "_Rule") -> None:
        self._rule = rule
        self._met: dict[int, bool] = {}
        self.failed = False

    def learn(self, key: str, raw: str, work: Work) -> None:
        """Take one argument. Raises whatever its value or a pattern makes go wrong."""
        for number, condition in enumerate(() if self.failed else self._rule.conditions):
            if condition.argument in {key, "*"}:
                met, before = condition.holds(raw, work), self._met.get(number)
                self._met[number] = met if before is None else (met or before if self._rule.blocks else met and before)
            elif self._rule.blocks and any(condition.holds(value, work) for value in condition.hidden(key, raw)):
                self._met[number] = True

    def holds(self, *, whole: bool) -> bool | None:
        """Whether the rule holds; None: not known yet."""
        if self.failed:
            return False
        answer: bool | None = True
        for number, condition in enumerate(self._rule.conditions):
            met = self._met.get(number)
            if condition.argument == "*" and not whole and met is not self._rule.blocks:
                met = None  # each argument matters: one may still meet a rule that blocks, or fail one that allows
            if met is None and whole:
                met = False
            if met is False:
                return False
            answer = None if met is None else answer
        return answer


class _Rule:
    """A rule with its patterns compiled."""

    __slots__ = ("_names", "blocks", "conditions", "rule")

    def __init__(self, rule: AccessRule) -> None:
        self.rule = rule
        self.blocks = rule.action == "block"
        flags = re.IGNORECASE | re.DOTALL if self.blocks else re.NOFLAG
        self._names = [compiled(tool, flags) for tool in rule.tools]
        self.conditions = [_Condition(condition, blocks=rule.action == "block") for condition in rule.arguments]

    def names(self, name: str, work: Work) -> bool:
        """Whether it is about tools of this name. Raises TooMuchWork where a pattern cannot tell."""
        if any(pattern.fullmatch(name, work) for pattern in self._names):
            return True
        if not self.blocks:
            return False
        patterns = [pattern for pattern in self._names if not any(word in pattern.text for word in _REFUSES)]
        return any(pattern.fullmatch(other, work) for other in spellings(name) for pattern in patterns)


def readings(text: str) -> Iterator[str]:
    """A value as it stands, and as a client has it that decodes entities where it reads its calls out of markup."""
    yield text
    if "&" in text and (decoded := unescape(text)) != text:
        yield decoded


def visible(name: str) -> str:
    """A name without what shows nothing, in the usual letters, and without white space around it."""
    if name.isascii() and name.isprintable():
        return name.strip()
    usual = unicodedata.normalize("NFKC", name)
    return "".join(sign for sign in usual if sign.isspace() or unicodedata.category(sign) not in {"Cf", "Cc"}).strip()


def printable_name(name: str) -> str:
    """A tool's name as a text may say it: models make names up, and may put a call, or a book, into one."""
    return name if _NAME.fullmatch(name) else "the tool"


def spellings(name: str) -> Iterator[str]:
    """What a client may take a tool's name for, beside the name itself. Rules match them without regard to case.

    Models put a namespace in front (`functions.`, `default_api:`, `mcp__server__`) and more after; clients that take a
    name nevertheless take away what they know. What shows nothing is left out. Clients that correct a name take `-`,
    `_` and a space for each other, and letters of other scripts for the Latin ones that they are drawn like.
    """
    usual = _BEHIND.sub("", visible(name)).strip(_AROUND)
    drawn = usual if usual.isascii() else skeleton(usual)
    for spelling in dict.fromkeys((usual, drawn or usual)):
        for one in dict.fromkeys((spelling, _JOINED.sub("_", spelling), _JOINED.sub("-", spelling))):
            yield one
            for mark in _PARTS.finditer(spelling):
                yield one[mark.end() :]


def repairs(name: str) -> Iterator[str]:
    """What agents make of a name that none of their tools has: cut at a quote or a tag, with its words parted at
    capitals, and without `tool` at its end. At least one.

    Source: `repair_tool_call` of https://github.com/NousResearch/hermes-agent.
    """
    cut = _CUT.split(visible(name).strip(_AROUND))[0]
    parted = _HUMP.sub("_", cut)
    yield from dict.fromkeys((cut, parted, _SUFFIX.sub("", cut), _SUFFIX.sub("", parted)))


class _Condition:
    """A condition, compiled."""

    __slots__ = ("_blocks", "_condition", "_key", "_pattern", "argument")

    def __init__(self, condition: Condition, *, blocks: bool) -> None:
        self._condition = condition
        self._blocks = blocks
        # A line end hides nothing from a rule that blocks, and a `.` of one that allows lets none through.
        flags = re.DOTALL if blocks else re.NOFLAG
        self._pattern = compiled(condition.matches, flags) if condition.matches is not None else None
        self._key = visible(condition.argument).casefold()
        self.argument = condition.argument

    def asks(self, key: str) -> bool:
        """Whether it is about an argument of this name, as `visible` and in small letters."""
        return self.argument == "*" or key == self._key

    def hidden(self, key: str, raw: str) -> Iterator[str]:
        """The values, as JSON text, that another argument holds for this one: further inside, or in other capitals,
        which some clients take. Raises ValueError or RecursionError for what cannot be taken apart.
        """
        if visible(key).casefold() == self._key:
            yield raw
        else:
            yield from members_in(key, raw, self._key, lambda name: visible(name).casefold())

    def holds(self, raw: str, work: Work) -> bool:
        """Whether all of it holds for a value. Raises ValueError or RecursionError for what cannot be taken apart, and
        TooMuchWork.

        A rule that blocks asks whether any path of a list may lie where it says, one that allows whether all do.
        """
        outside, inside, pattern = self._condition.outside, self._condition.inside, self._pattern
        if pattern is not None:
            met = self._found(pattern, raw, work) if self._blocks else pattern.fullmatch(plain(raw), work)
            if not met:
                return False
        if outside is None and inside is None:
            return True
        paths = leaves(raw)
        if self._blocks:
            paths = [reading for path in paths for reading in readings(path)]
            return (outside is None or any(lies_in_one(path, outside) is not True for path in paths)) and (
                inside is None or any(lies_in_one(path, inside) is not False for path in paths)
            )
        return (outside is None or all(lies_in_one(path, outside) is False for path in paths)) and (
            inside is None or all(lies_in_one(path, inside) is True for path in paths)
        )

    @staticmethod
    def _found(pattern: Pattern, raw: str, work: Work) -> bool:
        """Whether a pattern is found in a value; in a list, such as a command's words, also in them as one line."""
        if any(pattern.search(reading, work) for reading in readings(plain(raw))):
            return True
        if raw.lstrip(" \t\r\n")[:1] not in {"[", "{"}:
            return False
        return any(pattern.search(reading, work) for reading in readings(" ".join(leaves(raw))))


def _applies(rule: AccessRule, model: str, agent: str) -> bool:
    return (rule.model is None or fnmatchcase(model, rule.model)) and (
        rule.agent is None or fnmatchcase(agent.lower(), rule.agent.lower())
    )
