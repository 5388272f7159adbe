"""Requests and replies as mitmproxy's hooks hand them over, and which module does the work of each.

A reply that mitmproxy streams is read as it comes (`response_tap`). One that is there as a whole is read in one go: in
flows from a file (`-r`), and in replies that mitmproxy gives itself (`-S`, map_local). Both feed the same exchange, so
both give the same verdicts. A reply ends in `response` or in `error`, for flows from a file in both; it is reported
once.

A body that comes whole and is large takes seconds to read. That is done in a thread while mitmproxy waits for the hook,
so that other flows go on; mitmproxy gathers the body itself then, as it does without the addon.

For traffic of no LLM API the path is looked at, and nothing else. The tap catches what fails on the bytes' way;
mitmproxy catches and logs what fails in a hook, and the traffic passes.
"""

import logging
from collections.abc import Awaitable, Mapping
from contextlib import nullcontext
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from mitmproxy import ctx, http
from mitmproxy.flow import Error

from toolcalls.flows import flow_metadata
from toolcalls.flows.content_codings import UnknownCoding, decoder_of
from toolcalls.flows.error_replies import answer, quoting_body, reading_of
from toolcalls.flows.exchange_plan import ExchangePlan, ReplyNotParsed, plan_for, wire_for
from toolcalls.flows.reply_forms import form_of, unreadable_charset
from toolcalls.flows.request_signing import signs_header
from toolcalls.insight import report
from toolcalls.mitm import hook_work
from toolcalls.mitm.hook_work import Run
from toolcalls.mitm.live import Live
from toolcalls.mitm.options import Options
from toolcalls.mitm.reporting import LIVE, Reporter, exchange_label, log_losses
from toolcalls.mitm.response_tap import ResponseTap
from toolcalls.mitm.unknown_apis import UnknownAPIs
from toolcalls.mitm.websocket_hooks import WebSocketHooks
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.call_memory import REFUSED
from toolcalls.wires.frames import Form

logger = logging.getLogger(__name__)

_NONE = object()
_STOPPED = "mitmproxy was stopped while the reply was coming."


class Exchanges:
    """All exchanges of one proxy. The methods without an underscore are named as mitmproxy's events."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._reporter = Reporter(options)
        # None: the reply is not parsed, and the log says why. An entry is dropped when the reply has ended.
        self._plans: WeakKeyDictionary[http.HTTPFlow, ExchangePlan | None] = WeakKeyDictionary()
        self._reported: WeakSet[http.HTTPFlow] = WeakSet()
        self._gathered: WeakKeyDictionary[http.HTTPFlow, ResponseTap] = WeakKeyDictionary()
        self._replayed_bodies = flow_metadata.ReplayedBodies()
        self._live = Live()
        self._unknown = UnknownAPIs()
        self._pauses = hook_work.Pauses()
        self._websocket = WebSocketHooks(options, self._reporter, self._live)

    def done(self) -> None:
        """mitmproxy stops, or reloads the addon; then replies go on, and the new addon reports them."""
        self._live.stop()
        if ctx.master.should_exit.is_set():
            for flow in list(self._plans):
                if flow.error is None:
                    flow.error = Error(_STOPPED)
                hook_work.at_once(self._end(hook_work.in_place, flow, cut=True))
            self._websocket.end_all()
            for line in self._reporter.totals.lines():
                logger.info(line)

    # Requests

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """A flow that is sent again (`-C`) still has the report and comment of its first reply."""
        if flow.is_replay == "request" and wire_for(flow.request) is not None:
            flow_metadata.clear(flow)
            self._reported.discard(flow)

    def request(self, flow: http.HTTPFlow) -> Awaitable[None] | None:
        """Decide what is done to the reply. What is returned waits for other workers' memory."""
        if not flow.live:
            return None
        if flow.is_replay == "request":
            flow_metadata.restore_request_body(flow)
        self._websocket.refuse(flow)
        wire, memory = wire_for(flow.request), self._reporter.memory
        sought = memory.sought(wire, flow.request, None) if wire is not None else {}
        if sought:
            return self._request_remembered(flow, sought)
        self._request(flow)
        return None

    async def _request_remembered(self, flow: http.HTTPFlow, sought: Mapping[str, str]) -> None:
        await self._reporter.memory.fetch(sought)
        self._request(flow)

    def _request(self, flow: http.HTTPFlow) -> None:
        """Make the plan, and the request by it. A reply that may be changed is asked for without content coding."""
        plan = self._plan(flow)
        if plan is None:
            if flow.request.method == "POST" and flow not in self._plans:
                self._unknown.look(flow)
            return
        playback = ctx.master.addons.lookup.get("serverplayback")
        for flows in getattr(playback, "flowmap", {}).values():
            self._replayed_bodies.add(flows)
        if plan.may_change and not signs_header(flow.request, "accept-encoding"):
            flow.request.headers["accept-encoding"] = "identity"
        if plan.request is not None and flow_metadata.original_request_body(flow) is None:
            flow_metadata.replace_request_body(flow, *plan.request)
        flow_metadata.store_recognised_client(flow, plan.recognised)
        flow_metadata.store_reasons_first(flow, plan.reasons_first)
        log_losses(flow, plan)

    def _plan(self, flow: http.HTTPFlow) -> ExchangePlan | None:
        """What is done to the flow's reply, decided once; None for nothing."""
        if flow in self._plans:
            return self._plans[flow]
        wire, config_file = wire_for(flow.request), self._options.config_file
        if wire is None or config_file is None:
            return None
        original = flow_metadata.original_request_body(flow)
        metrics = self._options.metrics if flow.live else None
        try:
            with nullcontext() if metrics is None else metrics.planning():
                plan = plan_for(
                    wire, flow.request, config_file.current(), original, self._reporter.memory.calls,
                    self._reporter.memory.clients if flow.live else None, flow_metadata.recognised_client(flow),
                    reasons_first=flow_metadata.reasons_first(flow),
                )  # fmt: skip
        except ReplyNotParsed as reason:
            logger.info(f"{exchange_label(flow)}: the reply is forwarded unparsed: {report.visible(str(reason))}")
            plan = None
        self._plans[flow] = plan
        return plan

    # WebSocket

    def websocket_start(self, flow: http.HTTPFlow) -> None:
        self._websocket.start(flow)

    def websocket_message(self, flow: http.HTTPFlow) -> Awaitable[None] | None:
        return self._websocket.message(flow)

    def websocket_end(self, flow: http.HTTPFlow) -> None:
        self._websocket.end(flow)

    # Replies

    def responseheaders(self, flow: http.HTTPFlow) -> Awaitable[None] | None:
        """Install a tap for a reply that streams; read one that is already here as a whole."""
        if not flow.live or flow.response is None:
            return None
        plan = self._plan(flow)
        form = form_of(plan.wire, flow.request, flow.response, guarded=plan.may_block) if plan else None
        if plan is not None and plan.may_be_refused and flow.response.status_code == 400:
            flow_metadata.add_comment(flow, next(note for note in plan.losses if note.startswith(REFUSED)))
        if plan is None or form is None:
            return None
        if flow.response.raw_content is not None:
            return hook_work.run(self._serve, flow, flow.response, plan, form)
        if callable(flow.response.stream):
            logger.warning(f"{exchange_label(flow)}: the reply is forwarded unparsed: another addon streams it")
        elif (tap := self._tap(flow, flow.response, plan, form)) is not None:
            if plan.may_change and form == "whole" and hook_work.is_announced_large(flow.response):
                self._gathered[flow] = tap
                return None
            if plan.may_change:
                flow_metadata.prepare_headers(flow)
            flow.response.stream = tap
            self._live.begin(flow)
        return None

    def response(self, flow: http.HTTPFlow) -> Awaitable[None] | None:
        """The reply has ended as it should, or the flow comes from a file."""
        work = hook_work.run(self._end, flow, cut=not flow.live and flow.error is not None)
        return self._pauses.next() if work is None and not flow.live else work

    def error(self, flow: http.HTTPFlow) -> None:
        self.websocket_end(flow)
        hook_work.at_once(self._end(hook_work.in_place, flow, cut=True))

    def _tap(self, flow: http.HTTPFlow, response: http.Response, plan: ExchangePlan, form: Form) -> ResponseTap | None:
        """A tap for a reply; None for one in an unknown content coding, which passes as it is.

        If a rule may block calls of the reply, nothing passes of one in an unknown coding or charset.
        """
        metrics = self._options.metrics
        make = ResponseTap if metrics is None or not flow.live else metrics.tap
        if plan.may_block and (charset := unreadable_charset(response, form)) is not None:
            unknown_charset = UnknownCoding(f"charset {charset!r}")
            return make(plan.exchange(form), form=form, decoder=unknown_charset, changes=True)
        try:
            limit = plan.call_policy.route.max_decoded_bytes
            decoder = decoder_of(response.headers.get("content-encoding", ""), limit)
        except LookupError as unknown:
            if plan.may_block:
                return make(plan.exchange(form), form=form, decoder=UnknownCoding(str(unknown)), changes=True)
            logger.warning(f"{exchange_label(flow)}: the reply is forwarded unparsed: {report.visible(str(unknown))}")
            return None
        return make(plan.exchange(form), form=form, decoder=decoder, changes=plan.may_change)

    async def _serve(
        self, run: Run, flow: http.HTTPFlow, response: http.Response, plan: ExchangePlan, form: Form
    ) -> None:
        """A reply that mitmproxy gives itself: the same work in one go, before it is sent."""
        body = response.raw_content or b""
        recorded = self._replayed_bodies.upstream(body)
        tap = self._tap(flow, response, plan, form)
        if tap is None:
            return
        await run(lambda: tap.whole(body if recorded is None else recorded))
        if plan.may_change:
            response.headers.pop("content-encoding", None)
        flow_metadata.store_bodies(response, flow.metadata, tap.bodies, encoded=tap.encoded)
        self._report(flow, tap.exchange)

    async def _end(self, run: Run, flow: http.HTTPFlow, *, cut: bool) -> None:
        """A reply has ended, in whatever way: finish it once and record the flow."""
        is_live = self._plans.pop(flow, _NONE) is not _NONE  # else the flow comes from a file
        self._live.end(flow)
        try:
            await self._finish(run, flow, cut=cut)
        finally:
            if is_live:
                self._reporter.record(flow)

    async def _finish(self, run: Run, flow: http.HTTPFlow, *, cut: bool) -> None:
        """Close or abort a reply that was read, or read one that is there as a whole."""
        response = flow.response
        if response is None or flow in self._reported:
            return
        tap: Any = response.stream
        if (gathered := self._gathered.pop(flow, None)) is not None:
            await self._give(run, flow, response, gathered)
        elif getattr(tap, "is_toolcalls_tap", False):
            response.stream = True
            if cut:
                tap.abort()
            else:
                await run(tap.close)
            flow_metadata.store_bodies(response, flow.metadata, tap.bodies, encoded=tap.encoded)
            self._report(flow, tap.exchange)
        elif (body := quoting_body(flow)) is not None:
            if (plan := self._plan(flow)) is not None and flow.live and not cut:
                self._report(flow, answer(plan, flow, body))
            elif plan is not None:
                held = LIVE if flow.live else flow.metadata.get(flow_metadata.REPORT)
                self._report(flow, reading_of(plan, flow, body), held=held)
            self._plans.pop(flow, None)
        elif not flow.live and response.raw_content is not None:
            await self._judge(run, flow, response, cut=cut)

    async def _give(self, run: Run, flow: http.HTTPFlow, response: http.Response, tap: ResponseTap) -> None:
        """A body that mitmproxy has gathered: what the client gets of it. None of it has left yet."""
        body = response.raw_content
        if body is None:  # the upstream broke off, and mitmproxy answers by itself
            tap.abort()
        else:
            out = await run(lambda: tap.whole(body))
            flow_metadata.store_bodies(response, flow.metadata, tap.bodies, encoded=tap.encoded)
            flow_metadata.replace_reply_body(response, body, out)
        self._report(flow, tap.exchange)

    async def _judge(self, run: Run, flow: http.HTTPFlow, response: http.Response, *, cut: bool) -> None:
        """Read a flow from a file by the current configuration. Its bodies and its verdicts stay as recorded."""
        plan = self._plan(flow)
        form = form_of(plan.wire, flow.request, response, guarded=plan.may_block) if plan else None
        self._plans.pop(flow, None)
        if plan is None or form is None:
            return
        tap = self._tap(flow, response, plan, form)
        if tap is None:
            return
        recorded = flow.metadata.get(flow_metadata.UPSTREAM)
        body = recorded if isinstance(recorded, bytes) else response.raw_content or b""
        await run(lambda: tap(body))
        if cut:
            tap.abort()
        else:
            await run(tap.close)
        self._report(flow, tap.exchange, held=flow.metadata.get(flow_metadata.REPORT))

    def _report(self, flow: http.HTTPFlow, exchange: Exchange, held: object = LIVE) -> None:
        """Report on a flow's only reply."""
        self._reported.add(flow)
        self._reporter.report(flow, exchange, held=held)
