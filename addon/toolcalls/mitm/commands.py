"""What a person can ask about flows, by name in mitmproxy's command line or by a key in its console.

    toolcalls.why FLOW                  each candidate of a reply with the seven conditions, met or failed
    toolcalls.stats FLOWS               how many calls had which outcome, by model and dialect
    toolcalls.judge FLOWS               read recorded replies again with today's configuration
    toolcalls.policy FLOWS POLICY       another policy for their routes until mitmproxy stops, and judge them again
    toolcalls.copy FLOW FORM [CALL] [FILE]   a call as JSON or as text of a dialect, to the clipboard or to a file
    toolcalls.export FORMAT FLOWS FILE  flows for other programs

Signatures are typed as mitmproxy's own, so it completes arguments and says what is wrong with them. What comes from a
model is shown with its hidden characters as escapes, and copied and exported as it is.

Over 300 lines: mitmproxy takes the commands of an addon from one object, and each is little more than its signature.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any, cast, get_args

import mitmproxy.types
from mitmproxy import command, ctx, exceptions, flow, hooks, http
from mitmproxy.log import ALERT

from toolcalls.dialects import all_dialects
from toolcalls.insight import report
from toolcalls.insight.exports import FORMATS
from toolcalls.mitm import background, flow_metadata
from toolcalls.mitm.config_file import ConfigFile
from toolcalls.mitm.exchange_plan import ReplyNotParsed
from toolcalls.mitm.flow_records import failure_report, has_report
from toolcalls.mitm.judging import Candidate, Recorded, conditions, replies
from toolcalls.mitm.live import redraw
from toolcalls.mitm.offline.export import pieces_of
from toolcalls.mitm.offline.files import written
from toolcalls.mitm.page import PATH
from toolcalls.mitm.tables import Table, briefly, calls_of, cell, counted, explained, in_a_column, in_lines, told
from toolcalls.mitm.websocket.turns import joined_report, store_report, turn_reports
from toolcalls.route import PolicyName
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.conversion import members, quote
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import write

logger = logging.getLogger(__name__)

# They have no types.
_pyperclip: Any = import_module("pyperclip")
_argument: Any = command.argument
_Choice: Any = mitmproxy.types.Choice

_POLICIES: tuple[PolicyName, ...] = get_args(PolicyName)
_FILE = "file"  # the policy that the configuration names
_CLIPBOARD = mitmproxy.types.Path("")

# How many bytes are read, judged or written at once, while the proxy stands still: some tens of milliseconds.
_WHY, _JUDGE, _EXPORT = 64 * 1024, 128 * 1024, 8 * 1024
_FLOWS = 20  # and how many flows are judged so
_WIDE = 120  # characters of a screen on which a table can be read
_LONG = "This reply is long, so reading it takes a moment"

# Keys that mitmproxy leaves free in its list of flows and in its view of one; what they do, and the words of the help.
KEYS = {
    "Y": ("toolcalls.why @focus", "Say why text is a call or none"),
    "t": ("toolcalls.stats @shown", "Count the tool calls of the listed flows"),
    "J": ("toolcalls.judge @focus", "Read the recorded reply again"),
    "R": (
        """
        console.choose.cmd "Policy..." toolcalls.policies
        toolcalls.policy @focus {choice}
        """,
        "Read the reply by another policy",
    ),
    "y": ("console.command toolcalls.copy @focus json", "Copy a tool call"),
    "T": ("console.command toolcalls.export jsonl @shown ", "Export the verdicts of the listed flows"),
}
CONTEXTS = ("flowlist", "flowview")


# One reply's: the number of the message that asked for it on a WebSocket, and its report.
type _Report = tuple[int | None, dict[str, Any]]


def _command[F: Callable[..., Any]](name: str) -> Callable[[F], F]:
    """mitmproxy's decorator, which has no types."""
    return cast("Callable[[F], F]", command.command(name))


def _choice[F: Callable[..., Any]](argument: str, options: str) -> Callable[[F], F]:
    """The argument is one of what the command `options` gives."""
    return cast("Callable[[F], F]", _argument(argument, type=_Choice(options)))


def bind_keys() -> None:
    """Bind the keys in the console; one that the user has bound, or that mitmproxy has by now, stays as it is."""
    keymap: Any = getattr(ctx.master, "keymap", None)
    if keymap is None:
        return
    for key, (does, about) in KEYS.items():
        free = [context for context in CONTEXTS if not (keymap.get(context, key) or keymap.get("global", key))]
        if free:
            keymap.add(key, does.strip(), free, about)


class Commands:
    """The commands, an addon inside the addon. `rules` gives the configuration, None before the addon is configured."""

    name = "toolcalls.commands"  # among mitmproxy's addons

    def __init__(self, rules: Callable[[], ConfigFile | None]) -> None:
        self._rules = rules
        self._stopped = False

    def done(self) -> None:
        """mitmproxy stops, or the addon is loaded anew: what is still being written is not waited for."""
        self._stopped = True

    # Looking

    @_command("toolcalls.why")
    def why(self, flow: flow.Flow) -> mitmproxy.types.Data:
        """Say of each place in a reply that may be a tool call why it is one or none: its verdict by today's rules,
        and which of the seven conditions it meets.
        """
        if background.loop_is_running() and background.reply_bytes(flow) > _WHY:
            return cast("mitmproxy.types.Data", self._why_beside(flow))
        found = self._conditions(flow)
        return cast(
            "mitmproxy.types.Data", briefly(found) if _in_mitmweb() else _fitting(explained(found), in_a_column)
        )

    def _conditions(self, flow: flow.Flow) -> list[Candidate]:
        try:
            return [one for _, reply in self._replies(flow) for one in conditions(reply)]
        except ReplyNotParsed as reason:
            raise exceptions.CommandError(f"nothing can be said of this flow: {reason}") from None

    def _why_beside(self, flow: flow.Flow) -> Table:
        """What is said at once of a long reply, and where the answer will be."""
        if _in_mitmweb():
            return [[f"{_LONG}; the answer is at {PATH}/why?id={flow.id}"]]

        async def show() -> None:
            table = _fitting(explained(await asyncio.to_thread(self._conditions, flow)), in_a_column)
            overlay: Any = import_module("mitmproxy.tools.console.overlay")
            master: Any = ctx.master
            master.overlay(overlay.DataViewerOverlay(master, table), valign="top")

        background.start(show(), "toolcalls.why")
        return [[f"{_LONG}; the answer comes here."]]

    @_command("toolcalls.stats")
    def stats(self, flows: Sequence[flow.Flow]) -> mitmproxy.types.Data:
        """Count what became of the tool calls in flows: by model and dialect, and by reason."""
        table = counted(told(flows))
        return cast("mitmproxy.types.Data", in_lines(table) if _in_mitmweb() else _fitting(table, in_lines))

    # Judging again

    @_command("toolcalls.judge")
    def judge(self, flows: Sequence[flow.Flow]) -> None:
        """Read the replies of flows again, as the upstream sent them, with today's configuration. Their verdicts,
        comments and marks change, their bodies do not.
        """
        self._judge(flows, "again")

    @_command("toolcalls.policies")
    def policies(self) -> Sequence[str]:
        """The policies by which text is a call; `file` is the one that the configuration names."""
        return [*_POLICIES, _FILE]

    @_command("toolcalls.policy")
    @_choice("policy", "toolcalls.policies")
    def policy(self, flows: Sequence[flow.Flow], policy: str) -> None:
        """Read the replies on the routes of these flows by another policy until mitmproxy stops, new ones too, and
        judge these flows again.
        """
        how = f"again, by the policy {policy}" if policy != _FILE else "again"
        if _at_once(flows):
            self._set_policy(self._routes(flows), policy)
            self._judge(flows, how)
            return

        async def judge() -> None:
            self._set_policy(await asyncio.to_thread(self._routes, flows), policy)
            await self._judge_on(flows, how)

        background.start(judge(), "toolcalls.policy")

    def _routes(self, flows: Sequence[flow.Flow]) -> set[str]:
        """The routes that the replies of flows have."""
        routes: set[str] = set()
        for one in flows:
            try:
                routes.update(reply.plan.call_policy.route.name for _, reply in self._replies(one))
            except ReplyNotParsed:
                continue
        return routes

    def _set_policy(self, routes: set[str], policy: str) -> None:
        if not routes:
            raise exceptions.CommandError("none of these flows has a route of the addon's")
        for route in routes:
            self._configured().policy(route, next((name for name in _POLICIES if name == policy), None))

    def _judge(self, flows: Sequence[flow.Flow], how: str) -> None:
        if not _at_once(flows):
            background.start(self._judge_on(flows, how), "toolcalls.judge")
            return
        judging = _Judging(flows, how)
        for one in flows:
            judging.take(one, self._read_again(one))
        judging.end()

    async def _judge_on(self, flows: Sequence[flow.Flow], how: str) -> None:
        """The same beside the loop, one flow after the other."""
        judging = _Judging(flows, how)
        for one in flows:
            judging.take(one, await asyncio.to_thread(self._read_again, one))
        judging.end()

    def _read_again(self, one: flow.Flow) -> list[_Report] | ReplyNotParsed:
        """The reports of a flow's replies, or why there is none."""
        try:
            return [(number, report.of(reply.read(), model=reply.plan.model)) for number, reply in self._replies(one)]
        except ReplyNotParsed as reason:
            return reason

    # Taking away

    @_command("toolcalls.copy.forms")
    def forms(self) -> Sequence[str]:
        """The forms in which a call can be copied."""
        return ["json", *all_dialects()]

    @_command("toolcalls.copy")
    @_choice("form", "toolcalls.copy.forms")
    def copy(self, flow: flow.Flow, form: str, call: int = 1, path: mitmproxy.types.Path = _CLIPBOARD) -> None:
        """Copy a tool call of a reply, the first unless another number is given, as JSON or as text of a dialect:
        to the clipboard, or to a file if one is named.
        """
        calls = list(calls_of(flow))
        if not calls:
            raise exceptions.CommandError("the reply made no call")
        if not 1 <= call <= len(calls):
            raise exceptions.CommandError(f"the reply made {len(calls)} calls; there is no number {call}")
        text = self._text(flow, calls[call - 1], form)
        if path:
            try:
                _write(path, text.encode("utf-8", "backslashreplace"))
            except OSError as error:
                raise exceptions.CommandError(f"{path}: {error.strerror}") from None
        else:
            try:
                _pyperclip.copy(text)
            except _pyperclip.PyperclipException as error:
                first = next(iter(str(error).strip().splitlines()), "")
                raise exceptions.CommandError(f"no clipboard here, name a file instead: {first}") from None
        logger.log(ALERT, f"Copied {cell(calls[call - 1].name)} as {form}{f' to {path}' if path else ''}.")

    def _text(self, flow: flow.Flow, call: Call, form: str) -> str:
        try:
            members(call.arguments)
        except ValueError:
            raise exceptions.CommandError("the call was cut off, or its arguments are no JSON object") from None
        if form == "json":
            return f'{{"name": {quote(call.name)}, "arguments": {call.arguments}}}'
        try:
            tools = self._replies(flow)[-1][1].plan.tools
        except ReplyNotParsed:
            tools = Toolbox()
        try:
            return write(form, [call], tools)
        except Unwritable as refusal:
            raise exceptions.CommandError(f"{form} cannot hold this call: {report.visible(str(refusal))}") from None

    @_command("toolcalls.export.formats")
    def formats(self) -> Sequence[str]:
        """The formats for other programs."""
        return list(FORMATS)

    @_command("toolcalls.export")
    @_choice("format", "toolcalls.export.formats")
    def export(self, format: str, flows: Sequence[flow.Flow], path: mitmproxy.types.Path) -> None:  # noqa: A002
        """Write what the addon knows of flows to a file that only its owner can read, for other programs."""
        ours = [one for one in flows if isinstance(one, http.HTTPFlow) and (has_report(one) or failure_report(one))]
        if not ours:
            raise exceptions.CommandError("the addon has read none of these flows")
        prices, opened = self._configured().current().prices, ExitStack()
        try:
            pieces = pieces_of(
                self._while_running(ours), next(one for one in FORMATS if one == format), content=True, prices=prices
            )
            file = opened.enter_context(written(str(Path(path).expanduser())))
        except ValueError as missing:  # an extra that is not installed
            raise exceptions.CommandError(str(missing)) from None
        except OSError as error:
            raise exceptions.CommandError(f"{path}: {error.strerror}") from None

        def finish() -> None:
            try:
                with opened:  # a file that is not written to its end does not stay
                    file.writelines(pieces)
            except OSError as error:
                raise exceptions.CommandError(f"{path}: {error.strerror}") from None

        about = f"Exported {len(ours)} flows to {path}."
        if not background.loop_is_running() or background.exchange_bytes(ours) <= _EXPORT:
            finish()
            logger.log(ALERT, about)
            return

        async def write_on() -> None:
            await asyncio.to_thread(finish)
            logger.log(ALERT, about)

        logger.log(ALERT, f"Exporting {len(ours)} flows to {path} …")
        background.start(write_on(), "toolcalls.export")

    def _while_running(self, flows: Sequence[http.HTTPFlow]) -> Iterator[http.HTTPFlow]:
        """The flows; none of them any more when mitmproxy stops, which would wait for the thread."""
        for one in flows:
            if self._stopped:
                raise exceptions.CommandError("mitmproxy stopped before the export was whole, so there is no file")
            yield one

    # What they share

    def _configured(self) -> ConfigFile:
        rules = self._rules()
        if rules is None:
            raise exceptions.CommandError("the addon is not configured yet")
        return rules

    def _replies(self, one: flow.Flow) -> list[tuple[int | None, Recorded]]:
        if not isinstance(one, http.HTTPFlow):
            raise ReplyNotParsed("it is no HTTP exchange")
        return replies(one, self._configured().current())


class _Judging:
    """Flows that are judged again, one after the other, and what is said of all of them."""

    def __init__(self, flows: Sequence[flow.Flow], how: str) -> None:
        self._count = len(flows)
        self._how = how
        self._judged: list[http.HTTPFlow] = []
        self._changed = 0
        self._why = "there is no flow to judge"

    def take(self, one: flow.Flow, found: list[_Report] | ReplyNotParsed) -> None:
        """What the replies of a flow are read as now; a WebSocket keeps the report of each too."""
        if isinstance(found, ReplyNotParsed) or not isinstance(one, http.HTTPFlow):
            self._why = f"nothing was judged: {found}"
            return
        for number, data in found:
            if number is not None:
                store_report(one, number, data | {"judged": self._how})
        data = found[-1][1] if one.websocket is None else joined_report(turn_reports(one))
        earlier = one.metadata.get(flow_metadata.REPORT)
        self._changed += not isinstance(earlier, dict) or earlier.get("verdicts") != flow_metadata.writable(
            data["verdicts"]
        )
        flow_metadata.annotate(one, data | {"judged": self._how})
        self._judged.append(one)

    def end(self) -> None:
        """Show it. Raises CommandError where nothing was judged."""
        judged = self._judged
        if not judged:
            raise exceptions.CommandError(self._why)
        ctx.master.addons.trigger(hooks.UpdateHook(judged))
        redraw()
        about = f"Judged {len(judged)} of {self._count} flows {self._how}: {self._changed} changed."
        one = f"Judged {self._how}: {cell(judged[0].comment) or 'no tool calls'}"
        logger.log(ALERT, about if len(judged) > 1 else one)


def _at_once(flows: Sequence[flow.Flow]) -> bool:
    """Whether flows are so little work to judge that the proxy may wait for it."""
    small = len(flows) <= _FLOWS and sum(map(background.reply_bytes, flows)) <= _JUDGE
    return small or not background.loop_is_running()


def _in_mitmweb() -> bool:
    """Whether the answer is shown as JSON on one line, and not as a table."""
    return getattr(ctx.master, "app", None) is not None


def _fitting(table: Table, narrow: Callable[[Table], Table]) -> Table:
    """A table as the console's screen has room for it, which gives all columns but the first the same width."""
    screen: Any = getattr(ctx.master, "ui", None)
    return table if screen is None or screen.get_cols_rows()[0] >= _WIDE else narrow(table)


def _write(path: str, data: bytes) -> None:
    """A file that only its owner can read: it holds what models and clients said. Raises OSError."""
    with written(str(Path(path).expanduser())) as file:
        file.write(data)
