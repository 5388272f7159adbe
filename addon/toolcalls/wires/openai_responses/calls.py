"""The items that are calls which the client makes: functions, custom tools, and the tools that this API has built in.

https://platform.openai.com/docs/api-reference/responses/object. A function's arguments are JSON in a string. A custom
tool takes free text; in the hub that is the only argument of its call, `input`. The built-in tools of the client (the
local shell, patches, a computer) have no name of their own and hold their arguments as an object; those arguments come
whole. What the server does itself (web search, MCP, code, a shell in its own container) is no call of the client's.

A kind's `form` is what `CallStart.form` and `Tool.form` say of it: its type, "" for a function.
"""

import re
from dataclasses import dataclass

from toolcalls.events import CallStart
from toolcalls.values import rawjson
from toolcalls.values.conversion import escape, members, quote
from toolcalls.values.json_tokenizer import StringText
from toolcalls.values.rawjson import Fields

INPUT_BEGINS, INPUT_ENDS = '{"input":"', '"}'

_HEAD = re.compile(r'\s*\{\s*"input"\s*:\s*"')
_HEAD_LIMIT = 64  # characters, with white space


@dataclass(frozen=True, slots=True)
class CallKind:
    """One kind of call.

    type     the type of its items
    prefix   what the ids of its items begin with
    tool     the name of the tool, where the items do not bear one
    holds    the members that may hold the arguments; the first is the usual one
    events   the events that bring the arguments in pieces, without their `.delta` and `.done`; "" where there are none
    """

    type: str
    prefix: str
    tool: str
    holds: tuple[str, ...]
    events: str = ""

    @property
    def form(self) -> str:
        """What the hub calls this kind."""
        return "" if self is FUNCTION else self.type

    @property
    def whole(self) -> bool:
        """Whether the arguments are an object in the item, which is there as a whole or not at all."""
        return not self.events

    def name(self, item: Fields) -> str:
        """The name of the tool that an item calls."""
        return self.tool or rawjson.word(item, "name")

    def arguments(self, item: Fields) -> str:
        """The argument JSON that an item holds, "" for none."""
        if self is FUNCTION:
            given = item.get("arguments")
            return rawjson.text_of(given) if rawjson.is_object(given) else rawjson.word(item, "arguments")
        if self is CUSTOM:
            ends = "" if rawjson.word(item, "status") == "incomplete" else INPUT_ENDS
            return f"{INPUT_BEGINS}{escape(rawjson.word(item, 'input'))}{ends}"
        for key in self.holds:
            if rawjson.is_object(item.get(key)):
                return rawjson.text_of(item[key])
            if item.get(key) is not None and rawjson.items(item[key]):
                return f"{{{quote(key)}:{rawjson.text_of(item[key])}}}"
        return ""

    def json(self, text: str) -> str:
        """The argument JSON in what an event or an item holds as a text."""
        return f"{INPUT_BEGINS}{escape(text)}{INPUT_ENDS}" if self is CUSTOM else text

    def new_item(self, start: CallStart, namespace: str, like: Fields | None) -> Fields:
        """An item that has just begun. `like` is one that it is to be like, None for a new one."""
        name = name_in(start)
        if like is not None and kind_of(like) is self:
            empty = {} if self.whole else {self.holds[0]: rawjson.string("")}
            renamed = {} if self.name(like) == name else {"name": rawjson.string(name)}
            return {**like, "status": "in_progress", **empty, **renamed}
        item: Fields = {
            "id": rawjson.string(self.prefix + start.id.removeprefix("call_")),
            "type": self.type,
            "status": "in_progress",
        }
        if not self.whole:
            item[self.holds[0]] = rawjson.string("")
        item["call_id"] = rawjson.string(start.id)
        if not self.tool:
            item["name"] = rawjson.string(name)
        return item | ({"namespace": rawjson.string(namespace)} if namespace else {})

    def filled(self, item: Fields, arguments: str, status: str) -> Fields:
        """An item with argument JSON, as far as it came, and its status."""
        holds: Fields = {}
        if self is FUNCTION:
            holds = {"arguments": rawjson.string(arguments)}
        elif self is CUSTOM:
            holds = {"input": rawjson.string(input_of(arguments, ended=status == "completed"))}
        elif status == "completed":
            holds = _held(self.holds, arguments)
        return {**item, **holds, "status": status}


FUNCTION = CallKind("function_call", "fc_", "", ("arguments",), "response.function_call_arguments")
CUSTOM = CallKind("custom_tool_call", "ctc_", "", ("input",), "response.custom_tool_call_input")
KINDS: dict[str, CallKind] = {
    kind.type: kind
    for kind in (
        FUNCTION,
        CUSTOM,
        CallKind("local_shell_call", "lsh_", "local_shell", ("action",)),
        CallKind("shell_call", "sh_", "shell", ("action",)),
        CallKind("apply_patch_call", "apc_", "apply_patch", ("operation",)),
        CallKind("computer_call", "cu_", "computer", ("action", "actions")),
    )
}

# The events that bring arguments: the kind, and whether it is a piece of them or all.
PIECES: dict[str, tuple[CallKind, bool]] = {
    f"{kind.events}.{end}": (kind, end == "delta") for kind in (FUNCTION, CUSTOM) for end in ("delta", "done")
}


def kind_of(item: Fields) -> CallKind | None:
    """What kind of call of the client's an item is, None for any other item."""
    kind = KINDS.get(rawjson.word(item, "type"))
    if kind is not None and kind.tool == "shell" and _is_hosted(item):
        return None
    return kind


def _is_hosted(item: Fields) -> bool:
    """Whether a shell runs in a container of the server's."""
    return rawjson.word(rawjson.fields(item.get("environment")), "type").startswith("container")


def holds_call(event: Fields) -> bool:
    """Whether an event holds an item that is a call of the client's."""
    output = rawjson.items(rawjson.fields(event.get("response")).get("output"))
    return any(kind_of(rawjson.fields(item)) is not None for item in (event.get("item"), *output))


def has_members(arguments: str) -> bool:
    """Whether an argument JSON says more than that there are no arguments so far."""
    return arguments.strip() not in {"", "{}"}


def kind_of_form(form: str) -> CallKind:
    """The kind that the hub calls so; a function for what is unknown here."""
    return KINDS.get(form, FUNCTION)


def name_in(start: CallStart) -> str:
    """A call's name as its item has it: without the namespace, which is a member of its own."""
    return start.name.removeprefix(f"{start.space}.") if start.space else start.name


def namespaces(tools: object) -> dict[str, str]:
    """The namespace of each tool that is declared in one."""
    found: dict[str, str] = {}
    for tool in map(rawjson.fields, rawjson.items(tools)):
        if rawjson.word(tool, "type") == "namespace":
            for inner in map(rawjson.fields, rawjson.items(tool.get("tools"))):
                found[rawjson.word(inner, "name")] = rawjson.word(tool, "name")
    return found


def _held(keys: tuple[str, ...], arguments: str) -> Fields:
    """Argument JSON as the member that holds it: the object itself, or its only member where that is one of `keys`."""
    try:
        found = members(arguments)
    except ValueError:
        return {}
    if len(found) == 1 and found[0][0] in keys:
        return {found[0][0]: rawjson.json_text(found[0][1])}
    return {keys[0]: rawjson.json_text(arguments)}


class CallItem:
    """A call that the client gets, as far as it came. `item` is also the item of the whole response."""

    def __init__(self, kind: CallKind, item: Fields, place: int) -> None:
        self.kind = kind
        self.item = item
        self.place = place
        self.pieces: list[str] = []
        self.input = CustomInput()

    def end(self, status: str) -> None:
        """Set the call's final arguments and status in its item."""
        self.item.update(self.kind.filled(self.item, "".join(self.pieces), status))


class CustomInput:
    """The text for a custom tool, out of its argument JSON while that comes.

    That JSON is an object whose first member is the string `input`, and what is beside it is none of the tool's.
    Any other object is the text itself, as the model wrote it, once it is whole.
    """

    def __init__(self) -> None:
        self._before: list[str] = []  # what came before the text; all, where there is none
        self._size = 0  # characters of that
        self._string: StringText | None = None
        self._behind = False

    def feed(self, piece: str) -> str:
        """Take the next piece of JSON; returns the text that it holds."""
        if self._behind:
            return ""
        if self._string is None:
            self._before.append(piece)
            may_begin = self._size <= _HEAD_LIMIT
            self._size += len(piece)
            head = _HEAD.match("".join(self._before)) if may_begin else None
            if head is None:
                return ""
            self._string, piece = StringText(), head.string[head.end() :]
        text, end = self._string.feed(piece)
        self._behind = end >= 0
        return text

    def end(self) -> str:
        """The JSON is complete; returns the text that is left."""
        return "" if self._string is not None else "".join(self._before)


def input_of(arguments: str, *, ended: bool) -> str:
    """The text for a custom tool in argument JSON. `ended`: it is whole."""
    reader = CustomInput()
    return reader.feed(arguments) + (reader.end() if ended else "")
