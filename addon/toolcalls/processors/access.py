"""Access rules: which calls a client may get.

Strategy: the rules stand in order, and the first one that holds decides. A rule may hold, not hold, or not be known yet
(an argument that it asks for has not ended). A call is undecided only while the answer depends on what is not known:
where all that may still come of it is the same, it is decided.

Written to fail closed: what cannot be evaluated while a rule that blocks may hold is blocked. A key that comes once
more behind a decision is looked at again, since readers of JSON take the last one.
"""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from posixpath import normpath
from urllib.parse import unquote, urlsplit

from toolcalls.processors.arguments import plain
from toolcalls.route import Access, AccessRule, Condition

_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call is not let through: the rule, a word of `policy.REASONS`, and what the client is told instead."""

    rule: str
    reason: str
    text: str


class Gate:
    """The rules of one exchange: those that are for its model and its client, in order."""

    def __init__(self, access: Access, *, model: str, agent: str) -> None:
        self._access = access
        applying = [rule for rule in access.rules if _applies(rule, model, agent)]
        self._rules = [_Rule(rule) for rule in sorted(applying, key=lambda rule: -rule.priority)]

    def judge(self, name: str) -> "Judgement":
        """A judgement of one call, whose name is final."""
        return Judgement(self, name, [rule for rule in self._rules if rule.names(name)])

    def never(self, name: str) -> Refusal | None:
        """Why a tool may not be called whatever the arguments are, None where some call of it may pass."""
        judgement = self.judge(name)
        return judgement.refusal if judgement.decided else None

    def refusal(self, name: str, rule: AccessRule | None, reason: str = "access") -> Refusal:
        """What a rule says of a call; None is the default's."""
        text = (rule.message if rule else None) or self._access.message
        called = rule.name if rule else "default"
        return Refusal(called, reason, text.replace("{tool}", name).replace("{rule}", called))

    @property
    def denies(self) -> bool:
        """Whether a call that no rule is about is blocked."""
        return self._access.default == "deny"


class Judgement:
    """One call before the rules, while its arguments arrive.

    `decided`: the client may be shown the call, or must not be (`refusal`). A refusal may still come behind that.
    """

    def __init__(self, gate: Gate, name: str, rules: "list[_Rule]") -> None:
        self._gate = gate
        self._name = name
        self._known = [(rule, _Known(rule)) for rule in rules]
        self.watches = any(rule.conditions for rule in rules)
        self.decided = False
        self.refusal: Refusal | None = None
        self._decide(whole=False)

    def learn(self, key: str, raw: str) -> None:
        """One argument is final."""
        if self.refusal is not None:
            return
        for rule, known in self._known:
            try:
                known.learn(key, raw)
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
        if any(rule.blocks != blocks for rule in perhaps):
            return
        self.decided = True
        if blocks:
            self._refuse(found, "access")

    def _refuse(self, rule: "_Rule | None", reason: str) -> None:
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

    def learn(self, key: str, raw: str) -> None:
        """One argument. Raises whatever its value or a pattern makes go wrong."""
        value = None
        for number, condition in enumerate(self._rule.conditions):
            if condition.argument in {key, "*"}:
                value = plain(raw) if value is None else value
                met, before = condition.holds(value), self._met.get(number)
                self._met[number] = met if before is None else (met or before if self._rule.blocks else met and before)

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
        self._names = [re.compile(tool, re.IGNORECASE if rule.action == "block" else 0) for tool in rule.tools]
        self.conditions = [_Condition(condition, blocks=rule.action == "block") for condition in rule.arguments]

    def names(self, name: str) -> bool:
        """Whether it is about tools of this name."""
        return any(pattern.fullmatch(name) for pattern in self._names)


class _Condition:
    __slots__ = ("_condition", "_pattern", "_whole", "argument")

    def __init__(self, condition: Condition, *, blocks: bool) -> None:
        self._condition = condition
        self._whole = not blocks
        self._pattern = re.compile(condition.matches) if condition.matches is not None else None
        self.argument = condition.argument

    def holds(self, value: str) -> bool:
        """Whether all of it holds for a value."""
        outside, inside = self._condition.outside, self._condition.inside
        pattern = self._pattern
        return (
            (pattern is None or bool(pattern.fullmatch(value) if self._whole else pattern.search(value)))
            and (outside is None or not any(lies_in(value, root) for root in outside))
            and (inside is None or any(lies_in(value, root) for root in inside))
        )


def lies_in(path: str, root: str) -> bool:
    """Whether a path lies in `root`, by its letters: `..` is followed, links are not, a relative path begins in it.

    What names another place altogether (`~`, a drive letter, a URL, a NUL) lies in nothing.
    """
    path = path.strip().replace("\\", "/")
    if path.startswith("file:"):
        path = unquote(urlsplit(path).path)
    root = normpath(root.replace("\\", "/"))
    same_drive = bool(_DRIVE.match(root)) and path[:2].lower() == root[:2].lower()
    if path.startswith("~") or "\0" in path or "://" in path or (_DRIVE.match(path) and not same_drive):
        return False
    if same_drive:
        path, root = path[2:], root[2:]
    whole = normpath(path if path.startswith("/") else f"{root}/{path}").replace("//", "/")
    root = root.replace("//", "/")
    return whole == root or whole.startswith(root.rstrip("/") + "/")


def _applies(rule: AccessRule, model: str, agent: str) -> bool:
    return (rule.model is None or fnmatchcase(model, rule.model)) and (
        rule.agent is None or fnmatchcase(agent.lower(), rule.agent.lower())
    )
