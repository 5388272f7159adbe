"""The verdicts of native calls that stayed native: each has one, at the lane's end. Those of lifted calls say more."""

from collections.abc import Iterable, Iterator

from toolcalls.events import FUNCTION_FORMS, Defect, Reason, Status, Verdict
from toolcalls.mending.defects import checked, defects_of
from toolcalls.replies.calls import Calls, ClientCall
from toolcalls.replies.stages import End, Item, Stage
from toolcalls.values.toolbox import Toolbox


class Judge(Stage):
    """Judges the native calls of a lane that have no verdict yet.

    undeclared   names that nobody declares are all right
    """

    looks_at = (Verdict,)

    def __init__(self, calls: Calls, tools: Toolbox, *, undeclared: bool = False) -> None:
        self._calls = calls
        self._tools = tools
        self._undeclared = undeclared
        self._in_text: set[str] = set()  # the tools of the candidates in the lane's text

    def feed(self, items: Iterable[Item]) -> Iterable[Item]:
        """Which tools the text calls is remembered, and what is wrong with a call that was lifted is said."""
        return [self._of_text(item) if isinstance(item, Verdict) else item for item in items]

    def _of_text(self, verdict: Verdict) -> Verdict:
        if verdict.dialect is None or verdict.name is None:
            return verdict
        self._in_text.add(self._tools.resolve(verdict.name))
        call = next((one for one in reversed(self._calls.client_calls) if one.index == verdict.index), None)
        is_function = call is not None and call.form in FUNCTION_FORMS
        return checked(verdict, call.arguments if call is not None and is_function else None, self._tools)

    def finish(self, end: End) -> Iterator[Item]:
        """A verdict for each native call, and for each entry that has begun none."""
        calls = self._calls
        for came_as, call in calls.natives.items():
            yield calls.mark(came_as, self._verdict(came_as, call, end))
        calls.judge_natives()
        for index in [index for index in calls.damages if index not in calls.begun]:
            defects = tuple(calls.damages.pop(index))
            yield Verdict("malformed", defects[0].code, None, None, 0, 0, defects=defects)

    def _verdict(self, came_as: int, call: ClientCall, end: End) -> Verdict:
        status: Status = "native"
        reason: Reason | None = call.stays
        lost = end.reason is None and call.stays is not None  # it would have become text at the end
        defects = self._defects(came_as, call, whole=call.complete or not end.cut)
        if call.outgrown and not end.cut:
            reason = "max_call_chars"
        elif lost or not call.complete:
            status, reason = ("truncated", "cut_off") if end.cut else ("malformed", None)
        elif any(one.code == "no_name" for one in defects):  # nobody can run it
            status = "malformed"
        if reason is None and defects:
            reason = defects[0].code
        elif status == "malformed":
            reason = "bad_arguments"
        nearest = self._tools.nearest(call.name) if any(one.code == "undeclared" for one in defects) else ()
        return Verdict(status, reason, None, call.name, 0, 0, index=call.index, nearest=nearest, defects=defects)

    def _defects(self, came_as: int, call: ClientCall, *, whole: bool) -> tuple[Defect, ...]:
        """What is wrong with a call: what the wire noticed, then what is in it."""
        noticed = tuple(
            defect for defect in self._calls.damages.get(came_as, ()) if not (call.name and defect.code == "no_name")
        )
        if call.form not in FUNCTION_FORMS:  # a custom tool's, a shell's: not of the request's functions
            return noticed
        text = call.arguments if whole and not call.outgrown else None
        found = defects_of(call.name, text, self._tools, undeclared=self._undeclared)
        known = {defect.code for defect in noticed}
        beside = (Defect("empty_beside_text"),) if text is not None and self._stands_in_text(call.name, text) else ()
        return (*noticed, *beside, *(defect for defect in found if defect.code not in known))

    def _stands_in_text(self, name: str, arguments: str) -> bool:
        """Whether a call without arguments is beside one of the same tool in the text, and the tool has some."""
        if arguments.strip() and _members(arguments):
            return False
        tool = self._tools.resolve(name)
        return tool in self._in_text and bool(self._tools.keys(tool))


def _members(arguments: str) -> bool:
    """Whether arguments are anything but an empty object."""
    return "".join(arguments.split()) != "{}"
