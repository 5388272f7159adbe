"""`react`: a name and its input in words, as ReAct prompts of agent frameworks ask for.

After `Action:` there may also be one object of JSON, bare or in a fence, with `action` and `action_input` (LangChain's
structured chat) or with a call's usual keys (smolagents). An input that is no JSON is the rest of its line, and counts
only for a tool with exactly one parameter, or where it says that there is none. A final answer is no call.
"""

import re
from typing import NamedTuple

from toolcalls.shapes import About, CallSink, Sign
from toolcalls.shapes.arguments import Arguments
from toolcalls.shapes.headers.name_in_words import NameInWords
from toolcalls.shapes.json.call_keys import ARGUMENTS, NAMES
from toolcalls.shapes.json.closing import take_surplus
from toolcalls.shapes.json.json_arguments import argument_object, own_arguments
from toolcalls.shapes.json.json_values import whole_value
from toolcalls.shapes.json.strict_calls import action_call
from toolcalls.shapes.words import NAME, character, take_run, word
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import is_json, members
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="agents and gateways",
    sign=Sign(strength="form", empty=True),
    written_by=(
        "models under the prompts of LangChain, LlamaIndex, CrewAI and Qwen-Agent, and models that have seen them"
    ),
    source=(
        "https://arxiv.org/abs/2210.03629, "
        "https://python.langchain.com/api_reference/langchain/agents/"
        "langchain.agents.react.agent.create_react_agent.html, "
        "https://docs.llamaindex.ai/en/stable/examples/agent/react_agent/, https://huggingface.co/docs/smolagents"
    ),
    example="""\
Thought: I have to look at the file.
Action: read_file
Action Input: {"path": "src/a.ts"}""",
    one_call=True,
)

_INPUTS = ("Action Input:", "**Action Input:**", "Action Input :")
_FENCES = ("```json", "```")
_NAMES = ("action", *NAMES)
_GIVEN = ("action_input", *ARGUMENTS)
_BESIDE = frozenset({"thought", "id", "type"})
_NOTHING = ("None", "null", "N/A")  # as models write that there is no input
_BLANKS = re.compile(r"[ \t]*+")
_LINE = re.compile(r"[^\r\n]*+")


class _ReAct(NameInWords):
    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """A name and its input, or an object that holds both."""
        opener = (yield from scan.among(self.opening)) or ""
        start = yield from scan.space(len(opener))
        fence, brace = yield from _object_at(scan, start)
        if brace:
            scan.take(brace)
            return (yield from _blob(scan, sink, tools, fenced=bool(fence)))
        head = yield from _head(scan, start)
        if head is None:
            return False
        fence, brace = yield from _object_at(scan, head.end)
        if brace:
            scan.take(brace)
            sink.begin(head.name)
            closer = fence or (")" if head.mark == "(" else "")
            if not (yield from own_arguments(scan, sink)):
                return False
            yield from take_surplus(scan, sink, (closer,) if closer else ())
            return (yield from _ends(scan, sink, closer))
        return not fence and head.mark != "(" and (yield from _line(scan, sink, tools, head.name, head.end))


class _Head(NamedTuple):
    """A tool's name, and what is between it and its input, up to the place `end`."""

    name: str
    mark: str
    end: int


def _head(scan: Scanner, start: int) -> Step[_Head | None]:
    """The name that stands `start` characters from here, maybe in backticks, with the words for its input after it."""
    tick = int((yield from scan.starts("`", start)))
    name = yield from word(scan, NAME, start + tick)
    end = start + tick + len(name)
    if not name or (tick and not (yield from scan.starts("`", end))):
        return None
    space = yield from scan.space(end + tick)
    mark = yield from scan.among((*_INPUTS, "("), space)
    return None if mark is None else _Head(name, mark, space + len(mark))


def _object_at(scan: Scanner, start: int) -> Step[tuple[str, int]]:
    """The fence that is here, "" for none, and the place of the object in it or without one, 0 for none."""
    start = yield from scan.space(start)
    fence = (yield from scan.among(_FENCES, start)) or ""
    inside = yield from scan.space(start + len(fence))
    return fence and "```", inside if (yield from scan.starts("{", inside)) else 0


def _ends(scan: Scanner, sink: CallSink, closer: str) -> Step[bool]:
    """What closes the object. Returns whether the call is complete."""
    space = (yield from scan.space()) if closer else 0
    if closer and (yield from scan.starts(closer, space)):
        scan.take(space + len(closer))
    elif closer and scan.cut:
        return False
    elif closer:
        sink.note_repair("missing_closer")
    sink.end()
    return True


def _line(scan: Scanner, sink: CallSink, tools: Toolbox, name: str, end: int) -> Step[bool]:
    """An input that is no object: the rest of the line from `end` on, which may be text in quotes."""
    start = end + len((yield from word(scan, _BLANKS, end)))
    empty = (yield from character(scan, start)) in {"", "\r", "\n"}
    text = (yield from word(scan, _LINE, start)).rstrip()  # "" also for one that is long
    tool = tools.resolve(name)
    keys = tools.keys(tool)
    nothing = text in _NOTHING or (empty and not keys)
    encoded = _encoded(text, keys)
    if tool not in tools or not (nothing or encoded or (len(keys) == 1 and not empty)):
        return False
    scan.take(start)
    sink.begin(name)
    arguments = Arguments(sink, tools, tool)
    written = yield from take_run(scan, _LINE)
    if encoded:
        if scan.cut and not scan.rest():
            return False
        sink.piece(encoded)
        sink.end()
        return True
    if text.startswith('"') and is_json(text):
        arguments.member(keys[0], text)
    elif not nothing:
        argument = arguments.value(keys[0])
        argument.add(written.rstrip())
        argument.end()
    if scan.cut and not scan.rest():
        return False
    arguments.end()
    return True


def _encoded(text: str, keys: tuple[str, ...]) -> str:
    """The object of a tool's arguments that a JSON string holds, "" where it holds none."""
    found = argument_object(text) if text.startswith('"') and is_json(text) else None
    given = {key for key, _ in members(found)} if found else set()
    return found if found and given and given <= set(keys) else ""


def _blob(scan: Scanner, sink: CallSink, tools: Toolbox, *, fenced: bool) -> Step[bool]:
    """One object that begins here, read whole."""
    found = yield from whole_value(scan)
    if found is None:
        return False
    raw = dict(members(found.json))
    spelt = next((raw[key] for key in _NAMES if key in raw), "")
    given = next((raw[key] for key in _GIVEN if key in raw), None)
    if given is None or raw.keys() - _BESIDE - {*_NAMES, *_GIVEN}:
        return False
    call = action_call(spelt, given, tools)
    if call is None:
        return False
    sink.begin(call.name)
    for repair in found.repairs:
        sink.note_repair(repair)
    sink.piece(call.arguments)
    yield from take_surplus(scan, sink, ("```",) if fenced else ())
    return (yield from _ends(scan, sink, "```" if fenced else ""))


DIALECT = _ReAct(
    "react",
    opening=("Action:", "**Action:**"),
    behind=tuple((words, ()) for words in _INPUTS),
    layout="Action: {name}\nAction Input: {json}",
    place="start",
)

# `Action: the action to take` above `Action Input: …`, or a blob with `"action": $TOOL_NAME` and `"action_input": …`.
TAUGHT = r"^Action:[^\n]*\n(?:[^\n]*\n)?Action Input:|\"action\":[^\n]*\n?[^\n]*\"action_input\":"

RESULT = "Observation: {text}"
