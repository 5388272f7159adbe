"""JSON objects taken apart one level at a time, so that what nobody changes is written again as it was.

Strategy. A member is kept as raw JSON until somebody asks what it means: numbers keep their spelling, unknown fields
their order, strings their escapes. Servers send lone surrogates and keys that are not UTF-8, which msgspec refuses;
those objects are cut by the standard library's decoder, with what cannot be decoded replaced; their members still are
as they were written. Nothing here but `loaded` raises: what is not of the asked shape is empty.
"""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from toolcalls.values.conversion import quote
from toolcalls.values.spans import decoded_end, whole

# An object's members: raw JSON, or what has been put in their places.
type Fields = dict[str, Any]

NULL = msgspec.Raw(b"null")

REFUSED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)  # the last one for depth

_decode = msgspec.json.Decoder().decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


def loaded(body: bytes) -> Any:
    """What a request's body means, as plain data. Raises ValueError for what is no JSON, or nested too deep."""
    try:
        return _decode(body)  # in a third of the time; what it refuses, the standard library reads or refuses
    except REFUSED:
        pass
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the request body is not JSON: {error}") from error


def fields(raw: object) -> Fields:
    """An object's members, each as raw JSON; {} for what is no object."""
    if isinstance(raw, dict):
        return raw
    if not isinstance(raw, bytes | msgspec.Raw):
        return {}
    try:
        return _decode_fields(raw)
    except REFUSED:
        return dict(_inside(raw, "{"))


def items(raw: object) -> list[Any]:
    """A list's items, each as raw JSON; [] for what is no list."""
    if isinstance(raw, list):
        return raw
    if not isinstance(raw, bytes | msgspec.Raw):
        return []
    try:
        return _decode_list(raw)
    except REFUSED:
        return [item for _, item in _inside(raw, "[")]


def value(raw: object) -> Any:
    """What raw JSON means; None for what cannot be read, and what is no raw JSON as it is."""
    if not isinstance(raw, msgspec.Raw):
        return raw
    try:
        return msgspec.json.decode(raw)
    except REFUSED:
        return _loosely(raw)


def strings(given: object) -> list[str]:
    """All strings in a value, in order, but for what is encrypted."""
    found: list[str] = []
    pending = [given]
    while pending:
        one = value(pending.pop())
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, list):
            pending.extend(reversed(one))
        elif isinstance(one, dict):
            pending.extend(reversed([member for key, member in one.items() if not str(key).startswith("encrypted_")]))
    return found


def word(members: Mapping[str, Any], key: str) -> str:
    """A member that is a string, "" for any other."""
    found = value(members.get(key))
    return found if isinstance(found, str) else ""


def number(members: Mapping[str, Any], key: str, default: int) -> int:
    """A member that is a whole number, not negative; `default` for any other."""
    found = value(members.get(key))
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else default


def is_place(raw: object) -> bool:
    """Whether a member counts something for every client: a whole number, not negative; or it is not there at all."""
    found = value(raw)
    return found is None or (isinstance(found, int) and not isinstance(found, bool) and found >= 0)


def text_of(raw: object) -> str:
    """Raw JSON as it is written."""
    return bytes(raw).decode(errors="replace") if isinstance(raw, bytes | msgspec.Raw) else json.dumps(raw)


def is_object(raw: object) -> bool:
    """Whether raw JSON is an object."""
    return isinstance(raw, dict) or (isinstance(raw, bytes | msgspec.Raw) and bytes(raw).lstrip()[:1] == b"{")


def string(text: str) -> msgspec.Raw:
    """Text as a JSON string."""
    return msgspec.Raw(quote(text).encode())


def is_string(raw: object) -> bool:
    """Whether raw JSON is a string."""
    return isinstance(raw, str) or (isinstance(raw, bytes | msgspec.Raw) and bytes(raw).lstrip()[:1] == b'"')


def is_list(raw: object) -> bool:
    """Whether raw JSON is a list."""
    return isinstance(raw, list) or (isinstance(raw, bytes | msgspec.Raw) and bytes(raw).lstrip()[:1] == b"[")


def raw(payload: bytes) -> msgspec.Raw:
    """JSON bytes as a member."""
    return msgspec.Raw(payload)


def json_text(text: str) -> msgspec.Raw:
    """JSON text as a member, on one line: a line end between two values would end a line of NDJSON, and many clients
    read server-sent events a line at a time. Strict JSON has raw line ends nowhere else.
    """
    if "\n" in text or "\r" in text:
        text = text.replace("\r", " ").replace("\n", " ")
    return msgspec.Raw(text.encode("utf-8", "surrogatepass"))


def written(members: Fields) -> bytes:
    """An object as JSON. Lone surrogates in its keys, which msgspec refuses, are escaped."""
    try:
        return msgspec.json.encode(members)
    except UnicodeEncodeError:
        return _spelt(members).encode()


def present(members: Fields) -> Fields:
    """The members that are not null. JSON of protocol buffers and botocore writes an absent member as null
    (https://protobuf.dev/programming-guides/json/), and servers that write all members of a class have many.
    """
    absent = [key for key, member in members.items() if member is None or member == NULL]
    return without(members, *absent) if absent else members


def without(members: Mapping[str, Any], *keys: str) -> Fields:
    """All members but these."""
    return {key: member for key, member in members.items() if key not in keys}


def _spelt(member: object) -> str:
    if isinstance(member, dict):
        return "{" + ",".join(f"{quote(key)}:{_spelt(inner)}" for key, inner in member.items()) + "}"
    if isinstance(member, list):
        return "[" + ",".join(map(_spelt, member)) + "]"
    if isinstance(member, msgspec.Raw):
        return text_of(member)
    try:  # spelt alike, whatever is beside it
        return msgspec.json.encode(member).decode()
    except UnicodeEncodeError:
        return quote(member) if isinstance(member, str) else json.dumps(member)


def _loosely(raw: bytes | msgspec.Raw) -> object:
    """The value of JSON that msgspec refuses; None for what is no JSON."""
    try:
        return json.loads(bytes(raw).decode(errors="replace"))
    except (ValueError, RecursionError):
        return None


def _inside(raw: bytes | msgspec.Raw, opener: str) -> list[tuple[Any, msgspec.Raw]]:
    """The items of an object or a list that msgspec refuses; none where the standard library refuses it as well."""
    text = bytes(raw).decode(errors="replace")
    try:
        found = whole(text, decoded_end, opener)
    except (ValueError, RecursionError):
        return []
    return [(step, msgspec.Raw(text[start:end].encode())) for step, start, end in found]
