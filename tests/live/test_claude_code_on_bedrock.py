"""Claude Code on Amazon Bedrock, through a real mitmdump with the addon: a call that Claude leaks as text is run.

Only where Claude Code is installed (`claude`, from npm: @anthropic-ai/claude-code).
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support import anthropicclient, invokeclient
from support.loopback import LIMIT, Host, Reply
from toolcalls.mitm import flow_metadata

CLAUDE = shutil.which("claude")
CONFIG = "routes: []\n"
MODEL = "us.anthropic.claude-made-up-v1:0"
MARK = "what only the file says"
CALL = '<invoke name="Bash">\n<parameter name="command">cat note.txt</parameter>\n</invoke>'
# Who authenticates how, and whether in the environment of the machine.
KEYS = {
    "an API key": {"AWS_BEARER_TOKEN_BEDROCK": "made-up"},
    "access keys": {"AWS_ACCESS_KEY_ID": "AKIAMADEUP", "AWS_SECRET_ACCESS_KEY": "made-up"},
}

pytestmark = pytest.mark.skipif(CLAUDE is None, reason="Claude Code is not installed")


def says(text: str) -> list[bytes]:
    pieces = [text[at : at + 7] for at in range(0, len(text), 7)]
    return [invokeclient.written([event]) for event in anthropicclient.stream([anthropicclient.text(*pieces)])]


def asked(running: Host) -> list[dict[str, Any]]:
    """The requests to the model that declare tools, in order."""
    found = [one for one in running.upstream.asked if "/invoke" in one.line]
    return [body for body in map(json.loads, (one.body for one in found)) if body.get("tools")]


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
def test_a_leaked_call_is_run(running: Host, tmp_path: Path, keys: dict[str, str]) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "note.txt").write_text(MARK, encoding="utf-8")
    chunks = {"content-type": "application/vnd.amazon.eventstream", "x-amzn-bedrock-content-type": "application/json"}
    running.upstream.asked.clear()
    running.upstream.replies = [Reply(says(f"I'll look.\n\n{CALL}"), chunks), Reply(says("It is read."), chunks)]
    probe = anthropicclient.whole(anthropicclient.stream([anthropicclient.text(".")]))
    json_type = {"content-type": "application/json"}
    running.upstream.others = {
        "/inference-profiles": Reply([b'{"inferenceProfileSummaries":[]}'], json_type, framing="length"),
        "/invoke HTTP": Reply([probe], json_type, framing="length"),
    }
    base = running.prefix()
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"),
        "CLAUDE_CODE_USE_BEDROCK": "1", "ANTHROPIC_BEDROCK_BASE_URL": running.dump.url + base,
        "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "ANTHROPIC_MODEL": MODEL, "ANTHROPIC_SMALL_FAST_MODEL": MODEL,
        **keys,
    }  # fmt: skip
    command = [str(CLAUDE), "-p", "--allowedTools", "Bash(cat:*)", "--", "What does note.txt say?"]
    done = subprocess.run(
        command, cwd=tmp_path / "work", env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]
    assert b"It is read." in done.stdout
    first, second = asked(running)
    results = [block for block in second["messages"][-1]["content"] if block["type"] == "tool_result"]
    assert MARK in json.dumps(results)
    assert CALL not in json.dumps(second["messages"])
    assert MARK not in json.dumps(first)
    flow = running.flow(f"{base}/model/{MODEL}/invoke-with-response-stream")
    assert [one["status"] for one in flow.metadata[flow_metadata.REPORT]["verdicts"]] == ["lifted"]
