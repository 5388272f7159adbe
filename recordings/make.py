"""Makes the recordings: an official SDK, a real mitmdump with the addon and `-w`, a scripted upstream.

    python recordings/make.py [NAME...]      # in an environment with the `dev` extra; no names: all but agents

Agents must be installed, and are recorded by their names alone (`agent-codex`, `agent-claude-code`).

The replies are made by hand after what servers and models were seen to send (`making/`); what each shows stands in
`library.yaml`. They are recorded under the configuration that ships, so that reading them needs no other;
those in `mended/` under `mended/toolcalls.yaml`.

What a run cannot repeat is made the same afterwards: ids, ports and times. What tells of the machine (`x-stainless-os`
and the like) is left out, and the key becomes `<redacted>`. So a second run gives the same files, as long as mitmproxy,
the SDK and the addon do not change, and `git diff` shows what did.
"""

import json
import re
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory

import openai
from mitmproxy import connection, http
from mitmproxy.io import FlowWriter
from mitmproxy.proxy import mode_specs
from mitmproxy.websocket import WebSocketData

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests"), str(HERE.parent / "addon")]

from making.agents import AGENTS, record_agent  # noqa: E402 - they lie beside the tests
from making.asking import REDACTED, Recording, ask  # noqa: E402
from making.damage import DAMAGE, MENDED  # noqa: E402
from making.quirks import QUIRKS, recording_of  # noqa: E402
from making.shapes import START  # noqa: E402
from making.sound import SOUND  # noqa: E402

from support import sockets  # noqa: E402
from support.loopback import PATH, Growing, Host, Reply, host, mitmdump  # noqa: E402
from support.sdk import BROKEN  # noqa: E402
from toolcalls.flows import flow_metadata  # noqa: E402

PACE = 20  # milliseconds between two pieces of a reply
OK = 200
BEGUN = datetime.fromtimestamp(START, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").encode()
KEYS = {"authorization", "x-api-key", "x-goog-api-key"}
_OF_THE_RUN = ("x-stainless-", "x-fern-", "x-goog-api-c", "amz-sdk-")  # headers that tell of the machine, or of the run
# The example of RFC 6455, section 1.3, in place of random ones.
HANDSHAKE = {"sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", "sec-websocket-accept": "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="}

type Makers = dict[str, Callable[[], Recording]]

MAKERS: Makers = {
    **SOUND,
    **{name: partial(recording_of, quirk) for name, quirk in QUIRKS.items()},
    **DAMAGE,
    **{f"mended/{name}": maker for name, maker in MENDED.items()},
}


# --- recording --------------------------------------------------------------------------------------------------------


def record(running: Host, recording: Recording) -> http.HTTPFlow:
    """One exchange of the SDK with the upstream; the flow as mitmdump wrote it."""
    made = Reply(
        recording.pieces,
        {"content-type": recording.content_type, **recording.headers},
        status=recording.status,
        framing="chunked" if recording.streamed and recording.status == OK else "length",
        cut=recording.cut,
        pause=PACE / 1000,  # else pieces come together
    )
    running.upstream.replies = [made]
    base = running.path().removesuffix(PATH)
    try:
        ask(running.dump.url, base, recording)
    except (*BROKEN, openai.APIError):
        if not (recording.cut or recording.fails):
            raise
    return running.flow(base + recording.asked_at)


def record_socket(folder: Path, recording: Recording) -> http.HTTPFlow:
    """The same over WebSocket, in a mitmdump of its own."""
    written = folder / "socket.flow"
    written.unlink(missing_ok=True)
    with sockets.upstream() as server, mitmdump(folder, "-w", str(written), to=server.url) as dump:
        server.replies = [[[json.loads(piece)] for piece in pieces] for pieces in (recording.pieces, *recording.turns)]
        ask(dump.url, "", recording)
        (flow,) = Growing(written).wait_for(len)
    return flow


def settled(name: str, was: http.HTTPFlow, *, path: str, cut: bool) -> http.HTTPFlow:
    """The same flow with nothing in it that a second run would not repeat, or that is nobody's business.

    `cut`: the upstream broke off.
    """
    state = was.get_state()
    state["id"] = str(uuid.uuid5(uuid.NAMESPACE_URL, f"toolcalls/recordings/{name}"))
    state["client_conn"] = connection.Client(
        peername=("127.0.0.1", 50000),
        sockname=("127.0.0.1", 8080),
        timestamp_start=START,
        id=f"{name}-client",
        proxy_mode=mode_specs.ProxyMode.parse("reverse:http://127.0.0.1:8000"),
    ).get_state()
    state["server_conn"] = connection.Server(address=("127.0.0.1", 8000), id=f"{name}-server").get_state()
    state["timestamp_created"] = START
    if not cut:  # the SDK leaves at [DONE], sometimes before mitmdump has seen the end of the body
        state["error"] = None
    flow = http.HTTPFlow.from_state(state)
    if not isinstance(flow, http.HTTPFlow) or flow.response is None:
        raise SystemExit(f"{name}: there is no reply in the flow")
    request, response = flow.request, flow.response
    if flow.websocket is not None:
        _settle_messages(flow.websocket)
    request.path, request.host, request.port = path, "127.0.0.1", 8000
    request.headers["host"] = "127.0.0.1:8000"
    for header in KEYS:
        if header in request.headers:
            request.headers[header] = REDACTED
    for header, fixed in HANDSHAKE.items():
        for message in (request, response):
            if header in message.headers:
                message.headers[header] = fixed
    for header in [header for header in request.headers if header.lower().startswith(_OF_THE_RUN)]:
        del request.headers[header]
    if "user-agent" in request.headers:  # some tell of the machine
        request.headers["user-agent"] = re.sub(r" (\(|gl-python|Python/|md/).*", "", request.headers["user-agent"])
    request.timestamp_start = request.timestamp_end = START
    pieces = 0
    for side in flow.metadata.get(flow_metadata.TIMES, {}).values():
        if side is not None:
            side["microseconds"] = [PACE * 1000 * number for number in range(len(side["bytes"]))]
            pieces = max(pieces, len(side["bytes"]))
    response.timestamp_start, response.timestamp_end = START, START + PACE * pieces / 1000
    if flow_metadata.ERROR in flow.metadata:  # the reply that stands for an error tells when it was made
        body = re.sub(rb'"created":\d+', b'"created":%d' % START, response.raw_content or b"")
        response.raw_content = re.sub(rb'"created_at":"[^"]+"', b'"created_at":"%s"' % BEGUN, body)
    if flow.error is not None:
        flow.error.timestamp = response.timestamp_end
    return flow


def _settle_messages(websocket: WebSocketData) -> None:
    """Give the messages of a connection the times that they would have if nothing took any."""
    for number, message in enumerate(websocket.messages):
        message.timestamp = START + PACE * number / 1000
    websocket.timestamp_end = START + PACE * len(websocket.messages) / 1000


@contextmanager
def hosts(folder: Path) -> Iterator[dict[str, Host]]:
    """A host for each folder of recordings, which says under which configuration they are recorded."""
    with (
        host(folder) as shipped,
        host(folder, "--set", f"toolcalls_config={HERE / 'mended' / 'toolcalls.yaml'}") as mending,
    ):
        yield {".": shipped, "mended": mending}


def _recorded(name: str, folder: Path, running: dict[str, Host]) -> tuple[http.HTTPFlow, str, bool]:
    """A flow with an SDK, the path that was asked for, and whether its reply was cut."""
    made = MAKERS[name]()
    recording = replace(made, question=f"{made.question} ({PurePath(name).name})")
    if recording.api == "websocket":
        flow = record_socket(folder, recording)
    else:
        flow = record(running[str(PurePath(name).parent)], recording)
    return flow, recording.asked_at, recording.cut is not None


def main(names: list[str]) -> None:
    """Record the named ones, or all."""
    unknown = sorted(set(names) - {*MAKERS, *AGENTS})
    if unknown:
        raise SystemExit(f"no such recording: {', '.join(unknown)}; there are {', '.join([*MAKERS, *AGENTS])}")
    with TemporaryDirectory() as made, hosts(Path(made)) as running:
        for name in names or MAKERS:
            if name in AGENTS:
                was, path, cut = record_agent(Path(made), running["."], AGENTS[name]), AGENTS[name].path, False
            else:
                was, path, cut = _recorded(name, Path(made), running)
            flow = settled(name, was, path=path, cut=cut)
            with (HERE / f"{name}.flow").open("wb") as file:
                FlowWriter(file).add(flow)
            print(f"{name}.flow: {flow.comment or 'nothing to judge'}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
