"""`make dialect NAME=… FROM=reply.txt [TOOLS=tools.json]`: a dialect's file and its cases from a pasted reply.

The reply's form is found by letting every shape try it (`own_dialects`). One that reads all calls without a repair,
and would write them just so, becomes the dialect. Where none does, it says which came nearest and why, and writes a
grammar to be filled in by hand with a case that fails. Where several fit and read different calls, it asks for the
tools.

    NAME    the dialect's name, a word in lower case
    FROM    a file with the reply's text as the model wrote it
    TOOLS   a file with the request's tools in OpenAI form; without it the tools are those that the reply calls

Exit status: 0 for a dialect that fits, 1 for a skeleton or a case that fails, 2 for bad use; then nothing is written.
"""

import argparse
import importlib
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from newdialect.examples import TRUNCATED, Example, examples, header, unread, written
from support.caseedits import NotUpdated
from support.casefiles import CASES, Place, case_file
from support.caseoutcomes import changes
from support.caseupdates import Updates
from support.repository import REPO
from toolcalls import __version__
from toolcalls.dialects import all_dialects, chosen
from toolcalls.own_dialects.draft import Found, all_tries, read_already, reading
from toolcalls.own_dialects.guesses import Candidate
from toolcalls.own_dialects.trial import tools_of, tried
from toolcalls.request import Tool
from toolcalls.requests.conversation import request_of
from toolcalls.shapes import Call
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.writing.writer import write

DIALECTS = REPO / "addon" / "toolcalls" / "dialects"
PUBLIC = Call("read_file", '{"path": "src/a.ts"}')  # what the examples of all dialects call


def main(arguments: Sequence[str] | None = None) -> int:
    """Write both files and say what to do next."""
    parser = argparse.ArgumentParser(prog="make dialect", description=__doc__.partition("\n")[0])
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("reply", metavar="FROM", type=Path)
    parser.add_argument("--tools", metavar="TOOLS", type=Path)
    given = parser.parse_args(arguments)
    try:
        _checked(given.name)
        text = given.reply.read_text(encoding="utf-8").rstrip("\n")
        tools = _tools(given.tools) if given.tools else ()
    except (OSError, ValueError) as error:
        print(f"make dialect: {error}", file=sys.stderr)
        return 2
    if not text.strip():
        print(f"make dialect: {given.reply} is empty", file=sys.stderr)
        return 2
    by = read_already(text, tools)
    if by:
        print(f"The dialect `{by}` reads this reply already: add it as a case to tests/cases/dialects/{by}.yaml.")
        return 2
    tries = all_tries(given.name, text, tools)
    fitting = [one for one in tries if one.trial.fits]
    if not fitting:
        return _skeleton(given.name, text, tools, tries)
    readings = sorted({reading(one.trial.calls) for one in fitting})
    if len(readings) > 1:
        print("The reply can be read in several ways; give the request's tools (TOOLS=tools.json) to choose one:")
        print("\n".join(f"  {reading}" for reading in readings))
        return 2
    exact = [one for one in fitting if one.trial.written == one.trial.block]
    return _finished(given.name, text, (exact or fitting)[0], given_tools=tools)


def _checked(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ValueError(f"NAME={name}: a dialect's name is a word in lower case, with digits and _")
    for path in (DIALECTS / f"{name}.py", CASES / "dialects" / f"{name}.yaml"):
        if path.exists():
            raise ValueError(f"{path.relative_to(REPO)} exists")


def _tools(path: Path) -> tuple[Tool, ...]:
    listed: Any = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(listed, list):
        raise ValueError(f"{path}: tools are a list in OpenAI form")
    found = request_of(all_wires()["openai_chat"], json.dumps({"messages": [], "tools": listed}).encode()).tools
    if not found:
        raise ValueError(f"{path}: there is no tool in it")
    return found


# --- files ------------------------------------------------------------------------------------------------------------


def _finished(name: str, text: str, found: Found, given_tools: tuple[Tool, ...]) -> int:
    candidate, trial, tools = found
    example = write(found.name, (PUBLIC,), Toolbox(tools_of((PUBLIC,))))
    _put(DIALECTS / f"{name}.py", _module(name, candidate, example))
    rows = examples(text, trial)
    last = written(trial)
    _put_cases(name, tools, rows, last)
    if tried(text, tools, name) != trial:
        raise AssertionError("what is written is not what was tried")
    print(f"`{name}` is {candidate.summary}")
    print(f"It reads {len(trial.calls)} call(s), and writes them as they stand in the reply.")
    if not given_tools:
        print("The tools are those that the reply calls, with types by the looks of their values: check `tools`.")
    wrong = _settled(name, [*rows, last])
    for line in wrong:
        print(line)
    _next(name)
    return 1 if wrong else 0


def _module(name: str, candidate: Candidate, example: str) -> str:
    outside = [line for line in candidate.imports if not line.startswith("from toolcalls")]
    inside = sorted({line for line in candidate.imports if line.startswith("from toolcalls")})
    imports = [*outside, *([""] if outside else []), "from toolcalls.shapes import About", *inside]
    return f'''"""`{name}`: {candidate.summary}"""

{chr(10).join(imports)}

ABOUT = About(
    form="{candidate.form}",
    since="{__version__}",
    written_by="",
    source="",
    example={_literal(example)},
)

DIALECT = {candidate.code}
'''


def _literal(text: str) -> str:
    spelt = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""\\\n{spelt}"""'


def _put(path: Path, content: str) -> None:
    path.write_text(content, encoding="utf-8")
    print(f"wrote {path.relative_to(REPO)}")


def _put_cases(name: str, tools: Sequence[Tool], cases: Sequence[Example], last: Example | None) -> None:
    parts = [header(name, tools), "cases:", *map(str, cases), "written:", *([str(last)] if last else [])]
    _put(CASES / "dialects" / f"{name}.yaml", "\n\n".join(parts) + "\n")
    importlib.invalidate_caches()
    for cached in (all_dialects, chosen, case_file):
        cached.cache_clear()


def _settled(name: str, cases: Sequence[Example]) -> list[str]:
    """Complete what the rules leave open, such as white space; returns a line for each case that breaks a rule."""
    file = case_file("dialects", name)
    wrong = [str(mistake) for mistake in file.mistakes]
    said = [*file.data["cases"], *file.data["written"]]
    updates, asked = Updates(), list[str]()
    for example, case in zip(cases, said, strict=False):
        place: Place = case.place
        try:
            new = {**case, **changes(place)}
            new = {key: value for key, value in new.items() if value is not None}
            if not example.lawful(new):
                raise NotUpdated(f"it comes out otherwise: {json.dumps(changes(place), ensure_ascii=False)}")
            updates.add(place)
        except NotUpdated as error:
            wrong.append(f"{place}: the case {case['title']!r} fails: {error}")
        else:
            if case["title"] == TRUNCATED:
                asked.append(f"{place}: the client sees {new['shown']!r} of a reply that is cut off. Is that right?")
    updates.write()
    case_file.cache_clear()
    for line in asked:
        print(line)
    return wrong


SKELETON = '''"""`{name}`: a form of its own."""

from toolcalls.shapes import About, Call, CallSink, Grammar, Unwritable
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="{form}",
    since="{version}",
    written_by="",
    source="",
    example="",
)

_OPENER = {opener}


class _{title}(Grammar):
    name = "{name}"
    opening = (_OPENER,)

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:  # noqa: ARG002 - no grammar yet
        """No call is read yet: what begins like one stays text."""
        scan.take((yield from scan.space(len(_OPENER))))
        return False

    def write_call(self, call: Call, tools: Toolbox) -> str:  # noqa: ARG002 - no grammar yet
        """No call is written yet."""
        raise Unwritable("this dialect has no grammar yet")


DIALECT = _{title}()
'''


def _skeleton(name: str, text: str, tools: tuple[Tool, ...], tries: Sequence[Found]) -> int:
    print("No shape fits this reply.")
    for one in tries[:3]:
        shape = one.candidate.code.partition("(")[0]
        print(f"  near: {shape}, {one.candidate.summary} But {'; '.join(one.trial.problems[:3])}.")
        print(f"        {' '.join(one.candidate.code.split())}")
    spelt = {"opener": json.dumps(_first_mark(text), ensure_ascii=False), "title": name.title().replace("_", "")}
    _put(DIALECTS / f"{name}.py", SKELETON.format(name=name, form="agents and gateways", version=__version__, **spelt))
    called = next((tool.name for tool in tools if tool.name in text), "tool")
    _put_cases(name, tools or (Tool(called, {}),), [unread(text, called)], None)
    print(
        "Write both by hand: the grammar in `read` and `write_call` (addon/toolcalls/shapes/__init__.py says what\n"
        "they get), and in the case, which fails until then, what the client must see (`shown`) and the calls\n"
        "(`calls`)."
    )
    _next(name)
    return 1


def _first_mark(text: str) -> str:
    """The first tag or bracket of the reply, without what it carries; else its first word."""
    mark = re.search(r"<+[^\s<>]+|\[[^\s\[\]]+", text)
    return mark[0] if mark else text.split(maxsplit=1)[0]


def _next(name: str) -> None:
    print(f"""
Next:
  1. fill in `written_by` and `source` in addon/toolcalls/dialects/{name}.py; this names what is missing:
     .venv/bin/python -m pytest -q tests/dialects/test_about.py -k {name}
  2. run its cases:
     .venv/bin/python -m pytest -q tests/dialects/test_cases.py --case tests/cases/dialects/{name}.yaml
  3. write the tables of the pages, and check layers, style and types:
     make tables
     make lint""")


if __name__ == "__main__":
    sys.exit(main())
