"""Where the time goes for which `docs/performance.md` names a goal that is not met: profiles of the same work.

In mitmdump it is the work of `exchanges` and `events`; without a host that of `readers`, `dialects`, `requests`,
`processors` and `archive`, and of `page` the reading of its flows. `stacks.py` says how it is sampled.
"""

import json
import signal
import sys
import tempfile
import time
from http.client import HTTPConnection
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import dialects
import exchanges
import host
import page
import processors
import readers
import requests_in
from stacks import OURS, Stacks, print_profile

from support import archives
from toolcalls.flows import flow_files as files
from toolcalls.flows.flow_records import records_of
from toolcalls.insight.turn import turn_of
from toolcalls.requests.conversation import request_of
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.route import VTC_CLIENT_PATTERNS, Route
from toolcalls.tools.archive.parts import Part, files_of
from toolcalls.tools.judge.job import Judging

SECONDS = 3.0  # of CPU, for each profile without a host
EVENTS = 60_000


def main():
    """Print the profiles."""
    if not hasattr(signal, "setitimer"):
        print("not measured: this system has no timer of CPU time")
        return
    in_mitmdump()
    with tempfile.TemporaryDirectory() as folder:
        for name, work in without_host(Path(folder)).items():
            work()  # what is made once
            stacks = Stacks()
            until = time.process_time() + SECONDS
            stacks.start()
            while time.process_time() < until:
                work()
            print_profile(name, in_the_addon(stacks.stop()))


def in_the_addon(seen):
    """The stacks without those of what only makes the work."""
    return {stack: count for stack, count in seen.items() if any(OURS in file for file, _ in stack)}


def without_host(folder):
    """Work by name, each a callable that may be called again and again; files go into the folder."""
    angles = readers.filled(readers.ANGLES, 100_000)
    served = host.replies(5_000)
    rules = {"access": processors.ACCESS}
    bodies = [exchanges.body(turn, 1_000_000) for turn in range(3)]
    python = dialects.written("pythonic", 1_000_000)
    turns = count()
    archive = files_of([str(archives.write(folder, 5_000_000)[0])])
    judging = Judging(files.configuration(None))
    flows = list(page.flows(200))
    return {
        "a request of 1 MB, read and decided on": lambda: [_decide(body) for body in bodies],
        "a system prompt of 400 KB, seen for the first time": lambda: _decide(_prompt(next(turns))),
        "reader, 4 characters of text full of <": lambda: readers.delta_cost(angles),
        "pythonic, an argument of 1 MB in deltas of 1 KB": lambda: dialects.fed(python, 1024),
        "rules for a text client, text": lambda: processors.cost(served["text"], rules, "text", "text"),
        "rules for a text client, a call": lambda: processors.cost(served["call"], rules, "text", "text"),
        "judging an archive of 5 MB": lambda: judging(Part(*archive)),
        "the page's first look at a reply": lambda: [turn_of(record) for flow in flows for record in records_of(flow)],
    }


def _prompt(turn):
    messages = [{"role": "system", "content": requests_in.long_text(turn)}, {"role": "user", "content": "hi"}]
    return json.dumps({"model": "m", "messages": messages}).encode()


def _decide(body):
    request = request_of(processors.WIRE, body)
    call_policy_of(Route(), request, decide(Route(), request, {}, VTC_CLIENT_PATTERNS))


def in_mitmdump():
    """Print the profiles of a mitmdump with the addon."""
    upstream = exchanges.Upstream()
    small, large = [exchanges.body()] * 600, [exchanges.body(one, 1_000_000) for one in range(5)] * 60
    with host.mitmdump(host.ADDONS["toolcalls"], upstream.port) as port:
        _sampled(port, "small exchanges in mitmdump", lambda: _ask(port, small))
        _sampled(port, "requests of 1 MB in mitmdump", lambda: _ask(port, large))
    served = host.replies(EVENTS)
    upstream = host.Upstream(served)
    request = json.dumps(host.REQUEST)
    names = {"text": "plain text", "call": "a call in text", "native": "a native call"}
    with host.mitmdump(host.ADDONS["toolcalls"], upstream.port) as port:
        for kind, name in names.items():
            ask = lambda kind=kind: host.ask(port, "POST", f"/{kind}/v1/chat/completions", request)  # noqa: E731
            _sampled(port, f"events of {name} in mitmdump", ask)


def _ask(port, payloads):
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        for payload in payloads:
            exchanges.asked(connection, payload)
    finally:
        connection.close()


def _sampled(port, name, work):
    work()  # what is loaded after the start
    host.ask(port, "GET", "/bench/profile")
    work()
    found = json.loads(host.ask(port, "GET", "/bench/profile"))
    print_profile(name, {tuple(map(tuple, stack)): count for stack, count in found})


if __name__ == "__main__":
    main()
