"""Claude Code on Amazon Bedrock and Google Vertex AI, through a real mitmdump: a call that Claude leaks as text is run.

Only where Claude Code is installed (`claude`, from npm: @anthropic-ai/claude-code).
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support import anthropicclient, invokeclient
from support.loopback import EVENTS, LIMIT, Host, Reply
from toolcalls.flows import flow_metadata

CLAUDE = shutil.which("claude")
CONFIG = "routes: []\n"
MODEL = "us.anthropic.claude-made-up-v1:0"
VERTEX = "claude-made-up@20260101"
MARK = "what only the file says"
CALL = '<invoke name="Bash">\n<parameter name="command">cat note.txt</parameter>\n</invoke>'


@dataclass(frozen=True)
class Cloud:
    """Where Claude is asked.

    environment   what tells Claude Code so; `{url}` is the proxy's
    written       the bytes of events of the Messages API
    headers       of a streamed reply
    asked         in the path of a request that streams
    path          of such a request behind the proxy's URL
    """

    environment: Mapping[str, str]
    written: Callable[[Sequence[Any]], bytes]
    headers: dict[str, str]
    asked: str
    path: str


_BEDROCK = {
    "CLAUDE_CODE_USE_BEDROCK": "1",
    "ANTHROPIC_BEDROCK_BASE_URL": "{url}",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "ANTHROPIC_MODEL": MODEL,
    "ANTHROPIC_SMALL_FAST_MODEL": MODEL,
}
_CHUNKS = {"content-type": "application/vnd.amazon.eventstream", "x-amzn-bedrock-content-type": "application/json"}
_AT_BEDROCK = (invokeclient.written, _CHUNKS, "/invoke", f"/model/{MODEL}/invoke-with-response-stream")
CLOUDS = {
    "Bedrock, an API key": Cloud(_BEDROCK | {"AWS_BEARER_TOKEN_BEDROCK": "made-up"}, *_AT_BEDROCK),
    "Bedrock, access keys": Cloud(
        _BEDROCK | {"AWS_ACCESS_KEY_ID": "AKIAMADEUP", "AWS_SECRET_ACCESS_KEY": "made-up"}, *_AT_BEDROCK
    ),
    "Vertex AI": Cloud(
        {
            "CLAUDE_CODE_USE_VERTEX": "1",
            "CLAUDE_CODE_SKIP_VERTEX_AUTH": "1",
            "ANTHROPIC_VERTEX_BASE_URL": "{url}/v1",
            "ANTHROPIC_VERTEX_PROJECT_ID": "made-up",
            "CLOUD_ML_REGION": "us-east5",
            "ANTHROPIC_MODEL": VERTEX,
            "ANTHROPIC_SMALL_FAST_MODEL": VERTEX,
        },
        anthropicclient.written,
        EVENTS,
        ":streamRawPredict",
        f"/v1/projects/made-up/locations/us-east5/publishers/anthropic/models/{VERTEX}:streamRawPredict",
    ),
}

pytestmark = pytest.mark.skipif(CLAUDE is None, reason="Claude Code is not installed")


def says(cloud: Cloud, text: str) -> list[bytes]:
    pieces = [text[at : at + 7] for at in range(0, len(text), 7)]
    return [cloud.written([event]) for event in anthropicclient.stream([anthropicclient.text(*pieces)])]


def asked(running: Host, cloud: Cloud) -> list[dict[str, Any]]:
    """The requests to the model that declare tools, in order."""
    found = [one for one in running.upstream.asked if cloud.asked in one.line]
    return [body for body in map(json.loads, (one.body for one in found)) if body.get("tools")]


@pytest.mark.parametrize("cloud", CLOUDS.values(), ids=CLOUDS)
def test_a_leaked_call_is_run(running: Host, tmp_path: Path, cloud: Cloud) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "note.txt").write_text(MARK, encoding="utf-8")
    running.upstream.asked.clear()
    running.upstream.replies = [
        Reply(says(cloud, text), cloud.headers) for text in (f"I'll look.\n\n{CALL}", "It is read.")
    ]
    probe = anthropicclient.whole(anthropicclient.stream([anthropicclient.text(".")]))
    json_type = {"content-type": "application/json"}
    running.upstream.others = {
        "/inference-profiles": Reply([b'{"inferenceProfileSummaries":[]}'], json_type, framing="length"),
        "/invoke HTTP": Reply([probe], json_type, framing="length"),
        ":rawPredict HTTP": Reply([probe], json_type, framing="length"),
    }
    base = running.prefix()
    told = {name: value.replace("{url}", running.dump.url + base) for name, value in cloud.environment.items()}
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", **told,
    }  # fmt: skip
    command = [str(CLAUDE), "-p", "--allowedTools", "Bash(cat:*)", "--", "What does note.txt say?"]
    done = subprocess.run(
        command, cwd=tmp_path / "work", env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]
    assert b"It is read." in done.stdout
    first, second = asked(running, cloud)
    results = [block for block in second["messages"][-1]["content"] if block["type"] == "tool_result"]
    assert MARK in json.dumps(results)
    assert CALL not in json.dumps(second["messages"])
    assert MARK not in json.dumps(first)
    flow = running.flow(base + cloud.path)
    assert [one["status"] for one in flow.metadata[flow_metadata.REPORT]["verdicts"]] == ["lifted"]
