"""HTTP/3 on loopback, for tests: an upstream that answers every request with one reply, and a client that asks once.

Both speak through aioquic, which mitmproxy brings along. https://www.rfc-editor.org/rfc/rfc9114
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aioquic.asyncio import QuicConnectionProtocol
from aioquic.asyncio.server import QuicServer
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import QuicEvent

from support.loopback import LIMIT, Got, Reply
from support.tlsclient import authority, upstream_pair

type Fields = list[tuple[bytes, bytes]]


class _Serving(QuicConnectionProtocol):
    """One client's connection to the upstream."""

    def __init__(self, *given: Any, reply: Reply, **more: Any) -> None:
        super().__init__(*given, **more)
        self._http = H3Connection(self._quic)
        self._reply = reply

    def quic_event_received(self, event: QuicEvent) -> None:
        """Each piece is a DATA frame in a datagram of its own."""
        for one in self._http.handle_event(event):
            if isinstance(one, HeadersReceived | DataReceived) and one.stream_ended:
                fields = [(name.encode(), value.encode()) for name, value in self._reply.headers.items()]
                self._http.send_headers(one.stream_id, [(b":status", b"%d" % self._reply.status), *fields])
                for piece in self._reply.pieces:
                    self._http.send_data(one.stream_id, piece, end_stream=False)
                    self.transmit()
                self._http.send_data(one.stream_id, b"", end_stream=True)
                self.transmit()


class _Asking(QuicConnectionProtocol):
    """A client's connection, with one request."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._http = H3Connection(self._quic)
        self._fields: Fields = []
        self._body = b""
        self._ended = asyncio.get_running_loop().create_future()

    async def ask(self, path: str, body: bytes) -> Got:
        """The reply to its end."""
        stream = self._quic.get_next_available_stream_id()
        length = b"%d" % len(body)
        head = [(b":method", b"POST"), (b":scheme", b"https"), (b":authority", b"127.0.0.1"), (b":path", path.encode())]
        fields = [(b"content-type", b"application/json"), (b"content-length", length)]
        self._http.send_headers(stream, [*head, *fields])
        self._http.send_data(stream, body, end_stream=True)
        self.transmit()
        async with asyncio.timeout(LIMIT):
            await self._ended
        headers = {name.decode(): value.decode() for name, value in self._fields}
        return Got(int(headers.pop(":status")), headers, self._body, self._body, ended=True)

    def quic_event_received(self, event: QuicEvent) -> None:
        """Collect the reply."""
        for one in self._http.handle_event(event):
            if isinstance(one, HeadersReceived):
                self._fields = one.headers
            elif isinstance(one, DataReceived):
                self._body += one.data
            if isinstance(one, HeadersReceived | DataReceived) and one.stream_ended and not self._ended.done():
                self._ended.set_result(None)


@contextmanager
def upstream_h3(reply: Reply, folder: Path) -> Iterator[str]:
    """An upstream for the length of a `with` block, with a certificate of mitmproxy's own authority; its URL."""
    configuration = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN)
    configuration.load_cert_chain(upstream_pair(folder))
    loop = asyncio.new_event_loop()

    async def open_() -> asyncio.DatagramTransport:
        def server() -> QuicServer:
            return QuicServer(
                configuration=configuration, create_protocol=lambda *a, **more: _Serving(*a, reply=reply, **more)
            )

        transport, _ = await loop.create_datagram_endpoint(server, local_addr=("127.0.0.1", 0))
        return transport

    async def close(transport: asyncio.DatagramTransport) -> None:
        transport.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    transport = loop.run_until_complete(open_())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield f"http3://127.0.0.1:{transport.get_extra_info('sockname')[1]}"
    finally:
        asyncio.run_coroutine_threadsafe(close(transport), loop).result(LIMIT)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(LIMIT)
        loop.close()


def post_h3(port: int, path: str, body: bytes, folder: Path) -> Got:
    """One request over HTTP/3, and the reply to its end. Who answers is checked against mitmproxy's authority."""
    configuration = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, server_name="127.0.0.1")
    configuration.load_verify_locations(str(authority(folder)))

    async def exchange() -> Got:
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.create_datagram_endpoint(
            lambda: _Asking(QuicConnection(configuration=configuration)), local_addr=("127.0.0.1", 0)
        )
        try:
            protocol.connect(("127.0.0.1", port))
            async with asyncio.timeout(LIMIT):
                await protocol.wait_connected()
            return await protocol.ask(path, body)
        finally:
            protocol.close()
            await protocol.wait_closed()
            transport.close()

    return asyncio.run(exchange())
