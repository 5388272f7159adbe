"""Recordings of real agents, without the text of their prompts.

An agent runs through the addon against a scripted upstream, whose reply holds a call as text; it must run the call and
come back with its result. What it asked first is then sent through the addon once more, with its headers and without
what its makers wrote: that exchange is the recording. So nothing of a prompt is kept, and the bytes are those of a real
exchange.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mitmproxy import http

from making.shapes import QUESTION, SAID, reply
from support.loopback import Host, Reply, post

FILE = 'def greet():\n    "hello"\n'
FOUND = "It never prints: the text stands there alone."
_OWN = {"content-length", "connection", "accept-encoding", "transfer-encoding"}
_IDS = ("session", "thread", "x-codex", "x-client-request", "x-claude-code", "x-stainless")


@dataclass(frozen=True)
class Agent:
    """An agent that is installed.

    command   its command, in the folder with the file that is asked about
    settings  environment variables that send it to a URL
    call      a call in the form of `invoke`, of a tool of its own
    probes    how many requests it sends before the first to the model
    tools     those of its tools that are kept in the recording
    """

    api: str
    path: str
    command: Callable[[str], list[str]]
    settings: Callable[[str], dict[str, str]]
    call: str
    probes: int
    tools: tuple[str, ...]


def _invoke(name: str, key: str) -> str:
    return f'<invoke name="{name}">\n<parameter name="{key}">cat src/app.py</parameter>\n</invoke>'


def _codex(url: str) -> list[str]:
    provider = f'model_providers.x={{name="x",base_url="{url}/v1",wire_api="responses",env_key="MADE_UP"}}'
    given = ["exec", "--skip-git-repo-check", "-c", provider, "-c", 'model_provider="x"', "-m", "made-up"]
    return ["codex", *given, QUESTION]


AGENTS = {
    "agent-codex": Agent(
        "openai_responses",
        "/v1/responses",
        _codex,
        lambda _: {"MADE_UP": "made-up"},
        _invoke("exec_command", "cmd"),
        0,
        ("exec_command", "write_stdin"),
    ),
    "agent-claude-code": Agent(
        "anthropic",
        "/v1/messages?beta=true",
        lambda _: ["claude", "-p", "--model", "made-up", "--allowedTools", "Bash(cat:*)", "--", QUESTION],
        lambda url: {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "made-up",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
        _invoke("Bash", "command"),
        1,
        ("Bash", "Edit"),
    ),
}


def record_agent(folder: Path, running: Host, agent: Agent) -> http.HTTPFlow:
    """The first request of an agent and its reply, without the text of its prompts."""
    made = Reply(reply(agent.api, SAID + agent.call), pause=0.02)
    running.upstream.replies = [*[Reply([])] * agent.probes, made, Reply(reply(agent.api, FOUND), pause=0.02)]
    before = len(running.upstream.asked)
    _run(folder, running.dump.url, agent)
    first, second, *_ = [one for one in running.upstream.asked[before:] if one.line.startswith("POST")]
    if json.dumps(FILE.strip())[1:-1] not in json.dumps(json.loads(second.body)):
        raise SystemExit(f"{agent.command('')[0]} did not run the call: {second.body[-500:]!r}")
    running.upstream.replies = [made]
    headers = {name: value for name, value in first.headers.items() if name not in _OWN and not name.startswith(_IDS)}
    path = f"/{agent.command('')[0]}{agent.path}"
    post(running.dump.url, _without_prompts(json.loads(first.body), agent), headers, path=path)
    return running.flow(path)


def _run(folder: Path, url: str, agent: Agent) -> None:
    """One run of an agent, which ends by itself. Raises SystemExit where it is not installed or fails."""
    command = agent.command(url)
    if shutil.which(command[0]) is None:
        raise SystemExit(f"{command[0]} is not on the PATH")
    work, home = folder / "work", folder / "home"
    for one in (work / "src", home):
        one.mkdir(parents=True, exist_ok=True)
    (work / "src" / "app.py").write_text(FILE, encoding="utf-8")
    settings = {"PATH": os.environ["PATH"], "HOME": str(home), "CODEX_HOME": str(home), **agent.settings(url)}
    run = subprocess.run(
        command,
        cwd=work,
        env=settings,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if run.returncode or FOUND not in run.stdout:
        raise SystemExit(f"{command[0]} ended with {run.returncode}: {run.stdout[-300:]}{run.stderr[-300:]}")


def _without_prompts(asked: dict[str, Any], agent: Agent) -> bytes:
    """A request with the question and the tools' schemas, and without any other text of the agent's."""
    kept = {"model", "stream", "tool_choice", "parallel_tool_calls", "store", "max_tokens"}
    made = {key: value for key, value in asked.items() if key in kept}
    made["tools"] = [_undescribed(tool) for tool in asked["tools"] if tool.get("name") in agent.tools]
    made["input" if "input" in asked else "messages"] = [{"role": "user", "content": QUESTION}]
    if sorted(tool["name"] for tool in made["tools"]) != sorted(agent.tools) or QUESTION not in json.dumps(asked):
        raise SystemExit(f"the agent's request is another than was expected: {sorted(asked)}")
    return json.dumps(made).encode()


def _undescribed(value: Any) -> Any:
    """A tool without the texts that describe it and its parameters."""
    if isinstance(value, dict):
        return {
            key: _undescribed(one) for key, one in value.items() if not (key == "description" and isinstance(one, str))
        }
    return [_undescribed(one) for one in value] if isinstance(value, list) else value
