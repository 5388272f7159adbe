"""What a request becomes when `rewrite_request` is on: the reverse of what is done to its reply.

    lower          native client, text upstream: tools go into the prompt, past calls and results become text
    lift           text client, native upstream: tools come out of the prompt, past calls and results become native
    translate      both write calls as text, in two dialects: past calls and results change their dialect
    leaks          past calls that leaked as text become native, so that the model does not repeat the leak

    to_text        calls and results as text
    to_native      text as calls and results
    system_prompt  the tools in the system prompt
    notes          what was done, for the flow view

All are functions of the conversation alone. The same request is rewritten to the same bytes. An earlier turn never
depends on a later one, so that a prompt cache finds its prefix. What is rewritten is left alone the second time.
"""

from collections.abc import Mapping

from toolcalls.reading.policy import CallPolicy
from toolcalls.requests.conversation import Conversation
from toolcalls.requests.evidence import Decision
from toolcalls.requests.rewriting.leaks import NOT_EXECUTED, lift_leaked_calls
from toolcalls.requests.rewriting.lift import NATIVELY, lift
from toolcalls.requests.rewriting.lower import lower
from toolcalls.requests.rewriting.notes import Rewritten
from toolcalls.requests.rewriting.to_native import read_as_native
from toolcalls.requests.rewriting.translate import translate

# The dialect for a text upstream whose route names none: the form that most open models know.
_DEFAULT_DIALECT = "hermes"

__all__ = ["NATIVELY", "NOT_EXECUTED", "Rewritten", "read_as_native", "rewrite"]


def rewrite(
    conversation: Conversation, call_policy: CallPolicy, decision: Decision, names: Mapping[str, str] | None = None
) -> Rewritten:
    """What the exchange that was decided on makes of its request. Raises Unwritable.

    names   those of calls that only their results mention, by their ids
    """
    route = call_policy.route
    spoken = route.named[0] if route.named else _DEFAULT_DIALECT
    if decision.kind == "lift":
        is_text = decision.upstream == "text"
        return lower(conversation, spoken, route, names) if is_text else lift_leaked_calls(conversation, call_policy)
    if decision.kind == "lower" and decision.dialect:
        return lift(conversation, decision.dialect, route.tools, one_call=decision.one_call)
    if decision.kind == "roundtrip" and decision.dialect and route.named and spoken != decision.dialect:
        return translate(conversation, decision.dialect, spoken, route)
    return Rewritten(conversation)
