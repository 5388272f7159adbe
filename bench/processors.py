"""What processors cost without a host: µs for each event of a stream, with none, each kind, all of them."""

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "addon"))

from host import REQUEST, replies

from toolcalls.processors import Keep, Processors
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request, Tool
from toolcalls.requests.conversation import conversation_of
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.requests.processing import loop_watch_for
from toolcalls.route import Access, AccessRule, Condition, Filter, Loops, Reactor, Route
from toolcalls.wires import all_wires

WIRE = all_wires()["openai_chat"]
ACCESS = Access((AccessRule("paths", "block", arguments=(Condition("path", outside=("/project",)),)),))
LOOPS = Loops(action="warn")
FILTERS = (Filter("greeting", literal="I'll help you"), Filter("keys", pattern="sk-[a-z0-9]{8,40}", replace="[key]"))
REACTORS = (Reactor("none.py", "keep"),)
LOOKS_ON = Loops(message=0)  # what a route does where nothing is said
KINDS = {
    "no processors": {"loops": None},
    "access": {"access": ACCESS},
    "loops that look on": {"loops": LOOKS_ON},
    "loops": {"loops": LOOPS},
    "loops that act": {"loops": Loops(action="replace")},
    "reactors": {"reactors": REACTORS},
    "filters": {"filters": FILTERS},
    "all of them": {"access": ACCESS, "loops": Loops(action="replace"), "reactors": REACTORS, "filters": FILTERS},
}


def history(calls=60):
    """The body of a request after so many calls of the tool that the replies call, each with a result of 2 KB."""
    messages = [{"role": "user", "content": "Go."}]
    for number in range(calls):
        function = {
            "name": "write_to_file",
            "arguments": json.dumps({"path": f"/project/{number}", "content": "x" * 400}),
        }
        made = {"id": f"c{number}", "type": "function", "function": function}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [made]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": "a line of it\n" * 160},
        ]
    return json.dumps({"model": "m", "messages": messages}).encode()


BODY = history()


def exchange(settings, side, client="native"):
    """An exchange of Chat Completions. A text client speaks the dialect of the calls."""
    schema = REQUEST["tools"][0]["function"]["parameters"]
    request = Request(tools=(Tool("write_to_file", schema),))
    route = Route(client=client, upstream=side, client_dialect="invoke" if client == "text" else None, **settings)
    decision = decide(route, request, {}, ())
    call_policy, tools = call_policy_of(route, request, decision)
    processors = Processors(route, run=lambda *_: Keep()) if route.processes else None
    return Exchange(
        WIRE, call_policy, decision, tools, form="sse", seed=b"s", processors=processors,
        watch=loop_watch_for(conversation_of(WIRE.name, BODY), route, decision),
    )  # fmt: skip


def cost(events, settings, side, client="native"):
    """µs of CPU for each event of one reply."""
    fed = exchange(settings, side, client)
    before = time.process_time()
    for piece in events:
        fed.feed(piece)
    fed.close()
    if fed.failure is not None:
        raise fed.failure
    return (time.process_time() - before) / len(events) * 1e6


def measure(events=5_000, rounds=5):
    """By kind of processor, the best of some rounds: plain text, a call in text, a native call; for a text client, too,
    plain text, a call in text, and a native call that is written as text.
    """
    served = replies(events)
    columns = [("text", "text", "native"), ("call", "text", "native"), ("native", "native", "native")]
    columns += [("text", "text", "text"), ("call", "text", "text"), ("native", "native", "text")]
    return {
        name: [min(cost(served[kind], settings, side, client) for _ in range(rounds)) for kind, side, client in columns]
        for name, settings in KINDS.items()
    }


if __name__ == "__main__":
    for name, costs in measure().items():
        print(f"{name:28}" + "".join(f"{one:10.2f}" for one in costs))
