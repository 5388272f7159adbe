"""Which clients are recognised by their headers, and what follows: a line of evidence, and a decision by more than it.

Whole requests go through the addon, as mitmproxy hands them over; the words of a header are looked at by themselves.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import contentviews, ctx, http
from mitmproxy.test import tflow, tutils

from support.addons import addon_with
from support.loopback import CALL, PATH, TOOLS, streamed
from toolcalls.flows import flow_metadata
from toolcalls.flows.flow_redaction import redacted
from toolcalls.flows.judging import recorded
from toolcalls.request import Request, Tool
from toolcalls.requests.client_memory import SESSION_HEADERS, ClientMemory
from toolcalls.requests.evidence import Decision, client_pattern, decide
from toolcalls.requests.evidence import call_policy_of as terms_of
from toolcalls.route import VTC_CLIENT_PATTERNS, Access, Config, Filter, Route

HEADERS = ("User-Agent", "X-Title", "HTTP-Referer", "Referer")
TEACHES = f"Call a tool like this:\n\n{CALL}"  # a system prompt that shows what the client speaks
REPLY = b"".join(streamed(f"Let me look.\n\n{CALL}"))

CLINE = {"User-Agent": "Cline/3.90.1"}

type Exchanged = Callable[..., http.HTTPFlow]


@pytest.fixture
def exchanged(tmp_path: Path) -> Iterator[Exchanged]:
    """A request with headers and its reply, which holds a call as text, through an addon; the flow."""
    with addon_with() as addon:

        def exchange(
            headers: dict[str, str],
            *,
            system: str = "Help.",
            declares: bool = False,
            config: str = "",
            says: str = "list the files",
        ) -> http.HTTPFlow:
            if config:
                file = tmp_path / "toolcalls.yaml"
                file.write_text(config, encoding="utf-8")
                ctx.options.update(toolcalls_config=str(file))
            messages = [{"role": "system", "content": system}, {"role": "user", "content": says}]
            asked = {"model": "m", "stream": True, "messages": messages, **({"tools": TOOLS} if declares else {})}
            flow = tflow.tflow(req=tutils.treq(method=b"POST", path=PATH.encode()))
            flow.request.content = json.dumps(asked).encode()
            flow.request.headers.update(headers)
            flow.response = http.Response.make(200, REPLY, {"content-type": "text/event-stream"})
            for hook in (addon.requestheaders, addon.request, addon.responseheaders, addon.response):
                hook(flow)
            return flow

        yield exchange


def report_of(flow: http.HTTPFlow) -> dict[str, Any]:
    return dict(flow.metadata[flow_metadata.REPORT])


def recognised(flow: http.HTTPFlow) -> list[str]:
    return [line for line in report_of(flow)["evidence"] if line.startswith("the client matches ")]


# --- a request with a header ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize(
    ("value", "pattern"),
    [("Cline/3.90.1", "cline"), ("Kilo Code", "kilo"), ("https://roocode.example/RooCode", "roo")],
    ids=("cline", "kilo", "roo"),
)
def test_a_client_is_recognised_by_each_header(exchanged: Exchanged, header: str, value: str, pattern: str) -> None:
    flow = exchanged({header: value})
    line = f"the client matches {pattern} ({header.lower()})"
    assert recognised(flow) == [line]
    assert flow.response is not None
    assert line in contentviews.prettify_message(flow.response, flow, "Tool calls").text


@pytest.mark.parametrize("header", HEADERS)
def test_another_client_is_not_recognised(exchanged: Exchanged, header: str) -> None:
    assert recognised(exchanged({header: "opencode/1.18.33 decline-bot"})) == []


@pytest.mark.parametrize("header", ["Origin", "X-Client-Name", "From"])
def test_no_other_header_is_looked_at(exchanged: Exchanged, header: str) -> None:
    assert recognised(exchanged({header: "Cline/3.90.1"})) == []


def test_the_patterns_are_those_of_the_configuration(exchanged: Exchanged) -> None:
    config = "vtc_client_patterns: [goose]\n"
    assert recognised(exchanged({"User-Agent": "Cline/3.90.1"}, config=config)) == []
    assert recognised(exchanged({"User-Agent": "goose/1.2"}, config=config)) == [
        "the client matches goose (user-agent)"
    ]


# --- what it decides --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "asked", "client", "kind"),
    [
        pytest.param({}, {}, "unknown", "observe", id="nothing"),
        pytest.param({}, {"system": TEACHES}, "text", "roundtrip", id="a-prompt"),
        pytest.param({}, {"declares": True}, "native", "lift", id="tools"),
        pytest.param({}, {"system": TEACHES, "declares": True}, "native", "lift", id="tools-and-a-prompt"),
        pytest.param(CLINE, {}, "text", "roundtrip", id="a-name"),
        pytest.param(CLINE, {"system": TEACHES}, "text", "roundtrip", id="a-name-and-a-prompt"),
        pytest.param(CLINE, {"declares": True}, "native", "lift", id="a-name-and-tools"),
        pytest.param(CLINE, {"system": TEACHES, "declares": True}, "native", "lift", id="all"),
    ],
)
def test_a_name_decides_only_where_no_tools_are_declared(
    exchanged: Exchanged, headers: dict[str, str], asked: dict[str, Any], client: str, kind: str
) -> None:
    """Agents that once wrote calls as text declare tools today and reject text."""
    flow = exchanged(headers, **asked)
    assert (report_of(flow)["client"], report_of(flow)["kind"]) == (client, kind)
    assert bool(recognised(flow)) == bool(headers)
    assert flow.response is not None
    assert (flow.response.content == REPLY) == (kind != "lift")


def test_the_line_stands_between_the_tools_and_the_prompt(exchanged: Exchanged) -> None:
    flow = exchanged({"X-Title": "Cline"}, system=TEACHES, declares=True)
    assert report_of(flow)["evidence"] == [
        "the request declares 1 tool",
        "the client matches cline (x-title)",
        "the system prompt teaches invoke",
    ]


def test_without_patterns_nobody_is_a_text_client(exchanged: Exchanged) -> None:
    flow = exchanged({"User-Agent": "Cline/3.90.1"}, system=TEACHES, config="vtc_client_patterns: []\n")
    assert recognised(flow) == []
    assert (report_of(flow)["client"], report_of(flow)["kind"]) == ("unknown", "observe")


# --- the session ------------------------------------------------------------------------------------------------------

EARLIER = "the client matched cline (user-agent) in an earlier request of this session"
SESSION = {"X-Session-Id": "s1"}


@pytest.mark.parametrize(
    ("route", "system", "translates"),
    [
        (Route(client="text"), "", True),
        (Route(client="text", client_dialect="hermes"), "", True),
        (Route(client="text"), 'Call so:\n<tool_call>\n{"name": "N", "arguments": {}}\n</tool_call>', True),
        (Route(client="native"), "", False),
    ],
)
def test_calls_are_translated_where_the_clients_dialect_is_certain(
    route: Route, system: str, translates: bool
) -> None:  # fmt: skip
    request = Request(tools=(Tool("Bash"),), system=system)
    assert decide(route, request, {}, ()).translates == translates


@pytest.mark.parametrize("name", SESSION_HEADERS)
def test_a_session_stays_recognised(exchanged: Exchanged, name: str) -> None:
    exchanged({**CLINE, name: "s1"}, says="one")
    later = exchanged({name: "s1", "User-Agent": "node"}, says="two")
    assert (report_of(later)["client"], report_of(later)["evidence"][0]) == ("text", EARLIER)
    assert later.response is not None
    assert later.response.content == REPLY
    assert EARLIER in " ".join(contentviews.prettify_message(later.response, later, "Tool calls").text.split())
    other = exchanged({name: "s2"}, says="one")
    assert (report_of(other)["client"], EARLIER in report_of(other)["evidence"]) == ("unknown", False)


def test_a_session_without_an_id_is_known_by_how_it_begins(exchanged: Exchanged) -> None:
    exchanged(CLINE, says="one")
    assert report_of(exchanged({}, says="one"))["client"] == "text"
    assert report_of(exchanged({}, says="two"))["client"] == "unknown"


def test_tools_outrank_what_the_session_was(exchanged: Exchanged) -> None:
    exchanged({**CLINE, **SESSION})
    flow = exchanged(SESSION, declares=True)
    assert (report_of(flow)["client"], report_of(flow)["kind"]) == ("native", "lift")


@pytest.mark.parametrize("patterns", ["[]", "[goose]"])
def test_a_pattern_that_is_configured_no_more_is_forgotten(exchanged: Exchanged, patterns: str) -> None:
    exchanged({**CLINE, **SESSION})
    flow = exchanged(SESSION, config=f"vtc_client_patterns: {patterns}\n")
    assert report_of(flow)["client"] == "unknown"


def test_a_recording_knows_the_session_without_its_other_requests(exchanged: Exchanged) -> None:
    exchanged({**CLINE, **SESSION})
    flow = exchanged(SESSION)
    read = recorded(redacted(flow), Config())
    assert read.plan.decision == recorded(flow, Config()).plan.decision
    assert read.plan.decision.client == "text"


def test_only_the_latest_sessions_are_remembered() -> None:
    memory = ClientMemory()
    for number in range(5000):
        memory.remember(b"%d" % number, "cline (user-agent)")
    assert memory.recall(b"0") is None
    assert memory.recall(b"4999") == "cline (user-agent)"


# --- the words of a header --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "patterns", "found"),
    [
        pytest.param("cline", VTC_CLIENT_PATTERNS, "cline", id="the-word-alone"),
        pytest.param("CLINE", VTC_CLIENT_PATTERNS, "cline", id="capitals"),
        pytest.param("my cline fork", VTC_CLIENT_PATTERNS, "cline", id="a-word-among-others"),
        pytest.param("RooCode/3", VTC_CLIENT_PATTERNS, "roo", id="a-word-in-camel-case"),
        pytest.param("kilo4/2", VTC_CLIENT_PATTERNS, "kilo", id="a-word-before-a-digit"),
        pytest.param("codex3/1", ("codex2",), None, id="another-digit"),
        pytest.param("decline-bot", VTC_CLIENT_PATTERNS, None, id="the-end-of-a-word"),
        pytest.param("kilobyte/1", VTC_CLIENT_PATTERNS, None, id="the-beginning-of-a-word"),
        pytest.param("c line", VTC_CLIENT_PATTERNS, "cline", id="a-word-in-two"),
        pytest.param("", VTC_CLIENT_PATTERNS, None, id="an-empty-header"),
        pytest.param("RooCode/3", ("roo code",), "roo code", id="two-words"),
        pytest.param("Roo-Code", ("RooCode",), "RooCode", id="two-words-in-camel-case"),
        pytest.param("Roo/3 the code", ("roo code",), None, id="two-words-apart"),
        pytest.param("agent Roo", ("roo code",), None, id="two-words-cut-off"),
        pytest.param("anything", ("--",), None, id="a-pattern-without-a-word"),
        pytest.param("anything", (), None, id="no-patterns"),
        pytest.param("roo cline", ("cline", "roo"), "cline", id="the-first-pattern"),
        pytest.param("GPTAgent", ("gpt",), "gpt", id="capitals-before-a-word"),
    ],
)
def test_a_pattern_is_whole_words(value: str, patterns: tuple[str, ...], found: str | None) -> None:
    matched = client_pattern({"user-agent": value}, patterns)
    assert matched == (None if found is None else f"{found} (user-agent)")


@pytest.mark.parametrize("first", range(len(HEADERS)))
def test_the_first_header_that_matches_is_named(first: int) -> None:
    names = [name.lower() for name in HEADERS]
    headers = {name: "curl/8" if at < first else "Cline" for at, name in enumerate(names)}
    assert client_pattern(headers, VTC_CLIENT_PATTERNS) == f"cline ({names[first]})"


# --- what a route's two sides come to ---------------------------------------------------------------------------------

KINDS = [
    ("native", "text", "lift"), ("native", "auto", "lift"), ("native", "native", "observe"),
    ("text", "native", "lower"), ("text", "text", "roundtrip"), ("text", "auto", "roundtrip"),
    ("auto", "text", "observe"), ("auto", "native", "observe"), ("auto", "auto", "observe"),
]  # fmt: skip


@pytest.mark.parametrize(("client", "upstream", "kind"), KINDS)
def test_the_kind_follows_from_what_both_sides_speak(client: Any, upstream: Any, kind: str) -> None:
    route = Route(client=client, upstream=upstream)
    assert decide(route, Request(), {}, ()).kind == kind
    if client == "auto":
        declares = decide(route, Request(tools=(Tool("Bash"),)), {}, ())
        assert declares.kind == ("observe" if upstream == "native" else "lift")


@pytest.mark.parametrize(("client", "upstream", "kind"), KINDS)
def test_the_evidence_names_what_the_route_says_of_each_side(client: Any, upstream: Any, kind: str) -> None:
    decision = decide(Route(client=client, upstream=upstream), Request(), {}, ())
    assert decision.kind == kind
    sides = (("client", client), ("upstream", upstream))
    said = {f"the route says that the {side} speaks {what}" for side, what in sides if what != "auto"}
    assert said == {sentence for sentence in decision.evidence if sentence.startswith("the route says")}


@pytest.mark.parametrize(("choice", "said"), [("none", True), ("auto", False), ("required", False)])
def test_the_evidence_says_that_no_tool_may_be_called(choice: Any, said: bool) -> None:
    request = Request(tools=(Tool("Bash"),), tool_choice=choice)
    assert ("tool_choice is none" in decide(Route(), request, {}, ()).evidence) == said


@pytest.mark.parametrize(("client", "upstream", "kind"), KINDS)
def test_access_rules_read_what_a_text_client_gets(client: Any, upstream: Any, kind: str) -> None:
    route = Route(client=client, upstream=upstream, access=Access())
    expected = {"lower": "roundtrip", "observe": "process"}.get(kind, kind)
    assert decide(route, Request(), {}, ()).kind == expected


@pytest.mark.parametrize(("client", "upstream", "kind"), KINDS)
def test_only_access_rules_read_what_is_lowered(client: Any, upstream: Any, kind: str) -> None:
    route = Route(client=client, upstream=upstream, filters=(Filter("word", literal="x"),))
    assert decide(route, Request(), {}, ()).kind == ("process" if kind == "observe" else kind)


@pytest.mark.parametrize(("client", "upstream", "kind"), KINDS)
def test_where_an_api_has_no_place_for_calls_nothing_is_done(client: Any, upstream: Any, kind: str) -> None:
    decision = decide(Route(client=client, upstream=upstream), Request(carries_calls=False), {}, ())
    assert (decision.kind, decision.dialect) == ("observe", None)
    assert ("the API has no place for calls" in decision.evidence) == (kind != "observe")


# --- on which terms its text is read ----------------------------------------------------------------------------------

BASH, READ = Tool("Bash"), Tool("Read")
KINDS_OF_TERMS = ["lift", "lower", "roundtrip", "process", "observe"]


def decided(kind: Any, client: str = "native", dialect: str | None = None) -> Decision:
    return Decision(kind, client, "text", dialect, ())


@pytest.mark.parametrize("kind", KINDS_OF_TERMS)
def test_the_terms_follow_from_the_kind(kind: str) -> None:
    route = Route(multiple_calls=False, tools=(READ,))
    policy, tools = terms_of(route, Request(tools=(BASH,)), decided(kind))
    assert policy.lift == (kind in {"lift", "roundtrip"})
    assert policy.remove_frames == (kind == "lift")
    assert policy.route.multiple_calls is (False if kind == "lift" else None)
    assert policy.request.tools == (BASH, READ)
    assert policy.route.tools == ()
    assert ("Bash" in tools, "Read" in tools, "Edit" in tools) == (True, True, False)
    assert not policy.allow_undeclared


@pytest.mark.parametrize("kind", KINDS_OF_TERMS)
def test_elements_that_the_prompt_shows_around_calls_count_where_something_is_lifted(kind: str) -> None:
    request = Request(tools=(BASH,), system=f"Answer so:\n\n<do_it>\n{CALL}\n</do_it>\n")
    policy, _ = terms_of(Route(), request, decided(kind))
    assert policy.wrappers == (("do_it",) if kind in {"lift", "roundtrip"} else ())


@pytest.mark.parametrize(
    ("client", "carries", "unlifted"),
    [
        ("native", True, "observed"), ("text", True, "observed"), ("unknown", True, "no_tools"),
        ("native", False, "api_without_calls"), ("unknown", False, "api_without_calls"),
    ],
)  # fmt: skip
def test_why_nothing_is_lifted_is_known(client: str, carries: bool, unlifted: str) -> None:
    policy, _ = terms_of(Route(), Request(tools=(BASH,), carries_calls=carries), decided("observe", client))
    assert policy.declines("Bash", None) == unlifted
    assert policy.open_calls == (client != "text")


@pytest.mark.parametrize("infer", [True, False])
@pytest.mark.parametrize(
    ("client", "tools", "system", "textual", "undeclared"),
    [
        ("native", (BASH,), "", False, False),
        ("native", (), "", False, False),
        ("text", (BASH,), "", False, False),
        ("text", (), "", True, True),
        ("text", (), "## read_file\nDescription: d\nParameters:\n- path: (required) p\n", True, False),
        ("unknown", (), "", False, False),
    ],
)
def test_what_tools_a_reply_may_call(
    client: str, tools: tuple[Tool, ...], system: str, textual: bool, undeclared: bool, infer: bool
) -> None:
    """A text client's are those that its prompt teaches; where it teaches none in a known form, every name will do."""
    policy, box = terms_of(Route(infer_types=infer), Request(tools=tools, system=system), decided("roundtrip", client))
    assert (box.textual, box.infer, policy.allow_undeclared) == (textual, infer and not textual, undeclared)
    assert ("Bash" in box) == bool(tools)
    assert ("read_file" in box) == bool(system)


def test_a_reply_may_start_in_reasoning_where_something_is_lifted() -> None:
    request = Request(tools=(BASH,), model="deepseek-r1")
    for kind in KINDS_OF_TERMS:
        policy, _ = terms_of(Route(), request, decided(kind))
        assert policy.may_start_in_reasoning == (kind in {"lift", "roundtrip"})
    assert not terms_of(Route(), Request(tools=(BASH,), model="m"), decided("lift"))[0].may_start_in_reasoning
    spoken = terms_of(Route(), request, decided("roundtrip", "text", "hermes"))[0]
    assert spoken.first == ("hermes",)


def test_of_a_long_history_the_models_latest_turns_tell_what_it_speaks() -> None:
    def found(turns: int) -> str:
        history = (CALL, *("It is done.",) * (turns - 1))
        return " ".join(decide(Route(), Request(assistant=history), {}, VTC_CLIENT_PATTERNS).evidence)

    assert "the history holds calls in invoke" in found(8)
    assert "the history holds calls" not in found(9)
