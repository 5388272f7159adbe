"""What the headers and the query of a flow keep secret stands nowhere else in what is written of it."""

import base64
import json
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest
from mitmproxy import http
from mitmproxy.io import FlowWriter
from mitmproxy.test import tflow

from support.addons import addon_with
from support.commandline import toolcalls
from support.loopback import CALL, asked, streamed
from toolcalls.flows.flow_records import record_of
from toolcalls.flows.flow_redaction import redacted
from toolcalls.insight.exports import har, jsonl, otel
from toolcalls.insight.own_secrets import NO_SECRETS, own_secrets, without_own_secrets
from toolcalls.insight.turn import turn_of
from toolcalls.mitm.records_in_progress import records_in_progress

SECRET = 'Zq7/pl"ainWord'  # of no known form
HEADERS: dict[str, tuple[str, str]] = {
    "bearer": ("Authorization", f"Bearer {SECRET}"),
    "no scheme": ("authorization", SECRET),
    "a gateway's": ("cf-aig-authorization", f"Bearer {SECRET}"),
    "basic": ("Proxy-Authorization", "Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode()),
    "an API's": ("x-api-key", SECRET),
    "Google's": ("x-goog-api-key", SECRET),
    "a vendor's": ("CF-Access-Client-Secret", SECRET),
    "a token": ("X-Auth-Token", SECRET),
    "a cookie": ("Cookie", f"theme=dark; sid={SECRET}; x=1"),
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_the_secret_of_a_header_is_taken_out_of_text(header: tuple[str, str]) -> None:
    own = own_secrets([("accept", "application/json"), header])
    for spelt in (
        SECRET,
        quote(SECRET, safe=""),
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET)[1:-1].replace("/", "\\/"),
    ):
        assert own.text(f"no key {spelt}.") == "no key <redacted>."
    assert own.body(f"a {SECRET} b".encode()) == b"a <redacted> b"
    assert own.value({"a": [SECRET, 1, None]}) == {"a": ["<redacted>", 1, None]}


def test_the_keys_of_a_query_and_a_cookie_that_is_set() -> None:
    assert own_secrets([], f"https://a/b?alt=sse&key={quote(SECRET)}").text(SECRET) == "<redacted>"
    assert own_secrets([], f"https://me:{quote(SECRET, safe='')}@a/b").text(SECRET) == "<redacted>"
    own = own_secrets([("set-cookie", f"sid={SECRET}; Path=/longer/than/eight; Max-Age=123456789")])
    assert own.values == {SECRET}


def test_what_was_redacted_before_is_no_secret() -> None:
    """It is in all of a recording without secrets, whose bodies would be searched and written anew for it."""
    assert own_secrets([("authorization", "Bearer <redacted>"), ("cookie", "a=<redacted>")]) is NO_SECRETS
    assert own_secrets([("authorization", "Bearer <redacted>"), ("x-api-key", SECRET)]).values == {SECRET}


def test_short_values_and_other_headers_are_no_secrets() -> None:
    headers = [("authorization", "Bearer test"), ("user-agent", "OpenAI/Python 1.2.3"), ("cookie", "a=1; b=dark")]
    assert own_secrets(headers, "https://a/b?alt=sse&api-version=2024-02-01") is NO_SECRETS
    assert NO_SECRETS.text("Bearer test") == "Bearer test"


def flow_with(body: bytes, request: bytes = b"") -> http.HTTPFlow:
    """A flow that was read, with a key in a header of its request."""
    flow = tflow.tflow(resp=True)
    flow.request.path = "/v1/chat/completions"
    flow.request.method = "POST"
    flow.request.headers["authorization"] = f"Bearer {SECRET}"
    flow.request.content = request or asked()
    flow.live = False
    flow.response = http.Response.make(200, body, {"content-type": "text/event-stream"})
    with addon_with() as addon:
        addon.response(flow)
    flow.comment = f"{flow.comment} {SECRET}"
    return flow


REPLIES: dict[str, bytes] = {
    "text": b"".join(streamed(f"Your key is {SECRET}.", 3)),
    "arguments": b"".join(streamed(CALL.replace("ls -la", f"echo {SECRET}"), 5)),
    "no stream": json.dumps({"error": {"message": f"no such key: {SECRET}"}}).encode(),
}


def deltas(body: str) -> list[str]:
    """What a stream says, piece by piece: a secret may be spread over several."""
    payloads = [json.loads(line.removeprefix("data: ")) for line in body.split("\n") if line.startswith("data: {")]
    found = [choice["delta"] for one in payloads for choice in one["choices"]]
    calls = [call for delta in found for call in delta.get("tool_calls", ())]
    return [*(delta.get("content") or "" for delta in found), *(call["function"]["arguments"] for call in calls)]


@pytest.mark.parametrize("body", REPLIES.values(), ids=REPLIES)
def test_nothing_that_is_written_holds_it(body: bytes) -> None:
    said = json.loads(asked(user=f"My key is {SECRET}, keep it."))
    flow = flow_with(body, json.dumps(said).encode())
    clean = redacted(flow)
    assert clean.response is not None
    written = json.dumps([str(clean.get_state())])
    assert SECRET[:6] not in written
    record = record_of(flow)
    entry = har.entry(record)
    bodies = [*deltas(clean.response.text or ""), *deltas(entry["response"]["content"]["text"])]
    assert SECRET[:6] not in "".join(bodies)
    for text in (
        json.dumps(entry),
        jsonl.line(record, content=True),
        otel.lines(otel.spans_of([record], content=True)),
        str(turn_of(record)),
    ):
        assert SECRET[:6] not in text


def test_pieces_are_those_of_the_body() -> None:
    flow = flow_with(b"".join(streamed("Nothing here.")))
    record = record_of(flow)
    assert without_own_secrets(record) == record
    changed = without_own_secrets(replace(record, upstream_body=SECRET.encode()))
    assert changed.upstream_body == b"<redacted>"
    assert (changed.upstream_pieces.sizes, changed.client_pieces) == ((), record.client_pieces)


def begun(addon: Any, body: bytes) -> http.HTTPFlow:
    """A flow whose reply is coming, as far as `body`."""
    flow = tflow.tflow()
    flow.request.path, flow.request.method = "/v1/chat/completions", "POST"
    flow.request.headers["authorization"] = f"Bearer {SECRET}"
    flow.request.content = asked()
    flow.live = True
    flow.response = http.Response.make(200, headers={"content-type": "text/event-stream"})
    flow.response.raw_content = None
    for hook in (addon.requestheaders, addon.request, addon.responseheaders):
        hook(flow)
    tap: Any = flow.response.stream
    tap(body)
    return flow


def test_a_reply_that_is_coming_shows_no_secret() -> None:
    with addon_with() as addon:
        (record,) = records_in_progress(begun(addon, b"".join(streamed(f"It is {SECRET}.", 100, reason=None))))()
    assert b"<redacted>" in (record.upstream_body or b"")
    assert SECRET[:6].encode() not in (record.upstream_body or b"") + (record.client_body or b"")


def test_judge_says_what_was_without_secrets(tmp_path: Any) -> None:
    path, rules = tmp_path / "a.flow", tmp_path / "c.yaml"
    rules.write_text("routes: [{name: r, access: {rules: [{name: no, action: block, tools: Bash}]}}]")
    with addon_with() as addon, path.open("wb") as file:
        flow = begun(addon, REPLIES["arguments"])
        addon.response(flow)
        FlowWriter(file).add(flow)
    done = toolcalls("judge", "--json", "--config", str(rules), str(path))
    assert b'"was"' in done.stdout
    assert SECRET[:6].encode() not in done.stdout


def test_judge_writes_no_secret(tmp_path: Any) -> None:
    path = tmp_path / "a.flow"
    with path.open("wb") as file:
        FlowWriter(file).add(flow_with(REPLIES["arguments"]))
    done = toolcalls("judge", "--json", str(path))
    assert b'"was"' not in done.stdout
    assert SECRET[:6].encode() not in done.stdout
    assert b"<redacted>" in done.stdout
