"""From end to end: the official OpenAI SDK, a real mitmdump with the addon, a scripted upstream; all on loopback.

One mitmdump serves all tests. Its configuration has a route for each kind, chosen by the first part of the path; the
second is a number that tells the flow. What is checked is what the SDK hands to an agent (text, calls that parse,
finish reason, usage), what is in the flow, and at the end that mitmdump has nothing to complain of.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import openai
import pytest
from mitmproxy import http

from support.chatclient import HEAD, USAGE, chunk, event, outer, received
from support.fiveroutes import BLOCK, INVOKE, MEANT, TAGGED, TEXT
from support.fiveroutes import CONFIG as FIVE_ROUTES
from support.loopback import EVENTS, LIMIT, Host, Reply, encoded
from support.sdk import BROKEN, TOOLS, WAYS, Answer, Calls, Choice, Way, ask, client, streamed, take, whole
from toolcalls.flows import flow_metadata

CONFIG = FIVE_ROUTES
NATIVE = [("call_a", "read_file", '{"path": "größe/日本 😀.md"}'), ("call_b", "now", "{}")]

# By route: what the upstream says, and what the client gets: its text, its calls, the finish reason, the verdicts.
KINDS: dict[str, tuple[str, Calls, str, list[tuple[str, dict[str, str]]], str, str]] = {
    "lift": (TEXT.format(*INVOKE), (), TEXT.format("", ""), MEANT, "tool_calls", "lifted"),
    "lower": ("Let me look.", NATIVE, f"Let me look.\n\n{BLOCK}", [], "stop", "lowered"),
    "same": (TEXT.format(*INVOKE), (), TEXT.format(*INVOKE), [], "stop", "lowered"),
    "other": (TEXT.format(*INVOKE), (), TEXT.format(*TAGGED), [], "stop", "lowered"),
    "observe": ("Let me look.", NATIVE, "Let me look.", MEANT, "tool_calls", "native"),
}


class Place:
    """One client's place at the proxy: a base URL of its own under a route, and the flow of its latest request."""

    def __init__(self, running: Host, route: str) -> None:
        self._running = running
        self._base = f"/{route}{running.prefix()}/v1"
        self.upstream = running.upstream
        self.upstream.asked.clear()

    def url(self, *, tls: bool = False) -> str:
        return f"http{'s' * tls}://127.0.0.1:{self._running.dump.port}{self._base}"

    @property
    def authority(self) -> Path:
        """The certificate of mitmproxy's own authority."""
        return self._running.recording.with_name("mitmproxy-ca-cert.pem")

    def ask(self, way: Way, *replies: Reply, **given: Any) -> Answer:
        """One request with the SDK over HTTP/1.1."""
        self.upstream.replies = list(replies)
        with client(self.url()) as sdk:
            return ask(sdk, way, **given)

    @property
    def flow(self) -> http.HTTPFlow:
        return self._running.flow(f"{self._base}/chat/completions")

    @property
    def verdicts(self) -> list[tuple[str, str | None]]:
        return [
            (verdict["status"], verdict["reason"]) for verdict in self.flow.metadata[flow_metadata.REPORT]["verdicts"]
        ]


def reply(way: Way, text: str, calls: Calls = (), finish: str | None = None, *, coding: str = "", **more: Any) -> Reply:
    """The upstream's reply in the form that a way asks for."""
    finish = finish or ("tool_calls" if calls else "stop")
    pieces = [whole(text, calls, finish)] if way == "whole" else streamed(text, calls, finish)
    headers = {"content-type": "application/json"} if way == "whole" else dict(EVENTS)
    if coding:
        *most, last, end = encoded(pieces, coding)  # in one: the SDK leaves when it has read `[DONE]`
        return Reply([*most, last + end], headers | {"content-encoding": coding}, **more)
    return Reply(pieces, headers, framing="length" if way == "whole" else "chunked", **more)


# --- the four kinds of route ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/2.0"])
@pytest.mark.parametrize("coding", ["", "gzip"], ids=["plain", "gzip"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("route", KINDS)
def test_each_kind_of_route(running: Host, route: str, way: Way, coding: str, version: str) -> None:
    said, calls, text, meant, finish, status = KINDS[route]
    place = Place(running, route)
    sent = reply(way, said, calls, coding=coding)
    place.upstream.replies = [sent]
    tls = version == "HTTP/2.0"
    with client(place.url(tls=tls), trusting=place.authority if tls else None) as sdk:
        answer = ask(sdk, way)
    assert answer.only.text == text
    assert answer.only.meant == meant
    assert answer.only.finish == finish
    assert answer.usage == USAGE
    flow = place.flow
    assert flow.request.http_version == version
    assert [name for name, _ in place.verdicts] == [status, status]
    got = flow.response.raw_content if flow.response else b""
    if route in {"same", "observe"}:  # untouched is identical
        assert got == b"".join(sent.pieces if route == "observe" else reply(way, said, calls).pieces)
    elif way != "whole":
        received(got or b"")  # a client that is stricter than the SDK


@pytest.mark.parametrize("coding", ["br", "zstd"])
def test_other_codings(running: Host, coding: str) -> None:
    place = Place(running, "lift")
    answer = place.ask("stream", reply("stream", TEXT.format(*INVOKE), coding=coding))
    assert answer.only.meant == MEANT
    assert place.upstream.asked[-1].headers["accept-encoding"] == "identity"


def test_ids_are_those_of_the_upstream_or_our_own(running: Host) -> None:
    observed = Place(running, "observe").ask("helper", reply("helper", "", NATIVE)).only
    assert [id_ for id_, _, _ in observed.calls] == ["call_a", "call_b"]
    lifted = Place(running, "lift").ask("helper", reply("helper", TEXT.format(*INVOKE))).only
    assert len({id_ for id_, _, _ in lifted.calls if id_}) == 2


@pytest.mark.parametrize("way", WAYS)
def test_a_conversation_goes_on_with_the_result(running: Host, way: Way) -> None:
    """The tool's result goes back under the call's id. It holds a call, too, which the model then quotes: an echo."""
    place = Place(running, "lift")
    messages: list[dict[str, Any]] = [{"role": "user", "content": "What does the file say?"}]
    first = place.ask(way, reply(way, INVOKE[0]), messages=messages).only
    ((id_, name, arguments),) = first.calls
    call = {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
    messages.append({"role": "assistant", "content": first.text, "tool_calls": [call]})
    messages.append({"role": "tool", "tool_call_id": id_, "content": f"It says:\n\n{INVOKE[1]}"})
    second = place.ask(way, reply(way, f"It says:\n\n{INVOKE[1]}"), messages=messages).only
    *_, called, result = json.loads(place.upstream.asked[-1].body)["messages"]
    assert called["tool_calls"] == [call]
    assert (result["tool_call_id"], json.loads(arguments)) == (id_, MEANT[0][1])
    assert (second.text, second.calls, second.finish) == (f"It says:\n\n{INVOKE[1]}", [], "stop")
    third = place.ask(way, reply(way, INVOKE[0]), messages=[*messages, {"role": "user", "content": "again"}]).only
    assert third.calls[0][0] != id_


# --- values -----------------------------------------------------------------------------------------------------------

CONTENT = "".join(f'{number} "größe" \\ <b>日本</b> & \t\n' for number in range(7000))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("route", ["lift", "lower"])
def test_a_large_argument(running: Host, route: str, way: Way) -> None:
    """200 KB, in pieces of 2000 characters."""
    assert len(CONTENT.encode()) > 200_000
    text = f'<invoke name="write_file">\n<parameter name="path">a</parameter>\n<parameter name="content">\n{CONTENT}\n'
    text += "</parameter>\n</invoke>"
    native = [("call_a", "write_file", json.dumps({"path": "a", "content": CONTENT}))]
    said, calls = (text, []) if route == "lift" else ("", native)
    place = Place(running, route)
    pieces = [whole(said, calls)] if way == "whole" else streamed(said, calls, size=2000)
    answer = place.ask(way, Reply(pieces, reply(way, "").headers)).only
    if route == "lift":
        assert answer.meant == [("write_file", {"path": "a", "content": CONTENT})]
    else:
        assert answer.calls == []
        assert CONTENT in answer.text
    assert [status for status, _ in place.verdicts] == ["lifted" if route == "lift" else "lowered"]


@pytest.mark.parametrize("way", WAYS)
def test_two_choices(running: Host, way: Way) -> None:
    """`n=2`: each choice has its own text, its own calls and its own finish reason."""
    place = Place(running, "lift")
    texts = {0: f"One.\n\n{INVOKE[0]}", 1: "Two: no call."}
    if way == "whole":
        body = json.loads(whole(texts[0]))
        body["choices"].append({"index": 1, "message": {**HEAD, "content": texts[1]}, "finish_reason": "stop"})
        pieces = [json.dumps(body).encode()]
    else:
        events = [chunk(HEAD, index=lane) for lane in texts]
        for start in range(0, max(map(len, texts.values())), 4):
            events += [chunk({"content": text[start : start + 4]}, index=lane) for lane, text in texts.items()]
        events += [chunk({}, "stop", index=lane) for lane in texts]
        pieces = [*(event(one) for one in events), event(outer([], usage=USAGE)), b"data: [DONE]\n\n"]
    answer = place.ask(way, Reply(pieces, reply(way, "").headers), n=2)
    assert [choice.text for choice in answer.choices.values()] == ["One.\n\n", texts[1]]
    assert [choice.meant for choice in answer.choices.values()] == [MEANT[:1], []]
    assert [choice.finish for choice in answer.choices.values()] == ["tool_calls", "stop"]
    assert place.verdicts == [("lifted", None)]


# --- replies that do not end well -------------------------------------------------------------------------------------

CUT = TEXT.format(*INVOKE).partition(" 😀.md")[0]  # inside the first argument


def test_length_inside_an_argument(running: Host) -> None:
    """The limit stays to be seen, and the call stays as unfinished as it is."""
    place = Place(running, "lift")
    answer = place.ask("stream", reply("stream", CUT, finish="length")).only
    ((_, name, arguments),) = answer.calls
    assert (name, answer.finish) == ("read_file", "length")
    assert arguments.startswith('{"path":"größe')
    with pytest.raises(json.JSONDecodeError):
        json.loads(arguments)
    assert place.verdicts == [("truncated", "cut_off")]


def test_length_is_what_the_helper_raises(running: Host) -> None:
    with pytest.raises(openai.LengthFinishReasonError):
        Place(running, "lift").ask("helper", reply("helper", CUT, finish="length"))


def test_length_in_a_whole_reply(running: Host) -> None:
    """Nothing of it has been shown yet, so it stays text."""
    place = Place(running, "lift")
    answer = place.ask("whole", reply("whole", CUT, finish="length")).only
    assert answer.finish == "length"
    for _, _, arguments in answer.calls:
        with pytest.raises(json.JSONDecodeError):
            json.loads(arguments)
    assert place.verdicts == [("truncated", "cut_off")]


@pytest.mark.parametrize("way", ["stream", "helper"])
@pytest.mark.parametrize(
    ("after", "verdicts"),
    [
        ("Let me look.", []),
        ("<inv", []),
        (INVOKE[0][:30], [("truncated", "cut_off")]),
        (CUT, [("truncated", "cut_off")]),
    ],
    ids=["text", "opener", "tag", "argument"],
)
def test_an_error_event_passes(running: Host, way: Way, after: str, verdicts: list[tuple[str, str]]) -> None:
    """What the SDK says is the upstream's own message, wherever it came."""
    place = Place(running, "lift")
    error = event({"error": {"message": "the model is overloaded", "code": 503}})
    with pytest.raises(openai.APIError, match="the model is overloaded"):
        place.ask(way, Reply([*streamed(after, finish=None), error]))
    assert place.verdicts == verdicts


def broken(place: Place, said: str) -> Choice:
    """What the SDK has when an upstream breaks off after `said`."""
    answer = Answer()
    with client(place.url()) as sdk:
        chunks = chunks_of(sdk)
        with pytest.raises(BROKEN):
            take_all(answer, chunks)
    assert place.flow.error is not None
    assert said.startswith(answer.only.text)
    return answer.only


def take_all(answer: Answer, chunks: Iterable[Any]) -> None:
    for one in chunks:
        take(answer, one)


def chunks_of(sdk: openai.OpenAI) -> Any:
    """A streamed reply, chunk by chunk."""
    tools: Any = TOOLS
    return sdk.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "go"}], stream=True, tools=tools
    )


@pytest.mark.parametrize("route", ["lift", "same", "other"])
@pytest.mark.parametrize("cut", ["fin", "rst"])
@pytest.mark.parametrize("opener", ["<inv", '<invoke name="read_f'])
def test_the_upstream_breaks_off_in_a_tag(running: Host, opener: str, cut: Any, route: str) -> None:
    """What was complete has arrived; no call is invented."""
    place = Place(running, route)
    said = f"Let me look.\n\n{opener}"
    place.upstream.replies = [Reply(streamed(said, finish=None, size=1), cut=cut)]
    got = broken(place, said)
    assert got.text.strip() == "Let me look."
    assert (got.calls, got.finish) == ([], None)
    assert place.verdicts == ([("truncated", "cut_off")] if "name" in opener else [])


@pytest.mark.parametrize("cut", ["fin", "rst"])
def test_the_upstream_breaks_off_in_an_argument(running: Host, cut: Any) -> None:
    """The call has begun; nobody ends it."""
    place = Place(running, "lift")
    place.upstream.replies = [Reply(streamed(CUT, finish=None), cut=cut)]
    got = broken(place, CUT)
    ((_, name, arguments),) = got.calls
    assert (name, got.finish) == ("read_file", None)
    assert arguments.startswith('{"path":"')
    with pytest.raises(json.JSONDecodeError):
        json.loads(arguments)
    assert place.verdicts == [("truncated", "cut_off")]
    assert place.flow.marked == ":warning:"


@pytest.mark.parametrize("tls", [False, True], ids=["HTTP/1.1", "HTTP/2"])
def test_a_client_that_leaves(running: Host, tls: bool) -> None:
    """It leaves inside a call: the upstream is let go, the flow says what happened, and the next client is served."""
    place = Place(running, "lift")
    long = f'<invoke name="write_file">\n<parameter name="path">a</parameter>\n<parameter name="content">{"x" * 4000}'
    endless = Reply(streamed(long, finish=None), stays=True)
    place.upstream.replies = [endless]
    with client(place.url(tls=tls), trusting=place.authority if tls else None) as sdk:
        chunks = chunks_of(sdk)
        answer = Answer()
        for one in chunks:
            take(answer, one)
            if answer.only.calls and "xxx" in answer.only.calls[0][2]:
                break
        chunks.close()
    assert endless.left.wait(LIMIT)
    flow = place.flow
    assert flow.error is not None
    assert place.verdicts == [("truncated", "cut_off")]
    assert flow.marked == ":warning:"
    assert Place(running, "lift").ask("stream", reply("stream", INVOKE[1])).only.meant == MEANT[1:]
