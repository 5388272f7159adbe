"""The recordings: read again they give the verdicts and the bytes that they hold, and they hold nothing they must not.

Each flow goes through a new exchange, made from its own request under the configuration that ships with the addon, and
all of them go through one mitmdump. Verdicts and the client's bytes must be those of the day of the recording; where a
change of the addon is meant to change them, `python recordings/make.py` records anew and `git diff` shows it.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pytest
from mitmproxy import http

from live import REPO, flows_in, mitmdump
from toolcalls import report
from toolcalls.config import default_path, load
from toolcalls.dialects import all_dialects
from toolcalls.exchange import Exchange
from toolcalls.mitm import store
from toolcalls.mitm.codings import decoded
from toolcalls.mitm.plan import form_of, plan_for, wire_for
from toolcalls.wires import all_wires

FOLDER = REPO / "recordings"
FILES = sorted(FOLDER.glob("*.flow"))
NAMES = [path.stem for path in FILES]

# What each recording is there for: the kind of route, and status, reason and dialect of its verdicts.
LIFTED = ("lifted", None, "invoke")
EXPECTED: dict[str, tuple[str, list[tuple[str, str | None, str | None]]]] = {
    "choice-ends-twice": ("lift", [LIFTED]),
    "cut-in-a-tag": ("lift", [("truncated", "cut_off", "invoke")]),
    "fenced-example": ("lift", [("declined", "fenced", "invoke")]),
    "gzip-kept": ("observe", [("declined", "observed", "invoke")]),
    "lifted-invoke-stream": ("lift", [LIFTED, LIFTED]),
    "lifted-whole": ("lift", [LIFTED]),
    "lowered-for-a-text-client": ("roundtrip", [("lowered", None, "tagged")]),
    "native-index-minus-one": ("lift", [("native", None, None)]),
    "roundtrip": ("roundtrip", [("lowered", None, "invoke")]),
    "stray-word": ("lift", [LIFTED]),
    "usage-with-every-chunk": ("lift", [LIFTED]),
}
UNCHANGED = {"fenced-example", "gzip-kept", "native-index-minus-one"}

SECRET = re.compile(rb"\bsk-|Bearer|[A-Za-z0-9+/]{40}")
MACHINE = re.compile(rb"/home/|/Users/|[A-Z]:\\\\|x-stainless")
PLACES = [REPO, Path.home(), Path(gettempdir())]


@cache
def flow_of(name: str) -> http.HTTPFlow:
    (flow,) = flows_in(FOLDER / f"{name}.flow")
    return flow


def response_of(flow: http.HTTPFlow) -> http.Response:
    assert flow.response is not None
    return flow.response


def exchange_of(flow: http.HTTPFlow) -> Exchange:
    """A new reading of a flow's reply."""
    wire = wire_for(flow.request)
    form = form_of(wire, flow.request, response_of(flow)) if wire else None
    assert wire is not None
    assert form is not None
    config = load(default_path(), list(all_dialects()), list(all_wires()))
    return plan_for(wire, flow.request, config).exchange(form)


def bodies_of(flow: http.HTTPFlow) -> tuple[bytes, bytes]:
    """What the upstream sent and what the client got, both without content coding."""
    response = response_of(flow)
    client = decoded(response.raw_content or b"", response.headers.get("content-encoding", ""))
    upstream: bytes = flow.metadata.get(store.UPSTREAM, client)
    return upstream, client


def through(flow: http.HTTPFlow, pieces: Iterator[bytes]) -> tuple[bytes, list[dict[str, Any]]]:
    """What a client gets now, and the verdicts."""
    exchange = exchange_of(flow)
    out = b"".join([exchange.feed(piece) for piece in pieces])
    if flow.error is None:
        out += exchange.close()
    else:
        exchange.abort()  # what it held then reached nobody
    assert exchange.failure is None
    verdicts: list[dict[str, Any]] = store.writable(report.of(exchange))["verdicts"]
    return out, verdicts


@pytest.mark.parametrize("size", [None, 1, 7], ids=["whole", "1", "7"])
@pytest.mark.parametrize("name", NAMES)
def test_read_again_it_is_the_same(name: str, size: int | None) -> None:
    flow = flow_of(name)
    upstream, client = bodies_of(flow)
    step = size or len(upstream)
    out, verdicts = through(flow, (upstream[at : at + step] for at in range(0, len(upstream), step)))
    assert verdicts == flow.metadata[store.REPORT]["verdicts"]
    assert out == client


def test_mitmdump_reads_all_of_them_the_same(tmp_path: Path) -> None:
    joined, again = tmp_path / "all.flow", tmp_path / "again.flow"
    joined.write_bytes(b"".join(path.read_bytes() for path in FILES))
    with mitmdump(tmp_path, "-nr", str(joined), "-w", str(again)) as dump:
        assert dump.ended() == 0
    now = {flow.id: flow for flow in flows_in(again)}
    assert len(now) == len(FILES)
    for name in NAMES:
        was = flow_of(name)
        assert now[was.id].metadata[store.REPORT]["verdicts"] == was.metadata[store.REPORT]["verdicts"], name
        assert now[was.id].metadata.get(store.UPSTREAM) == was.metadata.get(store.UPSTREAM), name
        assert response_of(now[was.id]).raw_content == response_of(was).raw_content, name
        assert now[was.id].marked == was.marked, name


def test_each_is_what_its_name_says() -> None:
    found = {}
    for name in NAMES:
        data = flow_of(name).metadata[store.REPORT]
        verdicts = [(verdict["status"], verdict["reason"], verdict["dialect"]) for verdict in data["verdicts"]]
        found[name] = (data["kind"], verdicts)
    assert found == EXPECTED


@pytest.mark.parametrize("name", NAMES)
def test_only_what_should_change_has_changed(name: str) -> None:
    upstream, client = bodies_of(flow_of(name))
    assert (upstream == client) == (name in UNCHANGED)


def test_the_one_that_was_cut_is_the_only_one_with_an_error() -> None:
    assert [name for name in NAMES if flow_of(name).error is not None] == ["cut-in-a-tag"]
    upstream, client = bodies_of(flow_of("cut-in-a-tag"))
    assert b"[DONE]" not in upstream
    assert b'"finish_reason":"' not in client.replace(b" ", b"")


def test_the_oddities_are_there() -> None:
    """The recordings would be no use if somebody smoothed them."""
    upstream = {name: bodies_of(flow_of(name))[0] for name in NAMES}
    client = {name: bodies_of(flow_of(name))[1] for name in NAMES}
    assert upstream["native-index-minus-one"].count(b'"index": -1') == 1
    assert upstream["usage-with-every-chunk"].count(b'"usage"') == upstream["usage-with-every-chunk"].count(b"data: {")
    assert upstream["choice-ends-twice"].count(b'"finish_reason": "stop"') == 2
    assert client["choice-ends-twice"].count(b'"finish_reason":"tool_calls"') == 2
    assert client["choice-ends-twice"].startswith(b": OPENROUTER PROCESSING\n\n")
    assert response_of(flow_of("gzip-kept")).headers["content-encoding"] == "gzip"
    length = int(response_of(flow_of("lifted-whole")).headers.get("content-length", 0))
    assert length in {0, len(client["lifted-whole"])}


# --- what stands beside them ------------------------------------------------------------------------------------------


def test_each_has_its_sentence_in_the_readme() -> None:
    rows = re.findall(
        r"^\| `([\w-]+)\.flow` \| (.+) \|$", (FOLDER / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(name for name, _ in rows) == NAMES
    for name, sentence in rows:
        assert re.fullmatch(r"[A-Z][^|]{30,250}\.", sentence), name


@pytest.mark.parametrize("name", NAMES)
def test_no_secret_and_nothing_of_the_machine(name: str) -> None:
    flow = flow_of(name)
    assert flow.request.headers["authorization"] == "<redacted>"
    stored = (FOLDER / f"{name}.flow").read_bytes()
    for header in ("cookie", "set-cookie", "x-api-key", "api-key", "openai-organization"):
        assert header not in flow.request.headers
        assert header not in response_of(flow).headers
    assert SECRET.search(stored) is None
    assert MACHINE.search(stored) is None
    assert not any(f"{place}/".encode() in stored for place in PLACES if place.name)
    assert len(stored) < 32_768


def test_requests_are_as_the_sdk_sends_them() -> None:
    for name in NAMES:
        flow = flow_of(name)
        assert flow.request.headers["user-agent"].startswith("OpenAI/Python ")
        assert json.loads(flow.request.content or b"")["model"] == "made-up"
