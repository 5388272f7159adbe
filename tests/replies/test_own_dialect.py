"""What a text client reads as it is was not changed, and its verdict says so, whichever dialect read it first.

Strategy: each dialect's example, to a client of each dialect. Where the bytes of the reply leave as they came and a
call was counted as the client's, the verdict names the client's dialect, and so the summary says `unchanged`. What
leaves is read by the client's dialect alone, too, which must find each call that was counted.
"""

import json

import pytest

from support.chatclient import HEAD, chunk, event, received, stream
from support.exchanges import of_kind, run
from support.quoting import CALL, DIALECTS, TOOLS, written
from support.sampling import a_few, some
from toolcalls.dialects import UNLIKELY, about, all_dialects
from toolcalls.insight.report import is_unchanged, summarize_verdicts, verdict_data
from toolcalls.processors import Keep, Processors
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import Loops, Route
from toolcalls.shapes import Call
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.writing.writer import begins, calls_in, same_calls

CHAT = all_wires()["openai_chat"]
ROUTE = Route(client="text", upstream="text")
ALIKE = [("invoke", "minimax_m2"), ("invoke", "dots"), ("glm_xml", "hy_v4")]


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


OTHERS = [("qwen3_xml", "invoke"), ("invoke", "qwen3_xml"), ("llama3_json", "hermes"), ("hermes", "json_tags")]


@pytest.mark.parametrize(("client", "spoken"), OTHERS)
def test_a_call_that_the_addon_would_read_and_the_client_does_not_is_written_anew(client: str, spoken: str) -> None:
    assert unchanged(client, spoken) == []


@pytest.mark.sampled(5)
@pytest.mark.parametrize("client", sorted(all_dialects()))
def test_what_leaves_as_it_came_is_unchanged(client: str) -> None:
    for spoken in some(a_few(sorted(all_dialects()), 30, client), 25, client):
        assert all(unchanged(client, spoken)), spoken


def read_alone(dialect: str, text: str) -> list[Call]:
    """The calls that a client finds which knows this dialect, and none that are read with it."""
    route = Route(dialects=(dialect,), policy="lenient", take=("escaped", "inline"))
    made = Reader(CallPolicy(route, Request(tools=TOOLS), alone=True))
    return calls_in([*made.feed(text), *made.finish(cut=False)])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("acts", [False, True])
@pytest.mark.parametrize("client", DIALECTS)
def test_a_client_gets_each_call_as_its_own_dialect_alone_reads_it(client: str, acts: bool) -> None:
    """Not as the addon would also read it: in a damaged form, or in one that the same model writes."""
    processors = Processors(Route(loops=Loops()), run=lambda *_: Keep()) if acts else None
    for spoken in some(a_few(DIALECTS, 6, f"{client} {acts}"), 6, client):
        one = of_kind(CHAT, TOOLS, ROUTE, "roundtrip", form="sse", dialect=client, processors=processors)
        out = received(run(one, [stream([written(spoken)])])).choices[0].text
        given = [Call(call.name, call.arguments) for _, call in one.client_calls]
        damaged = spoken in UNLIKELY and begins(client, out, CALL.name, Toolbox(TOOLS))  # stays: its client may mend it
        assert damaged or same_calls(read_alone(client, out), given), spoken


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
