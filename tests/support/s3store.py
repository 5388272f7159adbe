"""A store on loopback that speaks S3, for the length of a `with` block."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import Request, urlopen

import pytest
import s3fs
from moto.server import ThreadedMotoServer

from support.loopback import LIMIT

_AWS = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@contextmanager
def s3_store(monkeypatch: pytest.MonkeyPatch) -> Iterator[s3fs.S3FileSystem]:
    """The store with a bucket `flows`, which the environment names as well."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        for name, value in {**_AWS, "AWS_ENDPOINT_URL": f"http://{host}:{port}"}.items():
            monkeypatch.setenv(name, value)
        # What a store of this process held before, this one holds, too: moto keeps it in the process.
        with urlopen(Request(f"http://{host}:{port}/moto-api/reset", method="POST"), timeout=LIMIT) as answer:
            assert answer.status == 200
        s3fs.S3FileSystem.clear_instance_cache()
        system = s3fs.S3FileSystem(endpoint_url=f"http://{host}:{port}")
        system.mkdir("flows")
        yield system
    finally:
        server.stop()
