"""What processors see of a request, and what they do to it.

They see the calls that the history holds, native ones and those that stand as text, since the user last said something:
the loop guard counts them. Where the route rewrites requests, tools that no rule would ever let through are not
offered, and the texts for calls that were blocked before go in front of the turn that follows them.

All are functions of the request alone, so the same request becomes the same bytes, live and replayed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from toolcalls.evidence import Decision
from toolcalls.processors.access import Gate
from toolcalls.processors.loops import Made
from toolcalls.processors.steering import noticed, texts_of
from toolcalls.rewriting import Rewritten, read_back
from toolcalls.route import Route
from toolcalls.turns import Block, Conversation, PastCall, Result, Text, Turn


def made_so_far(conversation: Conversation, decision: Decision) -> tuple[Made, ...]:
    """The calls since the user's latest own words, oldest first, with their results where those are there.

    A user's turn that follows calls is their result, whatever it looks like, and no new beginning.
    """
    if decision.dialect is not None:
        conversation = read_back(conversation, decision.dialect)
    results = {
        block.id: block.text for turn in conversation.turns for block in turn.blocks if isinstance(block, Result)
    }
    made: list[Made] = []
    called = False
    for turn in conversation.turns:
        calls = [block for block in turn.blocks if isinstance(block, PastCall)]
        if turn.role == "assistant":
            called = bool(calls)
        elif turn.role == "user" and not called:
            made.clear()
        made.extend(Made(call.name, call.arguments, results.get(call.id)) for call in calls)
    return tuple(made)


def screened(conversation: Conversation, gate: Gate | None) -> Rewritten:
    """The conversation without the tools that may never be called, and with a choice that fits what is left."""
    refused = {tool.name: gate.never(tool.name) for tool in conversation.tools} if gate is not None else {}
    forbidden = {name for name, refusal in refused.items() if refusal is not None}
    if not forbidden:
        return Rewritten(conversation)
    tools = tuple(tool for tool in conversation.tools if tool.name not in forbidden)
    choice = conversation.tool_choice
    if choice in forbidden or (not tools and choice != "none"):
        choice = "auto"
    notes = [f"{name} is not offered ({refusal.rule})" for name, refusal in refused.items() if refusal is not None]
    return Rewritten(replace(conversation, tools=tools, tool_choice=choice), tuple(notes))


def steered(conversation: Conversation, route: Route) -> Rewritten:
    """The conversation with the text for each rule whose notice stands in a reply, before the turn that follows it."""
    if route.steering != "request":
        return Rewritten(conversation)
    texts = texts_of(route)
    turns: list[Turn] = []
    notes: list[str] = []
    due: list[str] = []
    for turn in conversation.turns:
        if due and turn.role != "tool":
            turns.append(_before(turn, due) if turn.role == "user" else Turn("user", (Text("\n\n".join(due)),)))
            turns.extend(() if turn.role == "user" else (turn,))
            due = []
        else:
            turns.append(turn)
        if turn.role == "assistant":
            due = list(_due(turn, texts, notes))
    if due:
        turns.append(Turn("user", (Text("\n\n".join(due)),)))
    return Rewritten(replace(conversation, turns=tuple(turns)), tuple(notes)) if notes else Rewritten(conversation)


def _due(turn: Turn, texts: Mapping[str, str], notes: list[str]) -> Iterator[str]:
    """What is to be said behind a reply, each text once."""
    said: set[str] = set()
    for block in turn.blocks:
        for rule in noticed(block.text) if isinstance(block, Text) else ():
            if rule in texts and texts[rule] not in said:
                said.add(texts[rule])
                notes.append(f"steering text for {rule}")
                yield texts[rule]


def _before(turn: Turn, texts: list[str]) -> Turn:
    """A user's turn with texts in front, unless they stand there already."""
    first = turn.blocks[0] if turn.blocks else None
    said = first.text if isinstance(first, Text) else ""
    new = "\n\n".join(text for text in texts if text not in said)
    if not new:
        return turn
    blocks: list[Block] = list(turn.blocks)
    if isinstance(first, Text) and first.raw is None:
        blocks[0] = replace(first, text=f"{new}\n\n{first.text}")
    else:
        blocks.insert(0, Text(f"{new}\n\n"))
    return turn.with_blocks(blocks)
