"""`toolcalls cases`: the dialects' cases as JSON lines, to test other parsers with; `--run` tests one.

A line is a case. `LINE` is its schema, which `--schema` prints: what goes in (`text`, `tools`, `finish`, …), the ways
in which it may be cut (`cuts`), what must come out (`expected`) and what is special about it (`why`). `--run COMMAND`
gives a parser one line for each case, without `expected`, and takes one line as its answer (`ANSWER`). `toolcalls parse
--jsonl` is such a parser. What came out is counted by dialect (`parity`).
"""

import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolcalls.flows.cases.dialect_cases import DialectCase, cases_in, folder, pieces, ways
from toolcalls.insight.formatting import counted
from toolcalls.insight.report import visible
from toolcalls.streams import BadInput, as_json, encode, write_finding, write_line
from toolcalls.tools.cases.parity import Outcome, Parity, compared
from toolcalls.tools.line_program import LineProgram
from toolcalls.tools.options import one_of
from toolcalls.tools.progress_bar import progress_bar, write_above

VERSION = 1
# Words for `finish`, which are those of `toolcalls parse`.
_FINISH = {"broken": "cut"}
_TEXT = {"type": "string"}
_CALL = {
    "type": "object",
    "required": ["name", "arguments"],
    "properties": {
        "name": _TEXT,
        "arguments": {"type": "string", "description": "JSON text, as on the OpenAI wire"},
        "exact": {
            "type": "boolean",
            "description": "this project also keeps the spelling of the JSON; others are compared by its values",
        },
    },
}
LINE: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "a line of `toolcalls cases`",
    "type": "object",
    "required": ["version", "id", "dialect", "scope", "why", "source", "text", "tools", "finish", "cuts", "expected"],
    "properties": {
        "version": {"const": VERSION, "description": "of this schema; keys may be added to it without a new one"},
        "id": {"type": "string", "description": "the dialect and the title; no two cases have the same"},
        "dialect": {"type": "string", "description": "the form in which the calls are written"},
        "scope": {
            "enum": ["any", "toolcalls"],
            "description": "toolcalls: about what only this project decides, its settings or which of several dialects "
            "a text is in. --run asks such cases with --all only",
        },
        "why": {"type": "string", "description": "what is special about the case"},
        "source": {"type": "string", "description": "the file and line that it was written in"},
        "text": {"type": "string", "description": "the reply's text, as the model wrote it"},
        "tools": {"type": "array", "description": "the tools that the request declares, in OpenAI form"},
        "request": {"type": "object", "description": "more of the Chat Completions request, where the case needs it"},
        "finish": {
            "enum": ["stop", "length", "cut"],
            "description": "how the reply ended: by itself, at its limit of tokens, or with the connection",
        },
        "policy": {"enum": ["standard", "strict", "lenient"], "description": "where it is not `standard`"},
        "allowed_tools": {"description": "regular expressions for the names that may be called, where there are some"},
        "options": {"type": "object", "description": "settings that only this project has, where the case needs them"},
        "cuts": {
            "type": "array",
            "description": "ways in which the text may arrive, each a list of the places (in characters) at which it "
            "is cut; [] is the whole text. All must give the same, as must every other cut",
            "items": {"type": "array", "items": {"type": "integer", "minimum": 1}},
        },
        "expected": {
            "type": "object",
            "required": ["calls", "text"],
            "properties": {
                "calls": {"type": "array", "items": _CALL, "description": "the complete calls, in order"},
                "text": {"type": "string", "description": "the text that is left for people"},
                "reasoning": {"type": "string", "description": "what moved to the reasoning; not there for none"},
                "verdicts": {
                    "type": "array",
                    "items": _TEXT,
                    "description": "what became of each place that looks like a call, in this project's words",
                },
            },
        },
    },
}
ANSWER: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "the answer of a parser to a line",
    "type": "object",
    "properties": {
        "id": {"description": "as in the line"},
        "calls": {"type": "array", "items": _CALL | {"description": "`arguments` may also be the object itself"}},
        "text": {"type": "string"},
        "error": {"type": "string", "description": "in place of the others: why there is no answer"},
        "skipped": {"type": "string", "description": "in place of the others: this parser does not read the dialect"},
    },
}


def run(arguments: Namespace) -> int:
    if arguments.schema:
        write_line(as_json({"line": LINE, "answer": ANSWER}, pretty=True))
        return 0
    cases = _cases(arguments)
    if arguments.run is None:
        for case in cases:
            write_line(as_json(line_of(case)))
        return 0
    found = Parity()
    left_out = 0
    asked = [*cases]
    with LineProgram(arguments.run, arguments.timeout) as program, progress_bar(len(asked), "case") as bar:
        for case in asked:
            bar.update()
            if not arguments.all and _only_here(case):
                left_out += 1
                continue
            outcome = _outcome(case, program, stream=arguments.stream)
            found.add(case.dialect, outcome)
            if arguments.differences and outcome.difference:
                write_above(bar, f"{visible(f'{case.source} {case.title}: {outcome.difference}')}\n".encode())
    if arguments.json:
        write_finding(
            encode(as_json({"version": VERSION, "dialects": found.data()}, pretty=sys.stdout.isatty()) + "\n")
        )
    else:
        for line in found.table():
            write_finding(encode(f"{line}\n"))
        if left_out:
            about = f"{counted(left_out, 'case')} not asked: about what only this project decides (--all asks them)"
            write_finding(encode(f"{about}\n"))
    return 0 if found.all_right else 1


def line_of(case: DialectCase) -> dict[str, Any]:
    """A case as a line, by the schema `LINE`."""
    route = dict(case.route)
    known: dict[str, Any] = {key: route.pop(key) for key in ("policy", "allowed_tools") if key in route}
    expected: dict[str, Any] = {
        "calls": [
            {"name": name, "arguments": json_text, **({"exact": True} if exact else {})}
            for name, json_text, exact in case.calls
        ],
        "text": case.shown,
        **({"reasoning": case.reasoning} if case.reasoning else {}),
        "verdicts": list(case.verdicts),
    }
    return {
        "version": VERSION,
        "id": f"{case.dialect}/{case.title}",
        "dialect": case.dialect,
        "scope": "toolcalls" if _only_here(case) else "any",
        "why": case.title,
        "source": case.source,
        "text": case.text,
        "tools": case.tools,
        **({"request": {"messages": [], **case.request}} if case.request else {}),
        "finish": _FINISH.get(case.finish, case.finish),
        **known,
        **({"options": route} if route else {}),
        "cuts": ways(case),
        "expected": expected,
    }


def _only_here(case: DialectCase) -> bool:
    """Whether a case is about a setting that only this project has, or about a text in another dialect."""
    elsewhere = any(line.endswith(")") and not line.endswith("(-)") for line in case.verdicts)
    return elsewhere or bool(case.route.keys() - {"allowed_tools"})


def _outcome(case: DialectCase, program: LineProgram, *, stream: bool) -> Outcome:
    """What a program makes of a case: the first way in which it differs, else the last."""
    asked = {key: value for key, value in line_of(case).items() if key not in {"expected", "cuts"}}
    if not stream:
        return compared(case, program.ask(asked))
    del asked["text"]
    for cuts in ways(case):
        outcome = compared(case, program.ask({**asked, "chunks": pieces(case.text, cuts)}))
        if outcome.difference or outcome.skipped:
            break
    return outcome


def _cases(arguments: Namespace) -> Iterator[DialectCase]:
    """The cases of the files that are named, or those that ship; all of them, or those of some dialects."""
    if arguments.files:
        for path in arguments.files:
            yield from cases_in(Path(path))
        return
    own = folder()
    if not own.is_dir():
        raise BadInput(f"{own}: the cases are not there; name case files, or install a wheel of the project")
    paths = {path.stem: path for path in sorted(own.glob("*.yaml"))}
    for name in arguments.dialect or paths:
        yield from cases_in(paths[one_of(name, paths, "--dialect")])
