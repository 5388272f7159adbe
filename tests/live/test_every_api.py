"""What every API must do, through a real mitmdump, with its official SDK: one table, so that a gap in it can be seen.

| test | rows, each for all of `SDKS` in all of their ways |
| --- | --- |
| an agent runs a call and goes on | plain, TLS, and (streamed) through a proxy with TLS on both sides |
| what a model says | `SHAPES`: two calls with text before, between and after, no arguments, 200 KB, not ASCII, ... |
| how a reply ends | `CUTS` x (limit, broken connection, error event) |
| native to text, and the round trip | `KINDS` |
| every dialect | `DIALECTS`, ranks 1 to 8 of the catalogue, whole conversations, the APIs in turn |
| an SDK that runs tools itself | google-genai's automatic function calling, anthropic's tool runner |

One mitmdump serves all of them, in reverse and in forward mode; the route is the first part of the path. What is
checked is what the SDK hands to an agent, what the upstream is told in the next request, and the verdicts in the flows.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import count
from typing import Any, Literal
from urllib.parse import urlsplit

import anthropic
import pytest

from support import geminiclient
from support.agentclient import (
    OVERLOADED,
    SDKS,
    Answer,
    Gemini,
    Line,
    Sdk,
    Secure,
    Way,
    genai_types,
)
from support.fiveroutes import CONFIG
from support.loopback import Host, Reply, flows_in, mitmdump, upstream
from support.tlsclient import authority, trusting
from toolcalls.flows import flow_metadata

GENAI = int(version("google-genai").partition(".")[0])


type Meant = list[tuple[str, Any]]
type Over = Literal["plain", "tls", "forward"]

FILES = {"größe/日本 😀.md": 'It says "<b>é</b>" & nothing else.\n', "a.md": "Nothing.\n"}
RUN: dict[str, Callable[..., str]] = {
    "read_file": lambda path: FILES[path],
    "now": lambda: "noon",
    "write_file": lambda path, content: f"{len(content)} characters in {path}",
}


# --- one proxy for all ------------------------------------------------------------------------------------------------


@dataclass
class Proxy:
    """A mitmdump in both modes, the upstream after each, and what every flow must hold in the end."""

    host: Host
    secure: Secure
    forward: int
    trust: Any
    expected: dict[str, list[str]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def line(self, route: str, over: Over = "plain") -> Line:
        """A way to the upstream under a new path of a route."""
        path = f"/{route}/{next(self._numbers)}"
        if over == "forward":
            return Line(self.secure.url + path, f"http://127.0.0.1:{self.forward}", self.trust)
        scheme, verify = ("https", self.trust) if over == "tls" else ("http", False)
        return Line(f"{scheme}://127.0.0.1:{self.host.dump.port}{path}", None, verify)

    def answers(self, *replies: Reply) -> None:
        """What the upstream answers from here on."""
        for server in (self.host.upstream, self.secure):
            server.asked.clear()
            server.replies = list(replies)

    @property
    def asked(self) -> list[Mapping[str, Any]]:
        """The bodies that have reached the upstream."""
        return [json.loads(one.body) for one in [*self.host.upstream.asked, *self.secure.asked]]


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("acceptance")
    config, recording = folder / "toolcalls.yaml", folder / "all.flow"
    config.write_text(CONFIG, encoding="utf-8")
    trusted = f"ssl_verify_upstream_trusted_ca={authority(folder)}"
    given = ("-w", str(recording), "--set", f"toolcalls_config={config}", "--set", trusted)
    with (
        upstream(Reply([])) as server,
        mitmdump(folder, *given, "--mode", "regular@localhost:0", to=server.url) as dump,
    ):
        dump.port = dump.port_of("reverse proxy to")
        secure = Secure(folder, Reply([]))
        try:
            made = Proxy(Host(server, dump, recording), secure, dump.port_of("HTTP(S) proxy"), trusting(folder))
            yield made
        finally:
            secure.close()
        for path in made.expected:
            made.host.flow(path)
        dump.stop()
        latest = {flow.request.path: flow for flow in flows_in(recording)}
        for path, statuses in made.expected.items():
            data = latest[path].metadata[flow_metadata.REPORT]
            assert [verdict["status"] for verdict in data["verdicts"]] == statuses, path
        assert not re.search(r"Traceback|crashed|[Ee]xception|addon error", dump.output), dump.output


@contextmanager
def asking(proxy: Proxy, sdk: Sdk, way: Way, line: Line, statuses: Sequence[str] = ()) -> Iterator[Any]:
    """A client of the SDK. `statuses` are the verdicts that the latest flow of its path must have in the end."""
    path = "/" + line.base.partition("//")[2].partition("/")[2] + sdk.path(way)
    proxy.expected[path] = list(statuses)
    with sdk.client(line) as client:
        yield client


def ask(proxy: Proxy, name: str, way: Way, route: str, reply: Reply, statuses: Sequence[str]) -> Answer:
    """One request and its reply."""
    sdk, answer = SDKS[name], Answer()
    proxy.answers(reply)
    with asking(proxy, sdk, way, proxy.line(route), statuses) as client:
        sdk.ask(client, way, sdk.begun("Go."), answer)
    return answer


def meant(answer: Answer) -> Meant:
    return [call.meant for call in answer.calls]


WAYS = [(name, way) for name, sdk in SDKS.items() for way in sdk.ways]
every_way = pytest.mark.parametrize(("name", "way"), WAYS, ids=[f"{name}-{way}" for name, way in WAYS])
# A whole reply neither breaks off nor fails in its middle.
STREAMED = [(name, way) for name, way in WAYS if way != "whole"]
every_stream = pytest.mark.parametrize(("name", "way"), STREAMED, ids=[f"{name}-{way}" for name, way in STREAMED])


# --- an agent ---------------------------------------------------------------------------------------------------------


def invoke(name: str, **arguments: str) -> str:
    """A call as most models write it."""
    given = "".join(f'<parameter name="{key}">{value}</parameter>\n' for key, value in arguments.items())
    return f'<invoke name="{name}">\n{given}</invoke>'


PATH = "größe/日本 😀.md"
READ, NOW = invoke("read_file", path=PATH), invoke("now")
MEANT: Meant = [("read_file", {"path": PATH}), ("now", {})]


@pytest.mark.parametrize(
    ("name", "way", "over"),
    [
        (name, way, over)
        for name, way in WAYS
        for over in ("plain", "tls", "forward")
        if over != "forward" or way == "stream"
    ],
)
def test_an_agent_runs_a_call_and_goes_on_with_its_result(proxy: Proxy, name: str, way: Way, over: Over) -> None:
    """Three turns: two calls, one more, an answer. Each request tells the upstream of all calls and results so far."""
    sdk = SDKS[name]
    said = [f"I look.\n\n{READ}\n{NOW}", f"And:\n{NOW}", "That is all."]
    proxy.answers(*(sdk.said(way, text) for text in said))
    talk = sdk.begun("What does the file say?")
    done: list[tuple[str, Any, str]] = []
    texts, ids = [], []
    with asking(proxy, sdk, way, proxy.line("lift", over)) as client:
        while True:
            answer = Answer()
            sdk.ask(client, way, talk, answer)
            texts.append(answer.text)
            ids += [call.id for call in answer.calls if call.id]
            assert answer.finish == sdk.stopped[bool(answer.calls)]
            if not answer.calls:
                break
            results = [RUN[call.name](**call.arguments) for call in answer.calls]
            done += [(*call.meant, result) for call, result in zip(answer.calls, results, strict=True)]
            talk += sdk.results(answer, results)
            assert len(done) < 9
    assert done == [("read_file", {"path": PATH}, FILES[PATH]), ("now", {}, "noon"), ("now", {}, "noon")]
    assert texts == ["I look.\n\n", "And:\n", "That is all."]
    assert len(set(ids)) == len(ids), "an id that comes twice in a conversation"
    assert [sdk.told(body) for body in proxy.asked] == [[], done[:2], done]


# --- what a model says ------------------------------------------------------------------------------------------------

# Quotes, escapes, tags and four scripts; over 200 KB as UTF-8.
LONG = "".join(f'{number} "größe" \\ <b>日本</b> & \t😀\n' for number in range(6000)).strip()
# By row: what the model says, the text and the calls that the agent gets, how many characters come at once.
SHAPES: dict[str, tuple[str, str, Meant, int]] = {
    "nothing but a call": (READ, "", MEANT[:1], 5),
    "two calls, text before, between and behind": (
        f"Naïve: I look.\n\n{READ}\n\nAnd the time:\n\n{NOW}\n\nThat is all.",
        "Naïve: I look.\n\n\n\nAnd the time:\n\n\n\nThat is all.",
        MEANT,
        3,
    ),
    "no arguments": (f"So:\n{NOW}", "So:\n", MEANT[1:], 2),
    "an argument of 200 KB": (
        invoke("write_file", path="a", content=LONG),
        "",
        [("write_file", {"path": "a", "content": LONG})],
        2000,
    ),
    "not ASCII, each character alone": (
        f"日本 😀\n{invoke('write_file', path=PATH, content='é\u2028😀\u0301')}",
        "日本 😀\n",
        [("write_file", {"path": PATH, "content": "é\u2028😀\u0301"})],
        1,
    ),
    "text alone": ("Größe < 3 && x > 1 <inv", "Größe < 3 && x > 1 <inv", [], 2),
}


@pytest.mark.parametrize("row", SHAPES)
@every_way
def test_what_a_model_says(proxy: Proxy, name: str, way: Way, row: str) -> None:
    said, text, calls, size = SHAPES[row]
    sdk = SDKS[name]
    answer = ask(proxy, name, way, "lift", sdk.said(way, said, size=size), ["lifted"] * len(calls))
    assert meant(answer) == calls
    assert answer.text == text
    assert answer.finish == sdk.stopped[bool(calls)]
    if row.startswith("two calls, text") and answer.order and not (name == "gemini" and way == "whole"):
        assert answer.order == "tctct"


def test_the_long_argument_is_long() -> None:
    assert len(LONG.encode()) > 200_000


# --- how a reply ends -------------------------------------------------------------------------------------------------

# By row: what the model has said when its reply ends, the text that the agent has by then, and the verdict.
CUTS: dict[str, tuple[str, str, list[str]]] = {
    "in a text": ("I look.", "I look.", []),
    "in an opener": ("I look.\n<inv", "I look.\n<inv", []),
    "in a name": (f"I look.\n{READ[:20]}", f"I look.\n{READ[:20]}", ["truncated"]),
    "in an argument": (f"I look.\n{READ[:55]}", "I look.\n", ["truncated"]),
    "behind a call": (f"I look.\n{READ}\n", "I look.\n", ["lifted"]),
}


@pytest.mark.parametrize("row", CUTS)
@every_way
def test_a_reply_that_met_its_limit(proxy: Proxy, name: str, way: Way, row: str) -> None:
    """The limit stays to be seen. A call that broke off never looks whole, or it is text."""
    said, text, statuses = CUTS[row]
    sdk = SDKS[name]
    answer = ask(proxy, name, way, "lift", sdk.said(way, said, ending="length"), statuses)
    assert answer.finish == sdk.limited
    assert [call for call in meant(answer) if call in MEANT] == MEANT[: row == "behind a call"]
    # Shown open, or no item of a stream's that has ended; else it is text.
    shown_open = any(call not in MEANT for call in meant(answer)) or (name, way) == ("openai_responses", "stream")
    assert answer.text == (said if row == "in an argument" and not shown_open else text)


@pytest.mark.parametrize("row", ["in an opener", "in an argument", "behind a call"])
@every_stream
def test_a_connection_that_breaks(proxy: Proxy, name: str, way: Way, row: str) -> None:
    """The SDK says so, as without a proxy. What was whole by then has arrived, and nothing is made up."""
    said, text, statuses = CUTS[row]
    sdk, answer = SDKS[name], Answer()
    proxy.answers(sdk.said(way, said, ending="cut", size=1))
    with asking(proxy, sdk, way, proxy.line("lift"), statuses) as client, pytest.raises(sdk.broken):
        sdk.ask(client, way, sdk.begun("Go."), answer)
    assert answer.finish == ""
    assert said.startswith(answer.text)
    assert text.startswith(answer.text)
    assert "I look." in answer.text
    assert not [call for call in meant(answer) if call in MEANT and row != "behind a call"]


@pytest.mark.parametrize("row", ["in an opener", "in an argument", "behind a call"])
@every_stream
def test_an_error_event_passes(proxy: Proxy, name: str, way: Way, row: str) -> None:
    """What the SDK raises is the upstream's own message, wherever it came."""
    said, _, statuses = CUTS[row]
    sdk, answer = SDKS[name], Answer()
    proxy.answers(sdk.said(way, said, ending="error"))
    with asking(proxy, sdk, way, proxy.line("lift"), statuses) as client, pytest.raises(sdk.fails, match=OVERLOADED):
        sdk.ask(client, way, sdk.begun("Go."), answer)
    assert not [call for call in meant(answer) if call in MEANT and row != "behind a call"]


# --- native to text, and the round trip -------------------------------------------------------------------------------

SAID = f"I look.\n\n{READ}\n\nAnd the time:\n\n{NOW}\n\nThat is all."
BLOCK = f"<function_calls>\n{READ}\n{NOW}\n</function_calls>".replace("\n</invoke>\n</f", "</invoke>\n</f")
TAGGED = ["<read_file>\n<path>größe/日本 😀.md</path>\n</read_file>", "<now>\n</now>"]
# By route: what the upstream says, the text and the calls that the client gets, the verdicts.
KINDS: dict[str, tuple[str, Meant, str, Meant, list[str]]] = {
    "lower": ("I look.", MEANT, f"I look.\n\n{BLOCK}", [], ["lowered", "lowered"]),
    "same": (SAID, [], SAID, [], ["lowered", "lowered"]),
    "other": (SAID, [], SAID.replace(READ, TAGGED[0]).replace(NOW, TAGGED[1]), [], ["lowered", "lowered"]),
    "observe": ("I look.", MEANT, "I look.", MEANT, ["native", "native"]),
}


@pytest.mark.parametrize("route", KINDS)
@every_way
def test_native_to_text_and_the_round_trip(proxy: Proxy, name: str, way: Way, route: str) -> None:
    said, natives, text, calls, statuses = KINDS[route]
    sdk = SDKS[name]
    answer = ask(proxy, name, way, route, sdk.said(way, said, natives), statuses)
    assert answer.text == text
    assert meant(answer) == calls
    assert answer.finish == sdk.stopped[bool(calls)]


# --- every dialect ----------------------------------------------------------------------------------------------------

_DSML = '<｜DSML｜{0}>\n<｜DSML｜{1}invoke name="read_file">\n<｜DSML｜{1}parameter name="path" string="true">a.md'
_DSML += "</｜DSML｜{1}parameter>\n</｜DSML｜{1}invoke>\n</｜DSML｜{0}>"
_M3 = "]<]minimax[>["
# By rank in the catalogue, the forms of that rank: the dialect that its verdict names, and a call of read_file as its
# models write it, after the prose that may come before it.
DIALECTS: dict[int, list[tuple[str, str]]] = {
    1: [
        (
            "qwen3_xml",
            "I look.\n\n<tool_call>\n<function=read_file>\n<parameter=path>\na.md\n</parameter>\n</function>\n"
            "</tool_call>",
        ),
        (
            "mimo_xml",
            "I look.\n<tool_call><function=read_file><parameter=path>a.md</parameter></function></tool_call>",
        ),
        (
            "seed_oss",
            "I look.\n<seed:tool_call>\n<function=read_file>\n<parameter=path>a.md</parameter>\n</function>\n"
            "</seed:tool_call>",
        ),
    ],
    2: [
        ("invoke", f"I look.\n\ncourt\n{invoke('read_file', path='a.md')}"),
        ("invoke", f"I look.\n<function_calls>\n{invoke('read_file', path='a.md')}\n</function_calls>"),
        ("invoke", f"I look.\n{invoke('read_file', path='a.md').replace('<', '<tml:').replace('<tml:/', '</tml:')}"),
    ],
    3: [
        ("deepseek_dsml", "I look.\n\n" + _DSML.format("tool_calls", "")),
        ("deepseek_dsml", "I look.\n\n" + _DSML.format("function_calls", "")),
        ("deepseek_dsml", "I look.\n\n" + _DSML.format(" calls", " ")),
    ],
    4: [
        (
            "glm_xml",
            "I look.\n<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.md</arg_value>\n</tool_call>",
        ),
        ("glm_xml", "I look.\n<tool_call>read_file<arg_key>path</arg_key><arg_value>a.md</arg_value></tool_call>"),
    ],
    5: [
        ("minimax_m2", f"I look.\n<minimax:tool_call>\n{invoke('read_file', path='a.md')}\n</minimax:tool_call>"),
        (
            "minimax_m3",
            f'I look.\n{_M3}<tool_call>\n{_M3}<invoke name="read_file">{_M3}<path>a.md{_M3}</path>{_M3}</invoke>\n'
            f"{_M3}</tool_call>",
        ),
        ("minimax_arrow", 'I look.\n[TOOL_CALL]\n{tool => "read_file", args => {\n  --path "a.md"\n}}\n[/TOOL_CALL]'),
    ],
    6: [
        (
            "kimi_k2",
            "I look.<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>"
            '{"path": "a.md"}<|tool_call_end|><|tool_calls_section_end|>',
        ),
        (
            "kimi_k3",
            'I look.<|open|>tools<|sep|><|open|>call tool="read_file" index="1"<|sep|><|open|>argument key="path" '
            'type="string"<|sep|>a.md<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>',
        ),
    ],
    7: [
        ("hermes", 'I look.\n<tool_call>\n{"name": "read_file", "arguments": {"path": "a.md"}}\n</tool_call>'),
        ("fenced_json", '```json\n{"name": "read_file", "arguments": {"path": "a.md"}}\n```'),
        ("bare_json", '{"name": "read_file", "arguments": {"path": "a.md"}}'),
    ],
    8: [
        (
            "harmony",
            '<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{"path": "a.md"}<|call|>',
        ),
        ("harmony_stripped", 'commentary to=functions.read_file json{"path": "a.md"}'),
    ],
}
FORMS = [(rank, dialect, said) for rank, forms in DIALECTS.items() for dialect, said in forms]
# Each form on two APIs, so that all five get some of every kind; streamed on the one, whole on the other.
TURNS = [
    (rank, dialect, said, [*SDKS][(number + other) % len(SDKS)], way)
    for number, (rank, dialect, said) in enumerate(FORMS)
    for other, way in enumerate(("stream", "whole"))
]


def test_the_table_of_dialects_has_every_rank() -> None:
    assert [*DIALECTS] == [*range(1, 9)]
    assert {name for *_, name, _ in TURNS} == set(SDKS)


@pytest.mark.parametrize(
    ("rank", "dialect", "said", "name", "way"),
    TURNS,
    ids=[f"{rank}-{dialect}-{number // 2}-{name}" for number, (rank, dialect, _, name, _) in enumerate(TURNS)],
)
def test_every_dialect(proxy: Proxy, rank: int, dialect: str, said: str, name: str, way: Way) -> None:  # noqa: ARG001
    sdk = SDKS[name]
    proxy.answers(sdk.said(way, said, size=3), sdk.said(way, "Nothing, then."))
    talk, first, last = sdk.begun("What does a.md say?"), Answer(), Answer()
    line = proxy.line("lift")
    with asking(proxy, sdk, way, line) as client:
        sdk.ask(client, way, talk, first)
        ((tool, arguments),) = meant(first)
        talk += sdk.results(first, [RUN[tool](**arguments)])
        sdk.ask(client, way, talk, last)
    assert first.text.strip() == ("I look." if said.startswith("I look.") else "")
    assert (last.text, last.calls) == ("Nothing, then.", [])
    assert sdk.told(proxy.asked[-1]) == [("read_file", {"path": "a.md"}, FILES["a.md"])]
    assert f"({dialect})" in proxy.host.dump.wait_for(f"{urlsplit(line.base).path}/", "lifted read_file")


# --- SDKs that run tools themselves -----------------------------------------------------------------------------------


def _in_last_frame(text: str, last: str | Mapping[str, Any]) -> Reply:
    """A stream of Gemini's API in which the finish reason comes beside something."""
    replies = geminiclient.reply([text]), geminiclient.reply([last], "STOP")
    return Reply([geminiclient.body_of([one]) for one in replies])


@pytest.mark.parametrize("shape", ["whole", "stream", "last_frame"])
def test_google_genai_calls_functions_by_itself(proxy: Proxy, shape: str) -> None:
    """`last_frame`: the call's end and the finish reason come in one frame, else an empty text after it says `STOP`.

    The API sends both. Of a stream, version 2 keeps the results of the last frame alone: it runs a call in an earlier
    one and never answers it (`Models.generate_content_stream`), also one that the API itself makes. So a lifted call
    must fare as a native one in the same frame does: that is asked first.
    """
    ran: list[str] = []

    def read_file(path: str) -> str:
        """Read a file."""
        ran.append(path)
        return FILES[path]

    sdk = Gemini()
    way: Way = "whole" if shape == "whole" else "stream"
    config = genai_types.GenerateContentConfig(tools=[read_file])

    def fared(route: str, reply: Reply) -> tuple[str, list[str], list[tuple[str, Any, str]]]:
        """What the user is shown, the calls that ran, and what the upstream is told of them."""
        ran.clear()
        proxy.answers(reply, sdk.said(way, "That is all."))
        with sdk.client(proxy.line(route)) as client:
            chat = client.chats.create(model="gemini-x", config=config)
            told = [chat.send_message("Read it.")] if way == "whole" else chat.send_message_stream("Read it.")
            text = "".join(part.text or "" for one in told for part in one.candidates[0].content.parts)
        return text, list(ran), sdk.told(proxy.asked[-1])

    if shape == "last_frame":
        call = {"functionCall": {"name": "read_file", "args": {"path": PATH}}}
        native, said = (_in_last_frame("I look.\n\n", last) for last in (call, READ))
    else:
        native = sdk.said(way, "I look.\n\n", [("read_file", {"path": PATH})])
        said = sdk.said(way, f"I look.\n\n{READ}")
    expected = fared("observe", native)
    assert fared("lift", said) == expected
    assert expected[1] == [PATH]
    if GENAI >= 3 or shape != "stream":
        assert expected[0].endswith("That is all.")
        assert expected[2] == [("read_file", {"path": PATH}, FILES[PATH])]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
def test_the_tool_runner_of_anthropic(proxy: Proxy, streamed: bool) -> None:
    ran = []

    @anthropic.beta_tool
    def read_file(path: str) -> str:
        """Read a file."""
        ran.append(path)
        return FILES[path]

    sdk, way = SDKS["anthropic"], "stream" if streamed else "whole"
    proxy.answers(*(sdk.said(way, text) for text in (f"I look.\n\n{READ}", "That is all.")))
    with sdk.client(proxy.line("lift")) as client:
        runner = client.beta.messages.tool_runner(
            model="m", max_tokens=9, tools=[read_file], messages=sdk.begun("Read it."), stream=streamed
        )
        last = runner.until_done()
    assert ran == [PATH]
    assert [block.text for block in last.content] == ["That is all."]
    # It may leave the conversation to the API and send nothing but the result.
    (result,) = proxy.asked[-1]["messages"][-1]["content"]
    assert re.fullmatch(r"toolu_[0-9a-f]{24}", result["tool_use_id"])
    assert (result["type"], result["content"]) == ("tool_result", FILES[PATH])
