"""`toolcalls rewrite`: the body of a reply in, what the addon would have sent out, verdicts beside it.

Strategy: the same `Exchange` as in the proxy, fed as the bytes arrive, so a live stream can be piped through. Without a
request nothing is declared; tools of a job count as though its request declared them. Without a content type the body
tells its form: an event stream by its first line, lines of JSON by a second one, an array by its bracket.

With a configuration the reply goes through a route of it, as in the proxy: the one that is named, else the first for
the wire and the request's model (a recorded body tells no host). What the command line or a job says besides counts.
The request is not rewritten: the reply is there already.
"""

import base64
import binascii
import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
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
from toolcalls.config import ConfigError, load, select
from toolcalls.dialects import all_dialects
from toolcalls.insight.report import of
from toolcalls.processors.reactor_runner import RUNNER, Broken
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.requests.processing import loop_watch_for, processors_for
from toolcalls.route import VTC_CLIENT_PATTERNS, Config, Route
from toolcalls.wires import Wire, all_wires

_ENOUGH = 8  # bytes that tell an event stream from JSON
_EVENT_STREAM = (b"data", b"event", b"id", b"retry", b":")


def run(arguments: Namespace) -> int:
    """The command. Raises BadInput."""
    options = ("wire", "client", "upstream", "policy", "content_type", "request", "route", "agent")
    given: dict[str, Any] = {name: getattr(arguments, name) for name in options}
    given["config"] = _config(arguments.config) if arguments.config else None
    if arguments.route and not arguments.config:
        raise BadInput("--route: there is no --config to look for it in")
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
    told = of(exchange)
    for line in (*told["verdicts"], *told["notes"]):
        print(as_json(line), file=sys.stderr)
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
    told = of(exchange)
    result["verdicts"] = told["verdicts"]
    if given["config"] is not None:
        result["notes"] = told["notes"]
    if exchange.failure is not None:
        result["failure"] = repr(exchange.failure)
    return result


def _exchange(job: Job, given: dict[str, Any], head: bytes) -> Exchange:
    """The exchange that a job asks for; what it does not say is as `given`. `head` is how the body begins."""
    wire = all_wires()[one_of(job.text("wire", given["wire"]), all_wires(), "wire")]
    request, body = Request(), b""
    if "request" in job:
        request = request_of(wire, job.raw("request"), given["request"] or "request")
        body = job.raw("request").encode("utf-8", "surrogatepass")
    if "tools" in job:
        request = replace(request, tools=with_tools(request.tools, tools_of(job.value("tools"))))
    config: Config | None = given["config"]
    route = _route(job, given, config, wire, request)
    agent = job.text("agent", given["agent"] or "")
    patterns = config.vtc_client_patterns if config is not None else VTC_CLIENT_PATTERNS
    decision = decide(route, request, {"user-agent": agent} if agent else {}, patterns)
    call_policy, tools = call_policy_of(route, request, decision)
    kind = job.text("content_type", given["content_type"] or "")
    form = wire.form("", kind or _type_of(head))
    if form is None:
        raise BadInput(f"content_type: {wire.name} has no replies of type {kind}")
    if form == "whole" and head.lstrip().startswith(b"["):  # no API's whole reply is an array
        form = "json_array"
    seed = blake2b(body, digest_size=16).digest() if body else b""
    processors = processors_for(wire.name, body, route, decision, model=request.model, agent=agent, run=RUNNER)
    watch = loop_watch_for(wire.name, body, route, decision) if config is not None else None
    return Exchange(wire, call_policy, decision, tools, form=form, seed=seed, processors=processors, watch=watch)


def _config(path: str) -> Config:
    """A configuration, its reactors loaded. Raises BadInput that holds every mistake, a line each."""
    try:
        config = load(Path(path), all_dialects(), all_wires())
        RUNNER.load(config)
    except (ConfigError, Broken) as error:
        raise BadInput(str(error)) from error
    return config


def _route(job: Job, given: dict[str, Any], config: Config | None, wire: Wire, request: Request) -> Route:
    """What a job asks for: the configuration's route with what the job and the command line say besides."""
    route = Route()
    if config is not None:
        name = job.text("route", given["route"] or "")
        if name:
            known = {one.name: one for one in (config.default, *config.routes)}
            route = known[one_of(name, known, "route")]
        else:
            route = select(config, host="", path="", model=request.model, wire=wire.name)
    if "client" in job or given["client"]:
        side, dialect = side_of(job.text("client", given["client"]), "client")
        route = replace(route, client=side, client_dialect=dialect)
    if "dialects" in job:
        route = replace(route, dialects=dialects_of(job.value("dialects"), "dialects"))
    if "upstream" in job or given["upstream"]:
        side, dialect = side_of(job.text("upstream", given["upstream"]), "upstream")
        route = replace(route, upstream=side, dialects=(dialect,) if dialect else route.dialects)
    if "policy" in job or given["policy"]:
        route = replace(route, policy=policy_of(job.text("policy", given["policy"])), take=None, require=None)
    if "allowed_tools" in job:
        route = replace(route, allowed_tools=patterns_of(job.value("allowed_tools")))
    return route


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
