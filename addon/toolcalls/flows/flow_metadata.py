"""What the addon stores in a flow: both bodies, the times of their pieces, the report, a comment and a mark.

`raw_content` is what the client got, as always. `flow.metadata` holds besides:

toolcalls            the report (`report.make_report`, `recorded_verdicts`), plain data
toolcalls_words      what a filter finds it by (`report.filter_words`): `status:declined reason:fenced …`
toolcalls_upstream   what the upstream sent, without content coding, only where that is not what the client got
toolcalls_request    what the client sent, without content coding, only where the upstream was sent something else
toolcalls_times      {"upstream", "client"}: when the pieces of each body came and how large they were, as two lists
                     {"microseconds" since the reply's headers, "bytes"}; the client's is None when it is the same
toolcalls_error      the status of the upstream's error, only where the client got a reply instead of it
toolcalls_reasons_first  the session's model was known to begin in reasoning, only where it was
toolcalls_client     the client pattern that an earlier request of the session matched, only where there was one

mitmproxy drops a flow whose metadata it cannot write, silently, so everything is made writable first.
"""

from collections.abc import Iterable
from typing import Any, SupportsIndex

from mitmproxy import http

from toolcalls.flows.timed_bodies import ReplyBodies, TimedBody
from toolcalls.insight.redaction import redacted_text
from toolcalls.insight.report import filter_words, visible
from toolcalls.insight.vocabulary.statuses import MARKS

REPORT = "toolcalls"
FILTER_WORDS = "toolcalls_words"
UPSTREAM = "toolcalls_upstream"
REQUEST = "toolcalls_request"
TIMES = "toolcalls_times"
ERROR = "toolcalls_error"
CLIENT = "toolcalls_client"
REASONS_FIRST = "toolcalls_reasons_first"

# They describe the bytes of the body (RFC 9530, RFC 1864), and those may change.
_DIGESTS = ("content-digest", "repr-digest", "digest", "content-md5")


_MODEL = 32  # characters of a model's name in a comment
_OF_ERRORS = ("retry-after", "retry-after-ms", "x-should-retry")  # what they tell clients to do about an error


class _Bytes(bytes):
    """A body with a short repr, which the console shows in its details of a flow."""

    def __repr__(self) -> str:
        return f"<{len(self)} bytes>"


class _Numbers(list[int]):
    """A number for each piece of a body, with a short repr."""

    def __repr__(self) -> str:
        return f"<{len(self)} numbers>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[type[list[Any]], tuple[list[Any]]]:
        return list, (list(self),)


def prepare_headers(flow: http.HTTPFlow) -> None:
    """Make a reply's headers fit a body without content coding and of unknown length.

    Chunked is HTTP/1.1's: an older client reads to the end of the connection, and to HTTP/2 it is an error.
    """
    response = flow.response
    if response is None:
        return
    for name in ("content-encoding", *_DIGESTS):
        response.headers.pop(name, None)
    if response.headers.pop("content-length", None) is not None and flow.request.http_version == "HTTP/1.1":
        response.headers["transfer-encoding"] = "chunked"


def store_bodies(
    response: http.Response, metadata: dict[str, Any], bodies: ReplyBodies, *, encoded: bool = False
) -> None:
    """Store both bodies of a reply, and their times. `encoded`: the client got the upstream's content coding."""
    left, came = bodies.client(), bodies.upstream
    client, upstream = left.content(), came.content()
    response.raw_content = client
    if client is not None and "content-length" in response.headers:
        response.headers["content-length"] = str(len(client))
    metadata.pop(UPSTREAM, None)
    if upstream is not None and upstream != client and not encoded:
        metadata[UPSTREAM] = _Bytes(upstream)
    metadata[TIMES] = {"upstream": _times(came), "client": None if left is came else _times(left)}


def replace_reply_body(response: http.Response, came: bytes, body: bytes) -> None:
    """Give the client `body` instead of the whole reply that came, which mitmproxy has gathered."""
    response.raw_content = body
    if body == came:
        return
    for name in ("content-encoding", *_DIGESTS):
        response.headers.pop(name, None)
    if "transfer-encoding" not in response.headers:
        response.headers["content-length"] = str(len(body))


def store_answer(flow: http.HTTPFlow, response: http.Response, error: bytes, body: bytes, content_type: str) -> None:
    """Give the client a reply with this body instead of an error, whose status and body (uncoded) are kept."""
    flow.metadata[ERROR] = response.status_code
    flow.metadata[UPSTREAM] = _Bytes(error)
    response.status_code = 200
    response.reason = "OK" if response.reason else ""
    for name in ("content-encoding", "transfer-encoding", *_DIGESTS, *_OF_ERRORS):
        response.headers.pop(name, None)
    response.headers["content-type"] = content_type
    response.raw_content = body
    response.headers["content-length"] = str(len(body))


def answered_status(flow: http.HTTPFlow) -> int | None:
    """The status of the error that was answered with a reply; None for any other flow."""
    status = flow.metadata.get(ERROR)
    return status if isinstance(status, int) and isinstance(flow.metadata.get(UPSTREAM), bytes) else None


def upstream_body(flow: http.HTTPFlow) -> bytes | None:
    """What the upstream sent, without its coding, where the client got something else."""
    body = flow.metadata.get(UPSTREAM)
    return body if isinstance(body, bytes) else None


def _times(body: TimedBody) -> dict[str, list[int]]:
    return {"microseconds": _Numbers(body.microseconds), "bytes": _Numbers(body.sizes)}


def annotate(flow: http.HTTPFlow, report: dict[str, Any]) -> None:
    """Store the report, and the comment and mark that it gives unless the user has set others."""
    was = flow.metadata.get(REPORT)
    old = was if isinstance(was, dict) else {}
    data = writable(report)
    flow.metadata[REPORT] = data
    flow.metadata[FILTER_WORDS] = filter_words(data)
    if flow.comment in {"", old.get("summary"), comment_of(old)}:
        flow.comment = comment_of(data)
    if flow.marked in {"", MARKS.get(str(old.get("worst")))}:
        flow.marked = MARKS.get(str(data["worst"]), "")


def comment_of(report: dict[str, Any]) -> str:
    """What the flow list says of a report: its summary, with the model after its first part.

    `lifted write_file (invoke), qwen3 · 1 declined: fenced`: it tells one row from another, in a narrow column.
    """
    summary = str(report.get("summary") or "")
    model = visible(redacted_text(str(report.get("model") or "")).rpartition("/")[2])[:_MODEL]
    first, dot, rest = summary.partition(" · ")
    return f"{first}, {model}{dot}{rest}" if summary and model else summary


def add_comment(flow: http.HTTPFlow, text: str) -> None:
    """Comment and mark a flow without a report, unless the user has."""
    flow.comment = flow.comment or text
    flow.marked = flow.marked or MARKS["malformed"]


def metadata_bytes(content: bytes) -> bytes:
    """Bytes for metadata, with a short repr."""
    return _Bytes(content)


def replace_request_body(flow: http.HTTPFlow, came: bytes, body: bytes) -> None:
    """Send `body` instead of the request body that came, which is kept."""
    flow.metadata[REQUEST] = _Bytes(came)
    for name in ("content-encoding", *_DIGESTS):
        flow.request.headers.pop(name, None)
    flow.request.raw_content = body
    if "transfer-encoding" not in flow.request.headers:
        flow.request.headers["content-length"] = str(len(body))


def restore_request_body(flow: http.HTTPFlow) -> None:
    """Put back the body that the client sent, for a flow that is sent again: it is rewritten anew.

    Not before the hook `request`: until then mitmproxy puts the recorded body back.
    """
    came = original_request_body(flow)
    if came is not None:
        flow.request.raw_content = came
        flow.request.headers["content-length"] = str(len(came))
        del flow.metadata[REQUEST]


def original_request_body(flow: http.HTTPFlow) -> bytes | None:
    """The body that the client sent; None if the upstream was sent the same."""
    came = flow.metadata.get(REQUEST)
    return came if isinstance(came, bytes) else None


def store_recognised_client(flow: http.HTTPFlow, pattern: str | None) -> None:
    """Store the pattern that an earlier request of the session matched; None for none."""
    flow.metadata.pop(CLIENT, None)
    if pattern is not None:
        flow.metadata[CLIENT] = pattern


def recognised_client(flow: http.HTTPFlow) -> str | None:
    """The pattern that an earlier request of the session matched, as it was stored; None for none."""
    pattern = flow.metadata.get(CLIENT)
    return pattern if isinstance(pattern, str) else None


def store_reasons_first(flow: http.HTTPFlow, known: bool) -> None:
    """Store whether the session's model was known to begin in reasoning when the reply began."""
    flow.metadata.pop(REASONS_FIRST, None)
    if known:
        flow.metadata[REASONS_FIRST] = True


def reasons_first(flow: http.HTTPFlow) -> bool:
    """The same, as it was stored."""
    return flow.metadata.get(REASONS_FIRST) is True


def clear(flow: http.HTTPFlow) -> None:
    """Remove what an earlier reply left in a flow that is sent again."""
    annotate(flow, {"summary": "", "worst": None})
    for name in (REPORT, FILTER_WORDS, UPSTREAM, ERROR, TIMES):
        flow.metadata.pop(name, None)


def writable(value: Any) -> Any:
    """`value` with each lone surrogate as its escape: UTF-8 has no form for it."""
    if isinstance(value, str):
        return _written(value)
    if isinstance(value, dict):
        return {writable(key): writable(member) for key, member in value.items()}
    if isinstance(value, list):
        return [writable(member) for member in value]
    return value


def _written(text: str) -> str:
    """The same object wherever possible: an argument may have megabytes, and a copy stays as long as the flow."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


class ReplayedBodies:
    """The upstream's bodies of flows that mitmproxy replays as a server (`-S`), by what the client got.

    mitmproxy serves a copy of the recorded reply without its metadata. With the upstream's body the verdicts are the
    same as in the first run.
    """

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._bodies: dict[bytes, bytes] = {}

    def add(self, flows: Iterable[object]) -> None:
        """Remember the bodies of flows."""
        for flow in flows:
            if isinstance(flow, http.HTTPFlow) and flow.id not in self._seen:
                self._seen.add(flow.id)
                upstream = flow.metadata.get(UPSTREAM)
                if ERROR in flow.metadata:  # the reply is a sound one, and what came was none
                    continue
                if isinstance(upstream, bytes) and flow.response is not None and flow.response.raw_content:
                    self._bodies[flow.response.raw_content] = upstream

    def upstream(self, body: bytes) -> bytes | None:
        """What the upstream sent when a client got `body`; None if not known."""
        return self._bodies.get(body)
