"""A Redis on loopback that keeps nothing on the disk, for the length of a `with` block."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

from support.loopback import LIMIT
from support.screens import reserved_port
from support.waiting import seen

PASSWORD = "sesame-open-9f2c"


def missing() -> str | None:
    """Why there is no Redis here, None where there is one."""
    return None if shutil.which("redis-server") else "redis-server is not installed"


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """Its URL, with a password. Who asks it waits for it, however busy this machine is."""
    with reserved_port() as port:
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--requirepass", PASSWORD]
        command += ["--save", "", "--appendonly", "no", "--dir", str(folder)]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        url = f"redis://:{PASSWORD}@127.0.0.1:{port}/0?socket_timeout={LIMIT}"
        try:
            seen(lambda: _answers(url))
            yield url
        finally:
            server.terminate()
            server.wait(LIMIT)


def until_kept(url: str, kind: str, count: int = 1) -> None:
    """Wait until so many values of a kind are there: a worker stores them after its reply has ended."""
    with Redis.from_url(url) as client:
        seen(lambda: len(list(client.scan_iter(f"toolcalls:{kind}:*"))) >= count)


def _answers(url: str) -> bool:
    try:
        with Redis.from_url(url) as client:
            return bool(client.ping())
    except RedisError:
        return False
