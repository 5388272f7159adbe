"""Calls that stand word for word in a result of the provider's own tools: in the request, or in the same reply."""

import json
from collections.abc import Iterator, Sequence

import pytest

from support.exchanges import in_pieces, of_request, run
from support.fetched import ANTHROPIC, BODIES, CASES, CHAT, RESULTS, Block, filled, request
from support.quoting import CALL, DIALECTS, TOOLS, written
from support.sampling import a_few, share, some
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.conversation import request_of
from toolcalls.route import PolicyName, Route
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

TOOLBOX = Toolbox(TOOLS)
POLICIES: tuple[PolicyName, ...] = ("standard", "strict", "lenient")


def exchange(wire: str, form: Form, policy: PolicyName, result: Block | None = None) -> Exchange:
    asked = request_of(all_wires()[wire], json.dumps(request(wire, result)).encode())
    route = Route(client="native", upstream="text", policy=policy, tools=TOOLS)
    return of_request(all_wires()[wire], asked, route, form=form, seed=b"x")


def found(one: Exchange) -> list[tuple[str, str | None]]:
    return [(verdict.status, verdict.reason) for _, verdict in one.verdicts if verdict.name == CALL.name]


def dialects_of(key: str, kind: str) -> Sequence[str]:
    """The dialects that are tried in a place. Each is tried in each body, in one kind of result."""
    kinds = sorted(RESULTS[BODIES[key][0]])
    turn = kinds.index(kind) + list(BODIES).index(key)
    return some(share(DIALECTS, turn, len(kinds)), 3, f"{key} {kind}")


def ways(key: str, kind: str, dialect: str) -> Iterator[tuple[PolicyName, int]]:
    """Policies, and the sizes of pieces that are tried with each."""
    for policy in POLICIES:
        for size in a_few((0, 1, 11), 1, f"{key} {kind} {dialect} {policy}"):
            yield policy, size


@pytest.mark.parametrize(("key", "kind"), CASES)
def test_a_call_that_stands_in_a_result_of_the_history_is_an_echo(key: str, kind: str) -> None:
    wire, form, body = BODIES[key]
    for dialect in dialects_of(key, kind):
        call = written(dialect)
        for policy, size in ways(key, kind, dialect):
            one = exchange(wire, form, policy, filled(RESULTS[wire][kind], call))
            sent = body([call])
            assert run(one, in_pieces(sent, size)) == sent, (dialect, policy, size)
            fenced = policy == "strict" and call.startswith("```json")  # that is none in `strict`, wherever it stands
            assert set(found(one)) == {("declined", "fenced" if fenced else "echo")}, (dialect, policy, size)
        one = exchange(wire, form, "standard", filled(RESULTS[wire][kind], "nothing of it"))
        run(one, [body([call])])
        assert found(one) == [("lifted", None)], dialect


@pytest.mark.parametrize(("key", "kind"), CASES)
def test_a_call_that_stands_in_a_result_earlier_in_the_reply_is_an_echo(key: str, kind: str) -> None:
    wire, form, body = BODIES[key]
    for dialect in dialects_of(key, kind):
        call = written(dialect)
        for policy, size in ways(key, kind, dialect):
            one = exchange(wire, form, policy)
            sent = body(["Let me see.\n", filled(RESULTS[wire][kind], call), f"\n{call}"])
            assert run(one, in_pieces(sent, size)) == sent, (dialect, policy, size)
            if policy == "standard" and (all_wires()[wire].sequential_lanes or wire == "openai_chat"):
                # What is in this fence is the form of `module_calls`, too.
                fenced = {("declined", "fenced")} if dialect == "gemma3_tool_code" else set()
                assert set(found(one)) - fenced <= {("declined", "echo")}, (dialect, size)
        one, other = exchange(wire, form, "standard"), exchange(wire, form, "standard")
        run(one, [body(["See.\n", filled(RESULTS[wire][kind], "nothing of it"), f"\n{call}"])])
        run(other, [body(["See.\n", f"\n{call}"])])
        assert found(one) == found(other), dialect
        if all_wires()[wire].sequential_lanes:
            assert found(one) == [("lifted", None)], dialect


@pytest.mark.parametrize("key", [key for key in BODIES if not key.startswith(("gemini", "chat, "))])
def test_what_comes_later_in_the_reply_makes_no_echo(key: str) -> None:
    wire, form, body = BODIES[key]
    for kind, result in RESULTS[wire].items():
        for size in (0, 1):
            one = exchange(wire, form, "standard")
            run(one, in_pieces(body([written("hermes"), filled(result, written("hermes"))]), size))
            assert found(one) == [("lifted", None)], kind


def test_what_is_said_with_each_chunk_is_kept_once() -> None:
    wire, form, body = BODIES["chat"]
    one = exchange(wire, form, "standard")
    result = filled(CHAT["a citation of the web"], "nothing of it")
    run(one, [body([{**result, "content": f"{number} "} for number in range(50)])])
    assert len(one.call_policy.echo_index._given) == 4  # two of the request's, a title, a content


def test_what_one_reply_fetched_is_nothing_to_the_next() -> None:
    wire, form, body = BODIES["anthropic"]
    first = exchange(wire, form, "standard")
    run(first, [body([filled(ANTHROPIC["MCP"], written("hermes")), written("hermes")])])
    second = Exchange(first.wire, first.call_policy, first.decision, TOOLBOX, form=form, seed=b"y")
    run(second, [body([written("hermes")])])
    assert (found(first), found(second)) == ([("declined", "echo")], [("lifted", None)])
