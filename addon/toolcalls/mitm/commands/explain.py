"""`toolcalls.why` and `toolcalls.stats`: what became of the calls of flows, as tables."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, cast

import mitmproxy.types
from mitmproxy import ctx, exceptions, flow, http

from toolcalls.flows.exchange_plan import ReplyNotParsed
from toolcalls.insight.redaction import redacted_url
from toolcalls.mitm import background
from toolcalls.mitm.commands.recorded_replies import RecordedReplies
from toolcalls.mitm.conditions import Candidate, conditions
from toolcalls.mitm.config_file import ConfigFile
from toolcalls.mitm.page import PATH
from toolcalls.mitm.tables import (
    Table,
    cell,
    conditions_in_sentences,
    conditions_table,
    in_a_column,
    in_lines,
    outcome_counts,
    reports_by_server,
)

_AT_ONCE = 64 * 1024  # bytes of a reply that is read while the proxy waits: some tens of milliseconds
_WIDE = 120  # characters of a screen on which a table can be read
_LONG = "This reply is long, so reading it takes a moment"


class ExplainCommands:
    """Commands that show tables."""

    def __init__(self, config_file: Callable[[], ConfigFile | None]) -> None:
        self._replies = RecordedReplies(config_file)

    def why(self, flow: flow.Flow) -> mitmproxy.types.Data:
        if background.loop_is_running() and background.reply_bytes(flow) > _AT_ONCE:
            return cast("mitmproxy.types.Data", self._why_in_background(flow))
        found = self._conditions(flow)
        return cast(
            "mitmproxy.types.Data",
            [[_which(flow)], *conditions_in_sentences(found)]
            if _in_mitmweb()
            else _fitting(conditions_table(found), in_a_column),
        )

    def _conditions(self, flow: flow.Flow) -> list[Candidate]:
        try:
            return [one for _, reply in self._replies.of(flow) for one in conditions(reply)]
        except ReplyNotParsed as reason:
            raise exceptions.CommandError(f"nothing can be said of this flow: {reason}") from None

    def _why_in_background(self, flow: flow.Flow) -> Table:
        """What is said at once of a long reply, and where the answer will be."""
        if _in_mitmweb():
            return [[f"{_LONG}; the answer is at {PATH}/why?id={flow.id}"]]

        async def show() -> None:
            table = _fitting(conditions_table(await asyncio.to_thread(self._conditions, flow)), in_a_column)
            overlay: Any = import_module("mitmproxy.tools.console.overlay")
            master: Any = ctx.master
            master.overlay(overlay.DataViewerOverlay(master, table), valign="top")

        background.start(show(), "toolcalls.why")
        return [[f"{_LONG}; the answer comes here."]]

    def stats(self, flows: Sequence[flow.Flow]) -> mitmproxy.types.Data:
        table = outcome_counts(reports_by_server(flows))
        return cast("mitmproxy.types.Data", in_lines(table) if _in_mitmweb() else _fitting(table, in_lines))


def _which(flow: flow.Flow) -> str:
    """Names the flow that an answer is about, where that cannot be seen."""
    if not isinstance(flow, http.HTTPFlow):
        return flow.id
    began = datetime.fromtimestamp(flow.request.timestamp_start, UTC).strftime("%H:%M:%S")
    path = redacted_url(flow.request.path.partition("?")[0])
    return cell(f"{flow.request.method} {path} at {began} UTC: {flow.comment or 'no comment'}")


def _in_mitmweb() -> bool:
    """Whether the answer is shown as JSON on one line, and not as a table."""
    return getattr(ctx.master, "app", None) is not None


def _fitting(table: Table, narrow: Callable[[Table], Table]) -> Table:
    """A table as the console's screen has room for it, which gives all columns but the first the same width."""
    screen: Any = getattr(ctx.master, "ui", None)
    return table if screen is None or screen.get_cols_rows()[0] >= _WIDE else narrow(table)
