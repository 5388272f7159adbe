"""For a native upstream whose model leaked calls as text: they become native, so that the model does not repeat it."""

from dataclasses import replace

from toolcalls.reading.policy import CallPolicy
from toolcalls.requests.conversation import Conversation, PastCall, Result, Turn
from toolcalls.requests.rewriting.notes import Rewritten, counted
from toolcalls.requests.rewriting.to_native import (
    as_native,
)
from toolcalls.text.request_text import RequestText
from toolcalls.values.toolbox import Toolbox

NOT_EXECUTED = "This call was written as text, so it was not executed."


def lift_leaked_calls(conversation: Conversation, call_policy: CallPolicy) -> Rewritten:
    """Make past calls in text native, if they meet the conditions for a call in a reply's text."""
    tools = Toolbox(conversation.tools)
    turns: list[Turn] = []
    calls = 0
    asked = False  # a user has said something; what the system says before only teaches
    earlier_texts: list[str] = []  # what the model may have repeated: what was said before, and nothing that came later
    for number, turn in enumerate(conversation.turns):
        native = turn
        if turn.role == "assistant":
            repeatable = replace(call_policy, request=replace(call_policy.request, quotable=tuple(earlier_texts)))
            native = as_native(turn, number, repeatable, tools)
        asked = asked or turn.role == "user"
        if asked or turn.role != "system":
            earlier_texts.extend(RequestText(text) for text in conversation.echoes(turn) if text)
        leaked = [block for block in native.blocks if isinstance(block, PastCall) and block not in turn.blocks]
        turns.append(native if leaked else turn)
        if leaked:
            calls += len(leaked)
            turns.append(Turn("tool", tuple(Result(call.id, NOT_EXECUTED) for call in leaked)))
    notes = (f"{counted(calls, 'leaked call')} to native",) if calls else ()
    return Rewritten(conversation.changed(turns=turns), notes) if notes else Rewritten(conversation)
