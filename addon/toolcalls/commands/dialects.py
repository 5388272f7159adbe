"""`toolcalls dialects`: the dialects by name, what can be done with each, and who writes it."""

import sys
from argparse import Namespace
from shutil import get_terminal_size
from textwrap import wrap

from toolcalls.commands.console import as_json, put_line
from toolcalls.dialects import all_dialects
from toolcalls.shapes import Call, Unwritable
from toolcalls.tools import Toolbox
from toolcalls.writing import write

_SAMPLE = Call("read_file", '{"path":"a.txt"}')


def run(arguments: Namespace) -> int:
    """The command."""
    rows = [(name, _writes(name), _about(name)) for name in all_dialects()]
    if arguments.json:
        found = [{"name": name, "reads": True, "writes": writes, "about": about} for name, writes, about in rows]
        put_line(as_json(found, pretty=sys.stdout.isatty()))
        return 0
    first = max(len("name"), *(len(name) for name, _, _ in rows))
    left = f"{{:{first}}}  {{:5}}  {{:6}}  "
    width = max(40, min(120, get_terminal_size().columns) - first - 17)
    put_line(left.format("name", "reads", "writes") + "what it is")
    for name, writes, about in rows:
        shown = wrap(about, width) or [""]
        put_line(left.format(name, "yes", "yes" if writes else "no") + shown[0])
        for line in shown[1:]:
            put_line(left.format("", "", "") + line)
    return 0


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
