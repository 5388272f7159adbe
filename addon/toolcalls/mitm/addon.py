"""The addon: when mitmproxy calls, and who does the work.

A reply is read while it comes (`tap`), where mitmproxy streams it, and in one go where it is there as a whole: in
flows from a file (`-r`), in replies of mitmproxy itself (`-S`, map_local). Each way feeds the same exchange, so each
gives the same verdicts. A reply ends in `response` or in `error`, for flows from a file in both; it is settled once.

Traffic that is no LLM API costs one look at the path. What fails on the bytes' way is caught in the tap; what fails in
a hook is caught and logged by mitmproxy, and the traffic passes.

Past 300 lines: all hooks of mitmproxy's are here, a few lines each; what they do is in the modules beside it.
"""

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from traceback import format_tb
from typing import Any, NoReturn
from weakref import WeakKeyDictionary, WeakSet

from mitmproxy import ctx, exceptions, http
from mitmproxy.addonmanager import Loader
from mitmproxy.flow import Error

from toolcalls.config import ConfigError
from toolcalls.insight import report
from toolcalls.insight.redaction import redacted_url
from toolcalls.mitm import flow_metadata, websocket, websocket_turns
from toolcalls.mitm.commands import Commands, bind_keys
from toolcalls.mitm.config_file import ConfigFile
from toolcalls.mitm.content_codings import UnknownCoding, decoder_of
from toolcalls.mitm.exchange_plan import ExchangePlan, ReplyNotParsed, form_of, plan_for, wire_for
from toolcalls.mitm.exposed_listeners import exposed_modes
from toolcalls.mitm.focus import Focus
from toolcalls.mitm.journal import Journal
from toolcalls.mitm.live import Live
from toolcalls.mitm.page.addon import PageAddon
from toolcalls.mitm.progress import unlucky
from toolcalls.mitm.recorder import Recorder
from toolcalls.mitm.response_tap import ResponseTap
from toolcalls.mitm.views import add_views
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.call_memory import REFUSED, Recalled
from toolcalls.wires.frames import Form

logger = logging.getLogger(__name__)

_WRONG_OPTION: type[Exception] = exceptions.OptionsError  # its constructor has no types
_NONE = object()
_FROM_FILE = "when it was read from a file"
_STOPPED = "mitmproxy was stopped while the reply was coming."


class ToolCalls:
    """mitmproxy calls the methods, each named as its event (https://docs.mitmproxy.org/stable/api/events.html)."""

    def __init__(self) -> None:
        self._rules: ConfigFile | None = None
        self._journal: Journal | None = None
        self._recorder: Recorder | None = None
        # None: a reply that passes unread, and the log says why. Gone when the flow is, and when its reply has ended.
        self._plans: WeakKeyDictionary[http.HTTPFlow, ExchangePlan | None] = WeakKeyDictionary()
        self._settled: WeakSet[http.HTTPFlow] = WeakSet()
        self._recorded = flow_metadata.ReplayedBodies()
        self._recalled = Recalled()
        self._messages: WeakKeyDictionary[http.HTTPFlow, websocket.Connection] = WeakKeyDictionary()
        self._live = Live()
        self._focus = Focus()
        # mitmproxy finds their commands and hooks here.
        self.addons = [Commands(lambda: self._rules), PageAddon(lambda: self._rules)]

    # The addon itself

    def load(self, loader: Loader) -> None:
        """Declare the options."""
        loader.add_option(
            "toolcalls_config", str, "", "The rules for tool calls, a YAML file. Empty: those that ship with the addon."
        )
        loader.add_option("toolcalls_log", str, "", "A file that gets one line of JSON for each verdict. Empty: none.")
        loader.add_option(
            "toolcalls_record", str, "", "A folder that gets the flows of LLM APIs, without secrets. Empty: none."
        )
        wrong = _misgiven(ctx.options)
        if wrong and _starts():
            _refuse(wrong)
        add_views()

    def configure(self, updated: set[str]) -> None:
        """Read the options. Raises OptionsError, which stops a start and takes back a change."""
        try:
            self._configure(updated)
        except ConfigError as error:
            if _starts():
                _refuse(" | ".join(error.errors))
            raise _WRONG_OPTION(str(error)) from None

    def _configure(self, updated: set[str]) -> None:
        """Raises ConfigError."""
        if "toolcalls_config" in updated or self._rules is None:
            self._rules = ConfigFile(ctx.options.toolcalls_config)
        if "toolcalls_log" in updated:
            journal = _opened("toolcalls_log", Journal)
            if self._journal is not None:
                self._journal.close()
            self._journal = journal
        if "toolcalls_record" in updated:
            recorder = _opened("toolcalls_record", Recorder)
            if self._recorder is not None:
                self._recorder.close()
            self._recorder = recorder

    def running(self) -> None:
        """Show the comments: in mitmweb's list, which has a column for them, and in the console those of the flow in
        focus. The user's own columns and keys stay.
        """
        bind_keys()
        self._focus.start()
        options: Any = ctx.options  # its methods have no types
        self._warn_of_listeners(options)
        if "web_columns" in options and not options.has_changed("web_columns"):
            options.update(web_columns=[*options.web_columns, "comment"])

    @staticmethod
    def _warn_of_listeners(options: Any) -> None:
        if not options.server or getattr(options, "proxyauth", None):
            return
        for mode in exposed_modes(options.mode, options.listen_host):
            logger.warning(
                f"toolcalls: the {mode} proxy listens on all interfaces and asks nobody for a password; "
                "--listen-host 127.0.0.1 or --proxyauth changes that"
            )

    def done(self) -> None:
        """mitmproxy stops, or loads the addon anew; then replies go on, and the new addon settles them."""
        self._live.stop()
        self._focus.stop()
        if ctx.master.should_exit.is_set():
            for flow in list(self._plans):
                if flow.error is None:
                    flow.error = Error(_STOPPED)
                self._end(flow, cut=True)
            for flow in list(self._messages):
                self.websocket_end(flow)
        for output in (self._journal, self._recorder):
            if output is not None:
                output.close()

    # Requests

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """A flow that is sent once more (`-C`) bears the marks of its first reply."""
        if flow.is_replay == "request" and wire_for(flow.request) is not None:
            flow_metadata.clear(flow)
            self._settled.discard(flow)

    def request(self, flow: http.HTTPFlow) -> None:
        """Decide what is done to the reply. Where it may be changed, it is asked for without a coding."""
        if not flow.live:
            return
        if flow.is_replay == "request":
            flow_metadata.restore_request_body(flow)
        self._refuse_websocket(flow)
        plan = self._plan(flow)
        if plan is None:
            return
        playback = ctx.master.addons.lookup.get("serverplayback")
        for flows in getattr(playback, "flowmap", {}).values():
            self._recorded.learn(flows)
        if plan.changes:
            flow.request.headers["accept-encoding"] = "identity"
        if plan.request is not None and flow_metadata.original_request_body(flow) is None:
            flow_metadata.replace_request_body(flow, *plan.request)
        self._log_losses(flow, plan)

    @staticmethod
    def _log_losses(flow: http.HTTPFlow, plan: ExchangePlan) -> None:
        for note in plan.losses:
            logger.info(f"{_about(flow)}: {report.visible(note)}")

    def _plan(self, flow: http.HTTPFlow) -> ExchangePlan | None:
        """What is done to the flow's reply: decided once, None for nothing."""
        if flow in self._plans:
            return self._plans[flow]
        wire = wire_for(flow.request)
        if wire is None or self._rules is None:
            return None
        try:
            plan = plan_for(
                wire, flow.request, self._rules.current(), flow_metadata.original_request_body(flow), self._recalled
            )
        except ReplyNotParsed as reason:
            logger.info(f"{_about(flow)}: the reply passes unread: {report.visible(str(reason))}")
            plan = None
        self._plans[flow] = plan
        return plan

    # WebSocket

    def _refuse_websocket(self, flow: http.HTTPFlow) -> None:
        """Answer an upgrade that the configuration refuses, so that the client goes on with SSE."""
        wire = websocket.wire_for(flow.request)
        if wire is None or self._rules is None:
            return
        refusal = websocket.refusal(wire, flow.request, self._rules.current())
        if refusal is not None:
            flow.response = refusal
            logger.info(f"{_about(flow)}: refused to speak WebSocket")

    def websocket_start(self, flow: http.HTTPFlow) -> None:
        """A connection on which replies will come."""
        wire = websocket.wire_for(flow.request)
        rules = self._rules
        if wire is None or rules is None or not flow.live:
            return

        def plan(body: bytes) -> ExchangePlan | None:
            try:
                made = plan_for(wire, flow.request, rules.current(), body, self._recalled)
            except ReplyNotParsed as reason:
                logger.info(f"{_about(flow)}: a reply passes unread: {report.visible(str(reason))}")
                return None
            self._log_losses(flow, made)
            return made

        ahead = websocket.injector_for(flow)
        if ahead is None:
            logger.warning(f"{_about(flow)}: replies over WebSocket pass unread: not in this version of mitmproxy")
            return

        def settle(number: int, exchange: Exchange) -> None:
            self._live.end(flow)
            self._told(flow, exchange, number)

        self._messages[flow] = websocket.open_connections[flow] = websocket.Connection(
            plan,
            settle,
            ahead,
            lambda message, number: websocket_turns.store_original(flow, message, number, message.content),
        )

    def websocket_message(self, flow: http.HTTPFlow) -> None:
        """The next message, of either side."""
        if flow in self._messages and flow.websocket is not None:
            self._messages[flow].take(flow.websocket.messages[-1])
            if self._messages[flow].coming:
                self._live.begin(flow)

    def websocket_end(self, flow: http.HTTPFlow) -> None:
        """The connection is closed."""
        messages = self._messages.pop(flow, None)
        websocket.open_connections.pop(flow, None)
        if messages is not None:
            if held := messages.close():
                logger.warning(f"toolcalls: a WebSocket closed while {held} messages were held; they are lost")
            self._record(flow)
        elif not flow.live and flow.websocket is not None and flow not in self._settled:
            self._judge_messages(flow)

    def _judge_messages(self, flow: http.HTTPFlow) -> None:
        """A connection from a file: its messages stay as they were recorded, the verdicts are today's."""
        if self._rules is None:
            return
        try:
            found = websocket.replay(flow, self._rules.current())
        except ReplyNotParsed:
            return
        self._settled.add(flow)
        recorded = {one["number"]: one for one in websocket_turns.reports_of(flow)}
        flow.metadata.pop(websocket_turns.TURNS, None)
        logger.debug(f"{_about(flow)}: {len(found)} replies read again, {len(recorded)} of them reported before")
        for number, exchange in found:
            self._told(flow, exchange, number, was=recorded.get(number))

    # Replies

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Put a tap into the reply, or read it now if it is here as a whole."""
        if not flow.live or flow.response is None:
            return
        plan = self._plan(flow)
        form = form_of(plan.wire, flow.request, flow.response, guarded=plan.guards) if plan else None
        if plan is not None and plan.doomed and flow.response.status_code == 400:
            flow_metadata.add_comment(flow, next(note for note in plan.losses if note.startswith(REFUSED)))
        if plan is None or form is None:
            return
        if flow.response.raw_content is not None:
            self._serve(flow, flow.response, plan, form)
        elif callable(flow.response.stream):
            logger.warning(f"{_about(flow)}: the reply passes unread: another addon streams it")
        elif (tap := self._tap(flow, flow.response, plan, form)) is not None:
            if plan.changes:
                flow_metadata.prepare_headers(flow)
            flow.response.stream = tap
            self._live.begin(flow)

    def response(self, flow: http.HTTPFlow) -> None:
        """The reply has ended as it should, or the flow comes from a file."""
        self._end(flow, cut=not flow.live and flow.error is not None)

    def error(self, flow: http.HTTPFlow) -> None:
        """The reply broke off: upstream or client are gone."""
        self.websocket_end(flow)
        self._end(flow, cut=True)

    def _tap(self, flow: http.HTTPFlow, response: http.Response, plan: ExchangePlan, form: Form) -> ResponseTap | None:
        """A tap for a reply, None for one in a coding that nobody here can read: it passes, or nothing of it does where
        a rule may block.
        """
        try:
            limit = plan.terms.route.max_decoded_bytes
            decoder = decoder_of(response.headers.get("content-encoding", ""), limit)
        except LookupError as unknown:
            if plan.guards:
                return ResponseTap(plan.exchange(form), form=form, decoder=UnknownCoding(str(unknown)), changes=True)
            logger.warning(f"{_about(flow)}: the reply passes unread: {report.visible(str(unknown))}")
            return None
        return ResponseTap(plan.exchange(form), form=form, decoder=decoder, changes=plan.changes)

    def _serve(self, flow: http.HTTPFlow, response: http.Response, plan: ExchangePlan, form: Form) -> None:
        """A reply that mitmproxy gives itself: the same work in one go, before it is sent."""
        body = response.raw_content or b""
        recorded = self._recorded.upstream(body)
        tap = self._tap(flow, response, plan, form)
        if tap is None:
            return
        tap(body if recorded is None else recorded)
        tap(b"")
        if plan.changes:
            response.headers.pop("content-encoding", None)
        flow_metadata.store_bodies(response, flow.metadata, tap)
        self._settle(flow, tap.exchange)

    def _end(self, flow: http.HTTPFlow, *, cut: bool) -> None:
        """A reply is over, in whatever way: close or abort it once, and keep what there is to keep."""
        came = self._plans.pop(flow, _NONE) is not _NONE  # its request came, and did not stand in a file
        self._live.end(flow)
        try:
            self._finish(flow, cut=cut)
        finally:
            if came:
                self._record(flow)

    def _finish(self, flow: http.HTTPFlow, *, cut: bool) -> None:
        """Close or abort a reply that was read, or read one that is there as a whole."""
        response = flow.response
        if response is None or flow in self._settled:
            return
        tap: Any = response.stream
        if getattr(tap, "is_toolcalls_tap", False):
            response.stream = True
            if cut:
                tap.abort()
            else:
                tap.close()
            flow_metadata.store_bodies(response, flow.metadata, tap)
            self._settle(flow, tap.exchange)
        elif not flow.live and response.raw_content is not None:
            self._judge(flow, response, cut=cut)

    def _judge(self, flow: http.HTTPFlow, response: http.Response, *, cut: bool) -> None:
        """A flow from a file: its bodies stay as they were recorded, the verdicts are today's."""
        plan = self._plan(flow)
        form = form_of(plan.wire, flow.request, response, guarded=plan.guards) if plan else None
        self._plans.pop(flow, None)
        if plan is None or form is None:
            return
        tap = self._tap(flow, response, plan, form)
        if tap is None:
            return
        recorded = flow.metadata.get(flow_metadata.UPSTREAM)
        tap(recorded if isinstance(recorded, bytes) else response.raw_content or b"")
        if cut:
            tap.abort()
        else:
            tap.close()
        self._settle(flow, tap.exchange, was=flow.metadata.get(flow_metadata.REPORT))

    def _settle(self, flow: http.HTTPFlow, exchange: Exchange, was: object = _NONE) -> None:
        """Say what became of a flow's only reply."""
        self._settled.add(flow)
        self._told(flow, exchange, was=was)

    def _record(self, flow: http.HTTPFlow) -> None:
        """Put a flow that has ended into the recording."""
        if self._recorder is not None:
            self._recorder.add(flow)

    def _told(self, flow: http.HTTPFlow, exchange: Exchange, number: int | None = None, was: object = _NONE) -> None:
        """Say what became of a reply, in the flow, in the log and in the journal.

        number   its turn's
        was      of a reply from a file, the report that stood there; None for none
        """
        self._recalled.keep(exchange)
        data = report.of(exchange, model=exchange.terms.request.model)
        if was is not _NONE and not flow_metadata.is_as_recorded(was, data):
            data["judged"] = _FROM_FILE
        if number is None:
            flow_metadata.annotate(flow, data)
        else:
            websocket_turns.store_report(flow, number, data)
            flow_metadata.annotate(flow, websocket.joined_report(websocket_turns.reports_of(flow)))
        if data["summary"]:
            level = logging.WARNING if data["failure"] else logging.INFO
            logger.log(level, f"{_about(flow)}: {report.visible(data['summary'])}")
            for line in unlucky(data["verdicts"], data["notes"]):
                logger.info(f"toolcalls:   {line}")
        if exchange.failure is not None:
            # Without the exception's own words, which may hold what was said.
            where = "".join(format_tb(exchange.failure.__traceback__))
            logger.debug(f"toolcalls: where it failed ({type(exchange.failure).__name__}):\n{where}")
        if self._journal is not None:
            self._journal.write(flow, flow_metadata.writable(data))


def _opened[T](option: str, kind: Callable[[Path], T]) -> T | None:
    """What writes to the path that an option names, None for an empty one. Raises ConfigError."""
    path = getattr(ctx.options, option)
    try:
        return kind(Path(path).expanduser()) if path else None
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: a home that nobody has
        raise ConfigError(f"{option}: {error}") from error


def _misgiven(options: Any) -> str:
    """What is wrong with our options as they were given, before mitmproxy looks: it would load us halfway, and say
    nothing of an option that is given twice, or that nobody has; "" for nothing.
    """
    for name, given in options.deferred.items():
        if not name.startswith("toolcalls_"):
            continue
        if name not in options:
            known = ", ".join(one for one in sorted(options.keys()) if one.startswith("toolcalls_"))
            return f"--set {name}: there is no such option; there are {known}"
        if len(getattr(given, "val", ())) > 1:
            return f"--set {name} is given {len(given.val)} times"
    return ""


def _starts() -> bool:
    """Whether mitmproxy is only starting, so that a mistake may still stop it: no traffic is lost."""
    server = ctx.master.addons.lookup.get("proxyserver")
    return server is not None and not server.is_running


def _refuse(why: str) -> NoReturn:
    """End mitmproxy with one line and status 2. What is raised as an OptionsError it shows as a traceback, with 1."""
    print(f"toolcalls: {report.visible(why)}", file=sys.stderr, flush=True)
    raise SystemExit(2)


def _about(flow: http.HTTPFlow) -> str:
    """Which exchange a line of the log is about: no host, and no query, which may hold a key."""
    path = redacted_url(flow.request.path.partition("?")[0])
    return report.visible(f"toolcalls: {flow.request.method} {path}")
