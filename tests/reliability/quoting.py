"""Group: quoted calls. None of them is a call, in `strict` none at all, and every call that is meant is one.

The rows on quoting of the suite of threats with their controls, the recorded replies that only look like calls, and
every place of `tests/cases/quoting.yaml` filled with the call of every dialect, on every wire; those of
`tests/cases/quoting_notations.yaml` with the calls of a few.
"""

import json
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from reliability import heard, invariants
from reliability.driving import driven
from reliability.faults import Faulted, some_cut
from reliability.invariants import Breach
from reliability.jobs import Job, Tally, parts
from reliability.materials import SUITES, Reply, chosen, recorded, rows_of, seed_of
from reliability.rows import Row
from reliability.said import KEYS, driven_cut, envelope_for, saying, with_tools
from reliability.spliced import form_of
from support.quoting import CALL, CASE, DIALECTS, NOTATIONS, TOO_LATE, TOOLS, filled, in_some, written
from toolcalls.dialects import all_dialects
from toolcalls.route import PolicyName, Route

GROUP = "quoting"
AMBIGUOUS = "quoting: recorded"
POLICIES: tuple[PolicyName, ...] = ("standard", "strict")
EVERY: tuple[PolicyName, ...] = (*POLICIES, "lenient")
CLOSED = frozenset({"block_quote", "html_comment", "reasoning"})  # to `lenient`, too


def jobs(fraction: float, seed: int) -> Iterator[Job]:
    """The parts of this group."""
    yield Job(of_the_suite, (fraction, seed))
    yield Job(of_recordings, (seed,))
    for dialect in DIALECTS:
        yield Job(of_a_dialect, (dialect, fraction, seed))
    for start, end in parts(len(NOTATIONS["quoted"]) + len(NOTATIONS["calls"]), 40):
        yield Job(of_notations, (start, end, fraction, seed))


def of_the_suite(fraction: float, seed: int) -> Row:
    """The rows Q and P of the suite of threats, as replies of Chat Completions."""
    tally = Tally(GROUP)
    tools = _tools()
    for row in rows_of("threats.jsonl"):
        if row["category"] not in {"quoting", "control"}:
            continue
        for policy in POLICIES:
            for turn in range(8):
                name = f"row={row['id']} policy={policy} turn={turn} seed={seed}"
                if chosen(name, fraction, seed):
                    tally.count(name, _row_breaches(row, tools, policy, Random(seed_of(seed, name))))
    return tally.row


def _tools() -> list[Any]:
    path = SUITES / "threats-tools.json"
    return list(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else []


def _row_breaches(row: Mapping[str, Any], tools: list[Any], policy: PolicyName, random: Random) -> Iterator[Breach]:
    request: dict[str, Any] = {"messages": [], "tools": row.get("tools", tools)}
    if "tool_choice" in row:
        request["tool_choice"] = row["tool_choice"]
    if "request_tool_result" in row:
        request["messages"] = [{"role": "tool", "tool_call_id": "1", "content": row["request_tool_result"]}]
    envelope = envelope_for(("openai_chat", "sse"), random)
    reply = saying(envelope, row["assistant_text"], random, request)
    if row.get("finish_reason") == "length":
        replaced = reply.body.replace(b'"finish_reason": "stop"', b'"finish_reason": "length"')
        reply = Reply(reply.id, reply.path, reply.content_type, reply.request, replaced)
    outcome, pieces = driven_cut(reply, random, Route(client="native", upstream="text", policy=policy))
    yield from invariants.sound(outcome, Faulted(reply.body, tuple(pieces)))
    wanted = [(row["expect_name"], row["expect_args"])] if row["expect_calls"] else []
    if policy == "standard" and row["id"] in TOO_LATE:  # only what comes after the call tells, and it is out by then
        return
    made = [(name, json.loads(arguments)) for name, arguments in outcome.complete]
    if made != wanted:
        yield Breach("invented" if len(made) > len(wanted) else "lost", f"calls {made} instead of {wanted}")
    if not wanted and row.get("finish_reason") != "length" and outcome.out != reply.body:
        yield Breach("lost", "a reply without a call was changed")


def of_recordings(seed: int) -> Row:
    """Recorded replies of real models with markup that is no call, where they lie in the suite as streams."""
    tally = Tally(AMBIGUOUS)
    wanted = {row["id"] for row in rows_of("real_ambiguous.jsonl")}
    for reply in recorded():
        if reply.id.partition("/")[2] not in wanted:
            continue
        for policy in POLICIES:
            for turn in range(20):
                name = f"stream={reply.id} policy={policy} turn={turn} seed={seed}"
                pieces = some_cut(reply.body, Random(seed_of(seed, name)))
                route = Route(client="native", upstream="text", policy=policy)
                tally.count(name, invariants.untouched(driven(reply, pieces, route=route), Faulted(reply.body, pieces)))
    return tally.row


def of_a_dialect(dialect: str, fraction: float, seed: int) -> Row:
    """Every place where a call may be quoted or made, with the call as one dialect writes it."""
    tally = Tally(GROUP)
    for kind in ("quoted", "followed", "calls"):
        for case in CASE[kind]:
            for policy in EVERY:
                for key in KEYS:
                    name = f"{dialect}: {case['title']} policy={policy} wire={'/'.join(key)} seed={seed}"
                    if chosen(name, fraction, seed) and _says(kind, case, dialect, policy):
                        tally.count(name, _breaches(kind, case, dialect, policy, key, Random(seed_of(seed, name))))
    return tally.row


def of_notations(start: int, end: int, fraction: float, seed: int) -> Row:
    """The cases from number `start` to `end` in which another notation quotes a call, or one is made after it."""
    tally = Tally(GROUP)
    every = [(kind, case) for kind in ("quoted", "calls") for case in NOTATIONS[kind]]
    for kind, case in every[start:end]:
        for dialect, text in in_some(case["text"]):
            flag = case.get("flag")
            late = kind == "quoted" and (flag == "late" or (flag is not None and dialect == "mistral"))
            for policy in ("strict",) if late else POLICIES:
                for key in KEYS:
                    name = f"{dialect}: {case['title']} policy={policy} wire={'/'.join(key)} seed={seed}"
                    if chosen(name, fraction, seed):
                        random = Random(seed_of(seed, name))
                        tally.count(name, _text_breaches(kind, text, policy, key, random))
    return tally.row


def _says(kind: str, case: Mapping[str, Any], dialect: str, policy: PolicyName) -> bool:
    """Whether a case says what must come of this dialect's call by this policy."""
    if filled(case["text"], written(dialect)) is None or case.get("finish", "stop") != "stop":
        return False
    if policy == "lenient":
        # A whole call in reasoning that never closes is what the model meant: `lenient` takes it.
        return kind == "quoted" and case.get("reason") in CLOSED and "never ends" not in case["title"]
    if kind == "calls":
        if policy == "strict" and dialect == "fenced_json":
            return False  # which takes no JSON in a fence
        return all_dialects()[dialect].place != "message" or bool(case.get("whole"))
    # In `standard` the words after the call come too late, and special tokens count anywhere.
    return policy == "strict" or (kind == "quoted" and not case.get("anywhere"))


def _breaches(
    kind: str, case: Mapping[str, Any], dialect: str, policy: PolicyName, key: Any, random: Random
) -> Iterator[Breach]:
    text = filled(case["text"], written(dialect)) or ""
    yield from _text_breaches(kind, text, policy, key, random, half="half" in case["text"])


def _text_breaches(
    kind: str, text: str, policy: PolicyName, key: Any, random: Random, *, half: bool = False
) -> Iterator[Breach]:
    route = with_tools(Route(client="native", upstream="text", policy=policy), TOOLS)
    reply = saying(envelope_for(key, random), text, random)
    outcome, pieces = driven_cut(reply, random, route)
    yield from invariants.sound(outcome, Faulted(reply.body, tuple(pieces)))
    made = [(name, json.loads(arguments)) for name, arguments in outcome.complete]
    if kind == "calls":
        if made != [(CALL.name, json.loads(CALL.arguments))]:
            yield Breach("lost", f"calls {made}")
        return
    if made:
        yield Breach("invented", f"calls {made}")
    if not half and outcome.out != reply.body:
        yield Breach("lost", "a reply without a call was changed")
    said = heard.heard(reply.wire, form_of(reply), outcome.out)
    if said.calls and not half:
        yield Breach("invented", f"the client heard {said.calls}")
