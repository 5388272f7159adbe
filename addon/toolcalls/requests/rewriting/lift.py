"""For a text client of a native upstream: tools come out of the prompt, past calls and results become native."""

from collections.abc import Sequence

from toolcalls.request import Tool
from toolcalls.requests.conversation import Conversation, PastCall, Turn
from toolcalls.requests.prompt_tools import tools_in
from toolcalls.requests.rewriting.notes import Rewritten, counted, listed, notes_of
from toolcalls.requests.rewriting.system_prompt import add_to_system_prompt
from toolcalls.requests.rewriting.to_native import (
    any_name_policy,
    as_native,
    calls_of,
    results_in_reply_to,
)
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing import prompting

NATIVELY = "The tools described above are offered natively: call them natively, and write no tool call as text."


def lift(conversation: Conversation, dialect: str, tools: Sequence[Tool] = (), *, one_call: bool = False) -> Rewritten:
    """Everything in `dialect` becomes native.

    tools      the route's; without any, the prompt's are taken
    one_call   the client takes one call a message, so no more are asked for
    """
    tools = tuple(tools) or tools_in(conversation.system)
    if not tools or conversation.tools:
        return Rewritten(conversation)
    turns: list[Turn] = []
    calls = left = 0
    waiting: tuple[Turn, tuple[PastCall, ...]] | None = None
    for number, turn in enumerate(conversation.turns):
        if waiting is not None:
            native, open_calls = waiting
            waiting = None
            answered = results_in_reply_to(turn, open_calls, dialect)
            if answered is not None:  # a call without its answer is refused by every API, so both become native or none
                turns[-1] = native
                turns.extend(answered)
                calls += len(open_calls)
                continue
            left += len(open_calls)
        turns.append(turn)
        if turn.role == "assistant":
            native = as_native(turn, number, any_name_policy(dialect), Toolbox(tools))
            open_calls = calls_of(native)
            waiting = (native, open_calls) if open_calls else None
    left += len(waiting[1]) if waiting is not None else 0
    turns = add_to_system_prompt(turns, NATIVELY, own_turn=conversation.own_system_prompt)
    # A server that reads its model's calls out of the text would stop in the middle of one.
    stops = [text for text in conversation.stop if prompting.stops_calls(dialect, tools, text)]
    notes = (
        f"{counted(len(tools), 'tool')} out of the prompt",
        *notes_of("native", calls=calls, results=calls),
        *(
            (f"left as text: {counted(left, 'past call')}, since not each of a message's calls has a result",)
            if left
            else ()
        ),
        *(f"no stop at {listed([text])}, with which calls in {dialect} end" for text in stops),
    )
    stop = tuple(text for text in conversation.stop if text not in stops)
    parallel = conversation.parallel and not one_call
    return Rewritten(conversation.changed(turns=turns, tools=tools, stop=stop, parallel=parallel), notes)
