"""Replies of the Responses API that are fetched by their id: a rule sees their calls as well.

A response that is made in the background has no output in the answer to its request; whoever fetches it gets the calls.
"""

import json

import pytest

from support.loopback import EVENTS, Host, Reply
from support.responsesclient import framed, received, stream
from support.responsesclient import whole as body_of
from support.responsesscene import NATIVE, meant
from support.sdk import client
from toolcalls.flows import flow_metadata

CONFIG = """
routes:
  - {name: deny, match: {path: "/deny/*"}, access: {default: deny, message: "No."}}
  - {name: all, match: {path: "/all/*"}}
"""


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("route", ["deny", "all"])
def test_a_response_by_its_id(running: Host, route: str, streamed: bool) -> None:
    events = stream([["Look."], *NATIVE])
    path = f"/{route}{running.prefix()}/v1"
    if streamed:
        running.upstream.replies = [Reply([framed(event) for event in events], dict(EVENTS))]
    else:
        running.upstream.replies = [Reply([body_of(events)], {"content-type": "application/json"}, framing="length")]
    with client(f"{running.dump.url}{path}") as sdk:
        if streamed:
            told = [event.to_dict() for event in sdk.responses.retrieve("resp_1", stream=True)]
            calls = [call["name"] for call in received(b"".join(map(framed, told))).calls]
        else:
            calls = [name for name, _ in meant(sdk.responses.retrieve("resp_1"))]
    flow = running.flow(f"{path}/responses/resp_1{'?stream=true' if streamed else ''}")
    statuses = [verdict["status"] for verdict in flow.metadata[flow_metadata.REPORT]["verdicts"]]
    if route == "deny":
        assert (calls, statuses) == ([], ["blocked", "blocked"])
        return
    assert (calls, statuses) == (["read_file", "now"], ["native", "native"])
    got = flow.response.raw_content if flow.response else b""
    assert got == (b"".join(map(framed, events)) if streamed else body_of(events))


def test_what_is_no_response_passes(running: Host) -> None:
    running.upstream.replies = [Reply([b'{"id": 1}'], {"content-type": "application/json"}, framing="length")]
    with client(f"{running.dump.url}/deny/odd/v1") as sdk:
        answer = sdk.responses.with_raw_response.retrieve("resp_odd")
    assert json.loads(answer.http_response.content) == {"id": 1}
