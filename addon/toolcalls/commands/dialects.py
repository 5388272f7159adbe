"""`toolcalls dialects`: the dialects by name, what can be done with each, and who writes it.

Whether a dialect is detected is seen, not said: the example that its own description begins with is read in `auto`.
"""

import sys
from argparse import Namespace
from shutil import get_terminal_size
from textwrap import dedent, wrap

from toolcalls.commands.console import as_json, put_line
from toolcalls.dialects import all_dialects
from toolcalls.events import CallStart
from toolcalls.reading.policy import Terms
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import write

_SAMPLE = Call("read_file", '{"path":"a.txt"}')


def run(arguments: Namespace) -> int:
    """The command."""
    rows = [(name, _writes(name), detects(name), _about(name)) for name in all_dialects()]
    if arguments.json:
        told = [
            {"name": name, "reads": True, "writes": writes, "detects": found, "about": about}
            for name, writes, found, about in rows
        ]
        put_line(as_json(told, pretty=sys.stdout.isatty()))
        return 0
    first = max(len(name) for name, *_ in rows)
    third = max(len(found) for _, _, found, _ in rows)
    left = f"{{:{first}}}  {{:5}}  {{:6}}  {{:{third}}}  "
    width = max(40, min(120, get_terminal_size().columns) - first - third - 19)
    put_line(left.format("name", "reads", "writes", "detects") + "what it is")
    for name, writes, found, about in rows:
        shown = wrap(about, width) or [""]
        put_line(left.format(name, "yes", "yes" if writes else "no", found) + shown[0])
        for line in shown[1:]:
            put_line(left.format("", "", "", "") + line)
    return 0


def example(name: str) -> str:
    """The example in a dialect's own description: its first indented block."""
    lines = (sys.modules[f"toolcalls.dialects.{name}"].__doc__ or "").splitlines()
    block = "\n".join(line if line.startswith("    ") or not line else "\0" for line in lines[1:])
    return dedent(block.strip("\0\n").partition("\0")[0]).strip("\n")


def detects(name: str) -> str:
    """Whether `auto` finds this dialect: "yes"; "as X", one of the same grammar; "by tools", whose names it takes.

    "no" where its example is read as nothing.
    """
    reader = Reader(Terms(Route(policy="lenient"), Request(tools=(Tool(_SAMPLE.name),))))
    text = example(name)
    events = [*reader.feed(text), *reader.finish(cut=False)]
    found = [event.dialect for event in events if isinstance(event, CallStart)]
    if name in found:
        return "yes"
    dialect = all_dialects()[name]
    if dialect.openers((_SAMPLE.name,)) != dialect.openers(()):
        return "by tools"
    return f"as {found[0]}" if found else "no"


def _writes(name: str) -> bool:
    """Whether calls can be written in this dialect."""
    try:
        write(name, [_SAMPLE], Toolbox())
    except Unwritable:
        return False
    return True


def _about(name: str) -> str:
    """The first paragraph of the dialect's own description, without its name."""
    paragraph = (sys.modules[f"toolcalls.dialects.{name}"].__doc__ or "").strip().partition("\n\n")[0]
    return " ".join(paragraph.split()).removeprefix(f"`{name}`: ")
