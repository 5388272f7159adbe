"""A Redis that several workers share, for small values that are useful and never needed (`toolcalls_memory`).

A request waits for it at most `WAIT` seconds, or as long as the address says (`?socket_timeout=2`). If it does not
answer, that is logged once, nothing is asked for `PAUSE` seconds, and each worker uses its own memory. Nobody waits for
a write. So it has `WRITE_WAIT` seconds and is tried again after a pause, `TRIES` times in all. While `WAITING` writes
are under way, further values are not stored.

Both its time and its size are bounded, here and not by the server's settings: a script stores values with an age, notes
their sizes, and deletes the oldest ones while all of them are larger than the limit
(https://redis.io/docs/latest/develop/programmability/eval-intro/). The keys that it makes are not declared, so a Redis
cluster does not take it.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

WAIT = 0.5  # seconds that a request may be held up
WRITE_WAIT = 5.0  # seconds that a write may take
TRIES = 3  # how often one is tried
PAUSE = 5.0  # seconds in which a store that has failed is not asked
WAITING = 256  # answers that are stored at a time
_PREFIX = "toolcalls:"
_BOOKS = [f"{_PREFIX}by-age", f"{_PREFIX}sizes", f"{_PREFIX}bytes"]
# ARGV: now, the age, the limit, and then each key and its value.
_KEEP = """
local by_age, sizes, bytes = KEYS[1], KEYS[2], KEYS[3]
local function forget(key)
  redis.call('DECRBY', bytes, redis.call('HGET', sizes, key) or 0)
  redis.call('HDEL', sizes, key)
  redis.call('ZREM', by_age, key)
  redis.call('DEL', key)
end
for _, key in ipairs(redis.call('ZRANGEBYSCORE', by_age, '-inf', ARGV[1] - ARGV[2], 'LIMIT', 0, 1000)) do
  forget(key)
end
for i = 4, #ARGV, 2 do
  forget(ARGV[i])
  redis.call('SET', ARGV[i], ARGV[i + 1], 'EX', ARGV[2])
  redis.call('ZADD', by_age, ARGV[1], ARGV[i])
  redis.call('HSET', sizes, ARGV[i], #ARGV[i + 1])
  redis.call('INCRBY', bytes, #ARGV[i + 1])
end
while tonumber(redis.call('GET', bytes) or 0) > tonumber(ARGV[3]) do
  local oldest = redis.call('ZRANGE', by_age, 0, 0)[1]
  if not oldest then break end
  forget(oldest)
end
for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, ARGV[2]) end
return 1
"""

logger = logging.getLogger(__name__)


class SharedStore:
    """One store. Raises ValueError for what is no URL of a Redis.

    age     seconds that a value is kept
    limit   bytes of all values
    """

    def __init__(self, url: str, age: int, limit: int) -> None:
        parts = urlsplit(url)
        self.name = f"{parts.hostname or parts.path}{f':{parts.port}' if parts.port else ''}"  # without its password
        self._wait = float(parse_qs(parts.query).get("socket_timeout", [WAIT])[0])
        self._age = age
        self._limit = limit
        self._redis: Any = Redis.from_url(
            url,
            socket_connect_timeout=WRITE_WAIT,
            socket_timeout=WRITE_WAIT,
            retry=Retry(NoBackoff(), 0),
            client_name="toolcalls",
        )
        self._script = self._redis.register_script(_KEEP)
        self._failed: float | None = None  # when it was asked last and did not answer, by the monotonic clock
        self._tasks: set[asyncio.Task[None]] = set()

    async def fetch(self, keys: Sequence[str]) -> list[bytes | None]:
        """The values of keys, None for each that is not there; all None where the store does not answer in time."""
        nothing: list[bytes | None] = [None] * len(keys)
        if not self._may_be_asked():
            return nothing
        asked = self._redis.mget([_PREFIX + key for key in keys])
        found: list[bytes | None] | None = await self._answer(asked, self._wait)
        return nothing if found is None else found

    def keep(self, values: Mapping[str, bytes]) -> None:
        """Store values in the background. Long ones are left out, and all of them while too many wait."""
        fitting = {key: value for key, value in values.items() if len(value) <= self._limit}
        if not fitting or len(self._tasks) >= WAITING:
            return
        task = asyncio.get_running_loop().create_task(self._keep(fitting))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _keep(self, values: Mapping[str, bytes]) -> None:
        given: list[Any] = [round(time.time()), self._age, self._limit]
        for key, value in values.items():
            given += [_PREFIX + key, value]
        for number in range(TRIES):
            if number:
                await asyncio.sleep(PAUSE)
            if (
                self._may_be_asked()
                and await self._answer(self._script(keys=_BOOKS, args=given), WRITE_WAIT) is not None
            ):
                return

    def _may_be_asked(self) -> bool:
        return self._failed is None or time.monotonic() - self._failed >= PAUSE

    async def _answer(self, asked: Awaitable[Any], wait: float) -> Any:
        """What the store answers; None where it does not within so many seconds."""
        try:
            answer = await asyncio.wait_for(asked, wait)
        except (RedisError, OSError, TimeoutError) as error:
            if self._failed is None:
                logger.warning(
                    f"toolcalls: the shared memory at {self.name} does not answer ({type(error).__name__}); "
                    "each worker uses what it knows"
                )
            self._failed = time.monotonic()
            return None
        if self._failed is not None:
            self._failed = None
            logger.info(f"toolcalls: the shared memory at {self.name} answers again")
        return answer

    def close(self) -> None:
        """Ask no more. What is being stored goes on for as long as the loop does."""
        if self._tasks:
            last = asyncio.gather(*self._tasks, return_exceptions=True)
            last.add_done_callback(lambda _: asyncio.ensure_future(self._redis.aclose()))
