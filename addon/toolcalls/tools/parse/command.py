"""`toolcalls parse`: reads the text of a reply and prints its calls and the verdict on every candidate."""

import sys
from argparse import Namespace
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Reasoning, Text, Verdict
from toolcalls.mending.defects import checked
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.replies.reading_ahead import reasoning_ends
from toolcalls.request import Request, Tool
from toolcalls.requests.escaped_values import escapes_values
from toolcalls.requests.opened_reasoning import may_start_in_reasoning
from toolcalls.requests.taught_wrappers import wrappers_in
from toolcalls.route import Route
from toolcalls.streams import BadInput, as_json, decode, encode, read_input, write_line, write_output
from toolcalls.text.markdown import Position
from toolcalls.tools.jobs import Job, run_jobs
from toolcalls.tools.options import (
    conversation_in,
    dialects_of,
    patterns_of,
    policy_of,
    read_tools,
    tools_of,
    with_tools,
)
from toolcalls.tools.parse.display import lines_of
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import calls_in

# Finish reasons after which no call is completed, as wires name them, and "cut" for a broken connection.
_CUT = frozenset({"length", "content_filter", "cut"})


def run(arguments: Namespace) -> int:
    tools = read_tools(arguments.tools)
    route = Route(dialects=dialects_of(arguments.dialect), policy=policy_of(arguments.policy))
    if arguments.jsonl:
        return run_jobs("toolcalls parse", arguments.file, lambda job: _job(job, arguments, route, tools))
    text = decode(read_input(arguments.file))
    result = parsed(
        _pieces(text, arguments.chunk),
        CallPolicy(route, Request(tools=tools), open_calls=True),
        cut=arguments.finish in _CUT,
        whole=arguments.chunk is None,
    )
    if sys.stdout.isatty():
        for line in lines_of(result):
            write_output(encode(f"{line}\n"))
    else:
        write_line(as_json(result))
    if any(verdict["reason"] == "no_tools" for verdict in result["verdicts"]):
        print(
            "toolcalls parse: no tools were declared, so nothing can be a call: give --tools FILE or --policy lenient",
            file=sys.stderr,
        )
    return 0


def parsed(pieces: Iterable[str], call_policy: CallPolicy, *, cut: bool, whole: bool = False) -> dict[str, Any]:
    """What a reader makes of a text that arrives in `pieces`: {"text", "calls", "verdicts"}.

    whole   all of the text is there before any of it is read, so that a closer of reasoning tells what it began with

    "reasoning" is added if the text held reasoning in a frame of its own.
    """
    inside = call_policy.route.starts_in_reasoning
    place = Position(reasoning=True) if inside else Position.behind(call_policy.request.prefill)
    pieces = list(pieces)
    end = 0
    if whole and not call_policy.requires("terminal"):
        parts = [(0, Text(piece)) for piece in pieces]
        found = reasoning_ends(parts, lambda at: Reader(call_policy, place=at), place, joined=True)
        end = found.get(0, 0)
    route = call_policy.route
    declared = (*call_policy.request.tools, *route.tools)
    escaped = escapes_values(route, call_policy.request)
    tools = Toolbox(declared, infer=route.infer_types, escaped=escaped)
    reader = Reader(
        call_policy,
        tools=tools,
        starts_in_reasoning=inside,
        may_start_in_reasoning=call_policy.may_start_in_reasoning,
        reasoning_end=end,
        place=place,
    )
    events: list[Event] = [event for piece in pieces for event in reader.feed(piece)]
    events += reader.finish(cut=cut)
    complete = {event.index for event in events if isinstance(event, CallEnd)}
    starts = [event for event in events if isinstance(event, CallStart) and event.index in complete]
    made = list(zip(calls_in(events), starts, strict=True))
    calls = [{"name": call.name, "arguments": call.arguments, "dialect": start.dialect} for call, start in made]
    pieces_of = defaultdict[int | None, list[str]](list)
    for event in events:
        if isinstance(event, CallPiece):
            pieces_of[event.index].append(event.json)
    reasoning = "".join(event.text for event in events if isinstance(event, Reasoning))
    return {
        "text": "".join(event.text for event in events if isinstance(event, Text)),
        **({"reasoning": reasoning} if reasoning else {}),
        "calls": calls,
        "verdicts": [
            msgspec.to_builtins(checked(event, "".join(pieces_of[event.index]), tools))
            for event in events
            if isinstance(event, Verdict)
        ],
    }


def _job(job: Job, arguments: Namespace, route: Route, tools: tuple[Tool, ...]) -> dict[str, Any]:
    """One job's result. Members that it lacks are as on the command line."""
    request = conversation_in("openai_chat", _body(job)).request if "request" in job else Request()
    declared = tools_of(job.value("tools")) if "tools" in job else tools
    asked = replace(
        route,
        dialects=dialects_of(job.value("dialect")) if "dialect" in job else route.dialects,
        policy=policy_of(job.value("policy")) if "policy" in job else route.policy,
        allowed_tools=patterns_of(job.value("allowed_tools")),
        starts_in_reasoning=job.flag("starts_in_reasoning"),
    )
    return parsed(
        _text(job, arguments.chunk),
        CallPolicy(
            asked,
            replace(request, tools=with_tools(request.tools, declared)),
            open_calls=True,
            may_start_in_reasoning=may_start_in_reasoning(asked, request),
            wrappers=wrappers_in(replace(request, tools=with_tools(request.tools, declared))),
            tools_known="tools" in job,
        ),
        whole="text" in job and "chunk" not in job and arguments.chunk is None,
        cut=job.text("finish", arguments.finish) in _CUT,
    )


def _body(job: Job) -> str:
    """The job's request body. One without messages is read as though it had none."""
    raw = job.raw("request")
    if "messages" in Job(raw):
        return raw
    members = raw[1:-1].strip()
    return f'{{{members}{"," if members else ""} "messages": []}}'


def _text(job: Job, chunk: int | None) -> list[str]:
    """The job's text, in the pieces that it asks for."""
    if ("text" in job) == ("chunks" in job):
        raise BadInput("a job has either text or chunks")
    if "chunks" in job:
        return job.list_of("chunks", str, "strings")
    return _pieces(job.text("text", ""), job.size("chunk", chunk))


def _pieces(text: str, size: int | None) -> list[str]:
    return [text] if size is None else [text[start : start + size] for start in range(0, len(text), size)]
