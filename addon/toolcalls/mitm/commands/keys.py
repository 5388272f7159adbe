"""The keys of the commands in mitmproxy's console."""

from typing import Any

from mitmproxy import ctx

# Keys that mitmproxy leaves free in its list of flows and in its view of one; what they do, and the words of the help.
KEYS = {
    "Y": ("toolcalls.why @focus", "Explain why text is a call or not"),
    "t": ("toolcalls.stats @shown", "Count the tool calls of the listed flows"),
    "J": ("toolcalls.judge @focus", "Read the recorded reply again"),
    "R": (
        """
        console.choose.cmd "Policy..." toolcalls.policies
        toolcalls.policy @focus {choice}
        """,
        "Read the reply by another policy",
    ),
    "y": ("console.command toolcalls.copy @focus json", "Copy a tool call"),
    "T": ("console.command toolcalls.export jsonl @shown ", "Export the verdicts of the listed flows"),
}
CONTEXTS = ("flowlist", "flowview")


def bind_keys() -> None:
    """Bind the keys in the console; one that the user has bound, or that mitmproxy has by now, stays as it is."""
    keymap: Any = getattr(ctx.master, "keymap", None)
    if keymap is None:
        return
    for key, (does, about) in KEYS.items():
        free = [context for context in CONTEXTS if not (keymap.get(context, key) or keymap.get("global", key))]
        if free:
            keymap.add(key, does.strip(), free, about)
