"""WebSocket on loopback, for tests: an upstream that answers with scripted messages, and a client.

Both speak through wsproto, which mitmproxy brings along. An upstream answers each text message with the next of its
replies, a row of writes; a write is the messages that go out in one piece, so a test says what arrives together.
"""

import json
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from wsproto import ConnectionType, WSConnection
from wsproto.connection import ConnectionState
from wsproto.events import (
    AcceptConnection,
    CloseConnection,
    Message,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)
from wsproto.extensions import PerMessageDeflate
from wsproto.utilities import LocalProtocolError

from support.loopback import LIMIT, accepting

type Write = Sequence[dict[str, Any]]


class Refused(Exception):
    """The upgrade was answered with another status."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.headers = headers
        self.body = body


class Socket:
    """A client's connection.

    trust     TLS is spoken, and this is who is trusted
    through   the port of a proxy that is asked for a tunnel to `port`
    """

    def __init__(
        self,
        port: int,
        path: str,
        *,
        deflate: bool = False,
        trust: ssl.SSLContext | None = None,
        through: int | None = None,
    ) -> None:
        self._socket = socket.create_connection(("127.0.0.1", through or port), LIMIT)
        if through is not None:
            _tunnel(self._socket, port)
        if trust is not None:
            self._socket = trust.wrap_socket(self._socket, server_hostname="127.0.0.1")
        self._protocol = WSConnection(ConnectionType.CLIENT)
        extensions = [PerMessageDeflate()] if deflate else []
        request = Request(host=f"127.0.0.1:{port}", target=path, extensions=extensions)
        self._socket.sendall(self._protocol.send(request))
        self._text = ""
        self._got: list[str] = []
        self._closed = False
        self._refused: tuple[int, dict[str, str]] | None = None
        self._body = b""
        try:
            while not isinstance(accepted := self._next(), AcceptConnection):
                pass
        except BaseException:
            self._socket.close()  # nobody else has it yet
            raise
        self.deflates = bool(accepted.extensions)  # whether messages are compressed

    def _next(self) -> object:
        while True:
            for event in self._protocol.events():
                if isinstance(event, RejectConnection):
                    headers = {bytes(name).decode().lower(): bytes(value).decode() for name, value in event.headers}
                    self._refused = (event.status_code, headers)
                    if not event.has_body:
                        raise Refused(*self._refused, b"")
                elif isinstance(event, RejectData):
                    self._body += event.data
                    if event.body_finished and self._refused is not None:
                        raise Refused(*self._refused, self._body)
                else:
                    return event
            data = self._socket.recv(65536)
            self._protocol.receive_data(data or None)

    def send(self, message: dict[str, Any]) -> None:
        self._socket.sendall(self._protocol.send(TextMessage(json.dumps(message))))

    def message(self) -> dict[str, Any]:
        """The next message. Raises EOFError when there is none any more."""
        while True:
            event = self._next()
            if isinstance(event, CloseConnection):
                raise EOFError
            if isinstance(event, TextMessage):
                self._text += event.data
                if event.message_finished:
                    text, self._text = self._text, ""
                    return dict(json.loads(text))

    def ask(self, message: dict[str, Any], *, ends: int = 1) -> list[dict[str, Any]]:
        """A message, and all messages up to so many terminal ones."""
        self.send(message)
        found = []
        while ends:
            found.append(self.message())
            ends -= found[-1]["type"] in {"response.completed", "response.incomplete", "response.failed", "error"}
        return found

    def close(self) -> None:
        with suppress(LocalProtocolError, OSError):  # it may be closed already
            self._socket.sendall(self._protocol.send(CloseConnection(code=1000)))
        self._socket.close()


def _tunnel(connection: socket.socket, port: int) -> None:
    """Ask a proxy for a tunnel, and read its answer to the last byte."""
    connection.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n".encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += connection.recv(1)
    assert answer.startswith(b"HTTP/1.1 200"), answer


@contextmanager
def connected(port: int, path: str, **given: Any) -> Iterator[Socket]:
    """A client for the length of a `with` block."""
    made = Socket(port, path, **given)
    try:
        yield made
    finally:
        made.close()


class Upstream:
    """An upstream, behind TLS where it is `secured`.

    `asked` are the messages that reached it; `replies` are given in turn, one a message.
    """

    def __init__(self, secured: ssl.SSLContext | None = None) -> None:
        self._secured = secured
        self.replies: list[Sequence[Write]] = []
        self.asked: list[dict[str, Any]] = []
        self.closes = False  # after a reply, in the same write as its last messages
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=accepting, args=(self._socket, self._answer), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http{'s' * (self._secured is not None)}://127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(LIMIT)

    def _answer(self, connection: socket.socket) -> None:
        if self._secured is not None:
            try:
                connection = self._secured.wrap_socket(connection, server_side=True)
            except OSError:  # somebody only wanted to see the certificate
                connection.close()
                return
        protocol = WSConnection(ConnectionType.SERVER)
        text = ""
        with connection:
            try:
                while data := connection.recv(65536):
                    protocol.receive_data(data)
                    for event in protocol.events():
                        if isinstance(event, Request):
                            extensions = [PerMessageDeflate()] if event.extensions else []
                            connection.sendall(protocol.send(AcceptConnection(extensions=extensions)))
                        elif isinstance(event, CloseConnection):
                            if protocol.state is ConnectionState.REMOTE_CLOSING:  # else it answers ours
                                connection.sendall(protocol.send(event.response()))
                            return
                        elif isinstance(event, Message):
                            text += str(event.data)
                            if event.message_finished:
                                self.asked.append(json.loads(text))
                                text = ""
                                self._reply(connection, protocol)
            except OSError:
                return

    def _reply(self, connection: socket.socket, protocol: WSConnection) -> None:
        for number, messages in enumerate(reply := self.replies.pop(0)):
            out = b"".join(protocol.send(TextMessage(json.dumps(one, ensure_ascii=False))) for one in messages)
            if self.closes and number == len(reply) - 1:
                out += protocol.send(CloseConnection(code=1000))
            connection.sendall(out)


@contextmanager
def upstream(secured: ssl.SSLContext | None = None) -> Iterator[Upstream]:
    """An upstream for the length of a `with` block, behind TLS where it is `secured`."""
    made = Upstream(secured)
    try:
        yield made
    finally:
        made.close()
