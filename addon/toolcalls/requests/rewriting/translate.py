"""For a client and an upstream that write calls in two dialects: past calls and results change their dialect."""

from toolcalls.requests.conversation import Conversation, PastCall, Turn
from toolcalls.requests.prompt_tools import tools_in
from toolcalls.requests.rewriting.notes import Rewritten, counted
from toolcalls.requests.rewriting.to_native import any_name_policy, as_native, calls_of, results_in_reply_to
from toolcalls.requests.rewriting.to_text import calls_as_text, joined, results_as_text
from toolcalls.route import Route
from toolcalls.values.toolbox import Toolbox


def translate(conversation: Conversation, spoken: str, dialect: str, route: Route) -> Rewritten:
    """Rewrite past calls and results from the dialects in `spoken` to `dialect`."""
    tools = Toolbox(tools_in(conversation.system))
    turns: list[Turn] = []
    calls = 0
    open_calls: tuple[PastCall, ...] = ()
    for number, turn in enumerate(conversation.turns):
        if turn.role == "assistant":
            native = as_native(turn, number, any_name_policy(spoken), tools)
            open_calls = calls_of(native)
            calls += len(open_calls)
            turns.append(calls_as_text(native, open_calls, dialect, tools, route) if open_calls else turn)
            continue
        answered = results_in_reply_to(turn, open_calls, spoken) if open_calls else None
        if answered is None:
            turns.append(turn)
        else:  # in the message that they came in: two of the user in a row are refused by templates of open models
            made = results_as_text(answered[0], dialect, {call.id: call.name for call in open_calls})
            for rest in answered[1:]:
                made = joined(made, rest)
            turns.append(turn.with_blocks(made.blocks))
        open_calls = ()
    notes = (f"{counted(calls, 'past call')} from {spoken} to {dialect}",) if calls else ()
    return Rewritten(conversation.changed(turns=turns), notes)
