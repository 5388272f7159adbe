"""`toolcalls dialects`: the dialects by name, what can be done with each, and what its file says of it.

Whether a dialect is detected is tried, not declared: its example is read in `auto`.
"""

import sys
from argparse import Namespace
from collections.abc import Iterator
from shutil import get_terminal_size
from textwrap import wrap

from toolcalls.dialects import about, all_dialects, summary
from toolcalls.events import CallStart
from toolcalls.own_dialects.engines import Unsayable
from toolcalls.own_dialects.form_file import check_name
from toolcalls.own_dialects.form_text import dialect_text
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.streams import BadInput, as_json, encode, print_error, write_line, write_output
from toolcalls.tools.options import one_of
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import write

_SAMPLE = Call("read_file", '{"path":"a.txt"}')


def run(arguments: Namespace) -> int:
    if arguments.yaml is not None:
        return _yaml(one_of(arguments.yaml, all_dialects(), "--yaml"), arguments.name)
    if arguments.json:
        write_line(as_json([_record(name) for name in all_dialects()], pretty=sys.stdout.isatty()))
        return 0
    for line in _table():
        write_line(line)
    return 0


def _yaml(name: str, known_as: str | None) -> int:
    """Write a dialect of the package as a file that brings it under another name."""
    known_as = known_as or f"my_{name}"
    wrong = check_name(known_as, all_dialects())
    if wrong is not None:
        raise BadInput(f"--{wrong}")
    try:
        text = dialect_text(name, known_as)
    except Unsayable as why:
        print_error("toolcalls dialects", f"{name} cannot be said as a file: {why}")
        return 1
    write_output(encode(text))
    return 0


def detects(name: str) -> str:
    """Whether `auto` finds this dialect: "yes"; "as X", one of the same grammar; "by tools", whose names it takes.

    "no" where its example is read as nothing.
    """
    known = about(name)
    reader = Reader(CallPolicy(Route(policy="lenient"), Request(tools=(Tool(known.call.name),))))
    events = [*reader.feed(known.example), *reader.finish(cut=False)]
    found = [event.dialect for event in events if isinstance(event, CallStart)]
    if name in found:
        return "yes"
    dialect = all_dialects()[name]
    if dialect.openers((_SAMPLE.name,)) != dialect.openers(()):
        return "by tools"
    return f"as {found[0]}" if found else "no"


def _record(name: str) -> dict[str, object]:
    """A dialect as a JSON object."""
    known = about(name)
    return {
        "name": name,
        "reads": True,
        "writes": _writes(name),
        "detects": detects(name),
        "about": summary(name),
        "form": known.form,
        "strength": known.sign.strength,
        "written_by": known.written_by,
        "source": known.source,
        "since": known.since,
        "example": known.example,
    }


def _table() -> Iterator[str]:
    """A row for each dialect, with the fields of its `ABOUT` below it. Only the last column is wrapped."""
    rows = [(name, "yes" if _writes(name) else "no", detects(name)) for name in all_dialects()]
    first, third = max(len(name) for name, _, _ in rows), max(len(found) for _, _, found in rows)
    left = f"{{:{first}}}  {{:5}}  {{:6}}  {{:{third}}}  "
    width = max(40, min(120, get_terminal_size().columns) - first - third - 19)
    yield left.format("name", "reads", "writes", "detects") + "what it is"
    for name, writes, found in rows:
        columns = left.format(name, "yes", writes, found)
        for line in wrap(summary(name), width) or [""]:
            yield columns + line
            columns = " " * len(columns)
        known = about(name)
        yield f"    {'strength':10}  {known.sign.strength}"
        for field in ("written_by", "source", "since", "example"):
            label = field.replace("_", " ")
            for line in getattr(known, field).splitlines():
                yield f"    {label:10}  {line}"
                label = ""


def _writes(name: str) -> bool:
    """Whether calls can be written in this dialect."""
    try:
        write(name, [_SAMPLE], Toolbox())
    except Unwritable:
        return False
    return True
