"""`toolcalls demo`: plays a bundled reply through a real mitmdump on this machine, and shows both sides and verdicts.

Strategy: on loopback a server plays `recordings/demo.sse` at its pace (`model_server`), mitmdump runs the addon in
front of it in reverse mode (`proxy`), and a client streams through mitmdump (`client`). Server and client add what they
see to one queue (`observations`), which is printed in two columns as it fills (`display`). Then mitmdump reads all
recordings, including the one just made, and judges them again.

The command line comes in; a printed demo and an exit status go out. It waits as long as something new happens
(`observations`). Processes and files are removed when `run` returns, whatever happened. Anything unexpected is printed,
and the exit status is 1.
"""

import json
import shutil
import signal
import sys
from argparse import Namespace
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from toolcalls.insight.formatting import counted
from toolcalls.insight.report import summarize_verdicts, visible
from toolcalls.insight.vocabulary.words import REASONS
from toolcalls.tools.addon_path import ADDON
from toolcalls.tools.demo.client import Received, streaming_client
from toolcalls.tools.demo.display import show, show_timeline
from toolcalls.tools.demo.model_server import model_server, read_script
from toolcalls.tools.demo.observations import DemoError, wait_for
from toolcalls.tools.demo.proxy import mitmdump, output_of, port_of

_NAMES = 2  # of recordings that are shown of each kind
EXPECTED = {"name": "read_file", "arguments": {"path": "src/app.py", "limit": 20}}

_LOADER = "from toolcalls.mitm.hooks import ToolCalls\n\naddons = [ToolCalls()]\n"


def run(arguments: Namespace) -> int:
    """The command: 0 if everything was as expected, else 1 (130 interrupted, 143 terminated)."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with TemporaryDirectory(prefix="toolcalls-demo-") as folder:
            _demo(Path(folder), pause=not arguments.no_pause)
    except DemoError as wrong:
        print(f"toolcalls demo: {visible(str(wrong))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted; nothing is left running", file=sys.stderr)
        return 130
    finally:
        signal.signal(signal.SIGTERM, before)
    return 0


def _demo(folder: Path, *, pause: bool) -> None:
    recordings, main = _files()
    script = read_script((recordings / "demo.sse").read_text(encoding="utf-8"))
    show("Tool calls that a model wrote as text", "heading")
    show(
        "A model server on this machine plays a recorded reply, in which the model wrote its call as text: <invoke …>."
    )
    show("The client, a coding agent, waits for native calls. Between the two runs mitmdump with the addon:\n")
    with model_server(script, pause=pause) as (server, observed):
        options = ["--mode", f"reverse:http://127.0.0.1:{server}", "--listen-host", "127.0.0.1", "--listen-port", "0"]
        show(f"  $ mitmdump -s {_as_typed(main)} --mode reverse:http://127.0.0.1:{server}\n", "command")
        with mitmdump(folder, main, "live", [*options, "-w", str(folder / "live.flow")]) as process:
            port = port_of(process, folder)
            with streaming_client(port, script.request, observed) as received:
                show_timeline(observed)
            verdicts = wait_for(folder, lambda: _verdicts_in(folder / "live.jsonl"), "no verdict was logged")
    show("\nWhat became of each place that looked like a call (the verdicts, from the addon's log):\n")
    for verdict in verdicts:
        show(f"  {visible(_sentence(verdict))}", "call" if verdict["status"] == "lifted" else "")
    _check(received, verdicts)
    early = ", while the reply was still coming" if observed.called_early else ""
    show(f"\nThe call arrived natively{early}. The quoted example stayed text.", "heading")
    _replay(folder, recordings, main)
    show("\nNext: put it between your agent and your model", "heading")
    toolcalls = _program("toolcalls")
    show(f"    {toolcalls} run -- YOUR-AGENT                    starts both")
    show(f"    {toolcalls} web https://YOUR-MODEL-SERVER        then point the agent at http://127.0.0.1:8080")
    show(
        '\nWithout the addon, the agent would have printed the markup <invoke name="read_file">… and stopped.', "other"
    )
    show(f"With it, {_shown(received)} ran.", "heading")


def _shown(received: Received) -> str:
    """The call that the client got, as a function call: `read_file(path="src/app.py", limit=20)`."""
    (call,) = received.calls
    arguments = ", ".join(f"{name}={json.dumps(value)}" for name, value in json.loads(call["arguments"]).items())
    return f"{call['name']}({arguments})"


def _check(received: Received, verdicts: list[dict[str, Any]]) -> None:
    """Raise DemoError unless the call arrived natively and nothing else changed."""
    try:
        calls = [{"name": call["name"], "arguments": json.loads(call["arguments"])} for call in received.calls]
    except ValueError:
        calls = []
    if calls != [EXPECTED]:
        raise DemoError(f"the client should have got {json.dumps(EXPECTED)}, it got {json.dumps(received.calls)}")
    if received.finish != "tool_calls" or "<parameter" in received.text:
        raise DemoError(f"the client got finish_reason {received.finish} and the text {json.dumps(received.text)}")
    if [verdict["status"] for verdict in verdicts] != ["declined", "lifted"]:
        raise DemoError(f"unexpected verdicts: {summarize_verdicts(verdicts)}")


def _replay(folder: Path, recordings: Path, main: Path) -> None:
    """Judge all recordings again."""
    files = [folder / "live.flow", *sorted(recordings.glob("*.flow"))]
    joined = folder / "all.flow"
    with joined.open("wb") as whole:
        for file in files:
            with file.open("rb") as recording:
                shutil.copyfileobj(recording, whole)
    show("\nThe same from recordings, judged again; mitmdump recorded the reply above, too:\n")
    show(f"  $ mitmdump -nr FILE -s {_as_typed(main)} --set toolcalls_rejudge=true\n", "command")
    with mitmdump(folder, main, "again", ["-n", "-r", str(joined), "--set", "toolcalls_rejudge=true"]) as process:
        wait_for(folder, lambda: process.poll() is not None, "mitmdump did not come to the end of the recordings")
    if process.returncode:
        raise DemoError(f"mitmdump could not read the recordings: {output_of(folder)[-300:]}")
    found: dict[str, list[dict[str, Any]]] = {}
    for flow, together in groupby(_verdicts_in(folder / "again.jsonl"), key=lambda verdict: str(verdict["flow"])):
        found.setdefault(_name_of(flow, files), []).extend(together)
    live = found.pop("live.flow", [])
    show(f"  {'the reply above':15}  {summarize_verdicts(live)}")
    for line in _grouped(found):
        show(f"  {line}")
    if not any(verdict["status"] == "lifted" for verdict in live):
        raise DemoError("the recording of the reply gave other verdicts than the reply itself")


def _grouped(found: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """A line for each kind of outcome: of how many recordings, and some of their names."""
    groups: dict[str, list[str]] = {}
    for name, verdicts in found.items():
        groups.setdefault(" and ".join(sorted({one["status"] for one in verdicts})), []).append(name)
    for statuses, names in sorted(groups.items(), key=lambda one: -len(one[1])):
        shown = ", ".join(name.removesuffix(".flow") for name in names[:_NAMES])
        more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
        yield f"{counted(len(names), 'recording'):15}  {statuses:19}  {shown}{more}"


def _name_of(flow: str, files: list[Path]) -> str:
    """The name of the file that holds a flow."""
    return next((file.name for file in files if flow.encode() in file.read_bytes()), "?")


def _sentence(verdict: dict[str, Any]) -> str:
    """A verdict as a sentence."""
    name, reason = verdict["name"] or "a call", verdict["reason"]
    where = f"characters {verdict['start']} to {verdict['end']} of the text"
    why = f": {REASONS[reason].sentence}" if reason else ""
    return f"{verdict['status']:9} {name} ({verdict['dialect']}), {where}{why}"


def _verdicts_in(log: Path) -> list[dict[str, Any]]:
    """The verdicts in a log of the addon; [] before it exists."""
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.is_file() else []


def _files() -> tuple[Path, Path]:
    """The recordings, and the script that mitmdump loads: the clone's, else the wheel's."""
    package = Path(__file__).resolve().parents[2]
    checkout = package.parents[1]
    if (checkout / "recordings" / "demo.sse").is_file():
        return checkout / "recordings", package.parent / "main.py"
    return package / "_recordings", ADDON


def _program(name: str) -> str:
    """A program beside this Python, as the user would type it: with its folder if the shell would not find it."""
    beside = Path(sys.executable).with_name(name)
    found = shutil.which(name)
    return _as_typed(beside) if beside.is_file() and (found is None or not beside.samefile(found)) else name


def _as_typed(path: Path) -> str:
    """A path as the user would type it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
