"""Group: strings that broke other programs, as text, as tool names and as values; and what of secrets is told.

As text they pass byte for byte on every wire. In names and values they stay inside their JSON strings: every frame is
JSON, the client gets the value as it was written, and one record of ours is one line. Canaries in headers, URLs and
bodies appear in none of our outputs: log lines, journal, comment, report, view, exports (with and without content),
the HTML report and mitmweb's pages, recordings of our own and redacted ones.
"""

import io
import json
import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from mitmproxy import contentviews, http
from mitmproxy.io import FlowWriter
from mitmproxy.test import taddons, tflow, tutils

from reliability import heard, invariants
from reliability.driving import LIFTS
from reliability.faults import Faulted
from reliability.invariants import Breach
from reliability.jobs import Job, Tally, parts
from reliability.materials import chosen, rows_of, seed_of
from reliability.rows import Row
from reliability.said import KEYS, driven_cut, envelope_for, saying, with_tools
from reliability.spliced import form_of
from support.loopback import CALL, EVENTS, PATH, TOOLS, streamed
from toolcalls.flows import flow_metadata
from toolcalls.flows.flow_records import record_of, reported_records
from toolcalls.flows.flow_redaction import redacted
from toolcalls.flows.judging import replies
from toolcalls.insight import report
from toolcalls.insight.exports import FORMATS
from toolcalls.insight.exports.pieces import pieces_of
from toolcalls.insight.page import live_overview, live_page, live_session, live_why, report_page
from toolcalls.insight.report import visible
from toolcalls.insight.sessions import Sessions
from toolcalls.insight.turn import turn_of
from toolcalls.mitm.conditions import conditions
from toolcalls.mitm.hooks import ToolCalls
from toolcalls.mitm.tables import conditions_table
from toolcalls.request import Tool
from toolcalls.route import Config

TEXTS = "naughty strings"
SECRETS = "secrets"
CANARIES = ("CANARY", "Q0FOQVJZ")  # the second is the first in base64
_PATIENCE = 30.0  # seconds until the recorder's thread must have written, also on a machine that is busy


@cache
def strings() -> tuple[tuple[str, str], ...]:
    """The strings, each with a name."""
    found = [(f"naughty/{row['n']}", row["value"]) for row in rows_of("naughty_strings.jsonl")]
    kinds = {"sse-injection", "display"}
    found += [(row["id"], row["value"]) for row in rows_of("threats.jsonl") if row["category"] in kinds]
    found += [(f"own/{code:04x}", f"a{chr(code)}b") for code in (0, 10, 13, 27, 0x85, 0x9B, 0x202E, 0x2028, 0xFEFF)]
    return tuple(found)


def jobs(fraction: float, seed: int) -> Iterator[Job]:
    """The parts of this group."""
    for start, end in parts(len(strings()), 120):
        yield Job(over, (start, end, fraction, seed))
    yield Job(told, (fraction, seed))


def over(start: int, end: int, fraction: float, seed: int) -> Row:
    """The strings from number `start` to `end`."""
    tally = Tally(TEXTS)
    for label, value in strings()[start:end]:
        for key in KEYS:
            for kind, check in (("text", _as_text), ("value", _as_value), ("name", _as_name)):
                name = f"{kind}={label} wire={'/'.join(key)} seed={seed}"
                if chosen(name, fraction, seed):
                    tally.count(name, check(value, key, Random(seed_of(seed, name))))
    return tally.row


def _as_text(value: str, key: Any, random: Random) -> Iterator[Breach]:
    reply = saying(envelope_for(key, random), f"It is: {value} so.", random)
    outcome, pieces = driven_cut(reply, random, with_tools(LIFTS, (Tool("Any"),)))
    faulted = Faulted(reply.body, tuple(pieces))
    yield from invariants.sound(outcome, faulted)
    yield from invariants.untouched(outcome, faulted)


def _as_value(value: str, key: Any, random: Random) -> Iterator[Breach]:
    """As an argument's value: the client gets it, character for character, and nothing else."""
    call = json.dumps({"name": "Any", "arguments": {"value": value}}, ensure_ascii=False)
    yield from _called(f"<tool_call>{call}</tool_call>", [("Any", {"value": value})], key, random)


def _as_name(value: str, key: Any, random: Random) -> Iterator[Breach]:
    """As a tool's name, of which none is declared: no call."""
    call = json.dumps({"name": value, "arguments": {}}, ensure_ascii=False)
    yield from _called(f"<tool_call>{call}</tool_call>", [], key, random)


def _called(text: str, wanted: list[Any], key: Any, random: Random) -> Iterator[Breach]:
    reply = saying(envelope_for(key, random), text, random)
    outcome, pieces = driven_cut(reply, random, with_tools(LIFTS, (Tool("Any"),)))
    yield from invariants.sound(outcome, Faulted(reply.body, tuple(pieces)))
    if [(name, json.loads(arguments)) for name, arguments in outcome.complete] != wanted:
        yield Breach(
            "invented" if outcome.complete and not wanted else "lost", f"{outcome.complete} instead of {wanted}"
        )
    form = form_of(reply)
    payloads = list(heard.payloads(outcome.out, form))
    broken = [one for one in payloads if one != b"[DONE]" and not _is_json(one)]
    if broken:
        yield Breach("lost", f"a frame that is no JSON: {broken[0][:200]!r}")
    said = heard.heard(reply.wire, form, outcome.out)
    if said.whole != wanted:
        yield Breach("lost", f"the client heard {said.calls}")
    for _, verdict in outcome.verdicts:
        line = visible(report.summarize_verdicts([report.verdict_data(verdict)]))
        if len(line.splitlines()) != 1 or line != visible(line):
            yield Breach("failed", f"a record of more than one line: {line!r}")


def _is_json(payload: bytes) -> bool:
    try:
        json.loads(payload)
    except ValueError:
        return False
    return True


# --- secrets ----------------------------------------------------------------------------------------------------------


def told(fraction: float, seed: int) -> Row:
    """Each canary in a request of its own, through the addon's hooks; then all that was told is searched."""
    tally = Tally(SECRETS)
    given = [(row["id"], row["header"]) for row in rows_of("threats.jsonl") if row["category"] == "secrets"]
    given += [(f"own/{name}", {name: f"{word}CANARY99"}) for name, word in _OWN.items()]
    for label, header in given:
        for kind, reply in (("call", CALL), ("text", "Nothing to see."), ("fault", CALL)):
            name = f"canary={label} reply={kind} seed={seed}"
            if chosen(name, fraction, seed):
                tally.count(name, _breaches(header, reply, fails=kind == "fault"))
    return tally.row


_OWN = {
    "authorization": "Bearer sk-",
    "x-api-key": "sk-ant-",
    "x-vendor-token": "",
    "cookie": "session=",
    "x-unknown": "",
    ":path": f"{PATH}?key=AIza",
    "body": "refresh_token=",
}


def _breaches(header: Mapping[str, str], reply: str, *, fails: bool) -> Iterator[Breach]:
    for place, text in _outputs(dict(header), reply, fails=fails):
        for canary in CANARIES:
            if canary in text:
                at = text.index(canary)
                yield Breach("secret", f"{place}: {text[max(0, at - 60) : at + 30]!r}")


def _outputs(header: dict[str, str], reply: str, *, fails: bool) -> Iterator[tuple[str, str]]:
    """Everything that is told of one exchange: the place, and what is there."""
    path, said = header.pop(":path", PATH), header.pop("body", "")
    path = PATH + ("?" + path.partition("?")[2] if "?" in path else "")
    cookie = header.pop("set-cookie", None)
    with TemporaryDirectory() as folder, _logged() as log:
        journal, records = Path(folder) / "log.jsonl", Path(folder) / "records"
        flow = _flow(path, header, said, cookie)
        addon = ToolCalls()
        with taddons.context(addon) as context:
            context.configure(addon, toolcalls_log=str(journal), toolcalls_record=str(records))
            for hook in (addon.requestheaders, addon.request, addon.responseheaders):
                hook(flow)
            assert flow.response is not None
            tap: Any = flow.response.stream
            if fails:
                tap.exchange.feed = _Failing(f"cannot read CANARY {said}")
            for piece in [*streamed(reply), b""]:
                tap(piece)
            addon.response(flow)
            view = contentviews.prettify_message(flow.response, flow, "tool calls").text
            yield "recording", _recorded(records)
            addon.done()
        flow.response.stream = False
        yield "log", log.getvalue()
        yield "journal", journal.read_text(encoding="utf-8")
        yield "comment", flow.comment + flow.marked
        yield "report", repr(flow.metadata.get(flow_metadata.REPORT))
        yield "view", view
        for format_ in FORMATS:
            for content in (False, True):
                data = b"".join(pieces_of(format_, reported_records([flow]), content=content))
                yield f"export, {format_}, content={content}", data.decode()
        yield from _pages(flow)
        kept = io.BytesIO()
        FlowWriter(kept).add(redacted(flow))
        yield "redacted recording", kept.getvalue().decode(errors="replace")


def _recorded(folder: Path) -> str:
    """What the option `toolcalls_record` has written, as soon as it has."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        found = b"".join(path.read_bytes() for path in folder.glob("*.flow"))
        if found.endswith(b"}"):  # a flow is one netstring of a dictionary
            return found.decode(errors="replace")
        time.sleep(0.01)
    raise AssertionError(f"nothing was recorded in {_PATIENCE:g} s")


def _pages(flow: http.HTTPFlow) -> Iterator[tuple[str, str]]:
    """The HTML report, and the three pages that mitmweb has."""
    sessions = Sessions()
    sessions.put(turn_of(record_of(flow)))
    (session,) = sessions.all()
    yield "HTML report", report_page(sessions, "made.flow")
    yield "page, overview", live_page(live_overview(sessions), "1")
    yield "page, session", live_page(live_session(session), "1")
    rows = conditions_table([one for _, reply in replies(flow, Config()) for one in conditions(reply)])
    yield "page, why", live_page(live_why(flow.id, rows), "1")


class _Failing:
    """Is in for a method that fails, with words that must not be told."""

    def __init__(self, words: str) -> None:
        self._words = words

    def __call__(self, *_: object) -> bytes:
        raise ValueError(self._words)


def _flow(path: str, header: Mapping[str, str], said: str, cookie: str | None) -> http.HTTPFlow:
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": said}], "tools": TOOLS}
    request = tutils.treq(method=b"POST", path=path.encode(), content=json.dumps(body).encode())
    flow = tflow.tflow(req=request, resp=True)
    flow.request.headers.update(header)
    flow.live = True
    flow.response = http.Response.make(200, b"", {**EVENTS, **({"set-cookie": cookie} if cookie else {})})
    flow.response.raw_content = None
    return flow


@contextmanager
def _logged() -> Iterator[io.StringIO]:
    """All log lines, of every level. The handlers that mitmproxy installs go with it: its loop is closed then."""
    text = io.StringIO()
    root, before = logging.getLogger(), logging.getLogger().handlers[:]
    handler = logging.StreamHandler(text)
    logger = logging.getLogger("toolcalls")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield text
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        for other in [one for one in root.handlers if one not in before]:
            root.removeHandler(other)
