"""The bounds of what workers share, in a real Redis."""

import asyncio
import time
from collections.abc import Awaitable, Iterator

import pytest
from mitmproxy.test import tutils
from redis import Redis

from support.redisserver import missing, redis_server
from support.responsesscene import TOOLS
from support.screens import reserved_port
from support.waiting import until
from toolcalls import wires
from toolcalls.mitm import shared_store
from toolcalls.mitm.options import Options
from toolcalls.mitm.shared_memory import SharedMemory
from toolcalls.mitm.shared_store import SharedStore
from toolcalls.request import Tool
from toolcalls.requests.call_memory import Remembered
from toolcalls.requests.conversation import PastCall, request_of

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with redis_server(tmp_path_factory.mktemp("redis")) as made:
        yield made


@pytest.fixture
def redis(url: str) -> Iterator["Redis"]:
    with Redis.from_url(url) as client:
        client.flushall()
        yield client


def _kept(redis: "Redis") -> dict[str, bytes]:
    """The values, without the books that are kept of them."""
    return {key.decode(): redis.get(key) for key in redis.keys("toolcalls:v*")}


async def _store(store: SharedStore, redis: "Redis", **values: bytes) -> None:
    for key, value in values.items():
        store.keep({key: value})
        await until(lambda key=key: redis.zscore("toolcalls:by-age", f"toolcalls:{key}") is not None)


def test_the_oldest_values_go_where_all_are_too_large(url: str, redis: "Redis") -> None:
    async def scene() -> None:
        store = SharedStore(url, 3600, 1000)
        redis.zadd("toolcalls:by-age", {"toolcalls:v0": 0})  # the books know a value that is gone
        await _store(store, redis, v1=b"a" * 400, v2=b"b" * 400)
        await _store(store, redis, v1=b"c" * 500)  # again, so that its size counts once
        redis.zadd("toolcalls:by-age", {"toolcalls:v2": 1e9})  # older than the others, and not too old
        await _store(store, redis, v3=b"d" * 300)
        assert {key: len(value) for key, value in _kept(redis).items()} == {"toolcalls:v1": 500, "toolcalls:v3": 300}
        assert int(redis.get("toolcalls:bytes")) == 800
        assert await store.fetch(["v1", "v2"]) == [b"c" * 500, None]
        await until(lambda: not store._tasks)
        store.keep({"v4": b"e" * 1001})
        assert not store._tasks, "a value that is larger than all may be"

    asyncio.run(scene())


def test_values_have_an_age(url: str, redis: "Redis") -> None:
    async def scene() -> None:
        await _store(SharedStore(url, 100, 1000), redis, v1=b"a")
        assert all(0 < redis.ttl(key) <= 100 for key in redis.keys("toolcalls:*"))

    asyncio.run(scene())


def test_a_write_that_fails_is_tried_again(url: str, redis: "Redis", monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the server, or this machine, is busy for a while: nobody waits for a write."""
    monkeypatch.setattr(shared_store, "PAUSE", 0.02)
    tries: list[float] = []

    async def fails_once(script: Awaitable[object], wait: float) -> object:
        tries.append(wait)
        if len(tries) == 1:
            script.close()  # type: ignore[attr-defined]
            store._failed = time.monotonic()
            return None
        return await answer(script, wait)

    async def scene() -> None:
        store.keep({"v1": b"a"})
        await until(lambda: not store._tasks)

    store = SharedStore(url, 100, 1000)
    answer = store._answer
    monkeypatch.setattr(store, "_answer", fails_once)
    asyncio.run(scene())
    assert [*_kept(redis)] == ["toolcalls:v1"]
    assert tries == [shared_store.WRITE_WAIT] * 2


def test_a_write_is_given_up_in_the_end(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(shared_store, "PAUSE", 0.01)
    with reserved_port() as port:
        store = SharedStore(f"redis://127.0.0.1:{port}/0", 100, 1000)

        async def scene() -> None:
            store.keep({"v1": b"a"})
            await until(lambda: not store._tasks)

        asyncio.run(scene())
    assert len(caplog.records) == 1, "it is logged once"


def test_tools_that_a_conversation_declares_once_are_shared(url: str, redis: "Redis") -> None:
    tools = tuple(Tool(one["name"], one["parameters"]) for one in TOOLS)
    call = PastCall("call_1", "now", '{"text":"\\ud800"}')
    wire = wires.wire_of("/v1/responses")
    assert wire is not None
    body = b'{"previous_response_id": "resp_1", "input": [{"type": "function_call_output", "call_id": "call_1"}]}'
    request = tutils.treq(method=b"POST", path=b"/v1/responses", content=body)

    async def scene() -> None:
        first, second = Options(), Options()
        first.memory, second.memory = SharedStore(url, 100, 100_000), SharedStore(url, 100, 100_000)
        teller, asker = SharedMemory(first), SharedMemory(second)
        teller.keep(Remembered((call,), {"resp_1": tools}))
        await until(lambda: redis.zcard("toolcalls:by-age") == 2)
        sought = asker.sought(wire, request, None, session=False)
        assert sorted(sought.values()) == ["call_1", "resp_1"]
        await asker.fetch(sought)
        assert asker.calls["call_1"] == call
        assert asker.calls.with_tools(request_of(wire, body)).tools == tools
        assert asker.sought(wire, request, None, session=False) == {}, "what is known is not asked for again"

    asyncio.run(scene())
