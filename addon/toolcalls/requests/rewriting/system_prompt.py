"""What is added to the system prompt: the tools, as text in a dialect."""

from collections.abc import Sequence

from toolcalls.requests.conversation import Conversation, Text, Turn
from toolcalls.writing import prompting


def tool_prompt(conversation: Conversation, dialect: str) -> str:
    """The tools in the dialect's words, and what the request says about choosing among them."""
    parts = [prompting.prompt(dialect, conversation.tools)]
    choice = conversation.tool_choice
    if choice == "none":
        parts.append("Call no tool in your next reply.")
    elif choice in {"required", "any"}:
        parts.append("Your next reply must call at least one tool.")
    elif choice != "auto":
        parts.append(f"Your next reply must call the tool {choice}.")
    if not conversation.parallel:
        parts.append("Call at most one tool in a reply.")
    return "\n\n".join(parts)


def add_to_system_prompt(turns: Sequence[Turn], text: str, *, own_turn: bool) -> list[Turn]:
    """The turns with `text` at the end of the first one, if that is the system's, else in one of its own before all,
    where it also stands if it is to have its `own_turn`.

    A system turn further down does not count: it may have come later, and an earlier turn never changes.
    """
    if own_turn or not turns or turns[0].role != "system":
        return [Turn("system", (Text(text),)), *turns]
    first = turns[0]
    said = any(isinstance(block, Text) for block in first.blocks)
    return [first.with_blocks((*first.blocks, Text(f"\n\n{text}" if said else text))), *turns[1:]]
