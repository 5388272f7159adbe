"""The SDKs from npm as agents: each runs calls that stood as text in a reply, and goes on with their results.

`openai` (both of its APIs), `@anthropic-ai/sdk`, `@google/genai`, and the AI SDK (`ai`) with its providers for three
APIs; in each way that they can be asked in, through a real mitmdump with the addon, in front of a scripted upstream.
`tests/npm` holds a small client for each, and the versions. Optional: skipped without Node, and until `make npm`.
"""

import json
import queue
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from support import damagedwires, damaging, valuedamages
from support.agentclient import SDKS, TOOLS, Way
from support.loopback import EVENTS, LIMIT, Host, Reply, assert_no_fault, configured, host
from support.repository import REPO
from support.sampling import a_few, some
from toolcalls.flows import flow_metadata

NPM = REPO / "tests" / "npm"
NODE = 20  # the oldest version that all of the SDKs run on


def missing() -> str | None:
    """Why nothing here can run; None when it can."""
    node = shutil.which("node")
    if node is None:
        return "Node is missing"
    version = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=LIMIT, check=True).stdout
    if int(version.removeprefix("v").partition(".")[0]) < NODE:
        return f"Node {version.strip()} is older than {NODE}"
    if not (NPM / "node_modules" / ".package-lock.json").is_file():
        return "the SDKs from npm are not installed: make npm"
    return None


_MISSING = missing()
pytestmark = pytest.mark.skipif(_MISSING is not None, reason=str(_MISSING))


# --- what is asked, and answered --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Client:
    """A file of `tests/npm`: the API it speaks, its word for a reply that ends in calls, the ways to ask it."""

    name: str
    wire: str
    finish: str
    ways: tuple[Way, ...] = ("whole", "stream", "helper")


CLIENTS = (
    Client("openai_chat", "openai_chat", "tool_calls"),
    Client("openai_responses", "openai_responses", "completed"),
    Client("anthropic", "anthropic", "tool_use"),
    Client("gemini", "gemini", "STOP"),
    Client("ai", "openai_chat", "tool-calls", ("whole", "stream")),
    Client("ai", "openai_responses", "tool-calls", ("whole", "stream")),
    Client("ai", "anthropic", "tool-calls", ("whole", "stream")),
)


@dataclass(frozen=True)
class Said:
    """What the model says, and what an agent gets of it. `order`: "t" for a text, "c" for a call."""

    text: str
    shown: str
    calls: tuple[tuple[str, dict[str, str]], ...]
    order: str


RESULTS = {"read_file": 'It says "<b>é</b>" & größer.\n', "now": "noon", "write_file": "done"}
PATH = "größe/日本 😀.md"
CODE = "if a < b && \"c\":\n    x = '</p>'"
SAID = {
    "two with text before, between and behind": Said(
        "Naïve: let me look.\n\n"
        f'<invoke name="read_file">\n<parameter name="path">{PATH}</parameter>\n</invoke>\n\n'
        'And the time:\n\n<invoke name="now"></invoke>\n\nThat is all.',
        "Naïve: let me look.\n\n\n\nAnd the time:\n\n\n\nThat is all.",
        (("read_file", {"path": PATH}), ("now", {})),
        "tctct",
    ),
    "nothing but two": Said(
        f"<tool_call>\n<function=read_file>\n<parameter=path>\n{PATH}\n</parameter>\n</function>\n</tool_call>\n"
        "<tool_call>\n<function=write_file>\n<parameter=path>\na b.md\n</parameter>\n"
        f"<parameter=content>\n{CODE}\n</parameter>\n</function>\n</tool_call>",
        "",
        (("read_file", {"path": PATH}), ("write_file", {"path": "a b.md", "content": CODE})),
        "cc",
    ),
    "one without arguments": Said(
        'The time:\n\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>',
        "The time:\n\n",
        (("now", {}),),
        "tc",
    ),
}


# --- who asks ---------------------------------------------------------------------------------------------------------


class Agent:
    """A running `agent.mjs` with one of the clients."""

    def __init__(self, client: str, folder: Path) -> None:
        self._errors = folder / f"{client}.txt"
        node = shutil.which("node")
        assert node is not None
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [node, "agent.mjs", client],
                cwd=NPM,
                env={"PATH": "", "HOME": str(folder)},  # no proxy, no key and no option of this machine
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                encoding="utf-8",
            )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def run(self, job: dict[str, Any]) -> dict[str, Any]:
        """What became of a job."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        line = self._lines.get(timeout=2 * LIMIT)
        assert line, f"it ended: {self._errors.read_text(encoding='utf-8')}"
        return dict(json.loads(line))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(LIMIT)
        finally:
            self._process.kill()
            self._reader.join(LIMIT)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("npm")


@pytest.fixture(scope="module")
def proxy(folder: Path) -> Iterator[Host]:
    """A mitmdump without configuration: what a user has who only starts it."""
    with host(folder) as made:
        yield made
        assert_no_fault(made.dump)


@pytest.fixture(scope="module")
def agent(folder: Path) -> Iterator[Callable[[str], Agent]]:
    """The agent on a client, started when it is first asked for: imports take most of the time."""
    started: dict[str, Agent] = {}

    def running(client: str) -> Agent:
        if client not in started:
            started[client] = Agent(client, folder)
        return started[client]

    try:
        yield running
    finally:
        for made in started.values():
            made.close()


_numbers = count(1)


@pytest.mark.parametrize("shape", SAID)
@pytest.mark.parametrize(
    ("client", "way"),
    [pytest.param(client, way, id=f"{client.name}-{client.wire}-{way}") for client in CLIENTS for way in client.ways],
)
def test_an_agent_runs_the_calls_and_goes_on(
    proxy: Host, agent: Callable[[str], Agent], client: Client, way: Way, shape: str
) -> None:
    said, api = SAID[shape], SDKS[client.wire]
    proxy.upstream.asked.clear()
    proxy.upstream.replies = [api.said(way, said.text), api.said(way, "Fertig: 完.")]
    prefix = f"/{next(_numbers)}/"
    job = {
        "base": proxy.dump.url + prefix.rstrip("/"),
        "way": way,
        "wire": client.wire,
        "user": "go",
        "tools": [{"name": tool.name, "schema": tool.schema} for tool in TOOLS],
        "results": RESULTS,
    }
    got = agent(client.name).run(job)

    assert "error" not in got, got["error"]
    assert got["text"] == said.shown
    assert [(name, given) for name, given in got["calls"]] == list(said.calls)
    assert got["order"] in {None, said.order}
    assert got["finish"] == client.finish
    assert got["final"] == "Fertig: 完."

    first, second = (json.loads(asked.body) for asked in proxy.upstream.asked)
    assert api.told(first) == []
    assert api.told(second) == [(name, given, RESULTS[name]) for name, given in said.calls]
    verdicts = proxy.flow_under(prefix).metadata[flow_metadata.REPORT]["verdicts"]
    assert [(verdict["status"], verdict["name"]) for verdict in verdicts] == [
        ("lifted", name) for name, _ in said.calls
    ]


# --- calls that come damaged ------------------------------------------------------------------------------------------

CALLS = (damaging.LS, damaging.CAT)
MENDS = "defaults: {mend: [protocol, types, names, json]}\n"
type Meant = list[tuple[str, str]]


def damaged(wire: str, *, whole: bool) -> dict[str, tuple[bytes, Meant]]:
    """Replies with damaged calls, and the names and argument JSON of those that were meant."""
    meant = [(call.name, call.arguments) for call in CALLS]
    if wire == "openai_chat" and whole:
        bodies = {name: damaging.chat_whole(damage(CALLS)) for name, damage in damaging.CHAT_WHOLE.items()}
    elif wire == "openai_chat":
        bodies = {name: damaging.chat_stream(damage(CALLS)) for name, damage in damaging.CHAT.items()}
    else:
        form = f"{wire} whole" if whole else "gemini sse" if wire == "gemini" else wire
        bodies = {name: damage(CALLS) for name, damage in damagedwires.ALL[form].damages.items()}
    found = {name: (body, meant) for name, body in bodies.items()}
    form = valuedamages.FORMS[f"{wire} whole" if whole else wire]
    for kind, damages in valuedamages.KINDS.items():
        for name, damage in damages.items():
            if form.as_text or not (kind == "json" or "a string is wanted" in name):  # whose spelling counts
                found[f"{kind}: {name}"] = form.body([damage.call]), [(damage.name, damage.arguments)]
    return found


def in_javascript(text: str) -> Any:
    """JSON as JavaScript reads it, which has one kind of number."""
    return json.loads(text, parse_int=float)


@pytest.fixture(scope="module")
def mending(folder: Path) -> Iterator[Host]:
    with configured(folder, MENDS) as made:
        yield made


@pytest.mark.parametrize(
    ("client", "way"),
    [pytest.param(client, way, id=f"{client.name}-{client.wire}-{way}") for client in CLIENTS for way in client.ways],
)
def test_an_agent_runs_calls_that_came_damaged(
    mending: Host, agent: Callable[[str], Agent], client: Client, way: Way
) -> None:
    api = SDKS[client.wire]
    tools = {tool.name: tool.schema for tool in (*valuedamages.TOOLS, *damaging.TOOLS)}
    rows = sorted(damaged(client.wire, whole=way == "whole").items())
    of = f"{client.name} {client.wire} {way}"
    for name, (body, meant) in some(a_few(rows, 6, of), 2, of):
        reply = Reply([body], {"content-type": "application/json"} if way == "whole" else dict(EVENTS))
        mending.upstream.replies = [reply, api.said(way, "Fertig: 完.")]
        got = agent(client.name).run(
            {
                "base": f"{mending.dump.url}/{next(_numbers)}",
                "way": way,
                "wire": client.wire,
                "user": "go",
                "tools": [{"name": tool, "schema": schema} for tool, schema in tools.items()],
                "results": dict.fromkeys(tools, "done"),
            }
        )
        assert "error" not in got, (name, got["error"])
        assert [(tool, in_javascript(json.dumps(given))) for tool, given in got["calls"]] == [
            (tool, in_javascript(arguments)) for tool, arguments in meant
        ], name
        assert (got["finish"], got["final"]) == (client.finish, "Fertig: 完."), name
