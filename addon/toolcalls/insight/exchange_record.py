"""A recorded request and its reply: plain frozen data, filled by whoever knows where it comes from.

Bodies are without content coding. Nothing here is redacted yet: whoever shows or writes it does that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from toolcalls.wires.frames import Form

type State = Literal["waiting", "streaming", "ended"]


@dataclass(frozen=True, slots=True)
class Pieces:
    """When the pieces of a body came, in microseconds since the reply's headers, and how many bytes each had."""

    microseconds: Sequence[int] = ()
    sizes: Sequence[int] = ()


def flow_of(id_: str) -> str:
    """The flow that an exchange is in. A WebSocket's holds several; all but the first have a number after it."""
    return id_.partition(".")[0]


@dataclass(frozen=True, slots=True)
class ExchangeRecord:
    """One request and its reply.

    id            the flow's (`flow_of`)
    started       when the request began, in seconds since 1970; `started_at` is the same in ISO 8601, UTC
    requested, replied, ended   seconds from `started` to the request's end, the reply's headers and the reply's end;
                  None for what did not happen or is not known
    request_body  as the client sent it
    upstream_request_body   as the upstream got it; None where that is the same
    upstream_body, client_body   the reply's body as the upstream sent it, and as the client got it; None without one
    form          how the reply's body is framed; None for one that is not read
    report        `report.make_report`; {} for an exchange that was not read
    error         what mitmproxy says of a connection that broke
    state         whether the reply is awaited, is coming, or has ended
    """

    id: str
    started: float
    started_at: str
    method: str
    url: str
    http_version: str
    request_headers: tuple[tuple[str, str], ...]
    request_body: bytes
    host: str = ""
    port: int = 0
    path: str = "/"
    upstream_request_body: bytes | None = None
    status: int = 0
    status_text: str = ""
    response_headers: tuple[tuple[str, str], ...] = ()
    upstream_body: bytes | None = None
    client_body: bytes | None = None
    form: Form | None = None
    requested: float | None = None
    replied: float | None = None
    ended: float | None = None
    upstream_pieces: Pieces = Pieces()
    client_pieces: Pieces = Pieces()
    report: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    state: State = "ended"

    def header(self, name: str) -> str:
        """The first value of a header of the request, "" for none. `name` is in lower case."""
        return next((value for key, value in self.request_headers if key.lower() == name), "")
