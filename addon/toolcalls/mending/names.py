"""Names of tools that came otherwise than the request declares them, as what they can only mean.

Another spelling of exactly one declared tool is that tool. What templates write after a name (special tokens, channel
words, pairs of markup) goes where a declared name is in front of it; whole pairs are the call's arguments where it
has no others, read as the dialect that they are.
"""

import re
from collections.abc import Callable
from dataclasses import replace

from toolcalls.events import CallPiece, Verdict
from toolcalls.mending import markup
from toolcalls.mending.defects import is_repeated
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.text.markdown import Position
from toolcalls.values.toolbox import Named, Toolbox

_MOST = 64 * 1024  # characters of such a name

_TOKEN = r"<[|｜][^<>|｜\s]{1,40}[|｜]>"
_WORD = r"(?:analysis|commentary|final|json|function|functions)"
# Tokens, each with the word of a channel, a role or a form after it: `<|channel|>commentary`, `<|constrain|>json`.
_TOKENS = re.compile(rf"\s*(?:{_TOKEN}\s*(?:{_WORD}\b\s*)?)+")
_CHANNEL = re.compile(r"\s+(?:analysis|commentary|final)(?:\s+json)?\s*\Z")  # whose tokens the server took away
# Repairs by which what was cut off would be closed: the form that is put around it is ours (law 6).
_COMPLETED = frozenset({"unclosed_value", "unclosed_tag", "missing_closer", "missing_brace", "missing_quote"})
_MARKUP = re.compile(r"\s*[<＜\[{(|｜]")


class Names:
    """Reads the names of one reply's native calls."""

    def __init__(self, tools: Toolbox, call_policy: CallPolicy) -> None:
        self._tools = tools
        self._policy = replace(call_policy, lift=True, route=replace(call_policy.route, dialects=None))

    def meant(self, name: str) -> Named | None:
        """The declared tool that a name means; None for one that is declared, and one that means none for sure."""
        tools = self._tools
        if not name.strip() or name in tools or len(name) > _MOST or is_repeated(name, tools):
            return None
        if not markup.in_name(name.strip()):
            tool = tools.resolve(name)
            if tool in tools:
                return Named(tool, "name")
            channel = _CHANNEL.search(name)
            tool = tools.resolve(name[: channel.start()]) if channel is not None else ""
            return Named(tool, "markup_in_name") if tool in tools else None
        for end in _ends(name):
            tool = tools.resolve(name[:end])
            if tool in tools:
                return Named(tool, "markup_in_name", self._arguments(tool, name[:end], name[end:]))
        return None

    def begins(self, name: str) -> bool:
        """Whether a declared tool's name begins so, and goes on."""
        return any(len(tool) > len(name) and tool.lower().startswith(name.lower()) for tool in self._tools.names)

    def _arguments(self, tool: str, written: str, behind: str) -> str:
        """The arguments in the markup after a name, "" where it is not one whole call of that tool."""
        for form in _FORMS:
            text = form(written.strip(), behind.strip())
            reader = Reader(self._policy, tools=self._tools, may_start_in_reasoning=False, place=Position())
            events = [*reader.feed(text), *reader.finish(cut=False)]
            verdicts = [event for event in events if isinstance(event, Verdict)]
            if any(_COMPLETED & set(one.repairs) for one in verdicts):
                continue
            if [(one.status, self._tools.resolve(one.name or "")) for one in verdicts] == [("lifted", tool)]:
                made = "".join(event.json for event in events if isinstance(event, CallPiece))
                return made if "".join(made.split()) != "{}" else ""
        return ""


def _ends(name: str) -> list[int]:
    """Where a tool's name may end in one that holds markup: in front of tokens alone, or of the first markup."""
    places = [found.start() for found in (_MARKUP.search(name),) if found is not None and found.start() > 0]
    return [place for place in places if _TOKENS.fullmatch(name, place) or name[place:].lstrip()[:1] in "<＜"]


# The call as its dialect would have written it: GLM's element, function tags, the tag-named form.
type _Form = Callable[[str, str], str]
_FORMS: tuple[_Form, ...] = (
    lambda name, behind: f"<tool_call>{name}\n{behind}\n</tool_call>",
    lambda name, behind: f"<tool_call>\n<function={name}>\n{behind}\n</function>\n</tool_call>",
    lambda name, behind: f'<invoke name="{name}">\n{behind}\n</invoke>',
    lambda name, behind: f"<{name}>\n{behind}\n</{name}>",
)
