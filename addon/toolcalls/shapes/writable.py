"""Whether a form can hold a call: what is checked before a name or a value is written as plain text."""

from collections.abc import Mapping
from types import MappingProxyType

from toolcalls.shapes import Unwritable
from toolcalls.values.conversion import quote, to_json, to_text
from toolcalls.values.toolbox import Toolbox


def check_resolved(name: str, tools: Toolbox) -> None:
    """Raise Unwritable for a tool's name that would be read as another tool's."""
    if not name or name != name.strip() or tools.resolve(name) != name:
        raise Unwritable(f"the name {name!r} would be read as {tools.resolve(name)!r}")


def plain_text(name: str, key: str, raw: str, tools: Toolbox, words: Mapping[str, str] = MappingProxyType({})) -> str:
    """The text of a raw JSON value whose type nothing but the schema says.

    words   how `true`, `false` and `null` are written where not as JSON does

    Raises Unwritable where the schema reads another value: a string that looks like a number, where it takes both.
    """
    text, is_string = to_text(raw)
    text = text if is_string else words.get(raw, text)
    if to_json(text, tools.types(name, key), infer=tools.infer) != (quote(text) if is_string else raw):
        raise other_value(name, key, raw)
    return text


def other_value(name: str, key: str, raw: str) -> Unwritable:
    """The error for a value that the form has no way to write."""
    return Unwritable(f"{name}.{key}: {raw[:80]} would be read back as another value")
