"""The URL of a model server as people write it: with a scheme or without one, and with the path of a base URL."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from toolcalls.insight.redaction import redacted_url
from toolcalls.streams import BadInput


@dataclass(frozen=True, slots=True)
class ServerURL:
    """Its parts.

    origin        `http://host:port`, without the port where the URL has none
    host          without the brackets of IPv6
    port          the scheme's own where the URL has none
    credentials   `user:password@`, "" for none
    rest          the path without a slash at its end, and the query
    """

    origin: str
    host: str
    port: int
    credentials: str
    rest: str


def server_url(url: str, name: str) -> ServerURL:
    """The parts of a URL, which the variable or option `name` holds. Raises BadInput."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port
    except ValueError as error:
        raise BadInput(f"{name}: {redacted_url(url)} is no URL: {error}") from error
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise BadInput(f"{name}: expected the URL of a server, as in http://127.0.0.1:8000, found {redacted_url(url)}")
    if "://" not in url and url.isdecimal():
        raise BadInput(f"{name}: {url} is a port without a host; a server here is http://127.0.0.1:{url}")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    credentials, at, _ = parts.netloc.rpartition("@")
    return ServerURL(
        origin=f"{parts.scheme}://{host}" + (f":{port}" if port else ""),
        host=parts.hostname,
        port=port or (443 if parts.scheme == "https" else 80),
        credentials=credentials + at,
        rest=parts.path.rstrip("/") + (f"?{parts.query}" if parts.query else ""),
    )
