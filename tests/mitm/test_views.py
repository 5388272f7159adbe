"""The content views: what they show of replies and requests of every API, live and afterwards, from how little."""

import asyncio
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import FrameType
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy import contentviews, http
from mitmproxy.addons.view import View
from mitmproxy.test import taddons, tflow, tutils

from support import converseclient
from support.addons import addon_with, summary_in, tap_on
from support.loopback import CALL, PATH, TOOLS, asked, streamed, whole
from support.waiting import until
from toolcalls.events import Quotation
from toolcalls.flows import flow_metadata
from toolcalls.insight.descriptions import describe, describe_briefly
from toolcalls.mitm.hooks import ToolCalls
from toolcalls.mitm.in_progress import progress_of
from toolcalls.mitm.live import Live
from toolcalls.mitm.log_line import causes
from toolcalls.mitm.response_tap import ResponseTap
from toolcalls.mitm.views import excerpt, lines, pairing, shortening
from toolcalls.wires import all_wires

TEXT = f"Let me look.\n\n{CALL}"
FENCED = f"Like so:\n\n```\n{CALL}\n```\n"
REPLY_VIEWS = ("Tool calls", "Upstream body", "Client body")
HOSTILE = "\x1b[31mred \x9b2J \u202edlrow \u200b \U000e0041 <script>alert(1)</script>"


@pytest.fixture
def addon() -> Iterator[ToolCalls]:
    with addon_with() as made:
        yield made


def _flow(path: str, request: bytes, body: bytes, content_type: str) -> http.HTTPFlow:
    flow = tflow.tflow(req=tutils.treq(method=b"POST", path=path.encode()), resp=True)
    flow.request.content = request
    flow.response = http.Response.make(200, body, {"content-type": content_type})
    flow.live = True
    return flow


def _streaming(addon: ToolCalls) -> tuple[http.HTTPFlow, ResponseTap]:
    """A flow of which no body has come yet, and what its reply goes through."""
    flow = _flow(PATH, asked(), b"", "text/event-stream")
    assert flow.response is not None
    flow.response.raw_content = None
    return flow, tap_on(addon, flow)


def _through(addon: ToolCalls, flow: http.HTTPFlow) -> http.HTTPFlow:
    for hook in (addon.requestheaders, addon.request, addon.responseheaders, addon.response):
        hook(flow)
    return flow


def _exchange(addon: ToolCalls, text: str, size: int = 7, request: bytes | None = None) -> http.HTTPFlow:
    """A flow that has gone through the addon, with a streamed reply that writes `text`."""
    body = b"".join(streamed(text, size))
    return _through(addon, _flow(PATH, request or asked(), body, "text/event-stream"))


def _shown(flow: http.HTTPFlow, view: str = "auto") -> contentviews.ContentviewResult:
    message = flow.request if view == "Conversation" else flow.response
    assert message is not None
    return contentviews.prettify_message(message, flow, view)


# --- every API and form -----------------------------------------------------------------------------------------------

_SAYS = json.dumps(TEXT)
_FUNCTION = TOOLS[0]["function"]
_SCHEMA = _FUNCTION["parameters"]


def _events(*payloads: str, named: bool = False) -> bytes:
    frames = []
    for payload in payloads:
        name = f"event: {json.loads(payload)['type']}\n" if named else ""
        frames.append(f"{name}data: {payload}\n\n")
    return "".join(frames).encode()


_ITEM = f'{{"type":"message","id":"m1","role":"assistant","content":[{{"type":"output_text","text":{_SAYS}}}]}}'
_RESPONSE = f'{{"id":"r1","object":"response","status":"completed","output":[{_ITEM}],"usage":{{"output_tokens":7}}}}'
_CANDIDATE = f'{{"content":{{"role":"model","parts":[{{"text":{_SAYS}}}]}},"finishReason":"STOP","index":0}}'
_GEMINI = f'{{"candidates":[{_CANDIDATE}],"usageMetadata":{{"candidatesTokenCount":7}}}}'
_OLLAMA = (
    f'{{"model":"m","created_at":"t","message":{{"role":"assistant","content":{_SAYS}}},"done":true,'
    '"done_reason":"stop","prompt_eval_count":3,"eval_count":7}'
)
_USER = {"role": "user", "content": "list the files"}
_MESSAGES: dict[str, Any] = {"model": "m", "messages": [_USER]}
_ANTHROPIC = _MESSAGES | {"max_tokens": 9, "tools": [{"name": "Bash", "input_schema": _SCHEMA}]}
_GEMINI_ASKED = {
    "contents": [{"role": "user", "parts": [{"text": "list the files"}]}],
    "tools": [{"functionDeclarations": [_FUNCTION]}],
}
_RESPONSES_ASKED = {"model": "m", "input": [_USER], "tools": [{"type": "function", **_FUNCTION}]}

# wire, form: path, request, content type, body
APIS: dict[str, tuple[str, dict[str, Any], str, bytes]] = {
    "openai_chat sse": (PATH, json.loads(asked()), "text/event-stream", b"".join(streamed(TEXT))),
    "openai_chat whole": (PATH, json.loads(asked()), "application/json", whole(TEXT)),
    "openai_responses sse": (
        "/v1/responses",
        _RESPONSES_ASKED,
        "text/event-stream",
        _events(
            '{"type":"response.created","response":{"id":"r1","status":"in_progress","output":[]}}',
            '{"type":"response.output_item.added","output_index":0,"item":'
            '{"type":"message","id":"m1","role":"assistant","content":[]}}',
            '{"type":"response.content_part.added","item_id":"m1","output_index":0,"content_index":0,'
            '"part":{"type":"output_text","text":""}}',
            f'{{"type":"response.output_text.delta","item_id":"m1","output_index":0,"content_index":0,"delta":{_SAYS}}}',
            f'{{"type":"response.output_text.done","item_id":"m1","output_index":0,"content_index":0,"text":{_SAYS}}}',
            f'{{"type":"response.output_item.done","output_index":0,"item":{_ITEM}}}',
            f'{{"type":"response.completed","response":{_RESPONSE}}}',
            named=True,
        ),
    ),
    "openai_responses whole": ("/v1/responses", _RESPONSES_ASKED, "application/json", _RESPONSE.encode()),
    "anthropic sse": (
        "/v1/messages",
        _ANTHROPIC,
        "text/event-stream",
        _events(
            '{"type":"message_start","message":{"id":"a1","type":"message","role":"assistant","content":[],"model":"m",'
            '"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1}}}',
            '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
            f'{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{_SAYS}}}}}',
            '{"type":"content_block_stop","index":0}',
            '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}',
            '{"type":"message_stop"}',
            named=True,
        ),
    ),
    "gemini sse": (
        "/v1beta/models/m:streamGenerateContent?alt=sse",
        _GEMINI_ASKED,
        "text/event-stream",
        _events(_GEMINI),
    ),
    "gemini whole": ("/v1beta/models/m:generateContent", _GEMINI_ASKED, "application/json", _GEMINI.encode()),
    "ollama ndjson": (
        "/api/chat",
        _MESSAGES | {"tools": TOOLS},
        "application/x-ndjson",
        _OLLAMA.encode() + b"\n",
    ),
}


@pytest.mark.parametrize("api", APIS)
def test_every_api_has_its_views(addon: ToolCalls, api: str) -> None:
    wire = api.partition(" ")[0]
    if wire not in all_wires():
        pytest.skip(f"there is no wire {wire}")
    path, request, content_type, body = APIS[api]
    flow = _through(addon, _flow(path, json.dumps(request).encode(), body, content_type))
    assert summary_in(flow) == "lifted Bash (invoke)"
    shown = _shown(flow)
    assert shown.view_name == "Tool calls"
    for line in ("SUMMARY: lifted Bash (invoke)", "LIFTED  Bash:", '      <invoke name="Bash">', "    Let me look."):
        assert line in shown.text.splitlines()
    assert "    → Bash {" in shown.text
    assert ("  tokens: " in shown.text) == (wire != "openai_chat")
    for view in REPLY_VIEWS[1:]:
        result = _shown(flow, view)
        assert (result.view_name, result.syntax_highlight) == (view, "javascript")
        assert "Let me" in result.text
    asked_ = contentviews.prettify_message(flow.request, flow)
    assert asked_.view_name == "Conversation"
    assert "  Bash(command)  [" in asked_.text
    assert "    list the files" in asked_.text.splitlines()


def test_the_first_lines_answer_and_what_is_known_besides_comes_last(addon: ToolCalls) -> None:
    usage = {"id": "c1", "model": "m", "choices": [], "usage": {"prompt_tokens": 1200, "completion_tokens": 34,
             "prompt_tokens_details": {"cached_tokens": 1000}}}  # fmt: skip
    pieces = streamed(f"{TEXT}\n\n{FENCED}")
    body = b"".join([*pieces[:-1], b"data: " + json.dumps(usage).encode() + b"\n\n", pieces[-1]])
    shown = _shown(_through(addon, _flow(PATH, asked(), body, "text/event-stream"))).text.splitlines()
    assert shown[:7] == [
        "SUMMARY: 'lifted Bash (invoke) · 1 declined: fenced'",
        " ",
        "CALLS:",
        "  1 lifted:     Bash  text (invoke) → native call",
        "  2 declined:   Bash  text (invoke) → stays as it is (fenced)",
        " ",
        "1 LIFTED  Bash:",
    ]
    titles = [line for line in shown[3:] if line[:1].isupper() or line[:1].isdigit()]
    assert titles == ["1 LIFTED  Bash:", "2 DECLINED  Bash:", "CLIENT GOT, finish tool_calls: |", "EXCHANGE:"]
    behind = shown[shown.index("EXCHANGE:") :]
    assert "  tokens:    1,200 in (1,000 cached), 34 out" in behind
    assert "  does:      'lift: calls written as text become native calls'" in behind


def test_the_moments_of_a_reply_are_told_from_the_requests_beginning(addon: ToolCalls) -> None:
    """By the times of the pieces that the client got; of a call that was cut off none says that it is complete."""
    flow = _exchange(addon, f"{TEXT}\nDone.", 5)
    assert flow.response is not None
    flow.request.timestamp_start, flow.response.timestamp_start = 100.0, 100.5
    pieces = (flow.response.raw_content or b"").split(b"\n\n")[:-1]
    sizes = [len(piece) + 2 for piece in pieces]
    flow.metadata[flow_metadata.TIMES]["client"] = {
        "microseconds": [n * 1_000_000 for n in range(len(sizes))],
        "bytes": sizes,
    }
    calling = [n for n, piece in enumerate(pieces) if b'"arguments":"' in piece and b'"arguments":""' not in piece]
    said = " ".join(" ".join(_shown(flow).text.split("EXCHANGE:")[1].split()).split())
    first, last, end = (f"{0.5 + n:.2f} s" if 0.5 + n < 10 else f"{0.5 + n:.0f} s"
                        for n in (calling[0], calling[-1], len(sizes) - 1))  # fmt: skip
    assert said.startswith(
        f"times: first byte 0.50 s · first argument byte {first} · call complete {last} · end {end}, since the request"
    )
    cut = _shown(_exchange(addon, CALL[:-24])).text
    assert "first argument byte" in cut
    assert "call complete" not in cut


@pytest.mark.parametrize("content_type", ["text/plain; charset=utf-8", ""])
def test_a_stream_that_does_not_say_so_is_shown_as_one(tmp_path: Path, content_type: str) -> None:
    """It is read where a rule may block its calls."""
    config = tmp_path / "toolcalls.yaml"
    rules = "{access: {rules: [{name: n, action: block, tools: other}]}}"
    config.write_text(f"version: 1\ndefaults: {rules}\n", encoding="utf-8")
    addon = ToolCalls()
    with taddons.context(addon) as context:
        context.configure(addon, toolcalls_config=str(config))
        flow = _through(addon, _flow(PATH, asked(), b"".join(streamed(TEXT)), content_type))
    assert summary_in(flow) == "lifted Bash (invoke)"
    assert "    Let me look." in _shown(flow).text.splitlines()
    assert "* call 0 begins: Bash" in _marks(_shown(flow, "Client body").text)


def test_other_traffic_keeps_its_views(addon: ToolCalls) -> None:
    flow = _flow("/other", b'{"a": 1}', b'{"b": 2}', "application/json")
    flow.request.headers["content-type"] = "application/json"
    _through(addon, flow)
    assert _shown(flow).view_name == "JSON"
    assert contentviews.prettify_message(flow.request, flow).view_name == "JSON"
    for view in contentviews.registry.values():
        if view.name in {*REPLY_VIEWS, "Conversation"}:
            for message in (flow.request, flow.response):
                metadata = contentviews.Metadata(flow=flow, http_message=message)
                assert view.render_priority(b"{}", metadata) < 0
                with pytest.raises(ValueError, match="the addon"):
                    view.prettify(b"{}", metadata)


def test_the_end_of_a_long_array_is_read_from_an_element_on(addon: ToolCalls) -> None:
    """Wherever the part that is read begins: in the middle of a string, all that follows would be read inside out."""
    text = 'print("{") # } \\"'
    pieces = [
        json.dumps(
            {"candidates": [{"content": {"role": "model", "parts": [{"text": f"{number} {text}"}]}, "index": 0}]}
        )
        for number in range(9000)
    ]
    end = json.dumps({"candidates": [{"content": {"parts": [{"text": "the end"}]}, "finishReason": "STOP"}]})
    body = f"[{','.join(pieces)},{end}]".encode()
    path, request, *_ = APIS["gemini whole"]
    path = path.replace("generateContent", "streamGenerateContent")
    flow = _through(addon, _flow(path, json.dumps(request).encode(), body, "application/json"))
    for more in range(0, 130, 7):  # wherever the end is cut
        read = excerpt.excerpt(body + b" " * more, "json_array", 4000)
        elements = [frame.data for frame in read.tail if frame.data is not None]
        assert elements
        assert all(element.startswith(b'{"candidates"') for element in elements)
    shown = _shown(flow).text
    assert "8998 print" in _shown(flow, "Upstream body").text
    assert "CLIENT GOT, finish stop: |" in shown


def test_the_parts_of_a_reply_have_their_wires_name(addon: ToolCalls) -> None:
    path, request, content_type, body = APIS["anthropic sse"]
    first, stop = body.index(b"event: content_block_start"), body.index(b"event: message_delta")
    more = body[first:stop].replace(b'"index":0', b'"index":1')
    flow = _through(addon, _flow(path, json.dumps(request).encode(), body[:stop] + more + body[stop:], content_type))
    shown = _shown(flow).text
    assert "CLIENT GOT (block 0)" in shown
    assert "CLIENT GOT (block 1)" in shown
    path, request, content_type, body = APIS["gemini whole"]
    two = body.replace(_CANDIDATE.encode(), (_CANDIDATE + "," + _CANDIDATE.replace('"index":0', '"index":1')).encode())
    flow = _through(addon, _flow(path, json.dumps(request).encode(), two, content_type))
    assert "CLIENT GOT (choice 1)" in _shown(flow).text


# --- what became of a call, in words ----------------------------------------------------------------------------------

_TAKEN = {
    "inline": f"I run {CALL}",
    "fenced": f"```\n{CALL}\n```\n",
    "indented_code": f"Like so:\n\n    {CALL.replace(chr(10), chr(10) + '    ')}\n",
    "inline_code": f"`{CALL.replace(chr(10), '')}`",
    "block_quote": f"> {CALL.replace(chr(10), '')}\n",
    "html_comment": f"<!--\n{CALL}\n-->\n",
    "reasoning": f"<think>\n{CALL}\n</think>\n",
    "undeclared": CALL.replace("Bash", "Other"),
    "echo": CALL,
}


@pytest.mark.parametrize("reason", _TAKEN)
def test_a_rule_that_said_no_says_what_would_take_the_call(reason: str) -> None:
    """And it does."""
    asks = asked(user=CALL) if reason == "echo" else None
    quoted = reason in get_args(Quotation)  # and the reply ends with it
    why = f"1 {'possibly lost' if quoted else 'declined'}: {reason}"
    for config, comment in {"": why, f"take: [{reason}]": "lifted "}.items():
        made = ToolCalls()
        with taddons.context(made) as context, NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(f"version: 1\ndefaults: {{{config}}}\n")
            file.flush()
            context.configure(made, toolcalls_config=file.name)
            flow = _exchange(made, _TAKEN[reason], request=asks)
            assert summary_in(flow).startswith(comment)
            shown = " ".join(_shown(flow).text.split())
            assert (
                f"unless: 'the route has {'tools of this name, or ' * (reason == 'undeclared')}take: [{reason}]'"
                in shown
            ) == (not config)


def test_a_quoted_call_is_shown_to_the_end_of_its_quotation(addon: ToolCalls) -> None:
    """Nothing of it was read but its beginning; what was quoted is seen all the same, and nothing after it."""
    for reason in ("fenced", "indented_code", "block_quote", "html_comment", "reasoning"):
        shown = _shown(_exchange(addon, f"{_TAKEN[reason]}\nmore")).text
        assert f"1 declined: {reason}" in shown
        written = shown.partition("  written: ")[2].partition("  where: ")[0]
        assert "</invoke>" in written
        assert "-la</parameter>" in written
        assert not {"more", "```", "-->", "</think>"} & set(written.split())


def test_what_is_no_call_is_not_told_as_one(addon: ToolCalls) -> None:
    """A result that the model made up, and what comes after the last candidate that is looked at."""
    result = _shown(_exchange(addon, f"{CALL}\n<function_results>\nok\n</function_results>\n")).text
    assert "  2 declined:   a tool result  text → stays as it is (invented_result)" in result
    assert "model:     wrote a tool result itself" in result
    many = _exchange(addon, "\n".join([f"```\n{CALL}\n```"] * 2100), 4000)
    verdict = many.metadata[flow_metadata.REPORT]["verdicts"][-1]
    assert verdict["reason"] == "max_candidates"
    assert describe(verdict, many.metadata[flow_metadata.REPORT]) == (
        "wrote more that begins like a call",
        "got the text as the model wrote it",
    )
    assert describe_briefly(verdict, many.metadata[flow_metadata.REPORT]) == "text → stays as it is"


@pytest.mark.parametrize(
    ("arguments", "client", "became"),
    [
        ("{broken}", "got the text as the model wrote it", "stays as it is"),
        ('{"command": "ls", oops}', "got the beginning of a native call, which is never completed", "never completed"),
    ],
)
def test_a_broken_call_stays_only_where_nothing_of_it_left(
    addon: ToolCalls, arguments: str, client: str, became: str
) -> None:
    """The view, its overview and the log say the same."""
    broken = f'<tool_call>\n{{"name": "Bash", "arguments": {arguments}}}\n</tool_call>\n'
    flow = _exchange(addon, f"{broken}{CALL}")
    report = flow.metadata[flow_metadata.REPORT]
    assert describe(report["verdicts"][0], report)[1] == client
    assert f"1 malformed:  Bash  text (hermes) → {became} (bad_arguments)" in _shown(flow).text
    (line,) = causes(report)
    assert line.startswith(f"Bash, text (hermes) → {became}. bad_arguments: ")


def test_a_flow_from_a_file_says_that_its_verdicts_are_todays(addon: ToolCalls) -> None:
    """Where they are not those of then, and where nobody judged it then: its client got no call."""
    told = "when it was read from a file"
    body = b"".join(streamed(CALL))
    flow = _flow(PATH, asked(), body, "text/event-stream")
    flow.live = False
    for _ in range(2):  # also when it is written with that, and read once more
        addon.exchanges()._reported.discard(flow)
        _through(addon, flow)
        assert summary_in(flow) == "lifted Bash (invoke)"
        assert f"  judged:    {told}" in _shown(flow).text
    then = _exchange(addon, CALL)
    then.live = False
    addon.exchanges()._reported.discard(then)
    _through(addon, then)
    assert "judged" not in then.metadata[flow_metadata.REPORT]
    assert "judged" not in _shown(then).text


# --- the two bodies ---------------------------------------------------------------------------------------------------


def _marks(text: str) -> list[str]:
    """Each event's mark and first words, without its number and those of verdicts."""
    lines = [line[10:11] + re.sub(r"\A *\d* (\[[\d, ]+\] )?", " ", line[11:]) for line in _events_in(text)]
    return [line.partition("  {")[0].rstrip() for line in lines]


def _events_in(text: str) -> list[str]:
    """The lines of a body's view that are events."""
    return [line for line in text.splitlines() if line.strip() and not line.startswith("//")]


def test_a_verdict_names_its_events_and_events_name_their_verdicts(addon: ToolCalls) -> None:
    flow = _exchange(addon, f"Look.\n\n{CALL}\n{FENCED}", size=29)
    body = flow.metadata[flow_metadata.UPSTREAM]
    listed = {
        int(found[1]): found[2] or ""
        for line in _shown(flow, "Upstream body").text.splitlines()[2:]
        if (found := re.match(r".{11} *(\d+) (?:\[([\d, ]+)\])?", line))
    }
    said = _shown(flow, "Tool calls").text
    places = re.findall(r'events (\d+) to (\d+) of "Upstream body", bytes (\d+) to (\d+)', " ".join(said.split()))
    assert len(places) == 2, said
    for number, (first, last, begins, ends) in enumerate(places, 1):
        has = [event for event, verdicts in listed.items() if str(number) in verdicts.split(", ")]
        assert (has[0], has[-1]) == (int(first), int(last))
        part = body[int(begins) : int(ends)]
        assert part.startswith(b"data: ")
        assert "".join(json.loads(one[6:])["choices"][0]["delta"]["content"] for one in part.split(b"\n\n") if one)
    assert "[1]" not in _shown(flow, "Client body").text


def test_the_bodies_mark_what_differs(addon: ToolCalls) -> None:
    """A call and then the same call as an example: only the first one's events are marked."""
    flow = _exchange(addon, f"{CALL}\n{FENCED}", size=29)
    upstream, client = _shown(flow, "Upstream body").text, _shown(flow, "Client body").text
    marks = _marks(upstream)
    assert marks[1:4] == [
        '* text "<invoke name=\\"Bash\\">\\n<paramet"',
        '* text "er name=\\"command\\">ls -la</par"',
        '* text "ameter>\\n</invoke>\\nLike so:\\n\\n`"',
    ]
    assert [mark for mark in marks if mark.startswith('  text "')] == marks[4:-2]
    assert marks[-2:] == ["* finish: stop", "  [DONE]"]
    assert upstream.splitlines()[0].endswith("; 4 did not leave as they came (*)")
    assert "* call 0 begins: Bash" in _marks(client)
    assert _marks(client)[-2:] == ["* call 0 ends, finish: tool_calls", "  [DONE]"]


def test_the_bodies_of_a_reply_that_passed_are_one(addon: ToolCalls) -> None:
    flow = _exchange(addon, "hello")
    for view in REPLY_VIEWS[1:]:
        text = _shown(flow, view).text
        assert "client and upstream have the same" in text.splitlines()[0]
        assert "*" not in text


def test_each_event_has_the_time_of_its_last_byte(addon: ToolCalls) -> None:
    flow = _exchange(addon, "hello there")
    assert flow.response is not None
    body = flow.response.raw_content or b""
    second = body.index(b"\n\n") + 2
    pieces = [second - 5, 20, len(body) - second - 15]
    flow.metadata[flow_metadata.TIMES] = {
        "upstream": {"microseconds": [1_000, 2_500, 12_003_000], "bytes": pieces},
        "client": None,
    }
    times = [line[:9].strip() for line in _events_in(_shown(flow, "Upstream body").text)]
    assert times == ["0.003s", *["12.003s"] * 4]
    flow.metadata[flow_metadata.TIMES]["upstream"]["bytes"][0] += 1
    assert "when they came is not known" in _shown(flow, "Upstream body").text


@pytest.mark.parametrize("broken", [None, {}, {"upstream": 1}, {"upstream": {"microseconds": ["a"], "bytes": ["b"]}}])
def test_metadata_of_a_strange_file_breaks_no_view(addon: ToolCalls, broken: Any) -> None:
    flow = _exchange(addon, TEXT)
    flow.metadata[flow_metadata.TIMES] = broken
    flow.metadata[flow_metadata.UPSTREAM] = broken
    for view in REPLY_VIEWS:
        assert "Couldn't parse" not in _shown(flow, view).text


_RAWS = st.lists(st.sampled_from([b"a", b"b", b"c", b"d", b"e"]), max_size=30)


@given(_RAWS, _RAWS)
def test_pairs_stand_in_one_order(mine: list[bytes], theirs: list[bytes]) -> None:
    """What is marked as common is a row of both; and a body has everything in common with itself."""
    common = [raw for raw, same in zip(mine, pairing.paired(mine, theirs), strict=True) if same]
    rest = iter(theirs)
    assert all(raw in rest for raw in common)
    assert all(pairing.paired(mine, mine))


@given(_RAWS, _RAWS, st.integers(0, 30))
def test_what_is_only_put_between_is_all_that_differs(kept: list[bytes], made: list[bytes], place: int) -> None:
    theirs = [*kept[:place], *(b"new " + raw for raw in made), *kept[place:]]
    assert pairing.paired(theirs, kept) == [not raw.startswith(b"new ") for raw in theirs]


# --- the conversation -------------------------------------------------------------------------------------------------


def _past(name: str, arguments: str, id_: str) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_the_conversation_has_results_beside_their_calls(addon: ToolCalls) -> None:
    request = {
        "model": "qwen3",
        "tools": TOOLS,
        "messages": [
            {"role": "system", "content": "Be brief.\n" * 100},
            {"role": "user", "content": "list and count"},
            {
                "role": "assistant",
                "content": "Both at once.",
                "tool_calls": [_past("Bash", '{"command":"ls"}', "c1"), _past("Bash", '{"command":"wc -l *"}', "c2")],
            },
            {"role": "tool", "tool_call_id": "c2", "content": "12 lines"},
            {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
            {"role": "tool", "tool_call_id": "c9", "content": "of nobody"},
            {"role": "user", "content": "thanks"},
        ],
    }
    flow = _exchange(addon, "bye", request=json.dumps(request).encode())
    text = _shown(flow, "Conversation").text
    shown = [line.strip() for line in text.splitlines()]
    assert shown[0] == f"SUMMARY: qwen3 · 7 messages · 1 tool · {len(json.dumps(request)):,} bytes"
    assert "because:   the request declares 1 tool" in shown
    order = [
        "1 SYSTEM  1,000 characters: |",
        "… 860 characters left out …",
        "2 USER  14 characters: |",
        "3 ASSISTANT  13 characters: |",
        "call    Bash  c1",
        '"command": "ls"',
        "a.py",
        "call    Bash  c2",
        "12 lines",
        "6 TOOL  9 characters: |",
        "of nobody",
        "7 USER  6 characters: |",
    ]
    places = [shown.index(line) for line in order]
    assert places == sorted(places)
    assert shown.count("a.py") == shown.count("12 lines") == 1


def test_the_conversation_says_what_was_rewritten(addon: ToolCalls) -> None:
    flow = _exchange(addon, TEXT)
    came = json.loads(flow.request.content or b"")
    sent = came | {"messages": [{"role": "system", "content": "You have tools."}, *came["messages"]]}
    del sent["tools"]
    flow_metadata.replace_request_body(flow, json.dumps(came).encode(), json.dumps(sent).encode())
    shown = _shown(flow, "Conversation").text
    for line in ("1 SYSTEM *  15 characters", "2 USER  14 characters", "not sent:  'the client''s 1 tool: Bash'"):
        assert line in shown
    assert "THE CLIENT'S OWN" not in shown
    sent["messages"][1] = {"role": "user", "content": "list them"}
    flow.request.content = json.dumps(sent).encode()
    shown = _shown(flow, "Conversation").text
    assert "2 USER *  9 characters" in shown
    assert "list the files" in shown.partition("THE CLIENT'S OWN  1 message")[2]


def test_a_request_that_cannot_be_read_is_shown_as_it_is(addon: ToolCalls) -> None:
    flow = _exchange(addon, "hello", request=b"{nonsense")
    assert contentviews.prettify_message(flow.request, flow).text == "{nonsense"


@pytest.mark.parametrize("key", ["messages", "input", "contents"])
def test_a_long_request_is_made_small(key: str) -> None:
    messages = [{"role": "user", "content": f"message {number} " + "x" * 400} for number in range(3000)]
    made = shortening.reduced(json.dumps({"model": "m", key: messages, "junk": "y" * 100_000}).encode())
    kept = json.loads(made.body)
    assert made.messages == 3000
    assert len(kept[key]) == 3000 - made.left_out + 1 <= shortening.MAX_MESSAGES + 10
    assert len(made.body) < shortening.MAX_BODY
    assert kept[key][0] == messages[0]
    assert kept[key][-1] == messages[-1]
    assert made.note in json.dumps(kept[key], ensure_ascii=False)


def test_left_out_messages_keep_their_numbers(addon: ToolCalls) -> None:
    messages = [{"role": "user", "content": f"message {number}"} for number in range(1, 1001)]
    note = "… 5 messages of 9 bytes left out …"  # somebody may write so, too
    messages[999]["content"] = note
    flow = _exchange(addon, "hello", request=json.dumps({"model": "m", "messages": messages}).encode())
    shown = _shown(flow, "Conversation").text
    assert "999 USER  11 characters: |\n    message 999\n" in shown
    assert f"1000 USER  {len(note)} characters: |\n    {note}" in shown


# --- hostile content --------------------------------------------------------------------------------------------------


def _part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _only_visible(text: str) -> bool:
    return all(character.isprintable() or character in "\n\t" for character in text)


def test_nothing_hidden_reaches_a_screen(addon: ToolCalls) -> None:
    call = CALL.replace("ls -la", HOSTILE)
    request = {
        "model": HOSTILE,
        "tools": [{"type": "function", "function": {"name": "Bash", "description": HOSTILE, "parameters": {}}}],
        "messages": [
            {"role": "system", "content": HOSTILE},
            {"role": "assistant", "content": HOSTILE, "tool_calls": [_past(HOSTILE, f'{{"a":"{HOSTILE}', HOSTILE)]},
            {
                "role": "tool",
                "tool_call_id": HOSTILE,
                "content": [{"type": HOSTILE}, {"type": "text", "text": HOSTILE}],
            },
        ],
    }
    text = f"{HOSTILE}\n\n{call}\n{CALL.replace('Bash', HOSTILE)}"
    flow = _exchange(addon, text, size=11, request=json.dumps(request).encode())
    for view in (*REPLY_VIEWS, "Conversation"):
        shown = _shown(flow, view).text
        assert _only_visible(shown)
        assert "Couldn't parse" not in shown
    assert r"\x1b[31mred \x9b2J \u202edlrow" in _shown(flow).text
    assert "<script>alert(1)</script>" in _shown(flow, "Conversation").text


@given(st.binary(max_size=400))
def test_no_bytes_break_a_view(body: bytes) -> None:
    addon = ToolCalls()
    with taddons.context(addon) as context:
        context.configure(addon)
        flow = _exchange(addon, TEXT)
        assert flow.response is not None
        flow.response.raw_content = body
        flow.metadata[flow_metadata.UPSTREAM] = body[::-1]
        for view in REPLY_VIEWS:
            assert "Couldn't parse" not in _shown(flow, view).text


# --- how little is read -----------------------------------------------------------------------------------------------


def _work(task: Callable[[], object]) -> int:
    """How many functions are called, of ours and of C."""
    count = 0

    def called(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(called)
    try:
        task()
    finally:
        sys.setprofile(None)
    return count


MEGABYTE = 1_000_000
BODIES: dict[str, Callable[[int], tuple[bytes, str]]] = {
    "words": lambda size: (b"".join(streamed("abcd" * (size // 100), 4)), "text/event-stream"),
    "paragraphs": lambda size: (b"".join(streamed("a few words\n" * (size // 13), 4000)), "text/event-stream"),
    "one event": lambda size: (b"".join(streamed("x" * size, size)), "text/event-stream"),
    "tiny events": lambda size: (b"a\n\n" * (size // 3), "text/event-stream"),
    "line ends": lambda size: (b"\r" * size, "text/event-stream"),
    "no end": lambda size: (b"x" * size, "text/event-stream"),
    "one line each": lambda size: (b'{"a":1}\n' * (size // 8), "application/x-ndjson"),
    "whole": lambda size: (whole("a few words\n" * (size // 13)), "application/json"),
}


@pytest.mark.parametrize("view", REPLY_VIEWS)
@pytest.mark.parametrize("kind", BODIES)
def test_a_reply_ten_times_as_long_is_not_more_work(addon: ToolCalls, kind: str, view: str) -> None:
    """A view is made in the proxy's loop: a body of 10 MB must not cost more than one of 1 MB."""
    work = []
    for size in (MEGABYTE, 10 * MEGABYTE):
        body, content_type = BODIES[kind](size)
        flow = _exchange(addon, TEXT)
        assert flow.response is not None
        flow.response.raw_content = body
        flow.response.headers["content-type"] = content_type
        flow.metadata[flow_metadata.UPSTREAM] = body + b"\n"
        work.append(_work(lambda flow=flow: _shown(flow, view)))
        assert len(_shown(flow, view).text) < MEGABYTE
    assert work[1] <= 1.5 * work[0] + 1000
    assert work[1] < 250_000


def test_a_long_call_is_not_more_work(addon: ToolCalls) -> None:
    work = []
    for size in (MEGABYTE, 10 * MEGABYTE):
        flow = _exchange(addon, TEXT)
        verdict = flow.metadata[flow_metadata.REPORT]["verdicts"][0]
        verdict["arguments"] = json.dumps({"content": "a line\n" * (size // 8), "n": list(range(size // 100))})
        flow.metadata[flow_metadata.REPORT]["verdicts"] = [verdict] * (size // 10_000)
        work.append(_work(lambda flow=flow: _shown(flow)))
        assert "left out …" in _shown(flow).text
    assert work[1] <= 1.5 * work[0]


REQUESTS: dict[str, Callable[[int], list[dict[str, Any]]]] = {
    "one message": lambda size: [{"role": "user", "content": "x " * (size // 2)}],
    "many messages": lambda size: [{"role": "user", "content": "a few words " * 80}] * (size // 1000),
    "very many": lambda size: [{"role": "user", "content": ""}] * (size // 32),
    "many calls": lambda size: (
        [{"role": "assistant", "content": None, "tool_calls": [_past("Bash", '{"a": [1, 2, 3]}', "c")] * 9}]
        * (size // 1000)
    ),
    "lines": lambda size: [{"role": "system", "content": "\n" * (size // 2)}],
}


@pytest.mark.parametrize("kind", REQUESTS)
def test_a_request_ten_times_as_long_is_not_more_work(addon: ToolCalls, kind: str) -> None:
    work = []
    for size in (MEGABYTE, 10 * MEGABYTE):
        flow = _exchange(addon, "hello")
        flow.request.content = json.dumps({"model": "m", "messages": REQUESTS[kind](size), "tools": TOOLS}).encode()
        work.append(_work(lambda flow=flow: _shown(flow, "Conversation")))
        assert len(_shown(flow, "Conversation").text) < MEGABYTE
    assert work[1] <= 1.5 * work[0] + 1000
    assert work[1] < 150_000


def test_an_excerpt_of_a_binary_stream_is_both_ends() -> None:
    events = [converseclient.frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "x" * 90}})] * 9000
    body = b"".join(events)
    part = excerpt.excerpt(body, "eventstream", 4)
    assert [frame.raw for frame in part.frames] == events[:8]
    assert part.left_out == len(body) - 8 * len(events[0])
    assert part.starts[-1] == len(body) - len(events[0])


@given(
    st.lists(
        st.sampled_from([b"data: a\n\n", b"\n", b"data: longer than the others\r\n\r\n", b": c\n\n", b"x"]), max_size=60
    ),
    st.integers(1, 8),
)
def test_an_excerpt_is_both_ends_and_counts_the_rest(pieces: list[bytes], most: int) -> None:
    body = b"".join(pieces)
    part = excerpt.excerpt(body, "sse", most)
    head, tail = (b"".join(frame.raw for frame in frames) for frames in (part.head, part.tail))
    assert len(head) + part.left_out + len(tail) == len(body)
    assert body.startswith(head)
    assert body.endswith(tail)
    assert len(part.frames) <= max(2 * most, 1)
    assert [body[start : start + len(frame.raw)] for start, frame in zip(part.starts, part.frames, strict=True)] == [
        frame.raw for frame in part.frames
    ]


@given(st.text(alphabet="ab\n", max_size=200), st.integers(1, 9), st.integers(0, 5), st.integers(1, 60))
def test_a_folded_text_counts_what_it_leaves_out(text: str, most: int, tail: int, size: int) -> None:
    shown = list(lines.folded(text, lines=most, tail=tail, size=size))
    gone = [line for line in shown if line.startswith("… ")]
    left_out = sum(int(line.split()[1].replace(",", "")) for line in gone)
    kept = sum(len(line) for line in shown if not line.startswith("… "))
    assert kept + left_out <= len(text) <= kept + left_out + len(shown)
    if len(text) <= size and text.count("\n") < most:
        assert "\n".join(shown) == text


def test_what_went_out_is_never_wider_than_a_window() -> None:
    """mitmweb wraps nothing, so the end of a long line is past the edge of the window."""
    long = "echo " + "x" * 300
    for text in (long, f"{long}\nls"):
        laid_out = lines.pretty(json.dumps({"command": text, "path": "a"}))
        made = [line.removesuffix(",") for line in lines.data("call", laid_out)]
        assert max(map(len, made)) <= lines._CODE + len("  call:      ") + len(lines._MORE)
        assert "x" * 300 in "".join(line.strip(" │↳") for line in made)


def test_json_that_is_nested_deeper_than_a_line_is_wide() -> None:
    arguments = '{"a":' * 70 + json.dumps("x\n" + "y" * 200) + "}" * 70
    assert any("yyy" in line for line in lines.pretty(arguments))


@given(st.lists(st.text(alphabet="ab é漢 ", max_size=400), max_size=3))
def test_wrapped_lines_make_up_the_long_ones(given_: list[str]) -> None:
    made = list(lines.wrapped(given_))
    assert all(len(line) <= lines._WRAP + len(lines._MORE) for line in made)
    whole: list[str] = []
    for line in made:
        if line.startswith(lines._MORE):
            whole[-1] += line.removeprefix(lines._MORE)
        else:
            whole.append(line)
    assert whole == given_


def test_a_paragraph_is_cut_between_words(addon: ToolCalls) -> None:
    shown = _shown(_exchange(addon, "word and word " * 20)).text.splitlines()
    got = shown[shown.index("CLIENT GOT, finish stop: |") + 1 :][:3]
    assert [line[:6] for line in got] == ["    wo", "    ↳ ", "    ↳ "]
    assert max(map(len, got)) < 120
    assert all(line.endswith(" ") for line in got)


# --- while a reply streams --------------------------------------------------------------------------------------------


class _Told:
    """An addon that notes which flows were said to have changed."""

    def __init__(self) -> None:
        self.flows: list[http.HTTPFlow] = []

    def update(self, flows: list[http.HTTPFlow]) -> None:
        self.flows += flows


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Live]:
    """Grows with each look at the replies that are coming, which are a hundredth of a second apart."""
    monkeypatch.setattr("toolcalls.mitm.live.INTERVAL", 0.01)
    found: list[Live] = []
    look = Live._look

    def counted(live: Live) -> None:
        look(live)
        found.append(live)

    monkeypatch.setattr(Live, "_look", counted)
    return found


def test_the_list_and_the_view_show_a_reply_that_is_coming(looks: list[Live]) -> None:
    async def run() -> None:
        addon, told = ToolCalls(), _Told()
        with taddons.context(addon, View(), told) as context:
            context.configure(addon)
            flow = _flow(PATH, asked(), b"", "text/event-stream")
            assert flow.response is not None
            flow.response.raw_content = None
            for hook in (addon.requestheaders, addon.request, addon.responseheaders):
                hook(flow)
            tap: Any = flow.response.stream
            pieces = streamed(TEXT, 5)
            for piece in pieces[:14]:
                tap(piece)
            await until(lambda: len(looks) >= 3)
            assert summary_in(flow) == "… lifting Bash (invoke)"
            assert len(told.flows) == 1  # nothing more came, so nothing more is told
            shown = _shown(flow)
            assert shown.view_name == "Tool calls"
            assert shown.text.splitlines()[0] == "SUMMARY: 'the reply is still coming: … lifting Bash (invoke)'"
            assert '    → Bash {"command":"ls' in shown.text
            assert "the reply is still coming" in _shown(flow, "Upstream body").text
            for piece in (*pieces[14:], b""):
                tap(piece)
            addon.response(flow)
            assert summary_in(flow) == "lifted Bash (invoke)"
            assert _shown(flow).text.splitlines()[0] == "SUMMARY: lifted Bash (invoke)"
            assert flow_metadata.UPSTREAM in flow.metadata
            seen = len(looks)
            await until(lambda: len(looks) > seen)
            assert len(told.flows) == 1

    asyncio.run(run())


@pytest.mark.parametrize("ends", ["end", "stop"])
def test_a_users_comment_stays_and_ours_goes(looks: list[Live], ends: str) -> None:
    flows = []
    with addon_with() as addon:
        for comment in ("", "look here"):
            flow, tap = _streaming(addon)
            for piece in streamed(TEXT, 5)[:14]:
                tap(piece)
            flow.comment = comment
            flows.append(flow)

    async def run() -> None:
        with taddons.context(View()):
            live = Live()
            for flow in flows:
                live.begin(flow)
            await until(lambda: looks)
            assert [summary_in(flow) for flow in flows] == ["… lifting Bash (invoke)", "look here"]
            if ends == "stop":
                live.stop()
            else:
                for flow in flows:
                    live.end(flow)
            assert [summary_in(flow) for flow in flows] == ["", "look here"]

    asyncio.run(run())


def test_without_a_list_nothing_is_looked_at() -> None:
    """mitmdump has no list, so its replies cost nothing here; not even a loop is needed."""
    with addon_with():
        Live().begin(tflow.tflow(resp=True))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello", ""),
        (TEXT[:70], "… lifting Bash (invoke)"),
        (f"{CALL}\n{CALL[:50]}", "lifted Bash (invoke) · … lifting Bash (invoke)"),
        (f"{TEXT}\n", "… lifted Bash (invoke)"),
        (f"{TEXT}\nSo.", "lifted Bash (invoke)"),
    ],
)
def test_what_a_reply_does_at_the_moment(addon: ToolCalls, text: str, said: str) -> None:
    _, tap = _streaming(addon)
    for piece in streamed(text, reason=None):
        tap(piece)
    assert progress_of(tap.exchange) == said
