"""What the page shows: the sessions of mitmweb's flows, kept up to date, and what each browser has of them.

Nothing is done while no browser asks. A request brings the turns up to date with mitmweb's flows: those that are new,
those with another report, and those whose reply is in progress; it looks at no others (`changed_flows`). That is done
in a thread, so that the loop goes on, and for a bounded time. The page asks again every second and gets the parts that
have changed. A reply in progress is updated, and a page rendered, again and again: the more that costs, the less often
it is done. `Sessions` bounds what is shown.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from time import monotonic
from typing import Any

from mitmproxy import http

from toolcalls.flows import flow_metadata
from toolcalls.flows.flow_records import failure_report, has_report
from toolcalls.flows.judging import replies
from toolcalls.flows.websocket.turns import TurnReader, listed_reports
from toolcalls.insight import report
from toolcalls.insight.exchange_record import State
from toolcalls.insight.page import Changes, live_rows, live_why
from toolcalls.insight.session_page import Block
from toolcalls.insight.sessions import Sessions
from toolcalls.insight.turn import Turn, turn_of
from toolcalls.mitm.conditions import conditions
from toolcalls.mitm.config_file import ConfigFile
from toolcalls.mitm.in_progress import replies_in_progress
from toolcalls.mitm.page.changed_flows import ChangedFlows
from toolcalls.mitm.page.copies import copy_of
from toolcalls.mitm.page.ended_flows import EndedFlow, are_enough, turns_of
from toolcalls.mitm.records_in_progress import records_in_progress, size_in_progress, state_of
from toolcalls.mitm.tables import conditions_table
from toolcalls.route import Price

logger = logging.getLogger(__name__)

_REFRESH_SECONDS = 0.5  # that one request may take to update turns
# A reply in progress is updated, and a page rendered, once this many times the time that it took has passed.
_REST_FACTOR = 10
_MAX_VIEWS = 8  # pages whose state is remembered


@dataclass(slots=True)
class _ShownFlow:
    """A flow whose reply has ended, as the sessions have it.

    ids       of its exchanges; a WebSocket has several
    reports   those of a WebSocket's replies: where one of them is another now, replies were judged again
    """

    report: Mapping[str, Any]
    ids: frozenset[str] = frozenset()
    reports: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class _FlowInProgress:
    """A flow whose reply is awaited or in progress, as the sessions have it.

    size     bytes of the reply, or messages of the connection
    due      when it may be updated again, by the monotonic clock
    ids      of the exchanges, as in `_ShownFlow`
    """

    state: State
    size: int
    due: float = 0.0
    ids: frozenset[str] = frozenset()


@dataclass(slots=True)
class _BrowserView:
    """What one page shows.

    stamp   what it was rendered from (`PageState.rendered`)
    due     when it may be rendered again, by the monotonic clock
    """

    changes: Changes = field(default_factory=Changes)
    stamp: object = None
    due: float = 0.0


class PageState:
    """The sessions and the views of them. `rules` gives the configuration, None before the addon is configured."""

    def __init__(self, rules: Callable[[], ConfigFile | None] = lambda: None) -> None:
        self.sessions = Sessions()
        self._configured = rules
        self._ended: dict[str, _ShownFlow] = {}
        self._in_progress: dict[str, _FlowInProgress] = {}
        self._readers: dict[str, TurnReader] = {}  # of connections that are open
        self._flows = ChangedFlows()
        self._lock = asyncio.Lock()
        self._why_lock = asyncio.Lock()
        self._views: OrderedDict[str, _BrowserView] = OrderedDict()
        self._why: tuple[object, list[Block]] | None = None  # a report, and the page that explains it
        self._run = token_hex(4)  # a page that was loaded before a restart must not mistake our revisions for its own

    @property
    def prices(self) -> Sequence[Price]:
        """What tokens cost, by the configuration."""
        rules = self._configured()
        return () if rules is None else rules.current().prices

    async def follow(self, view: Any) -> bool:
        """Bring the sessions up to date with mitmproxy's view: the flows that changed, and those in progress.

        Returns whether there was no time for some of them.
        """
        self._flows.follow(view)
        taken = self._flows.take()
        if taken is None:
            flows = list(view)
            left = await self.refresh(flows)
        else:
            changed, gone = taken
            found = map(view.get_by_id, dict.fromkeys([*changed, *self._in_progress]))
            async with self._lock:
                self._forget(gone)
                left = await self._bring(flow for flow in found if _is_shown(flow))
        self._flows.put_back(left)
        return bool(left)

    async def refresh(self, flows: list[object]) -> list[str]:
        """Bring the sessions up to date with all of mitmweb's flows; the ids of those for which there was no time."""
        async with self._lock:
            here = {flow.id: flow for flow in flows if isinstance(flow, http.HTTPFlow) and _is_shown(flow)}
            self._forget({*self._ended, *self._in_progress} - here.keys())
            return await self._bring(here.values())

    def _forget(self, gone: Iterable[str]) -> None:
        for flow_id in gone:
            self._readers.pop(flow_id, None)
            for known in (self._ended, self._in_progress):
                found = known.pop(flow_id, None)
                for id_ in () if found is None else (flow_id, *found.ids):
                    self.sessions.discard(id_)

    async def _bring(self, flows: Iterable[http.HTTPFlow]) -> list[str]:
        """Put flows into the sessions, as long as there is time; the ids of the rest."""
        until = monotonic() + _REFRESH_SECONDS
        left, waiting = list[str](), list[EndedFlow]()
        for flow in flows:
            if monotonic() > until:
                left.append(flow.id)
                continue
            try:
                await self._update(flow, waiting)
            except Exception as error:  # noqa: BLE001 - one flow that fails must not hide the others
                _say_not_shown(flow, error)
            if are_enough(waiting):
                await self._read(waiting)
        await self._read(waiting)
        return left

    async def _update(self, flow: http.HTTPFlow, waiting: list[EndedFlow]) -> None:
        """Put a flow into the sessions if there is anything new in it; what has ended is added to `waiting`."""
        report = flow.metadata[flow_metadata.REPORT] if has_report(flow) else failure_report(flow)
        if report is not None and (ended := self._new(flow, report)) is not None:
            waiting.append(ended)
        if report is None or replies_in_progress(flow):
            await self._read(waiting)  # the replies of one connection come in their order
            await self._update_in_progress(flow)
        else:
            self._in_progress.pop(flow.id, None)

    def _new(self, flow: http.HTTPFlow, report: Mapping[str, Any]) -> EndedFlow | None:
        """A flow whose reply has ended, None where it is in the sessions as it is."""
        was = self._ended.get(flow.id)
        if was is not None and was.report == report:
            return None
        reports, known = listed_reports(flow), frozenset[str]()
        if was is None or reports[: len(was.reports)] != was.reports:
            self._readers.pop(flow.id, None)
        elif len(was.ids) > 1:  # a single one may be the connection itself, in the place of its first reply
            known = was.ids
        self._ended[flow.id] = _ShownFlow(report, known, reports)  # what fails is not tried with each question again
        return EndedFlow(flow, report, known, self._reader(flow))

    async def _read(self, waiting: list[EndedFlow]) -> None:
        """Put the flows that wait, whose replies have ended, into the sessions."""
        if not waiting:
            return
        ended = tuple(waiting)
        waiting.clear()
        found = await asyncio.to_thread(turns_of, ended, self.sessions.known)
        for one, turns in zip(ended, found, strict=True):
            try:
                self._put(one, turns)
            except Exception as error:  # noqa: BLE001 - one flow that fails must not hide the others
                _say_not_shown(one.flow, error)

    def _put(self, ended: EndedFlow, turns: list[Turn] | Exception) -> None:
        """Put the turns of a flow into the sessions. Raises why it has none."""
        if isinstance(turns, Exception):
            raise turns
        self._ended[ended.flow.id].ids = ended.known.union(turn.id for turn in turns)
        for turn in turns:
            self.sessions.put(turn)

    def _reader(self, flow: http.HTTPFlow) -> TurnReader | None:
        """What has read the messages of an open connection so far; None where nothing more will come."""
        if flow.websocket is None or flow.websocket.timestamp_end is not None:
            self._readers.pop(flow.id, None)
            return None
        return self._readers.setdefault(flow.id, TurnReader())

    async def _update_in_progress(self, flow: http.HTTPFlow) -> None:
        state = state_of(flow)
        if state is None:
            return
        was, size, now = self._in_progress.get(flow.id), size_in_progress(flow), monotonic()
        if was is not None and was.state == state and (was.size == size or now < was.due):
            return
        replies = {number for number, _ in replies_in_progress(flow)}
        coming = self._in_progress[flow.id] = _FlowInProgress(state, size)
        found = await asyncio.to_thread(records_in_progress(flow, self._reader(flow)))
        coming.ids = frozenset(one.id for one in found)
        for one in found:
            before = self.sessions.turn(one.id)
            asked = None if before is None else before.request
            turn = await asyncio.to_thread(turn_of, one, self.sessions.known, asked)
            over = (
                has_report(flow) if not replies else not replies <= {number for number, _ in replies_in_progress(flow)}
            )
            if not over:  # else it has ended meanwhile, and the next refresh adds all of it
                self.sessions.put(turn)
        coming.due = monotonic() + _REST_FACTOR * (monotonic() - now)

    async def rendered(
        self, name: str, content: Callable[[], Sequence[Block]], stamp: object = None, shown: object = None
    ) -> Changes:
        """What `content` returns for the page `name`. It runs in a thread, and the sessions do not change meanwhile.

        stamp   what the content depends on besides the sessions; None for content that is cheap to make
        shown   what of the sessions it depends on; None for all of them
        """
        async with self._lock:
            view = self._views.setdefault(name, _BrowserView())
            self._views.move_to_end(name)
            while len(self._views) > _MAX_VIEWS:
                self._views.popitem(last=False)
            now, made_of = monotonic(), (self.sessions.revision if shown is None else shown, stamp)
            if view.stamp is None or stamp is None or (view.stamp != made_of and now >= view.due):
                view.changes.put(await asyncio.to_thread(content))
                view.stamp, view.due = made_of, monotonic() + _REST_FACTOR * (monotonic() - now)
            return view.changes

    async def rows(self, since: int) -> str:
        """What is new in the list of exchanges, as `page.live_rows` says it."""
        async with self._lock:
            return await asyncio.to_thread(live_rows, self.sessions, since)

    async def copy(self, flow: object, id_: str, what: str) -> str:
        """What is copied of an exchange (`copies.copy_of`). Raises ReplyNotParsed, KeyError for what is not there."""
        rules = self._configured()
        if rules is None or not isinstance(flow, http.HTTPFlow):
            raise KeyError(id_)
        return await asyncio.to_thread(copy_of, flow, id_, what, rules.current())

    async def why(self, flow: object) -> list[Block]:
        """Why text of a reply is a call or none, as the command `toolcalls.why` says it. Computed once, in a thread."""
        rules = self._configured()
        if rules is None or not has_report(flow) or not isinstance(flow, http.HTTPFlow):
            return live_why(None, [])
        async with self._why_lock:  # a long reply takes seconds, and the other pages go on
            report = flow.metadata[flow_metadata.REPORT]
            if self._why is None or self._why[0] is not report:
                config = rules.current()
                rows = await asyncio.to_thread(
                    lambda: conditions_table([one for _, reply in replies(flow, config) for one in conditions(reply)])
                )
                self._why = (report, live_why(flow.id, rows))
            return self._why[1]

    def revision(self, view: Changes) -> str:
        """A page's revision, as its browser gets it: of this run, and of these changes."""
        return f"{self._run}.{id(view):x}.{view.revision}"

    def known(self, view: Changes, revision: str) -> int:
        """The revision that a browser has; 0 for one of another run, or of a view that was dropped."""
        before, _, number = revision.rpartition(".")
        return int(number) if before == f"{self._run}.{id(view):x}" and number.isdigit() else 0


def _say_not_shown(flow: http.HTTPFlow, error: Exception) -> None:
    """Log why a flow is not on the page, without the traceback and the message, which may quote the exchange."""
    logger.warning(f"toolcalls: flow {flow.id} is not shown on the page: {report.describe_fault(error)}")


def _is_shown(flow: object) -> bool:
    return isinstance(flow, http.HTTPFlow) and state_of(flow) is not None
