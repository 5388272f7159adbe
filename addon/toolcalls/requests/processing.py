"""What processors read of a request, and what they change in it.

The loop guard counts the calls and texts of the history since the user's last message, calls native or as text. Where
the route rewrites requests, tools that a rule always blocks are not offered, and texts of steering for blocked calls go
in front of the turn that follows them.

All are functions of the request alone, so the same request becomes the same bytes, live and replayed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from toolcalls.processors import LoopWatch, Processors
from toolcalls.processors.access import Gate
from toolcalls.processors.loops import HISTORY, EarlierCall
from toolcalls.processors.reactors import Runner
from toolcalls.processors.steering import rules_in_notices, steering_texts
from toolcalls.requests.conversation import Block, Conversation, PastCall, Result, Text, Turn
from toolcalls.requests.evidence import Decision
from toolcalls.requests.rewriting import Rewritten, read_as_native
from toolcalls.route import Loops, Route

_TURNS = 64  # of the model, the latest: no loop that the guard looks for is longer


def processors_for(
    conversation: Conversation | None,
    route: Route,
    decision: Decision,
    *,
    model: str,
    agent: str,
    run: Runner,
    tools: Iterable[str] = (),
) -> Processors | None:
    """The processors of one exchange, None where the route has none that take part in it. `tools` are the names of what
    the request declares, `conversation` is it; None for a reply on its own.
    """
    if not route.processes or decision.kind == "observe":
        return None
    calls: tuple[EarlierCall, ...] = ()
    said: tuple[str, ...] = ()
    if route.loops is not None and route.loops.takes_part:
        past = _recent_turns(conversation, decision)
        calls, said = _calls(past), _texts(past) if route.loops.message else ()
    return Processors(route, model=model, agent=agent, tools=tools, history=calls, said=said, run=run)


def loop_watch_for(conversation: Conversation | None, route: Route, decision: Decision) -> LoopWatch | None:
    """The loop guard that only reports, None where there is none. It reads the request only when it has to."""
    loops = route.loops
    if loops is None or loops.takes_part:
        return None

    def history(names: frozenset[str]) -> tuple[EarlierCall, ...]:
        if conversation is None or not _may_repeat(conversation.body, loops, names):
            return ()
        return _calls(_recent_turns(conversation, decision))

    return LoopWatch(loops, history)


def _may_repeat(body: bytes, loops: Loops, names: frozenset[str]) -> bool:
    """Whether a request names one of these tools often enough for a reply to close a loop. Names may be escaped, and
    the namespace of a tool may stand apart from its name.
    """
    counts = (loops.same_call - 1, loops.same_result, loops.cycle - 1)
    fewest = min((count for count in counts if count > 0), default=0)
    own = [name.rpartition(".")[2] for name in names]
    return fewest > 0 and any(not name.isascii() or body.count(name.encode()) >= fewest for name in own)


def _recent_turns(conversation: Conversation | None, decision: Decision) -> Sequence[Turn]:
    """The turns since the user's latest own words. Of a long conversation only the end is read."""
    if conversation is None:
        return ()
    starts = [place for place, turn in enumerate(conversation.turns) if turn.role == "assistant"]
    if len(starts) > _TURNS:
        conversation = conversation.changed(turns=conversation.turns[starts[-_TURNS] :])
    return _since_user(conversation, decision)


def _since_user(conversation: Conversation, decision: Decision) -> list[Turn]:
    """The turns after the user's latest own words; calls that stand as text are calls.

    A user's turn that follows calls which nothing answers is their result, whatever it looks like, and no new
    beginning.
    """
    if decision.dialect is not None:
        conversation = read_as_native(conversation, decision.dialect)
    turns: list[Turn] = []
    open_calls = False  # calls that nothing has answered yet
    for turn in conversation.turns:
        answers = turn.role == "tool" or any(isinstance(block, Result) for block in turn.blocks)
        if turn.role == "assistant":
            open_calls = any(isinstance(block, PastCall) for block in turn.blocks)
        elif turn.role == "user" and not answers and not open_calls:
            turns.clear()
        if turn.role == "user" or answers:
            open_calls = False
        turns.append(turn)
    return turns


def _calls(turns: Sequence[Turn]) -> tuple[EarlierCall, ...]:
    """The calls of some turns, oldest first, with their results where those are there.

    What a text client's tools answered may be in the user's next turn in a form of its own: then that is the result.
    """
    results = {block.id: block.text for turn in turns for block in turn.blocks if isinstance(block, Result)}
    return tuple(
        EarlierCall(block.name, block.arguments, results[block.id] if block.id in results else _answer(behind, number))
        for turn, behind in zip(turns, [*turns, None][1:], strict=True)
        for number, block in enumerate(block for block in turn.blocks if isinstance(block, PastCall))
    )


def _answer(turn: Turn | None, number: int) -> str | None:
    """What a user's turn says to a call, None where it is none or answers calls by their ids.

    number   the call's place among those of its turn, which tells their answers apart
    """
    if turn is None or turn.role != "user" or any(isinstance(block, Result) for block in turn.blocks):
        return None
    return "\n".join(
        [*(block.text for block in turn.blocks if isinstance(block, Text)), *([str(number)] * (number > 0))]
    )


def _texts(turns: Sequence[Turn]) -> tuple[str, ...]:
    """The model's texts in some turns, as much of the end as the guard reads."""
    texts: list[str] = []
    size = 0
    for turn in reversed(turns):
        for block in reversed(turn.blocks) if turn.role == "assistant" else ():
            if isinstance(block, Text) and size < 2 * HISTORY:
                texts.append(block.text)
                size += len(block.text)
    return tuple(reversed(texts))


def without_blocked_tools(conversation: Conversation, gate: Gate | None) -> Rewritten:
    """The conversation without the tools that rules always block, and with a choice that fits the others."""
    offered = [*(tool.name for tool in conversation.tools), *(tool.name for tool in conversation.opaque_tools)]
    refused = {name: gate.refuses_always(name) for name in offered} if gate is not None else {}
    forbidden = {name for name, refusal in refused.items() if refusal is not None}
    if not forbidden:
        return Rewritten(conversation)
    tools = tuple(tool for tool in conversation.tools if tool.name not in forbidden)
    opaque_tools = tuple(tool for tool in conversation.opaque_tools if tool.name not in forbidden)
    choice = conversation.tool_choice
    if choice in forbidden or (not tools and choice != "none"):
        choice = "auto"
    notes = [f"{name} is not offered ({refusal.rule})" for name, refusal in refused.items() if refusal is not None]
    made = conversation.changed(tools=tools, tool_choice=choice, opaque_tools=opaque_tools)
    return Rewritten(made, tuple(notes))


def with_steering_texts(conversation: Conversation, route: Route) -> Rewritten:
    """The conversation with the text for each rule whose notice is in a reply, before the turn that follows it."""
    if route.steering != "request":
        return Rewritten(conversation)
    texts = steering_texts(route)
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
            due = list(_texts_after(turn, texts, notes))
    if due:
        turns.append(Turn("user", (Text("\n\n".join(due)),)))
    return Rewritten(conversation.changed(turns=turns), tuple(notes)) if notes else Rewritten(conversation)


def _texts_after(turn: Turn, texts: Mapping[str, str], notes: list[str]) -> Iterator[str]:
    """What is to be said after a reply, each text once."""
    said: set[str] = set()
    for block in turn.blocks:
        for rule in rules_in_notices(block.text) if isinstance(block, Text) else ():
            if rule in texts and texts[rule] not in said:
                said.add(texts[rule])
                notes.append(f"steering text for {rule}")
                yield texts[rule]


def _before(turn: Turn, texts: list[str]) -> Turn:
    """A user's turn with texts in front of what the user says, unless they are there already.

    What tools answered comes before all else, since APIs want it directly after the calls.
    """
    said = [block.text for block in turn.blocks if isinstance(block, Text)]
    new = "\n\n".join(text for text in texts if not any(text in one for one in said))
    if not new:
        return turn
    blocks: list[Block] = list(turn.blocks)
    at = max((place + 1 for place, block in enumerate(blocks) if isinstance(block, Result)), default=0)
    first = blocks[at] if at < len(blocks) else None
    if isinstance(first, Text) and first.raw is None:
        blocks[at] = msgspec.structs.replace(first, text=f"{new}\n\n{first.text}")
    else:
        blocks.insert(at, Text(f"{new}\n\n" if at < len(blocks) else new))
    return turn.with_blocks(blocks)
