"""`toolcalls rewrite`: reads the body of a reply and writes what the addon would have sent, with the verdicts.

Strategy: the same `Exchange` as in the proxy is fed as the bytes arrive, so a live stream can be piped through. Without
a request no tools are declared; tools of a job count as though its request declared them. Without a content type the
body's first bytes decide its form (`body_heads`).

With a configuration the reply goes through one of its routes, as in the proxy: the one that is named, else the first
for the wire and the request's model (a recorded body has no host). The command line and the job override the route. The
request is not rewritten, since the reply exists already.
"""

import base64
import binascii
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from toolcalls.config import ConfigError, load, select
from toolcalls.dialects import all_dialects
from toolcalls.insight.report import make_report
from toolcalls.own_dialects.loading import Loading
from toolcalls.processors.reactor_runner import RUNNER, Broken
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.requests.processing import loop_watch_for, processors_for
from toolcalls.route import VTC_CLIENT_PATTERNS, Config, Route
from toolcalls.streams import BadInput, as_json, open_input, print_error, read_json, write_output
from toolcalls.tools.jobs import Job, run_jobs
from toolcalls.tools.options import (
    conversation_in,
    dialects_of,
    mended_of,
    one_of,
    patterns_of,
    policy_of,
    side_of,
    tools_of,
    with_tools,
)
from toolcalls.tools.rewrite.body_heads import head_of, pieces_of, type_of
from toolcalls.wires import CONTENT_TYPES, Wire, all_wires
from toolcalls.wires.frames import Form

# What the command line may say for all jobs, beside the configuration.
OPTIONS = ("wire", "client", "upstream", "policy", "content_type", "request", "route", "agent")
_OK, _ERRORS = 200, 400  # the status of a job's reply where it says none; the first of an error


def run(arguments: Namespace) -> int:
    given: dict[str, Any] = {name: getattr(arguments, name) for name in OPTIONS}
    given["config"] = _config(arguments.config) if arguments.config else None
    if arguments.route and not arguments.config:
        raise BadInput("--route: there is no --config to look for it in")
    if arguments.jsonl:
        return run_jobs("toolcalls rewrite", arguments.file, lambda job: result_of(job, given, arguments.chunk))
    job = Job(f'{{"request": {read_json(arguments.request) if arguments.request else "null"}}}')
    with open_input(arguments.file) as source:
        pieces = pieces_of(source, arguments.chunk)
        head = head_of(pieces)
        if "request" not in job:
            head = _to_first_payload(job, given, head, pieces)
        exchange = _exchange(job, given, head)
        write_output(exchange.feed(head))
        for piece in pieces:
            write_output(exchange.feed(piece))
        write_output(exchange.close())
    report = make_report(exchange)
    for line in (*report["verdicts"], *report["notes"]):
        print(as_json(line), file=sys.stderr)
    if exchange.failure is not None:
        print_error("toolcalls rewrite", f"internal error, the rest of the body passed as it is: {exchange.failure!r}")
        return 1
    return 0


def result_of(job: Job, given: dict[str, Any], chunk: int | None = None) -> dict[str, Any]:
    """What is made of one job, without its id: the body that leaves, verdicts and notes. Raises BadInput.

    given   what counts where the job says nothing, by the names of `OPTIONS`, and the configuration (`config`)
    chunk   bytes of a piece in which the body comes; None for all of it at once
    """
    body = _body(job)
    as_text = "body" in job
    if _is_error(job) and (answered := _answered(job, given, body)) is not None:
        made, exchange, form = answered
        report = make_report(exchange)
        about = {"status": _OK, "content_type": CONTENT_TYPES[form]}
        return {**_body_member("body", made, as_text=as_text), **about, **_reported(report)}
    exchange = _exchange(job, given, body)
    left = b"".join(exchange.feed(piece) for piece in _cut(job, body, chunk))
    if job.flag("cut"):
        result = {
            **_body_member("body", left, as_text=as_text),
            **_body_member("held", exchange.abort(), as_text=as_text),
        }
    else:
        result = _body_member("body", left + exchange.close(), as_text=as_text)
    result |= _reported(make_report(exchange))
    if exchange.failure is not None:
        result["failure"] = repr(exchange.failure)
    return result


def _reported(report: Mapping[str, Any]) -> dict[str, Any]:
    return {"verdicts": report["verdicts"], "notes": report["notes"]}


def _is_error(job: Job) -> bool:
    """Whether the job's reply has the status of an error."""
    return (job.size("status", _OK) or _OK) >= _ERRORS


def _answered(job: Job, given: dict[str, Any], body: bytes) -> tuple[bytes, Exchange, Form] | None:
    """The reply that the client is given instead of an error, and its form; None where the error stays."""
    wire = _wire(job, given)
    asked = job.raw("request").encode("utf-8", "surrogatepass") if "request" in job else b'{"stream":false}'
    form = wire.asked_form(wire.path, asked)
    exchange = _exchange(job, given, body, form)
    made = exchange.answer(body, form, job.size("status", _OK) or _OK)
    return None if made is None else (made, exchange, form)


def _exchange(job: Job, given: dict[str, Any], head: bytes, answers: Form | None = None) -> Exchange:
    """The exchange that a job asks for. Members that it lacks are as `given`. `head` is how the body begins.

    answers   the body is an error's, in the place of which a reply of this form is asked for
    """
    wire = _wire(job, given)
    form, is_error = answers or _form(job, given, wire, head), answers is None and _is_error(job)
    asked = None
    if "request" in job:
        asked = conversation_in(wire.name, job.raw("request"), given["request"] or "request")
    request = (wire.unasked(head, form) or Request()) if asked is None else asked.request
    if "tools" in job:
        request = replace(request, tools=with_tools(request.tools, tools_of(job.value("tools"))))
    config: Config | None = given["config"]
    route = _route(job, given, config, wire, request)
    agent = job.text("agent", given["agent"] or "")
    patterns = config.vtc_client_patterns if config is not None else VTC_CLIENT_PATTERNS
    decision = decide(route, request, {"user-agent": agent} if agent else {}, patterns)
    call_policy, tools = call_policy_of(route, request, decision)
    seed = b"" if asked is None else blake2b(asked.body, digest_size=16).digest()
    if is_error:  # it passes as it is, and only what it quotes is looked at
        decision = replace(decision, kind="observe")
    processors = processors_for(asked, route, decision, model=request.model, agent=agent, run=RUNNER, tools=tools.names)
    watch = loop_watch_for(asked, route, decision) if config is not None else None
    return Exchange(
        wire, call_policy, decision, tools, form=form, seed=seed, processors=processors, watch=watch,
        is_error=is_error,
    )  # fmt: skip


def _wire(job: Job, given: dict[str, Any]) -> Wire:
    return all_wires()[one_of(job.text("wire", given["wire"]), all_wires(), "wire")]


def _form(job: Job, given: dict[str, Any], wire: Wire, head: bytes) -> Form:
    """How the body is framed that begins like this."""
    kind = job.text("content_type", given["content_type"] or "") or type_of(head)
    form = wire.form("", kind)
    if form is None and _is_error(job):
        form = "whole"
    if form is None:
        raise BadInput(f"content_type: {wire.name} has no replies of type {kind}")
    if form == "whole" and head.lstrip().startswith(b"["):  # no API's whole reply is an array
        form = "json_array"
    return form


def _config(path: str) -> Config:
    """A configuration, its reactors loaded. Raises BadInput that holds every mistake, a line each."""
    try:
        config = load(Path(path), all_dialects(), all_wires(), Loading())
        RUNNER.load(config)
    except (ConfigError, Broken) as error:
        raise BadInput(str(error)) from error
    return config


def _route(job: Job, given: dict[str, Any], config: Config | None, wire: Wire, request: Request) -> Route:
    """The configuration's route for a job, with what the job and the command line override."""
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
    if "mend" in job:
        route = replace(route, mend=mended_of(job.value("mend")))
    return route


# The body's bytes


def _to_first_payload(job: Job, given: dict[str, Any], head: bytes, pieces: Iterator[bytes]) -> bytes:
    """As much of the body as says whether its API has a place for calls, where there is no request that says it."""
    wire = _wire(job, given)
    form = _form(job, given, wire, head)
    if form == "whole":  # nothing of it leaves earlier
        return head + b"".join(pieces)
    while wire.unasked(head, form) is None and (piece := next(pieces, b"")):
        head += piece
    return head


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
    """The body in the pieces that the job asks for. The bytes that its `chunks` leave over are the last piece."""
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


def _body_member(key: str, data: bytes, *, as_text: bool) -> dict[str, Any]:
    """Bytes as a JSON member: as text if the job's body was text and these bytes are UTF-8, else as base64."""
    if as_text:
        with suppress(UnicodeDecodeError):
            return {key: data.decode("utf-8", "surrogatepass")}
    return {f"{key}_base64": base64.b64encode(data).decode("ascii")}
