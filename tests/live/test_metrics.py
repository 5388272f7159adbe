"""What Prometheus finds of replies over WebSocket, through a real mitmdump."""

import urllib.request
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from support.fiveroutes import INVOKE
from support.loopback import LIMIT, mitmdump
from support.responsesclient import stream
from support.responsesscene import TOOLS
from support.screens import reserved_port
from support.sockets import connected, upstream
from support.waiting import seen

RESPONSES = "/v1/responses"


def _scraped(port: int) -> dict[tuple[str, str], float]:
    """The values by the name of the metric and that of its stage or side."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=LIMIT) as reply:
        families = [*text_string_to_metric_families(reply.read().decode())]
    samples = [sample for family in families for sample in family.samples]
    return {(one.name, one.labels.get("stage") or one.labels.get("side") or ""): one.value for one in samples}


def test_messages_have_times_and_bytes(tmp_path: Path) -> None:
    events = stream([[f"Go.\n{INVOKE[1]}"]])
    with (
        reserved_port() as port,
        upstream() as server,
        mitmdump(tmp_path, "--set", f"toolcalls_metrics={port}", to=server.url) as dump,
    ):
        server.replies = [[events]]
        with connected(dump.port, RESPONSES) as socket:
            got = socket.ask({"type": "response.create", "model": "m", "tools": TOOLS, "input": "go"})
        seen(lambda: ("toolcalls_replies_total", "") in _scraped(port))
        found = _scraped(port)
        assert found["toolcalls_added_seconds_count", "request"] == 1
        assert found["toolcalls_added_seconds_count", "reply"] >= len(events)
        assert found["toolcalls_added_seconds_sum", "reply"] > 0
        text = sum(len(str(event.get("delta", ""))) for event in events)
        assert found["toolcalls_body_bytes_total", "upstream"] >= text
        assert found["toolcalls_body_bytes_total", "client"] > 0
        assert got != events
