"""Live faults by how a reply comes and ends: framings and versions, statuses, cut connections, clients that leave."""

import asyncio
import json
import random
import ssl
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace

import httpx
from mitmproxy import http

from reliability.live_kit import (
    CALLED,
    MADE,
    PATIENCE,
    PLAIN,
    QUERY,
    REPLIED,
    SENT,
    Got,
    Problem,
    Proxy,
    Said,
    Scene,
    Server,
    Tally,
    answering,
    ask,
    judged,
    mixture,
    said,
    served,
)
from reliability.rows import Row
from support.canaries import HEADERS
from support.loopback import (
    CALL,
    LIMIT,
    PATH,
    Cut,
    Framing,
    Reply,
    calls_in,
    chunk,
    encoded,
    flows_in,
    streamed,
    upstream_h2,
    whole,
)

JSON = {"content-type": "application/json", "set-cookie": "__cf_bm=CANARY15"}


def recorded(proxy: Proxy) -> list[http.HTTPFlow]:
    """The flows in the recording of a proxy that has ended. Raises FlowReadException where one is not whole."""
    return [flow for path in sorted(proxy.record.glob("*.flow")) for flow in flows_in(path)]


async def written(proxy: Proxy, path: str) -> http.HTTPFlow:
    """The flow of a path, once it is in the recording. Raises TimeoutError."""
    async with asyncio.timeout(PATIENCE):
        while True:
            for flow in proxy.recorded():
                if flow.request.path.startswith(path):
                    return flow
            await asyncio.sleep(0.05)


def verdicts(flow: http.HTTPFlow) -> list[str]:
    """The statuses of the verdicts that a flow holds."""
    return [verdict["status"] for verdict in flow.metadata["toolcalls"]["verdicts"]]


# --- framings, versions, statuses -------------------------------------------------------------------------------------


async def framings(scene: Scene) -> AsyncIterator[Row]:
    """Content-length, to the end of the connection, HTTP/1.0, each coding, and replies that are errors."""
    text = PLAIN + CALL
    whole_, plain = whole(text), whole(PLAIN)
    saying = [
        Said("length-whole-call", Reply([whole_], JSON, framing="length"), MADE, PLAIN),
        Said("length-whole-text", Reply([plain], JSON, framing="length")),
        Said("close-whole-call", Reply([whole_[:99], whole_[99:]], JSON, framing="close"), MADE, PLAIN),
        Said("chunked-whole-call", Reply([whole_[:99], whole_[99:]], JSON), MADE, PLAIN),
        *(
            Said(f"{framing}-stream-{what.name}", replace(what.reply, framing=framing), what.calls, what.text)
            for framing in ("length", "close")
            for what in mixture()
        ),
        *(
            Said(f"{coding}-call", _coded(streamed(CALLED), coding), MADE, "Let me look.")
            for coding in ("gzip", "deflate", "br", "zstd")
        ),
        Said("empty", Reply([], dict(REPLIED), framing="length")),
    ]
    tally = Tally("content-length, close, codings")
    errors = Tally("4xx and 5xx")
    refused = [
        Said(f"{status}-{kind}", Reply(list(pieces), headers, status=status, framing="length"))
        for status in (400, 401, 404, 429, 500, 502, 503, 529)
        for kind, pieces, headers in (("json", [whole(CALL)], JSON), ("stream", streamed(CALL), REPLIED))
    ]
    old = Tally("HTTP/1.0")
    async with served(answering([*saying, *refused])) as server, scene.proxy(server.url) as proxy:
        for what in saying:
            with tally.input(what.name) as problems:
                problems.extend(judged(what, await ask(proxy.port, f"/{what.name}{PATH}")))
            with old.input(what.name) as problems:
                problems.extend(judged(what, await ask(proxy.port, f"/{what.name}/old{PATH}", version="1.0")))
        for what in refused:
            with errors.input(what.name) as problems:
                got = await ask(proxy.port, f"/{what.name}{PATH}")
                problems.extend(judged(what, got))
                if got.status != what.reply.status:
                    problems.append(("lost", f"the status is {got.status}"))
        with tally.input("secrets") as problems:
            problems.extend(proxy.leaks())
    for one in (tally, old, errors):
        yield one.row()


def _coded(pieces: Sequence[bytes], coding: str) -> Reply:
    return Reply(encoded(pieces, coding), REPLIED | {"content-encoding": coding})


# --- cut connections --------------------------------------------------------------------------------------------------

WAYS: tuple[tuple[Framing, Cut], ...] = (
    ("chunked", "fin"),
    ("chunked", "rst"),
    ("length", "fin"),
    ("length", "rst"),
    ("close", None),
    ("close", "rst"),
)


async def cuts(scene: Scene) -> AsyncIterator[Row]:
    """Connections that break at random places of a reply, in each way, also towards HTTP/1.0: no call is completed.

    Where only the connection's end ends a body, mitmproxy takes a reset for one: there is nothing to be marked then.
    """
    draw = random.Random(scene.seed)
    tally = Tally("cut connections")
    saying: list[Said] = []
    for number in range(scene.scaled(60, 10)):
        framing, cut = WAYS[number % len(WAYS)]
        text = draw.choice([CALLED, PLAIN + CALLED, f"{CALL}\n{CALL}"])
        pieces = streamed(text, draw.randint(1, 9), reason=None)
        at = draw.randrange(1, len(pieces))
        body = b"".join(pieces[:at]) + pieces[at][: draw.randrange(len(pieces[at]))]
        kept = [body[start : start + 90] for start in range(0, len(body), 90)]
        reply = Reply(kept, dict(REPLIED), framing=framing, cut=cut)
        saying.append(Said(f"{framing}-{cut}-{number}", reply))
    async with served(answering(saying)) as server, scene.proxy(server.url) as proxy:
        for number, what in enumerate(saying):
            with tally.input(f"{what.name}, {len(what.body)} bytes, seed {scene.seed}") as problems:
                version = "1.0" if number % 4 == 3 else "1.1"
                got = await ask(proxy.port, f"/{what.name}{PATH}", version=version)
                problems.extend(_cut(what, got, version))
                flow = await written(proxy, f"/{what.name}/")
                if what.reply.cut and what.reply.framing != "close" and flow.error is None:
                    problems.append(("missed", "the flow is not marked as cut"))
        with tally.input("secrets") as problems:
            problems.extend(proxy.leaks())
    yield tally.row()


def _cut(what: Said, got: Got, version: str) -> list[Problem]:
    """What is wrong with what a client has of a reply that broke off: more calls than were said whole."""
    problems: list[Problem] = []
    complete = _said(what.body).count("</invoke>")
    calls = finished(bytes(got.body))
    if calls != MADE * len(calls) or len(calls) > complete:
        problems.append(("invented", f"{calls} of {complete} that were said whole"))
    if what.reply.cut and what.reply.framing != "close" and got.ended and version == "1.1":
        problems.append(("lost", "the client takes the body for whole"))
    return problems


def finished(body: bytes) -> list[tuple[str, str]]:
    """The calls with whole arguments in the events that came whole, which is what a client acts on."""
    return [call for call in calls_in(_events(body)) if _is_json(call[1])]


def _events(body: bytes) -> bytes:
    return body[: body.rfind(b"\n\n") + 2] if b"\n\n" in body else b"data:"


def _said(body: bytes) -> str:
    """The text that was said, as far as it came in whole events."""
    events = [event for event in _events(body).split(b"\n\n") if event.startswith(b"data: {")]
    deltas = [json.loads(event[6:])["choices"][0]["delta"] for event in events]
    return "".join(delta.get("content") or "" for delta in deltas)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    return True


# --- HTTP/2 -----------------------------------------------------------------------------------------------------------


class _OnlyHTTP2(ssl.SSLContext):
    """httpx offers HTTP/1.1 first, and mitmproxy takes a client's first offer."""

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:  # noqa: ARG002 - httpx calls it
        super().set_alpn_protocols(["h2"])


async def http2(scene: Scene) -> AsyncIterator[Row]:
    """Streams side by side on one connection over TLS: HTTP/2 to HTTP/1.1, and HTTP/2 on both sides."""
    tally = Tally("HTTP/2")
    context = _OnlyHTTP2(ssl.PROTOCOL_TLS_CLIENT)  # the certificate is mitmproxy's own
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    count = scene.scaled(60, 6)
    saying = mixture()

    async def asking(proxy: Proxy, side: str, kinds: Sequence[Said]) -> None:
        async with httpx.AsyncClient(http2=True, verify=context, timeout=PATIENCE) as client:

            async def one(number: int) -> None:
                what = kinds[number % len(kinds)]
                with tally.input(f"{side}, {what.name} {number}") as problems:
                    url = f"https://127.0.0.1:{proxy.port}/{what.name}/{number}{PATH}{QUERY}"
                    answer = await client.post(url, content=SENT, headers=HEADERS)
                    if answer.http_version != "HTTP/2":
                        problems.append(("missed", answer.http_version))
                    got = Got(answer.status_code, dict(answer.headers), bytearray(answer.content), ended=True)
                    problems.extend(judged(what, got))

            await asyncio.gather(*(one(number) for number in range(count)))

    async with served(answering(saying)) as server, scene.proxy(server.url) as proxy:
        await asking(proxy, "to HTTP/1.1", saying)
        with tally.input("secrets") as problems:
            problems.extend(proxy.leaks())
    call = said("call", CALLED, calls=MADE)
    with upstream_h2(call.reply, scene.confdir) as url:
        async with scene.proxy(url, "--set", "ssl_insecure=true") as proxy:
            await asking(proxy, "to HTTP/2", [call])
    yield tally.row()


# --- who stays --------------------------------------------------------------------------------------------------------

# What is said, and how many calls the client gets of it.
ENDINGS = {
    "text": (PLAIN, 0),
    "call": (CALLED, 1),
    "calls": (f"{CALL}\n{CALL}\n", 2),
    "unclosed": (CALLED.removesuffix("\n</invoke>"), 1),
    "held": (f"{PLAIN}<inv", 0),
}
# What comes after the finish reason: nothing, usage, or another reason. Never `[DONE]`, never the body's end.
BEHIND = {
    "nothing": [],
    "usage": [b'data: {"choices": [], "usage": {"total_tokens": 3}}\n\n'],
    "twice": [chunk({"content": "\n"}), chunk({}, "stop")],
}


async def staying(scene: Scene) -> AsyncIterator[Row]:
    """An upstream that gives its finish reason and keeps the connection open: the client has the reason."""
    tally = Tally("connection kept open")
    framings: tuple[Framing, ...] = ("chunked", "close")
    saying = [
        Said(f"{name}-{behind}-{framing}", Reply(pieces, dict(REPLIED), framing=framing, stays=True), MADE * count)
        for name, (text, count) in ENDINGS.items()
        for behind, more in BEHIND.items()
        for framing in framings
        for pieces in [[*streamed(text)[:-1], *more]]
    ]
    async with served(answering(saying)) as server, scene.proxy(server.url) as proxy:
        for what in saying:
            with tally.input(what.name) as problems:
                reason = b'"finish_reason":"tool_calls"' if what.calls else b'"finish_reason": "stop"'
                got = await ask(proxy.port, f"/{what.name}{PATH}", until=reason, patience=LIMIT / 2)
                if finished(bytes(got.body)) != what.calls:
                    problems.append(("lost", f"the client has {finished(bytes(got.body))}"))
        with tally.input("secrets") as problems:
            problems.extend(proxy.leaks())
    yield tally.row()


# --- who leaves -------------------------------------------------------------------------------------------------------


async def leaving(scene: Scene) -> AsyncIterator[Row]:
    """A client hangs up in the middle: the upstream is let go within a second, and its flow says that it was cut."""
    draw = random.Random(scene.seed)
    tally = Tally("client gone")
    long = f'{PLAIN}<invoke name="Bash">\n<parameter name="command">{"x" * 4000}'
    reply = Reply(streamed(long, 5, reason=None), dict(REPLIED), pause=0.01)
    saying = [Said(f"n{number}", reply) for number in range(scene.scaled(24, 4))]
    async with served(answering(saying)) as server, scene.proxy(server.url) as proxy:
        for what in saying:
            path, leave = f"/{what.name}{PATH}", draw.randrange(200, 12_000)
            with tally.input(f"after {leave} bytes, seed {scene.seed}") as problems:
                got = await ask(proxy.port, path, leave=leave)
                await _until_left(server, path)
                if finished(bytes(got.body)):
                    problems.append(("invented", "a call that was not said whole"))
                flow = await written(proxy, path)
                if flow.error is None or "lifted" in verdicts(flow):
                    problems.append(("missed", f"the flow says {verdicts(flow)} and is not marked as cut"))
        with tally.input("secrets") as problems:
            problems.extend(proxy.leaks())
    yield tally.row()


async def _until_left(server: Server, path: str) -> None:
    began = asyncio.get_running_loop().time()
    while path not in server.left:
        if asyncio.get_running_loop().time() - began > 1.0:
            raise TimeoutError("the upstream was not let go within 1 s")
        await asyncio.sleep(0.02)
