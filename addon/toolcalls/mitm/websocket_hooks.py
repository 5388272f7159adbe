"""mitmproxy's WebSocket hooks. `ToolCalls` calls the methods, since `error` and `done` end connections, too."""

import logging
from collections.abc import Awaitable, Mapping
from contextlib import nullcontext
from weakref import WeakKeyDictionary, WeakSet

from mitmproxy import http
from mitmproxy.websocket import WebSocketMessage

from toolcalls.flows.exchange_plan import ExchangePlan, ReplyNotParsed, plan_for
from toolcalls.flows.recorded_verdicts import as_recorded
from toolcalls.flows.websocket.connection import Connection, replay
from toolcalls.flows.websocket.turns import TURNS_KEY, store_original, turn_reports
from toolcalls.flows.websocket.upgrade import may_block, refusal, websocket_wire
from toolcalls.insight import report
from toolcalls.mitm.in_progress import open_connections
from toolcalls.mitm.live import Live
from toolcalls.mitm.options import Options
from toolcalls.mitm.reporting import Reporter, exchange_label, log_losses
from toolcalls.mitm.websocket_injection import injector_for
from toolcalls.replies.exchange import Exchange

logger = logging.getLogger(__name__)


class WebSocketHooks:
    """The connections with an API."""

    def __init__(self, options: Options, reporter: Reporter, live: Live) -> None:
        self._options = options
        self._reporter = reporter
        self._live = live
        self._connections: WeakKeyDictionary[http.HTTPFlow, Connection] = WeakKeyDictionary()
        self._replayed: WeakSet[http.HTTPFlow] = WeakSet()

    def refuse(self, flow: http.HTTPFlow) -> None:
        """Answer an upgrade that the configuration refuses, so that the client goes on with SSE."""
        wire, config_file = websocket_wire(flow.request), self._options.config_file
        if wire is None or config_file is None:
            return
        response = refusal(wire, flow.request, config_file.current())
        if response is not None:
            flow.response = response
            logger.info(f"{exchange_label(flow)}: refused to speak WebSocket")

    def start(self, flow: http.HTTPFlow) -> None:
        """A connection is open. If it is an API's, replies will come on it."""
        wire, config_file = websocket_wire(flow.request), self._options.config_file
        if wire is None or config_file is None or not flow.live:
            return

        def plan(body: bytes) -> ExchangePlan | None:
            try:
                made = plan_for(wire, flow.request, config_file.current(), body, self._reporter.memory.calls)
            except ReplyNotParsed as reason:
                logger.info(f"{exchange_label(flow)}: a reply is forwarded unparsed: {report.visible(str(reason))}")
                return None
            log_losses(flow, made)
            return made

        def guards() -> bool:
            return may_block(wire, flow.request, config_file.current())

        inject = injector_for(flow)
        if inject is None:
            what = "not forwarded, as a rule may block calls in them" if guards() else "forwarded unparsed"
            reason = "this version of mitmproxy does not support it"
            logger.warning(f"{exchange_label(flow)}: replies over WebSocket are {what}: {reason}")
            if not guards():
                return

        def on_end(number: int, exchange: Exchange) -> None:
            self._live.end(flow)
            self._reporter.report(flow, exchange, number)

        self._connections[flow] = open_connections[flow] = Connection(
            plan,
            on_end,
            inject,
            lambda message, number: store_original(flow, message, number, message.content),
            guards,
        )

    def message(self, flow: http.HTTPFlow) -> Awaitable[None] | None:
        """The next message, of either side. What is returned waits for other workers' memory."""
        connection, wire = self._connections.get(flow), websocket_wire(flow.request)
        if connection is None or wire is None or flow.websocket is None:
            return None
        message = flow.websocket.messages[-1]
        asks = message.from_client and message.is_text
        sought = self._reporter.memory.sought(wire, flow.request, message.content, session=False) if asks else {}
        if sought:
            return self._message_remembered(flow, connection, message, sought)
        self._message(flow, connection, message)
        return None

    async def _message_remembered(
        self, flow: http.HTTPFlow, connection: Connection, message: WebSocketMessage, sought: Mapping[str, str]
    ) -> None:
        await self._reporter.memory.fetch(sought)
        self._message(flow, connection, message)

    def _message(self, flow: http.HTTPFlow, connection: Connection, message: WebSocketMessage) -> None:
        metrics = self._options.metrics
        with nullcontext() if metrics is None else metrics.message(message):
            connection.handle(message)
        if connection.replies_in_progress:
            self._live.begin(flow)

    def end(self, flow: http.HTTPFlow) -> None:
        connection = self._connections.pop(flow, None)
        open_connections.pop(flow, None)
        if connection is not None:
            if held := connection.close():
                logger.warning(f"toolcalls: a WebSocket closed while {held} messages were held; they are lost")
            self._reporter.record(flow)
        elif not flow.live and flow.websocket is not None and flow not in self._replayed:
            self._replay(flow)

    def end_all(self) -> None:
        """mitmproxy stops: end the connections that are open."""
        for flow in list(self._connections):
            self.end(flow)

    def _replay(self, flow: http.HTTPFlow) -> None:
        """Read a connection from a file by the current configuration. Its messages and verdicts stay as recorded."""
        if self._options.config_file is None:
            return
        try:
            found = replay(flow, self._options.config_file.current())
        except ReplyNotParsed:
            return
        self._replayed.add(flow)
        held = {one["number"]: one for one in turn_reports(flow) if as_recorded(one) is not None}
        flow.metadata[TURNS_KEY] = [*held.values()]
        logger.debug(f"{exchange_label(flow)}: {len(found)} replies read again, {len(held)} of them reported before")
        for number, exchange in found:
            self._reporter.report(flow, exchange, number, held=held.get(number))
