"""What commands read and write: files, standard input and output, errors, JSON.

Strategy: the standard streams are read and written as bytes, so neither the locale nor the platform's line ends change
a reply. Text is UTF-8. Bytes that are not UTF-8, and halves of surrogate pairs from JSON escapes, are kept as lone
surrogates. JSON writes these as escapes, so writing never fails.

A model's text must not control a terminal. Hidden characters, and those that rearrange text, are written as escapes: in
JSON always, elsewhere when the output is a terminal.
"""

import codecs
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, BinaryIO, cast

from toolcalls.insight.report import HIDDEN, visible

# Control characters below U+0020 are not allowed in a JSON string, and between strings they are layout.
_HIDDEN_IN_JSON = re.compile(HIDDEN.pattern.replace("\x00-\x1f", ""))
_TERMINAL = codecs.getincrementaldecoder("utf-8")("backslashreplace")


class BadInput(ValueError):
    """An input that cannot be used. The message is one line, `FILE:LINE: what is wrong` where the line is known."""


def input_name(path: str) -> str:
    """The name of an input in messages."""
    return "stdin" if path == "-" else path


def open_input(path: str) -> BinaryIO:
    """The file, or standard input for `-`. Raises BadInput when it cannot be opened."""
    if path == "-":
        if sys.stdin.isatty():
            print("reading from the terminal; Ctrl-D ends the input", file=sys.stderr)
        return sys.stdin.buffer
    if Path(path).is_dir():
        raise BadInput(f"{path}: this is a folder; name a file in it")
    try:
        return Path(path).open("rb")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise BadInput(f"{path}: the file cannot be read: {_why(error)}") from error


def read_input(path: str) -> bytes:
    """All of a file, or of standard input for `-`. Raises BadInput."""
    source = open_input(path)
    try:
        with source:
            return source.read()
    except OSError as error:
        raise BadInput(f"{input_name(path)}: the file cannot be read: {_why(error)}") from error


def read_json(path: str) -> str:
    """The text of a file that holds JSON. Raises BadInput with the line of the first mistake."""
    name, data = input_name(path), read_input(path).removeprefix(b"\xef\xbb\xbf")
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


def input_lines(source: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines of a JSONL input that are not blank, each as soon as it is read, with its number from 1. A BOM at the
    start is removed.
    """
    for number, line in enumerate(source, 1):
        line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line  # noqa: PLW2901 - the same line
        if line.strip():
            yield number, line


def decode(data: bytes) -> str:
    """A reply's text. Bytes that are not UTF-8 become lone surrogates (PEP 383)."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """The inverse of `decode`."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def as_json(value: Any, *, pretty: bool = False) -> str:
    """`value` as JSON without surrogates and hidden characters; on one line unless `pretty`."""
    return escape_hidden(json.dumps(value, ensure_ascii=False, indent=2 if pretty else None))


def escape_hidden(json_text: str) -> str:
    """JSON text with its surrogates and hidden characters as escapes. They occur only in its strings."""
    return _HIDDEN_IN_JSON.sub(lambda found: json.dumps(found[0])[1:-1], json_text)


def write_output(data: bytes) -> None:
    """Write to standard output and flush. On a terminal hidden characters are escaped."""
    if sys.stdout.isatty():
        lines = _TERMINAL.decode(data).split("\n")
        data = "\n".join("\t".join(map(visible, line.split("\t"))) for line in lines).encode()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def discard_output() -> None:
    """Let all that is still written to standard output go nowhere, for its reader has closed the pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def write_finding(data: bytes) -> None:
    """As `write_output`, for a command that goes on where nobody reads it any more (`| head -1`): its exit status, or
    the files that it writes, depend on all that comes.
    """
    try:
        write_output(data)
    except BrokenPipeError:
        discard_output()


def write_line(text: str) -> None:
    """Write one line, or one document, to standard output and flush."""
    write_output(text.encode() + b"\n")


def print_error(command: str, message: str) -> None:
    """Print one line to standard error. Line ends and hidden characters in the message are escaped."""
    print(f"{command}: {visible(message)}", file=sys.stderr, flush=True)


def is_stream(path: str) -> bool:
    """Whether a path names a pipe, a device or standard output, which nothing may take the place of."""
    target = Path(path)
    special = target.exists() and not (target.is_file() or target.is_dir())
    return path == "-" or special or target.is_relative_to("/dev")


def write_summary(path: str, words: str) -> None:
    """Say what was written; on standard error where the path itself may be standard output."""
    if is_stream(path):
        print_error("toolcalls", words)
    else:
        write_output(encode(f"{path}: {words}\n"))


@contextmanager
def written(path: str, *, inputs: Iterable[str] = ()) -> Iterator[BinaryIO]:
    """A file that is there as a whole or not at all, and that only its owner can read (0600).

    A link is not followed: the file takes its place. A pipe or a device is written to, and `-` is standard output.

    inputs   files that are read meanwhile

    Raises BadInput for a folder, for a file in a folder that is not there, and for one of the inputs.
    """
    target = Path(path)
    if is_stream(path):
        with nullcontext(sys.stdout.buffer) if path == "-" else target.open("wb") as stream:
            yield cast(BinaryIO, stream)
            stream.flush()
        return
    if target.is_dir():
        raise BadInput(f"{path}: this is a folder; name a file in it")
    if not target.parent.is_dir():
        raise BadInput(f"{path}: there is no folder {target.parent}; make it first")
    if target.exists() and any(Path(one).exists() and target.samefile(one) for one in inputs):
        raise BadInput(f"{path}: this file is read, so it is not written over; name another one")
    with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:  # made with 0600
        try:
            yield cast(BinaryIO, file)
            file.flush()
            os.replace(file.name, target)  # noqa: PTH105 - one call that says what it is
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def _why(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
