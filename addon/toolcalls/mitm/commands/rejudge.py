"""`toolcalls.judge` and `toolcalls.policy`: replies read again, by the configuration of now or by another policy."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, get_args

from mitmproxy import ctx, exceptions, flow, hooks, http
from mitmproxy.log import ALERT

from toolcalls.flows import flow_metadata
from toolcalls.flows.exchange_plan import ReplyNotParsed
from toolcalls.flows.recorded_verdicts import joined, judged, same_verdicts
from toolcalls.flows.websocket.turns import store_report, turn_reports
from toolcalls.insight import report
from toolcalls.mitm import background
from toolcalls.mitm.commands.recorded_replies import RecordedReplies
from toolcalls.mitm.config_file import ConfigFile
from toolcalls.mitm.live import redraw
from toolcalls.mitm.tables import cell
from toolcalls.route import PolicyName

logger = logging.getLogger(__name__)

_POLICIES: tuple[PolicyName, ...] = get_args(PolicyName)
_FILE = "file"  # the policy that the configuration names

# What is judged while the proxy waits: some tens of milliseconds.
_AT_ONCE = 128 * 1024  # bytes of replies
_FLOWS = 20

# One reply's: the number of the message that asked for it on a WebSocket, and its report.
type _Report = tuple[int | None, dict[str, Any]]


class JudgeCommands:
    """Commands that change the reports of flows."""

    def __init__(self, config_file: Callable[[], ConfigFile | None]) -> None:
        self._replies = RecordedReplies(config_file)

    def judge(self, flows: Sequence[flow.Flow]) -> None:
        self._judge(flows, "again")

    def policies(self) -> Sequence[str]:
        return [*_POLICIES, _FILE]

    def policy(self, flows: Sequence[flow.Flow], policy: str) -> None:
        how = f"again, by the policy {policy}" if policy != _FILE else "again"
        if _is_small(flows):
            self._set_policy(self._routes(flows), policy)
            self._judge(flows, how)
            return

        async def judge() -> None:
            self._set_policy(await asyncio.to_thread(self._routes, flows), policy)
            await self._judge_in_background(flows, how)

        background.start(judge(), "toolcalls.policy")

    def _routes(self, flows: Sequence[flow.Flow]) -> set[str]:
        """The routes that the replies of flows have."""
        routes: set[str] = set()
        for one in flows:
            try:
                routes.update(reply.plan.call_policy.route.name for _, reply in self._replies.of(one))
            except ReplyNotParsed:
                continue
        return routes

    def _set_policy(self, routes: set[str], policy: str) -> None:
        if not routes:
            raise exceptions.CommandError("none of these flows has a route of the addon's")
        for route in routes:
            self._replies.config_file.override_policy(route, next((name for name in _POLICIES if name == policy), None))

    def _judge(self, flows: Sequence[flow.Flow], how: str) -> None:
        if not _is_small(flows):
            background.start(self._judge_in_background(flows, how), "toolcalls.judge")
            return
        rejudgement = _Rejudgement(flows, how)
        for one in flows:
            rejudgement.add(one, self._read_again(one))
        rejudgement.show()

    async def _judge_in_background(self, flows: Sequence[flow.Flow], how: str) -> None:
        """The same in the background, one flow after the other."""
        rejudgement = _Rejudgement(flows, how)
        for one in flows:
            rejudgement.add(one, await asyncio.to_thread(self._read_again, one))
        rejudgement.show()

    def _read_again(self, one: flow.Flow) -> list[_Report] | ReplyNotParsed:
        """The reports of a flow's replies, or why there is none."""
        try:
            found = self._replies.of(one)
            return [(number, report.make_report(reply.read(), model=reply.plan.model)) for number, reply in found]
        except ReplyNotParsed as reason:
            return reason


class _Rejudgement:
    """Flows that are judged again, one after the other, and what is said of all of them."""

    def __init__(self, flows: Sequence[flow.Flow], how: str) -> None:
        self._count = len(flows)
        self._how = how
        self._judged: list[http.HTTPFlow] = []
        self._changed = 0
        self._why = "there is no flow to judge"

    def add(self, one: flow.Flow, found: list[_Report] | ReplyNotParsed) -> None:
        """What the replies of a flow are read as now; a WebSocket keeps the report of each too."""
        if isinstance(found, ReplyNotParsed) or not isinstance(one, http.HTTPFlow):
            self._why = f"nothing was judged: {found}"
            return
        earlier, turns = one.metadata.get(flow_metadata.REPORT), {turn["number"]: turn for turn in turn_reports(one)}
        for number, data in found:
            if number is not None:
                store_report(one, number, judged(data, self._how, turns.get(number)))
        if one.websocket is None:
            data = judged(found[-1][1], self._how, earlier)
        else:
            data = joined(turn_reports(one))
        self._changed += not isinstance(earlier, dict) or not same_verdicts(earlier, flow_metadata.writable(data))
        flow_metadata.annotate(one, data)
        self._judged.append(one)

    def show(self) -> None:
        """Show it. Raises CommandError where nothing was judged."""
        judged = self._judged
        if not judged:
            raise exceptions.CommandError(self._why)
        ctx.master.addons.trigger(hooks.UpdateHook(judged))
        redraw()
        about = f"Judged {len(judged)} of {self._count} flows {self._how}: {self._changed} changed."
        one = f"Judged {self._how}: {cell(judged[0].comment) or 'no tool calls'}"
        logger.log(ALERT, about if len(judged) > 1 else one)


def _is_small(flows: Sequence[flow.Flow]) -> bool:
    """Whether flows are so little work to judge that the proxy may wait for it."""
    small = len(flows) <= _FLOWS and sum(map(background.reply_bytes, flows)) <= _AT_ONCE
    return small or not background.loop_is_running()
