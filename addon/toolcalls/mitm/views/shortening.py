"""A long request made small before it is read, so that showing it keeps nobody waiting.

Skipping JSON is fast, building objects of it is not. So a body is cut into the raw text of its fields, its list of
messages into the raw text of each, and only messages of both ends are ever read; one message says what it stands for.
"""

from dataclasses import dataclass
from typing import Any

import msgspec

from toolcalls.insight.formatting import counted

MAX_BODY = 512 * 1024  # bytes of a request that is read as it is
MAX_MESSAGES = 200  # of a request; of a longer one so many of its end, and a few of its beginning
_FIRST = 8  # messages of the beginning
_MESSAGE = 64 * 1024  # bytes of one message that are read
_BUDGET = 256 * 1024  # bytes of messages, and of tools
_LISTS = ("messages", "input", "contents")

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


@dataclass(frozen=True, slots=True)
class Reduced:
    """A request's body, small enough to be read.

    messages   how many it had, 0 for an unknown number
    left_out   how many of them one message stands for, whose text is `note`
    """

    body: bytes
    messages: int = 0
    left_out: int = 0
    note: str = ""


class _Named(msgspec.Struct):
    role: str | None = None


_role = msgspec.json.Decoder(_Named).decode


def reduced(body: bytes) -> Reduced:
    """A request's body with its messages cut down to what a view shows. One that is short stays as it is.

    Skipping JSON is fast, building objects of it is not: so the body is cut into the raw text of its fields, and only
    what is kept is ever read. A body that is no JSON object stays what it is, and its reader says what is wrong.
    """
    try:
        fields: dict[str, Any] = dict(_fields(body))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return Reduced(body[:MAX_BODY])  # no JSON, or no object: whoever reads it says so
    key = next((one for one in _LISTS if bytes(fields.get(one, b""))[:1] == b"["), "")
    messages = _list(fields[key]) if key else []
    if len(body) <= MAX_BODY and len(messages) <= MAX_MESSAGES:
        return Reduced(body, len(messages))
    for name, raw in fields.items():
        size = len(bytes(raw))
        if name != key and size > (_BUDGET if name == "tools" else _MESSAGE):
            text = f"({size:,} bytes, which are not read here)"
            fields[name] = text if bytes(raw)[:1] == b'"' else None
    left_out, note = 0, ""
    if key:
        first, last = _ends(messages, key)
        left_out = len(messages) - len(first) - len(last)
        size = max(0, len(bytes(fields[key])) - sum(len(bytes(one)) for one in (*first, *last)))
        note = f"… {counted(left_out, 'message')} of {counted(size, 'byte')} left out …" if left_out else ""
        fields[key] = [*first, *([_message(key, "user", note)] if note else []), *last]
    return Reduced(msgspec.json.encode(fields), len(messages), left_out, note)


def _ends(messages: list[msgspec.Raw], key: str) -> tuple[list[msgspec.Raw], list[msgspec.Raw]]:
    """The messages of the beginning and of the end that are shown."""
    first: list[msgspec.Raw] = []
    last: list[msgspec.Raw] = []
    for message in messages[:_FIRST]:
        first.append(_small(message, key))
    budget = _BUDGET
    for message in reversed(messages[len(first) :][-MAX_MESSAGES:]):
        small = _small(message, key)
        budget -= len(bytes(small))
        if budget < 0:
            break
        last.append(small)
    return first, last[::-1]


def _small(message: msgspec.Raw, key: str) -> msgspec.Raw:
    """A message as it is, or its beginning as text in its place."""
    raw = bytes(message)
    if len(raw) <= _MESSAGE:
        return message
    try:
        role = _role(raw).role or "user"
    except (msgspec.MsgspecError, UnicodeError):
        role = "user"
    beginning = raw[:2048].decode("utf-8", "replace")
    return _message(key, role, f"(a message of {counted(len(raw), 'byte')}, its beginning as it came) {beginning}")


def _message(key: str, role: str, text: str) -> msgspec.Raw:
    content: dict[str, Any] = {"parts": [{"text": text}]} if key == "contents" else {"content": text}
    return msgspec.Raw(msgspec.json.encode({"role": role, **content}))
