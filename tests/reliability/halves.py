"""Group: half commands. A client never runs a part of what the model wrote.

Native calls, and calls in another dialect, to clients that end a value at its first closing tag: what such a client
reads is the whole call, or none. And calls that write a document in which calls stand, cut off anywhere: none of them
is completed, and none comes of the document.
"""

import json
from collections.abc import Iterator
from functools import cache
from random import Random

from reliability import heard, invariants
from reliability.blocks import route_for
from reliability.driving import driven
from reliability.faults import Faulted, some_cut
from reliability.invariants import Breach
from reliability.jobs import Job, Tally
from reliability.materials import chosen, seed_of
from reliability.rows import Row
from reliability.said import driven_cut, reply_in, with_tools
from support import anthropicclient, chatclient, responsesclient
from support.careless import cut
from support.halves import CLIENTS, documents, value
from support.quoting import DIALECTS
from support.spoken import TEXTUAL
from toolcalls.route import PolicyName, Route, Side
from toolcalls.shapes import Call
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import write

GROUP = "half commands"
VALUES = 3000  # for each client
CUT = "@@ cut here @@"
POLICIES: tuple[PolicyName, ...] = ("standard", "strict", "lenient")
NATIVE = ("openai_chat", "anthropic", "openai_responses")


def jobs(fraction: float, seed: int) -> Iterator[Job]:
    """The parts of this group."""
    for client in CLIENTS:
        yield Job(to_a_client, (client, fraction, seed))
    for dialect in DIALECTS:
        yield Job(cut_off, (dialect, fraction, seed))


def to_a_client(client: str, fraction: float, seed: int) -> Row:
    """Calls for one client, native ones and ones in another dialect."""
    tally = Tally(GROUP)
    for number in range(VALUES):
        for wire in (*NATIVE, "another dialect"):
            name = f"{client}: value {number} from {wire} seed={seed}"
            if chosen(name, fraction, seed):
                tally.count(name, _client_breaches(client, wire, Random(seed_of(seed, name))))
    return tally.row


@cache  # a plan is kept by its route
def _route(client: str, upstream: Side) -> Route:
    one = CLIENTS[client]
    return with_tools(Route(client="text", client_dialect=one.dialect, upstream=upstream), [one.tool])


def _native(wire: str, call: Call) -> bytes:
    """The stream of a native call after a word."""
    if wire == "anthropic":
        blocks = [anthropicclient.text("Let me."), anthropicclient.call("toolu_1", *call)]
        return anthropicclient.written(anthropicclient.stream(blocks, "tool_use"))
    if wire == "openai_responses":
        item = {"type": "function_call", "call_id": "c", "name": call.name, "arguments": call.arguments}
        return responsesclient.written(responsesclient.stream(["Let me.", item]))
    body = chatclient.stream(["Let me."], None) + chatclient.native(call, 0, [call.arguments])
    return body + chatclient.ending("tool_calls")


def _client_breaches(title: str, wire: str, random: Random) -> Iterator[Breach]:
    client = CLIENTS[title]
    values = {key: value(random) for key in client.keys}
    call = Call(client.tool.name, json.dumps(values))
    if wire in NATIVE:
        reply = reply_in(wire, "sse", _native(wire, call))
    else:
        other = "mistral" if client.dialect == "hermes" else "hermes"
        text = write(other, [call], Toolbox([client.tool]))
        reply = reply_in("openai_chat", "sse", chatclient.stream(cut(text, 7)))
    outcome, pieces = driven_cut(reply, random, _route(title, "native" if wire in NATIVE else "text"))
    yield from invariants.sound(outcome, Faulted(reply.body, tuple(pieces)))
    if outcome.out == reply.body:  # it stayed native, or in the dialect in which the model wrote it
        return
    said = heard.heard(reply.wire, "sse", outcome.out)
    read, wanted = client.reads(said.text), {key: client.meant(one) for key, one in values.items()}
    if read is not None and read != wanted:
        yield Breach("invented", f"{read} of {values} in {said.text!r}")
    if read is None and said.whole != [(call.name, values)]:
        yield Breach("lost", f"{said.text!r} and {said.calls} of {values}")


def cut_off(dialect: str, fraction: float, seed: int) -> Row:
    """Calls of one dialect that write documents with calls in them, whole and cut off at every place."""
    tally = Tally(GROUP)
    for number, (text, call) in enumerate(documents(dialect)):
        for at in range(1, len(text) + 1):
            for policy in POLICIES if at == len(text) else POLICIES[at % 3 : at % 3 + 1]:
                name = f"{dialect}: document {number} up to {at} policy={policy} seed={seed}"
                if chosen(name, fraction, seed):
                    tally.count(name, _document_breaches(text, at, call, policy, Random(seed_of(seed, name))))
    return tally.row


def _document_breaches(text: str, at: int, call: Call, policy: PolicyName, random: Random) -> Iterator[Breach]:
    spoken = TEXTUAL[random.choice(sorted(TEXTUAL))]
    body = spoken.said([*cut(text[:at], 7), CUT])
    whole = at == len(text)
    body = spoken.said(cut(text, 7)) if whole else body[: body.index(CUT.encode())]
    reply = reply_in(spoken.wire, spoken.form, body)
    pieces = some_cut(body, random)
    outcome = driven(reply, pieces, ends=whole, route=route_for(policy))
    yield from invariants.sound(outcome, Faulted(body, pieces))
    calls = [(name, json.loads(arguments)) for name, arguments in outcome.complete]
    wanted = [(call.name, json.loads(call.arguments))]
    if whole and calls != wanted:
        yield Breach("lost", f"{calls} instead of {wanted}")
    elif calls not in ([], wanted):
        yield Breach("invented", f"{calls} of a reply that was cut off")
