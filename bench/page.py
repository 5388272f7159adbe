"""What the page in mitmweb costs at 100, 1,000, 5,000 and 10,000 exchanges: a real mitmweb, a real Chromium.

mitmweb loads a file of sessions of ten turns each, as the addon has left them. CPU time is that of the mitmweb process
(Linux only); times by the clock are those of a person who waits.

    first look     from opening the page's address until the list has every exchange
    quiet poll     one question of the page, whether anything is new, when nothing is: CPU time
    new reply      the question after one more reply: CPU time, and the bytes of the answer
    list drawn     one search through all exchanges in the browser, until its result is on the screen

Before them, what the page does for each reply of a long WebSocket connection: CPU time of early and of late ones; and
what of a new reply is rendering the list, without mitmweb.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "addon"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from mitmproxy.test import tflow
from mitmproxy.websocket import WebSocketMessage
from wsproto.frame_protocol import Opcode

from support import responsesclient
from support.loopback import CALL, Reply, asked, post, streamed, upstream
from support.manyflows import flow_of, system, user, write
from support.manyflows import written as as_text
from support.screens import PASSWORD, browser, log_in, missing_for_browser, mitmweb
from support.spoken import SPOKEN, exchange
from toolcalls.flows import flow_metadata
from toolcalls.flows.flow_records import records_of
from toolcalls.flows.recorded_verdicts import joined
from toolcalls.flows.websocket.turns import store_report, turn_reports
from toolcalls.insight import plots
from toolcalls.insight.page import live_overview
from toolcalls.insight.report import make_report
from toolcalls.insight.sessions import Sessions
from toolcalls.insight.turn import turn_of
from toolcalls.mitm.page.state import PageState

COUNTS = (100, 1_000, 5_000, 10_000)
TURNS = 10  # of a session
REPLIES = 300  # of a WebSocket connection
POLLS = 50
NEWS = 10  # replies, each with a question after it
LIMIT = 300.0  # seconds, after which the loading is given up


_ENDS = (slice(1, 21), slice(REPLIES - 20, REPLIES))


def main():
    """Print the tables."""
    if missing := missing_for_browser():
        print(f"not measured: {missing}")
        return
    if not Path("/proc/self/stat").exists():
        print("not measured: CPU time of another process is read from /proc, which is Linux's")
        return
    early, late = (sorted(costs)[len(costs) // 2] for costs in map(websocket_costs().__getitem__, _ENDS))
    print(f"CPU of the page for a reply of one WebSocket: {early:.2f} ms for replies 2 to 21, {late:.2f} at the end")
    whole, charts = rendering_costs()
    print(
        f"CPU of rendering the list of 1,000 exchanges after a call: {whole:.1f} ms, of which its charts {charts:.1f}"
    )
    print("The page in mitmweb, with its Chromium open: by the number of exchanges")
    print(f"{'exchanges':>10}{'first look':>13}{'quiet poll':>13}{'new reply':>13}{'its answer':>13}{'list drawn':>13}")
    for count in COUNTS:
        look, poll, new, size, drawn = measure(count)
        print(
            f"{count:10}{look:11.2f} s{poll:10.2f} ms{new:10.1f} ms{size / 1024:10.1f} KB{drawn:10.0f} ms", flush=True
        )


def websocket_costs():
    """Milliseconds of CPU for each reply of a connection, with the page open."""
    flow = tflow.twebsocketflow()
    flow.request.path = "/v1/responses"
    flow.websocket.timestamp_end = None
    flow.websocket.messages = messages = []
    asks = {"type": "response.create", "model": "m", "input": "go", "prompt_cache_key": "s7"}
    costs = []

    async def work():
        page = PageState()
        for number in range(REPLIES):
            for mine, one in [(True, asks), *((False, event) for event in responsesclient.stream([["a", "b"]]))]:
                messages.append(WebSocketMessage(Opcode.TEXT, mine, json.dumps(one).encode(), 100.0 + len(messages)))
            report = make_report(exchange(SPOKEN["openai_responses"], [])) | {"summary": f"reply {number}"}
            store_report(flow, number, report)
            flow_metadata.annotate(flow, joined(turn_reports(flow)) | {"summary": f"up to {number}"})
            before = time.process_time()
            await page.refresh([flow])
            costs.append((time.process_time() - before) * 1000)

    asyncio.run(work())
    return costs


def rendering_costs(count=1000, calls=30):
    """Milliseconds of CPU for the list after each of some calls, and of these for the charts; the first one is new."""
    sessions, charts = Sessions(), []
    bars = plots.bars

    def drawn(*given):
        before = time.process_time()
        try:
            return bars(*given)
        finally:
            charts[-1] += time.process_time() - before

    plots.bars = drawn
    try:
        costs = []
        for number, flow in enumerate(flows(count + calls)):
            for record in records_of(flow):
                sessions.put(turn_of(record, sessions.known))
            if number >= count - 1:
                charts.append(0.0)
                before = time.process_time()
                live_overview(sessions)
                costs.append(time.process_time() - before)
    finally:
        plots.bars = bars
    middle = sorted(range(1, len(costs)), key=costs.__getitem__)[len(costs) // 2]
    return costs[middle] * 1000, charts[middle] * 1000


def measure(count):
    """Seconds of the first look; milliseconds of a quiet poll and of one after a new reply, and its bytes;
    milliseconds until a search is drawn.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        day = write(folder / "day.flow", flows(count))
        with (
            upstream(Reply(streamed(f"I look.\n\n{CALL}", 24))) as server,
            mitmweb(folder, "--rfile", str(day), to=server.url) as web,
            browser(folder / "profile") as page,
        ):
            _until_loaded(web, count)
            log_in(page, web)
            began = time.perf_counter()
            page.goto(f"{web.page_url}toolcalls")
            _until_listed(page, count)
            look = time.perf_counter() - began
            page.evaluate("document.title")  # the browser is done with what it was given
            drawn = page.evaluate(_SEARCH, "src/file7.py")
            page.close()  # only our own polls are counted
            return look, *_polls(web), drawn


def flows(count):
    """Flows as the addon has left them, ten to a session."""
    for number in range(count):
        session, turn = divmod(number, TURNS)
        said = [system("You are a coding agent."), user(f"Task {session}: mend the module.")]
        said += [user(f"Go on, step {step}.") for step in range(turn)]
        reply = f"I look at it.\n\n{as_text('read_file', path=f'src/file{number % 97}.py')}"
        if number % 23 == 7:
            reply = f"Running it. {as_text('Bash', command='make test')}"  # a call that leaks
        head = {"user-agent": "opencode/1.18.33", "x-session-id": f"ses_{session}"}
        yield flow_of(str(number), said, streamed(reply, 40), at=number * 2.0, headers=head)


def _asked(web, query):
    """The status and the body of an answer of mitmweb's."""
    request = urllib.request.Request(
        f"{web.page_url}{query}", headers={"Authorization": f"Bearer {PASSWORD}", "Accept": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as reply:
        return reply.status, reply.read()


def _until_loaded(web, count):
    until = time.monotonic() + LIMIT
    while len(json.loads(_asked(web, "flows")[1])) < count:
        if time.monotonic() > until:
            raise SystemExit(f"mitmweb did not load {count} flows within {LIMIT:.0f} s")
        time.sleep(0.5)


def _until_listed(page, count):
    page.wait_for_function(
        "count => typeof exchanges === 'object' && exchanges !== null && exchanges.rows.size >= count",
        arg=count,
        timeout=LIMIT * 1000,
    )


_SEARCH = """async (words) => {
  const began = performance.now();
  exchanges.search.value = words;
  exchanges.search.dispatchEvent(new Event("input", { bubbles: true }));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - began;
}"""


def _cpu(web):
    """Milliseconds of CPU that the mitmweb process has used."""
    fields = Path(f"/proc/{web.dump.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def _polls(web):
    """Milliseconds of a quiet poll, of the one after a new reply, and the bytes of its answers."""
    revision = _revision(web)
    before = _cpu(web)
    for _ in range(POLLS):
        assert _asked(web, f"toolcalls?since={revision}")[0] == 204
    quiet = (_cpu(web) - before) / POLLS
    news, size = 0.0, 0
    for _ in range(NEWS):
        known = json.loads(_asked(web, "toolcalls/exchanges?since=0")[1])["revision"]
        post(web.url, asked())
        time.sleep(1.5)  # what a browser waits as well
        before = _cpu(web)
        answers = [_news(web, revision), _asked(web, f"toolcalls/exchanges?since={known}")[1]]
        news += _cpu(web) - before
        size = sum(map(len, answers))
        revision = json.loads(answers[0])["revision"]
    return quiet, news / NEWS, size


def _news(web, revision):
    """What the page says is new, as soon as it is rendered again."""
    while not (answer := _asked(web, f"toolcalls?since={revision}")[1]):
        time.sleep(0.2)
    return answer


def _revision(web):
    """The revision of the page as it is now, once all flows are on it."""
    while True:
        text = _asked(web, "toolcalls")[1].decode()
        revision = text.partition('data-revision="')[2].partition('"')[0]
        time.sleep(1.2)
        if _asked(web, f"toolcalls?since={revision}")[0] == 204:
            return revision


if __name__ == "__main__":
    main()
