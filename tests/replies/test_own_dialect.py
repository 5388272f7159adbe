"""What a text client reads as it is was not changed, and its verdict says so, whichever dialect read it first.

Strategy: each dialect's example, to a client of each dialect. Where the bytes of the reply leave as they came and a
call was counted as the client's, the verdict names the client's dialect, and so the summary says `unchanged`.
"""

import json

import pytest

from support.chatclient import HEAD, chunk, event, stream
from support.exchanges import of_kind
from support.sampling import some
from toolcalls.dialects import about, all_dialects
from toolcalls.insight.report import is_unchanged, summarize_verdicts, verdict_data
from toolcalls.request import Tool
from toolcalls.route import Route
from toolcalls.wires import all_wires

CHAT = all_wires()["openai_chat"]
ROUTE = Route(client="text", upstream="text")
ALIKE = [("invoke", "minimax_m2"), ("invoke", "dots"), ("llama3_json", "bare_json"), ("glm_xml", "hy_v4")]


def unchanged(client: str, spoken: str) -> list[bool]:
    """Whether each call of an example in the dialect `spoken` is unchanged; [] where the client's bytes differ."""
    example, call = about(spoken).example, about(spoken).call
    keys = {key: {"type": "string"} for key in json.loads(call.arguments)}
    one = of_kind(CHAT, (Tool(call.name, {"properties": keys}),), ROUTE, "roundtrip", form="sse", dialect=client)
    body = stream([example[at : at + 9] for at in range(0, len(example), 9)])
    if one.feed(body) + one.close() != body:
        return []
    verdicts = [verdict_data(verdict) for _, verdict in one.verdicts if verdict.status == "lowered"]
    assert all(summarize_verdicts([one], client_dialect=client).startswith("unchanged") for one in verdicts)
    return [is_unchanged(verdict, client) for verdict in verdicts]


@pytest.mark.parametrize(("client", "spoken"), ALIKE)
def test_a_call_that_reads_alike_is_unchanged(client: str, spoken: str) -> None:
    assert unchanged(client, spoken) == [True]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("client", sorted(all_dialects()))
def test_what_leaves_as_it_came_is_unchanged(client: str) -> None:
    for spoken in some(sorted(all_dialects()), 25, client):
        assert all(unchanged(client, spoken)), spoken


def test_a_block_that_is_not_closed_yet_holds_back_no_more_than_may_wait() -> None:
    """Its last character waits for what closes it, and with it all frames after: up to `max_frame_bytes`."""
    call = '<invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke>'
    tools = (Tool("Bash", {"properties": {"command": {"type": "string"}}}),)
    route = Route(client="text", upstream="text", max_frame_bytes=2000)
    one = of_kind(CHAT, tools, route, "roundtrip", form="sse", dialect="apertus")
    assert b"Bash" not in one.feed(event(chunk(HEAD)) + event(chunk({"content": call})))
    pings = [b": ping %d\n\n" % number for number in range(300)]
    out = b"".join(map(one.feed, pings))
    assert pings[0] in out
    assert pings[100] in out
