"""What is loaded when: a start loads little, and the rest comes in slices after it, so that the first flow finds all.

Strategy: a fresh interpreter says which modules are loaded at each step, since those of this one are loaded long since.
A count of modules needs no clock.
"""

import json
import logging
import subprocess
import sys

import pytest
from mitmproxy.test import taddons

from support.repository import REPO
from toolcalls.mitm import loading
from toolcalls.mitm.hooks import ToolCalls

# Rooms that no start may load anything of, and libraries that nothing but they need.
LATER = {"dialects", "insight", "mending", "processors", "reading", "replies", "requests", "shapes", "values", "wires"}
LIBRARIES = {"lxml", "msgspec", "opentelemetry", "pygal", "regex", "tqdm", "uvicorn"}
SLICES = 100  # at least: one long slice would hold the loop up

STEPS = """
import gc, json, runpy, sys
import mitmproxy.tools.dump, mitmproxy.tools.main
from mitmproxy.test import taddons, tflow, tutils

before, steps = set(sys.modules), {}

def note(step):
    steps[step] = sorted(set(sys.modules) - before - {name for names in steps.values() for name in names})

(addon,) = runpy.run_path(sys.argv[1])["addons"]
with taddons.context(addon) as context:
    context.configure(addon)
    addon.running()
    note("start")
    steps["slices"] = [None] * sum(1 for _ in addon._slices())
    note("behind it")
    from toolcalls.reading import openers
    steps["tables"] = [openers._places.cache_info().misses]
    body = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi"}], "tools": [
        {"type": "function", "function": {"name": "Bash", "parameters": {"properties": {"command": {}}}}}
    ]}).encode()
    request = tutils.treq(method=b"POST", path=b"/v1/chat/completions", content=body)
    flow = tflow.tflow(req=request, resp=True)
    flow.response.headers["content-type"] = "text/event-stream"
    flow.response.raw_content = None
    addon.requestheaders(flow)
    addon.request(flow)
    addon.responseheaders(flow)
    text = '<invoke name="Bash">\\n<parameter name="command">ls</parameter>\\n</invoke>'
    data = json.dumps({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]})
    pieces = [f"data: {data}\\n\\n".encode(), b"data: [DONE]\\n\\n", b""]
    out = b"".join(piece or b"" for piece in map(flow.response.stream, pieces))
    addon.response(flow)
    assert b"tool_calls" in out, out
    note("first exchange")
    steps["frozen"] = [gc.get_freeze_count(), len(gc.get_objects())]
    steps["tables"].append(openers._places.cache_info().misses)
    addon.done()
    steps["frozen"].append(gc.get_freeze_count())
print(json.dumps(steps))
"""


@pytest.fixture(scope="module")
def steps() -> dict[str, list[str]]:
    """The modules that each step loads."""
    done = subprocess.run(
        [sys.executable, "-c", STEPS, str(REPO / "addon" / "main.py")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


def test_a_start_loads_nothing_that_only_a_flow_a_command_or_the_page_needs(steps: dict[str, list[str]]) -> None:
    loaded = {name for name in steps["start"] if name.startswith("toolcalls.") and name.split(".")[1] in LATER}
    assert loaded == set()
    assert {name.partition(".")[0] for name in steps["start"]} & LIBRARIES == set()
    assert len(steps["start"]) <= 70


def test_all_that_the_first_exchange_needs_is_loaded_behind_the_start_in_slices(steps: dict[str, list[str]]) -> None:
    assert "toolcalls.replies.exchange" in steps["behind it"]
    assert len(steps["slices"]) >= SLICES
    assert steps["first exchange"] == []


def test_what_is_loaded_is_not_looked_at_by_each_garbage_collection(steps: dict[str, list[int]]) -> None:
    """Such a collection stops the loop; what a reload leaves behind is collected."""
    frozen, others, behind_reload = steps["frozen"]
    assert frozen > 50_000
    assert others < frozen / 5
    assert behind_reload == 0


def test_the_tables_of_all_dialects_are_built_behind_the_start(steps: dict[str, list[int]]) -> None:
    before_the_first_exchange, behind_it = steps["tables"]
    assert before_the_first_exchange > 0
    assert behind_it - before_the_first_exchange <= 1  # after a call, invented results are looked for as well


def test_where_the_addon_cannot_be_loaded_mitmproxy_ends(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It does not go on and let through what its rules may forbid."""
    monkeypatch.setattr(loading, "ROOMS", ("reading", "nowhere"))
    addon = ToolCalls()
    with taddons.context(addon) as context, caplog.at_level(logging.ERROR):
        context.configure(addon)
        ended: list[bool] = []
        monkeypatch.setattr(context.master, "shutdown", lambda: ended.append(True))
        slices = addon._slices()
        while not ended:
            addon._load_next(slices)
    assert "cannot be loaded" in caplog.text
