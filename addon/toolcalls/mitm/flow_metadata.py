"""What is kept of an exchange in its flow: both bodies, when their pieces came, the report, a comment and a mark.

A flow holds what the client got (`raw_content`), as it always does. Beside it stands in `flow.metadata`:

toolcalls            the report (`report.of`), plain data
toolcalls_words      what a filter finds it by (`report.filter_words`): `status:declined reason:fenced …`
toolcalls_upstream   what the upstream sent, without content coding, only where that is not what the client got
toolcalls_request    what the client sent, without content coding, only where the upstream was sent something else
toolcalls_times      {"upstream", "client"}: when the pieces of each body came and how large they were, as two lists
                     {"microseconds" since the reply's headers, "bytes"}; the client's is None when it is the same

mitmproxy loses a flow whose metadata it cannot write, without a word, so everything here is made writable first.
"""

from collections.abc import Iterable
from typing import Any, SupportsIndex

from mitmproxy import http

from toolcalls.insight.report import filter_words
from toolcalls.insight.vocabulary.statuses import MARKS
from toolcalls.mitm.response_tap import ResponseTap, TimedBody

REPORT = "toolcalls"
FILTER_WORDS = "toolcalls_words"
UPSTREAM = "toolcalls_upstream"
REQUEST = "toolcalls_request"
TIMES = "toolcalls_times"

# They describe the bytes of the body (RFC 9530, RFC 1864), and those may change.
_DIGESTS = ("content-digest", "repr-digest", "digest", "content-md5")


class _Bytes(bytes):
    """A body. The console's detail view shows metadata by its repr, which for a body is no use to anybody."""

    def __repr__(self) -> str:
        return f"<{len(self)} bytes>"


class _Numbers(list[int]):
    """A number for each piece of a body, with a short repr."""

    def __repr__(self) -> str:
        return f"<{len(self)} numbers>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[type[list[Any]], tuple[list[Any]]]:
        return list, (list(self),)


def prepare_headers(flow: http.HTTPFlow) -> None:
    """Make a reply's headers fit a body that leaves without coding, and of unknown length.

    Chunked is HTTP/1.1's: an older client reads to the end of the connection, and to HTTP/2 it is an error.
    """
    response = flow.response
    if response is None:
        return
    for name in ("content-encoding", *_DIGESTS):
        response.headers.pop(name, None)
    if response.headers.pop("content-length", None) is not None and flow.request.http_version == "HTTP/1.1":
        response.headers["transfer-encoding"] = "chunked"


def store_bodies(response: http.Response, metadata: dict[str, Any], tap: ResponseTap) -> None:
    """Put both bodies and their times into a flow whose reply went through a tap."""
    client, upstream = tap.client.content(), tap.upstream.content()
    response.raw_content = client
    if client is not None and "content-length" in response.headers:
        response.headers["content-length"] = str(len(client))
    metadata.pop(UPSTREAM, None)
    if upstream is not None and upstream != client and not tap.encoded:
        metadata[UPSTREAM] = _Bytes(upstream)
    same = tap.client is tap.upstream
    metadata[TIMES] = {"upstream": _times(tap.upstream), "client": None if same else _times(tap.client)}


def _times(body: TimedBody) -> dict[str, list[int]]:
    return {"microseconds": _Numbers(body.microseconds), "bytes": _Numbers(body.sizes)}


def annotate(flow: http.HTTPFlow, report: dict[str, Any]) -> None:
    """Put the report, its summary and a mark into the flow; a comment or a mark of the user's own stays."""
    was = flow.metadata.get(REPORT)
    old = was if isinstance(was, dict) else {}
    data = writable(report)
    flow.metadata[REPORT] = data
    flow.metadata[FILTER_WORDS] = filter_words(data)
    if flow.comment in {"", old.get("summary")}:
        flow.comment = data["summary"]
    if flow.marked in {"", MARKS.get(str(old.get("worst")))}:
        flow.marked = MARKS.get(str(data["worst"]), "")


def is_as_recorded(was: object, report: dict[str, Any]) -> bool:
    """Whether a reply is judged as it was when its bodies passed, by the report that was written then. Whatever stood
    in a file may be of any type.
    """
    return isinstance(was, dict) and not was.get("judged") and was.get("verdicts") == writable(report["verdicts"])


def add_comment(flow: http.HTTPFlow, text: str) -> None:
    """Say something of a flow whose reply has no report, as it is not read; the user's own comment and mark stay."""
    flow.comment = flow.comment or text
    flow.marked = flow.marked or MARKS["malformed"]


def metadata_bytes(content: bytes) -> bytes:
    """Bytes for metadata, with a short repr."""
    return _Bytes(content)


def replace_request_body(flow: http.HTTPFlow, came: bytes, body: bytes) -> None:
    """Send `body` instead of what came, which is kept."""
    flow.metadata[REQUEST] = _Bytes(came)
    for name in ("content-encoding", *_DIGESTS):
        flow.request.headers.pop(name, None)
    flow.request.raw_content = body
    if "transfer-encoding" not in flow.request.headers:
        flow.request.headers["content-length"] = str(len(body))


def restore_request_body(flow: http.HTTPFlow) -> None:
    """A flow that is sent once more asks what the client asked, to be rewritten by today's rules.

    Not before `request`: until then mitmproxy puts the recorded body back.
    """
    came = original_request_body(flow)
    if came is not None:
        flow.request.raw_content = came
        flow.request.headers["content-length"] = str(len(came))
        del flow.metadata[REQUEST]


def original_request_body(flow: http.HTTPFlow) -> bytes | None:
    """What the client sent where the upstream was sent something else."""
    came = flow.metadata.get(REQUEST)
    return came if isinstance(came, bytes) else None


def clear(flow: http.HTTPFlow) -> None:
    """Take out all that an earlier reply has left in a flow that is sent once more."""
    annotate(flow, {"summary": "", "worst": None})
    for name in (REPORT, FILTER_WORDS, UPSTREAM, TIMES):
        flow.metadata.pop(name, None)


def writable(value: Any) -> Any:
    """`value` with its strings free of lone surrogates, which UTF-8 does not hold: each becomes its escape."""
    if isinstance(value, str):
        return _written(value)
    if isinstance(value, dict):
        return {writable(key): writable(member) for key, member in value.items()}
    if isinstance(value, list):
        return [writable(member) for member in value]
    return value


def _written(text: str) -> str:
    """A string as it is wherever it can be: an argument may have megabytes, and copies stay as long as the flow."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


class ReplayedBodies:
    """The upstream's bodies of flows that mitmproxy replays as a server (`-S`).

    It serves a copy of the recorded reply, which is what the client got then, and no metadata with it. Found again by
    its body, a reply is read from what the upstream sent, so that the verdicts are the first ones.
    """

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._bodies: dict[bytes, bytes] = {}

    def add(self, flows: Iterable[object]) -> None:
        """Remember the bodies of flows that were not seen before."""
        for flow in flows:
            if isinstance(flow, http.HTTPFlow) and flow.id not in self._seen:
                self._seen.add(flow.id)
                upstream = flow.metadata.get(UPSTREAM)
                if isinstance(upstream, bytes) and flow.response is not None and flow.response.raw_content:
                    self._bodies[flow.response.raw_content] = upstream

    def upstream(self, body: bytes) -> bytes | None:
        """What the upstream had sent where a client got `body`; None when that is not known."""
        return self._bodies.get(body)
