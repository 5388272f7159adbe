"""Secrets taken out of bodies: JSON documents, event streams, lines of JSON, or any other text; AWS's event streams.

A stream spreads a secret over several events. So the strings that are in the same place of successive events are
joined, the joined text is searched, and the secret is taken out of each piece. A body without secrets stays byte for
byte.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from toolcalls.insight.own_secrets import NO_SECRETS, OwnSecrets
from toolcalls.insight.redaction import REDACTED, redacted_text, redacted_value, secret_spans
from toolcalls.wires.eventstream import begins_stream, read, size_of
from toolcalls.wires.frames import EventStream, EventStreamChunks


def redacted_body(body: bytes, own: OwnSecrets = NO_SECRETS) -> bytes:
    """A body without content coding: one JSON document, an event stream, lines of JSON, or any text; AWS's messages.

    own   what the headers of its flow hold, which goes, too

    Bytes that are no UTF-8 are no text and are replaced as a whole, as nobody can say what they hold.
    """
    if begins_stream(body):
        return _messages(body, own)
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return REDACTED.encode()
    return own.text(redacted_text(_joined(text, own))).encode()


def _messages(body: bytes, own: OwnSecrets) -> bytes:
    """An event stream of AWS's. What is in its payloads is searched as lines of JSON; new ones have new checksums.

    A body that cannot be read to its end is replaced as a whole. So is one whose payloads hold line ends.
    """
    try:
        first = read(body[: size_of(body)])
        frames = (EventStreamChunks if first.name == "chunk" else EventStream)(len(body))
        found = [*frames.feed(body), *frames.flush()]
        lines = [frame.data.decode() for frame in found if frame.complete and frame.data is not None]
    except ValueError:  # broken, or no UTF-8
        return REDACTED.encode()
    if len(lines) != len(found):
        return REDACTED.encode()
    clean = own.text(redacted_text(_joined("\n".join(lines), own))).split("\n")
    if len(clean) != len(lines):
        return REDACTED.encode()
    return b"".join(
        frame.raw if now == was else frames.build(now.encode(), frame.raw, keep=True, name=None)
        for frame, was, now in zip(found, lines, clean, strict=True)
    )


def _joined(text: str, own: OwnSecrets) -> str:
    """Secrets that are spread over the events of a stream, or hidden by the escapes of JSON."""
    lines = text.split("\n")
    events: list[tuple[int, str, Any]] = []
    for number, line in enumerate(lines):
        stripped = line.removesuffix("\r")
        prefix = stripped[: len("data:")] if stripped.startswith("data:") else ""
        try:
            events.append((number, prefix, json.loads(stripped[len(prefix) :], parse_int=_Raw, parse_float=_Raw)))
        except (ValueError, RecursionError):
            continue
    if not events and text.lstrip()[:1] in {"{", "["}:
        return _document(text)
    strings: dict[str, list[tuple[int, str]]] = {}
    for place, (_, _, value) in enumerate(events):
        for path, string in _strings(value, ""):
            strings.setdefault(path, []).append((place, string))
    changed: dict[int, dict[str, str]] = {}
    for path, pieces in strings.items():
        for place, replaced in _without(pieces, own):
            changed.setdefault(place, {})[path] = replaced
    for place, (number, prefix, value) in enumerate(events):
        if place in changed:
            end = "\r" if lines[number].endswith("\r") else ""
            space = " " if lines[number].startswith("data: ") else ""
            lines[number] = f"{prefix}{space}{_dumped(_changed(value, '', changed[place]))}{end}"
    return "\n".join(lines)


def _document(text: str) -> str:
    """One JSON document over several lines."""
    try:
        value = json.loads(text, parse_int=_Raw, parse_float=_Raw)
    except (ValueError, RecursionError):
        return text
    clean = redacted_value(value)
    return text if clean == value else _dumped(clean)


class _Raw(str):
    """A number as it was written."""

    __slots__ = ()


def _dumped(value: Any) -> str:
    if isinstance(value, _Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{_dumped(member)}" for key, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_dumped, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


# Members that say which of several things an event belongs to: choices, blocks, items, calls.
_NUMBERS = ("index", "contentBlockIndex", "output_index", "content_index", "summary_index", "item_id")


def _below(value: dict[str, Any], path: str) -> str:
    return path + "".join(f"[{key}={value[key]}]" for key in _NUMBERS if isinstance(value.get(key), str))


def _strings(value: Any, path: str) -> Iterable[tuple[str, str]]:
    """The strings of a JSON value with their places, which are the same in every event of one row."""
    if isinstance(value, _Raw):
        return
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        path = _below(value, path)
        for key, member in value.items():
            yield from _strings(member, f"{path}.{key}")
    elif isinstance(value, list):
        for number, member in enumerate(value):
            yield from _strings(member, f"{path}.{number}")


def _changed(value: Any, path: str, new: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return new.get(path, value) if not isinstance(value, _Raw) else value
    if isinstance(value, dict):
        path = _below(value, path)
        return {key: _changed(member, f"{path}.{key}", new) for key, member in value.items()}
    if isinstance(value, list):
        return [_changed(member, f"{path}.{number}", new) for number, member in enumerate(value)]
    return value


def _apart(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The places in order, with overlapping ones joined."""
    apart: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if apart and start < apart[-1][1]:
            apart[-1] = apart[-1][0], max(end, apart[-1][1])
        else:
            apart.append((start, end))
    return apart


def _without(pieces: list[tuple[int, str]], own: OwnSecrets) -> Iterable[tuple[int, str]]:
    """The pieces of one text that change when the secrets of the whole go, each with the number of its event."""
    whole = "".join(string for _, string in pieces)
    spans = _apart([*secret_spans(whole), *own.spans(whole)])
    if not spans:
        return
    start, which = 0, 0
    for place, string in pieces:
        end = start + len(string)
        while which < len(spans) and spans[which][1] <= start:
            which += 1
        made, at, look = [], start, which
        while look < len(spans) and spans[look][0] < end:
            first, last = spans[look]
            made.append(string[at - start : max(first, start) - start])
            if first >= start:
                made.append(REDACTED)
            at = min(last, end)
            look += 1
        if made:
            yield place, "".join(made) + string[at - start :]
        start = end
