"""Bytes and text in and out of a command: files, the standard streams, JSON.

Strategy: the standard streams are read and written as bytes, so that neither the locale nor the platform's line ends
change a reply. Text is UTF-8. What is not UTF-8 in an input, and halves of surrogate pairs from JSON escapes, are
carried as lone surrogates; JSON shows them as escapes, so writing never fails.

What models wrote must not command a terminal: in JSON, characters that show nothing or rearrange what is shown are
escapes, which every reader of JSON takes back, and whatever else goes to a terminal shows them as escapes.
"""

import codecs
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from toolcalls.insight.report import HIDDEN, visible

# Control characters below U+0020 stand in no JSON string, and between strings they are its layout.
_UNSHOWN = re.compile(HIDDEN.pattern.replace("\x00-\x1f", ""))
_shown = codecs.getincrementaldecoder("utf-8")("backslashreplace")


class BadInput(ValueError):
    """An input that cannot be used. The message is one line, `FILE:LINE: what` where a place is known."""


def source_name(path: str) -> str:
    """How a message names an input."""
    return "stdin" if path == "-" else path


def open_input(path: str) -> BinaryIO:
    """The file, or standard input for `-`. Raises BadInput when it cannot be opened."""
    if path == "-":
        if sys.stdin.isatty():
            print("reading from the terminal; Ctrl-D ends the input", file=sys.stderr)
        return sys.stdin.buffer
    try:
        return Path(path).open("rb")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise BadInput(f"{path}: the file cannot be read: {_why(error)}") from error


def read(path: str) -> bytes:
    """All of a file, or of standard input for `-`. Raises BadInput."""
    source = open_input(path)
    try:
        with source:
            return source.read()
    except OSError as error:
        raise BadInput(f"{source_name(path)}: the file cannot be read: {_why(error)}") from error


def read_json(path: str) -> str:
    """The text of a file that holds JSON. Raises BadInput with the line of the first mistake."""
    name, data = source_name(path), read(path).removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode("utf-8", "surrogatepass")
        check_json(text)
    except UnicodeDecodeError as error:
        raise BadInput(f"{name}:{data.count(b'\n', 0, error.start) + 1}: this is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise BadInput(f"{name}:{error.lineno}: this is not JSON: {error.msg} (column {error.colno})") from error
    except ValueError as error:
        raise BadInput(f"{name}: {error}") from error
    return text


def check_json(text: str) -> None:
    """Raises JSONDecodeError, or ValueError where Python's reader is less strict than JSON or the stack too short."""
    try:
        json.loads(text, parse_int=str, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError("this JSON is nested too deeply") from error


def _no_constant(word: str) -> None:
    raise ValueError(f"this is not JSON: {word}")


def lines(source: BinaryIO) -> Iterator[bytes]:
    """The lines of a JSONL input that hold something, without a BOM before the first, as soon as each is there."""
    for number, line in enumerate(source):
        line = line.removeprefix(b"\xef\xbb\xbf") if number == 0 else line  # noqa: PLW2901 - the same line
        if line.strip():
            yield line


def decoded(data: bytes) -> str:
    """A reply's text. Bytes that are not UTF-8 become lone surrogates (PEP 383)."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """The other way round: what `decoded` made of bytes are those bytes again."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def as_json(value: Any, *, pretty: bool = False) -> str:
    """`value` as JSON, on one line unless `pretty`, that every encoding of Unicode can carry."""
    return sendable(json.dumps(value, ensure_ascii=False, indent=2 if pretty else None))


def sendable(json_text: str) -> str:
    """JSON text with surrogates and hidden characters as escapes: they can only stand in strings."""
    return _UNSHOWN.sub(lambda found: json.dumps(found[0])[1:-1], json_text)


def put(data: bytes) -> None:
    """Write to standard output, at once; to a terminal with hidden characters as escapes."""
    if sys.stdout.isatty():
        lines = _shown.decode(data).split("\n")
        data = "\n".join("\t".join(map(visible, line.split("\t"))) for line in lines).encode()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def put_line(text: str) -> None:
    """Write one line, or one document, to standard output, at once."""
    put(text.encode() + b"\n")


def complain(command: str, what: str) -> None:
    """One line on standard error, whatever the names and the inputs in it hold."""
    print(f"{command}: {visible(what)}", file=sys.stderr, flush=True)


def _why(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
