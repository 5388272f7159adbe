"""Calls as text for a client, whose reader may be simpler than the one here.

Cline, Roo Code, OpenHands and most scripts end a value at its first closing tag. The readers in `shapes` read on where
the grammar cannot go on after it, so reading back finds nothing wrong, and yet such a client would run half a command.
A call is therefore written only if no value holds a tag that ends it; in JSON the tag is escaped instead.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from toolcalls.dialects import declared, grammar
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.conversion import members, quote, to_text
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import write

_TAG = re.compile(r"</[^<>\s]+>")
_OPENING = re.compile(r"<\w+>")
_CDATA = re.compile(r"<!\[CDATA\[.*?\]\]>", re.DOTALL)
# Where a closing tag begins in JSON, however it is spelt there; any other escape is matched to be left alone.
_BEGINS = re.compile(r"(?P<tag>(?:<|\\u003c)(?:/|\\/|\\u002f))|\\.", re.IGNORECASE | re.DOTALL)
_HARMLESS, _ESCAPED = "(/", r"<\/"


def write_for_client(dialect: str, calls: Sequence[Call], tools: Toolbox) -> str:
    """`calls` as text that also a reader that ends each value at its first closing tag reads as these calls.

    Raises `Unwritable`.
    """
    return write(dialect, [whole_for_client(dialect, call, tools) for call in calls], tools)


def whole_for_client(dialect: str, call: Call, tools: Toolbox) -> Call:
    """The call, spelt so that no value ends early."""
    try:
        tag = _foreign_tag(dialect, call)
        if tag:
            raise Unwritable(f"{call.name}: a value holds {tag}, which its reader looks for in the whole call")
        if _begun(call.arguments, _HARMLESS) == call.arguments:
            return call
        tag = _ending_tag(dialect, call, tools)
        escaped = Call(call.name, _begun(call.arguments, _ESCAPED))
        if not tag or not _ending_tag(dialect, escaped, tools):
            return escaped if tag else call
    except ValueError as error:
        raise error if isinstance(error, Unwritable) else Unwritable(f"{call.name}: {error}") from error
    raise Unwritable(f"{call.name}: a value holds {tag}, at which its reader would end it")


def _ending_tag(dialect: str, call: Call, tools: Toolbox) -> str | None:
    """A tag in a value of the call that ends the value for a simple reader, None for none."""
    structure = _tags(dialect, Call(call.name, _begun(call.arguments, _HARMLESS)), tools)
    for key, raw in members(call.arguments):
        alone, harmless = (f"{{{quote(key)}:{value}}}" for value in (raw, _begun(raw, _HARMLESS)))
        if alone == harmless:
            continue
        inside = _tags(dialect, Call(call.name, alone), tools) - _tags(dialect, Call(call.name, harmless), tools)
        for tag in inside:
            by_name = f"</{key}>" in structure
            if tag in structure and not (by_name and _is_data(dialect, call, tag, key, to_text(raw)[0])):
                return tag
    return None


def _is_data(dialect: str, call: Call, tag: str, key: str, value: str) -> bool:
    """Whether a tag that the call's own markup has, too, means nothing in the value of `key`, an element of that name.

    Only a parameter's own tag ends it, not those of its siblings and of the tool.
    """
    name = tag[2:-1]
    if name != key:
        return name == call.name or any(name == other for other, _ in members(call.arguments))
    behind = value.partition(tag)[2]
    return key in _to_last(dialect, call) and not _OPENING.search(behind) and f"</{call.name}>" not in behind


def _foreign_tag(dialect: str, call: Call) -> str | None:
    """A tag of a parameter that is read from its first tag to its last, in the value of another one; None for none."""
    for key in _to_last(dialect, call):
        others = [to_text(raw)[0] for other, raw in members(call.arguments) if other != key]
        for tag in (f"<{key}>", f"</{key}>"):
            if any(tag in value for value in others):
                return tag
    return None


def _to_last(dialect: str, call: Call) -> Sequence[str]:
    """The parameters of the tool whose values the dialect's clients read up to the last closing tag."""
    read = declared(dialect, "TO_LAST_CLOSER")
    return read.get(call.name, ()) if isinstance(read, Mapping) else ()


def _tags(dialect: str, call: Call, tools: Toolbox) -> Counter[str]:
    """The closing tags in the text of a call, without those that CDATA hides from a reader of XML."""
    text = grammar(dialect).write([call], tools)
    if "<![CDATA[" not in call.arguments:
        text = _CDATA.sub("", text)
    return Counter(_TAG.findall(text))


def _begun(json: str, beginning: str) -> str:
    """JSON in which closing tags begin with something else."""
    return _BEGINS.sub(lambda match: beginning if match["tag"] else match[0], json)
