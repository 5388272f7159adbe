"""The application by itself: ASGI messages in and out, no socket."""

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import pytest

from toolcalls.tools.serve.app import Playback
from toolcalls.tools.serve.faults import fault
from toolcalls.tools.serve.matching import Library, asked
from toolcalls.tools.serve.recording import WEBSOCKET, Piece, Recording

PATH, RESPONSES = "/v1/chat/completions", "/v1/responses"
PIECES = (Piece(0.0, b"data: 1\n\nda"), Piece(0.0, b"ta: 2\n\n"))
HEADERS = ((b"content-type", b"text/event-stream"),)


def body(text: str) -> bytes:
    return json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": text}]}).encode()


def recorded(text: str, pieces: tuple[Piece, ...] = PIECES, **more: Any) -> Recording:
    return Recording(text, asked("POST", PATH, body(text)), 200, HEADERS, pieces, framing="sse", **more)


class Host:
    """Is in for uvicorn: one request after the other, and what was sent and said."""

    def __init__(self, *recordings: Recording, faults: Iterable[str] = (), **more: Any) -> None:
        self.said: list[str] = []
        self.app = Playback(Library(recordings), faults=list(map(fault, faults)), report=self.said.append, **more)

    def http(
        self, content: bytes, path: str = PATH, method: str = "POST", *, leaves: bool = False
    ) -> list[dict[str, Any]]:
        """What is sent; the request comes in two pieces. `leaves`: the client hangs up once the headers are there."""
        came = [{"type": "http.request", "body": content[:9], "more_body": True}]
        came += [{"type": "http.request", "body": content[9:]}]
        scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"beta=1"}
        return self._run(scope, came, hangs_up_behind=1 if leaves else None)

    def socket(self, *messages: dict[str, Any], path: str = RESPONSES) -> list[dict[str, Any]]:
        """What is sent on a connection whose client hangs up when nothing more comes."""
        came = [{"type": "websocket.connect"}]
        came += [{"type": "websocket.receive", "text": json.dumps(one)} for one in messages]
        scope = {"type": "websocket", "path": path, "raw_path": path.encode(), "query_string": b""}
        return self._run(scope, came, hangs_up_behind=None)

    def _run(self, scope: Any, came: list[dict[str, Any]], *, hangs_up_behind: int | None) -> list[dict[str, Any]]:
        sent: list[dict[str, Any]] = []

        async def run() -> None:
            left = asyncio.Event()

            async def receive() -> dict[str, Any]:
                if came:
                    return came.pop(0)
                await left.wait()
                return {"type": f"{scope['type']}.disconnect"}

            async def send(message: dict[str, Any]) -> None:
                sent.append(message)
                if len(sent) == hangs_up_behind:
                    left.set()

            task = asyncio.ensure_future(self.app(scope, receive, send))
            if scope["type"] == "websocket":
                before = -1
                while not task.done() and (before != len(sent) or came):  # until all has been sent
                    before = len(sent)
                    await asyncio.sleep(0)
                    for _ in range(20):
                        await asyncio.sleep(0)
                left.set()
            await task

        asyncio.run(run())
        return sent


def test_a_reply_leaves_in_its_pieces() -> None:
    host = Host(recorded("hi"))
    assert host.http(body("hi")) == [
        {"type": "http.response.start", "status": 200, "headers": [*HEADERS]},
        *({"type": "http.response.body", "body": piece.data, "more_body": True} for piece in PIECES),
        {"type": "http.response.body", "body": b"", "more_body": False},
    ]
    assert (host.said, host.app.answered, host.app.unmatched) == ([], 1, 0)
    host.http(body("hi"))
    assert host.said == ["POST openai_chat: hi (reply 2; given before)"]


def test_a_reply_that_broke_off_has_no_end() -> None:
    for host in (Host(recorded("hi", cut=True)), Host(recorded("hi"), faults=["cut-at-event=3", "cut-at-event=2"])):
        sent = host.http(body("hi"))
        assert sent[-1]["more_body"]
    assert sent[1]["body"] == b"data: 1\n\n"
    assert host.said == ["POST openai_chat: hi (reply 1; fault: cut-at-event)"]


def test_faults_count_the_replies_of_models() -> None:
    models = Recording("models", asked("GET", "/v1/models", b""), 200, (), (Piece(0.0, b"{}"),))
    host = Host(recorded("one"), recorded("two"), models, faults=["2:status=503"])
    statuses = [
        host.http(body("one"))[0]["status"],
        host.http(b"", "/v1/models", "GET")[0]["status"],
        host.http(body("two"))[0]["status"],
    ]
    assert statuses == [200, 200, 503]


@pytest.mark.parametrize("lost", ["cut-at-event=1", "cut-at-byte=3", "status=503"])
def test_who_asks_again_behind_a_fault_is_given_the_same_again(lost: str) -> None:
    first, second = recorded("hi"), recorded("hi", pieces=(Piece(0.0, b"data: second\n\n"),))
    host = Host(first, second, faults=[f"1:{lost}"])
    bodies = [b"".join(one.get("body", b"") for one in host.http(body("hi"))) for _ in range(3)]
    assert bodies[0] != first.body
    assert bodies[1:] == [first.body, second.body]


def test_no_match_is_an_error_with_the_difference() -> None:
    host = Host(recorded("hi"))
    start, content, _ = host.http(body("hello"))
    assert start["status"] == 400
    message = json.loads(content["body"])["error"]["message"]
    expected = "no recording matches; the nearest is hi (- recorded, + asked)\nlast user message:\n  -hi\n  +hello"
    assert message == f"toolcalls serve: {expected}"
    assert host.said == [f"POST openai_chat: {expected}".replace("\n", "\n  ")]
    assert (host.app.answered, host.app.unmatched) == (0, 1)
    _, content, _ = host.http(b"{}", "/v1/messages")
    assert json.loads(content["body"])["error"]["message"].endswith("and none is of this API or path")


def test_a_client_that_hangs_up_is_sent_nothing_more() -> None:
    sent = Host(recorded("hi", pieces=(Piece(3600.0, b"x"),))).http(body("hi"), leaves=True)
    assert [message["type"] for message in sent] == ["http.response.start"]


def test_the_pace_is_kept_and_can_be_hastened() -> None:
    """On a clock that jumps to whatever is waited for."""
    late = recorded("hi", pieces=(Piece(4.0, b"x"), Piece(8.0, b"y")), wait=2.0)
    for speed, moments in ((1.0, [2.0, 6.0, 10.0]), (4.0, [0.5, 1.5, 2.5]), (None, [0.0, 0.0, 0.0])):
        assert _moments(late, speed) == pytest.approx([*moments, moments[-1]])


def _moments(recording: Recording, speed: float | None) -> list[float]:
    class Loop(asyncio.SelectorEventLoop):
        now = 0.0

        def time(self) -> float:
            return self.now

        def _run_once(self) -> None:
            ready, timers = self._ready, self._scheduled  # type: ignore[attr-defined]
            if not ready and timers:
                self.now = max(self.now, timers[0].when())
            super()._run_once()  # type: ignore[misc]

    loop, at = Loop(), []
    came = [{"type": "http.request", "body": body("hi")}]

    async def receive() -> dict[str, Any]:
        if came:
            return came.pop()
        return await asyncio.Future()

    async def send(_: Any) -> None:
        at.append(loop.now)

    scope = {"type": "http", "method": "POST", "path": PATH, "raw_path": PATH.encode(), "query_string": b""}
    app = Playback(Library([recording]), speed=speed, report=print)
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(app(scope, receive, send))
    return at


def test_our_own_faults_are_said_and_raised() -> None:
    async def before(_: bytes) -> None:
        raise ZeroDivisionError("ours")

    host = Host(recorded("hi"), before=before)
    with pytest.raises(ZeroDivisionError):
        host.http(body("hi"))
    assert host.said == ["a fault of toolcalls: ZeroDivisionError: ours"]


# --- WebSocket --------------------------------------------------------------------------------------------------------


def message(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "response.create", "model": "m", "input": text, **more}


def turn(text: str, *contents: bytes, cut: bool = False) -> Recording:
    wanted = asked(WEBSOCKET, RESPONSES, json.dumps(message(text)).encode())
    pieces = tuple(Piece(0.0, content) for content in contents)
    return Recording(text, wanted, 101, (), pieces, cut=cut, framing="messages")


def test_each_message_that_asks_is_answered_by_its_turn() -> None:
    host = Host(turn("one", b'{"a": "\xc3\xa9"}', b"{ }"), turn("two", b'{"b": 2}'))
    sent = host.socket(message("two"), {"type": "session.update"}, message("one", id="x"), message("three"))
    assert sent[0] == {"type": "websocket.accept"}
    assert [one["text"] for one in sent[1:4]] == ['{"b": 2}', '{"a": "é"}', "{ }"]
    error = json.loads(sent[4]["text"])
    assert (error["type"], error["status"], len(sent)) == ("error", 400, 5)
    assert "+three" in error["error"]["message"]


def test_a_connection_that_broke_breaks_again() -> None:
    sent = Host(turn("one", b"{}", cut=True)).socket(message("one"), message("one"))
    assert [one["type"] for one in sent] == ["websocket.accept", "websocket.send"]
    sent = Host(turn("one", b"{}", b"[]"), faults=["cut-at-event=2"]).socket(message("one"), message("one"))
    assert [one.get("text") for one in sent] == [None, "{}"]


def test_an_upgrade_without_a_recording_is_refused_as_clients_expect_it() -> None:
    sent = Host(recorded("hi")).socket(message("one"))
    assert sent[0]["type"] == "websocket.http.response.start"
    assert sent[0]["status"] == 426
