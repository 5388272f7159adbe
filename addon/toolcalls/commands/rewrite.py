"""`toolcalls rewrite`: the body of a reply in, what the addon would have sent out, verdicts beside it.

Strategy: the same `Exchange` as in the proxy, fed as the bytes arrive, so a live stream can be piped through. Without a
request nothing is declared; tools of a job count as though its request declared them. Without a content type the body
tells its form: an event stream by its first line, lines of JSON by a second one, an array by its bracket.
"""

import base64
import binascii
import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from typing import Any, BinaryIO

from toolcalls.commands.console import BadInput, as_json, complain, open_input, put, read_json
from toolcalls.commands.jobs import Job, work_off
from toolcalls.commands.settings import (
    dialects_of,
    one_of,
    patterns_of,
    policy_of,
    request_of,
    side_of,
    tools_of,
    with_tools,
)
from toolcalls.evidence import decide, terms_of
from toolcalls.exchange import Exchange
from toolcalls.report import of
from toolcalls.request import Request
from toolcalls.route import VTC_CLIENT_PATTERNS, Route
from toolcalls.wires import all_wires

_ENOUGH = 8  # bytes that tell an event stream from JSON
_EVENT_STREAM = (b"data", b"event", b"id", b"retry", b":")


def run(arguments: Namespace) -> int:
    """The command. Raises BadInput."""
    given = {
        name: getattr(arguments, name) for name in ("wire", "client", "upstream", "policy", "content_type", "request")
    }
    if arguments.jsonl:
        work_off(arguments.file, lambda job: _job(job, given, arguments.chunk))
        return 0
    job = Job(f'{{"request": {read_json(arguments.request) if arguments.request else "null"}}}')
    with open_input(arguments.file) as source:
        pieces = _arriving(source, arguments.chunk)
        head = _head(pieces)
        exchange = _exchange(job, given, head)
        put(exchange.feed(head))
        for piece in pieces:
            put(exchange.feed(piece))
        put(exchange.close())
    for verdict in of(exchange)["verdicts"]:
        print(as_json(verdict), file=sys.stderr)
    if exchange.failure is not None:
        complain("toolcalls rewrite", f"internal error, the rest of the body passed as it is: {exchange.failure!r}")
        return 1
    return 0


def _job(job: Job, given: dict[str, Any], chunk: int | None) -> dict[str, Any]:
    body = _body(job)
    exchange = _exchange(job, given, body)
    left = b"".join(exchange.feed(piece) for piece in _cut(job, body, chunk))
    as_text = "body" in job
    if job.flag("cut"):
        result = {**_shown("body", left, as_text=as_text), **_shown("held", exchange.abort(), as_text=as_text)}
    else:
        result = _shown("body", left + exchange.close(), as_text=as_text)
    result["verdicts"] = of(exchange)["verdicts"]
    if exchange.failure is not None:
        result["failure"] = repr(exchange.failure)
    return result


def _exchange(job: Job, given: dict[str, Any], head: bytes) -> Exchange:
    """The exchange that a job asks for; what it does not say is as `given`. `head` is how the body begins."""
    wire = all_wires()[one_of(job.text("wire", given["wire"]), all_wires(), "wire")]
    client, client_dialect = side_of(job.text("client", given["client"]), "client")
    upstream, upstream_dialect = side_of(job.text("upstream", given["upstream"]), "upstream")
    route = Route(
        client=client,
        upstream=upstream,
        client_dialect=client_dialect,
        dialects=(upstream_dialect,) if upstream_dialect else dialects_of(job.value("dialects"), "dialects"),
        policy=policy_of(job.text("policy", given["policy"])),
        allowed_tools=patterns_of(job.value("allowed_tools")),
    )
    request, seed = Request(), b""
    if "request" in job:
        request = request_of(wire, job.raw("request"), given["request"] or "request")
        seed = blake2b(job.raw("request").encode("utf-8", "surrogatepass"), digest_size=16).digest()
    if "tools" in job:
        request = replace(request, tools=with_tools(request.tools, tools_of(job.value("tools"))))
    decision = decide(route, request, {}, VTC_CLIENT_PATTERNS)
    terms, tools = terms_of(route, request, decision)
    kind = job.text("content_type", given["content_type"] or "")
    form = wire.form("", kind or _type_of(head))
    if form is None:
        raise BadInput(f"content_type: {wire.name} has no replies of type {kind}")
    if form == "whole" and head.lstrip().startswith(b"["):  # no API's whole reply is an array
        form = "json_array"
    return Exchange(wire, terms, decision, tools, form=form, seed=seed)


# The body's bytes


def _arriving(source: BinaryIO, chunk: int | None) -> Iterator[bytes]:
    """The input in pieces of `chunk` bytes; without it, whatever is there."""
    take = getattr(source, "read1", source.read)
    while piece := source.read(chunk) if chunk else take(65536):
        yield piece


def _head(pieces: Iterator[bytes]) -> bytes:
    """The first pieces, joined: enough bytes to tell the form of the body."""
    head = b""
    while not _tells(head) and (piece := next(pieces, b"")):
        head += piece
    return head


def _tells(head: bytes) -> bool:
    """Whether the beginning of a body is enough to tell its form: of JSON, that is a line and what comes behind it."""
    start = head.lstrip()
    if start.startswith(b"{"):
        return bool(start.partition(b"\n")[2].strip())
    return len(start) >= _ENOUGH


def _type_of(head: bytes) -> str:
    """The content type of a body that begins like this."""
    if head.lstrip(b"\xef\xbb\xbf\r\n").startswith(_EVENT_STREAM):
        return "text/event-stream"
    line, _, behind = head.lstrip().partition(b"\n")
    return "application/x-ndjson" if line.startswith(b"{") and behind.strip() and _is_json(line) else "application/json"


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _body(job: Job) -> bytes:
    if ("body" in job) == ("body_base64" in job):
        raise BadInput("a job has either body or body_base64")
    if "body" in job:
        return job.text("body", "").encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(job.text("body_base64", ""), validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadInput(f"body_base64: {error}") from error


def _cut(job: Job, body: bytes, chunk: int | None) -> Iterator[bytes]:
    """The body in the pieces that the job asks for; what its `chunks` leave over is the last piece."""
    size = job.size("chunk", chunk) or max(1, len(body))
    sizes = job.list_of("chunks", int, "byte lengths")
    if any(length < 0 for length in sizes):
        raise BadInput("chunks: a length is negative")
    start = 0
    for length in sizes:
        yield body[start : start + length]
        start += length
    size = max(1, len(body) - start) if sizes else size
    for at in range(start, len(body), size):
        yield body[at : at + size]


def _shown(key: str, data: bytes, *, as_text: bool) -> dict[str, Any]:
    """Bytes as a JSON member: as text when they came as text and still are, else as base64."""
    if as_text:
        try:
            return {key: data.decode("utf-8", "surrogatepass")}
        except UnicodeDecodeError:
            return {f"{key}_base64": base64.b64encode(data).decode("ascii")}
    return {f"{key}_base64": base64.b64encode(data).decode("ascii")}
