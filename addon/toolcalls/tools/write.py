"""`toolcalls write`: writes calls as text in a dialect, or says why the dialect cannot hold them."""

import json
import sys
from argparse import Namespace
from typing import Any

from toolcalls.dialects import all_dialects
from toolcalls.request import Tool
from toolcalls.shapes import Call, Unwritable
from toolcalls.streams import BadInput, encode, input_name, print_error, read_json, write_output
from toolcalls.tools.jobs import Job, run_jobs
from toolcalls.tools.options import dialect_of, read_tools, tools_of
from toolcalls.values.conversion import quote
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.behind import behind
from toolcalls.writing.writer import write


class _Number(str):
    """A number as it was written."""

    __slots__ = ()


class _Object(list[tuple[str, Any]]):
    """The members of an object, in order, duplicates kept."""

    __slots__ = ()


def run(arguments: Namespace) -> int:
    tools = read_tools(arguments.tools)
    dialect = None if arguments.dialect is None else dialect_of(arguments.dialect, "--dialect")
    if arguments.jsonl:
        return run_jobs("toolcalls write", arguments.file, lambda job: _job(job, dialect, tools))
    document = read_json(arguments.file)
    if document.lstrip().startswith("["):
        document = f'{{"calls": {document}}}'
    try:
        text = _written(Job(document), dialect, tools)
    except Unwritable as refusal:
        print_error("toolcalls write", str(refusal))
        return 1
    except BadInput as error:
        raise BadInput(f"{input_name(arguments.file)}: {error}") from error
    write_output(encode(text if text.endswith("\n") or not sys.stdout.isatty() else text + "\n"))
    return 0


def _job(job: Job, dialect: str | None, tools: tuple[Tool, ...]) -> dict[str, Any]:
    try:
        return {"text": _written(job, dialect, tools)}
    except Unwritable as refusal:
        return {"error": str(refusal)}


def _written(job: Job, dialect: str | None, tools: tuple[Tool, ...]) -> str:
    name = dialect_of(job.value("dialect"), "dialect") if "dialect" in job else dialect
    if name is None:
        raise BadInput(f"dialect: none was named; known are {', '.join(all_dialects())}")
    declared = Toolbox(tools_of(job.value("tools")) if "tools" in job else tools)
    calls = _calls(job.raw("calls"))
    text = write(name, calls, declared)
    before = job.text("before", "")
    return behind(before, name, text, calls, declared) if calls and before else text


def _calls(text: str) -> list[Call]:
    """The calls of a JSON list. `arguments` is JSON text in a string, or the object itself."""
    try:
        return _calls_in(json.loads(text, object_pairs_hook=_Object, parse_int=_Number, parse_float=_Number))
    except RecursionError as error:
        raise BadInput("calls: nested too deeply") from error


def _calls_in(items: object) -> list[Call]:
    if not isinstance(items, list) or isinstance(items, _Object):
        raise BadInput('calls: expected a list of {"name", "arguments"}')
    calls = []
    for number, item in enumerate(items):
        fields = dict(item) if isinstance(item, _Object) else {}
        name, arguments = fields.get("name"), fields.get("arguments")
        if type(name) is not str or not name:
            raise BadInput(f"calls[{number}]: expected an object with a name")
        if isinstance(arguments, _Object):
            arguments = _compact(arguments)
        if type(arguments) is not str:
            raise BadInput(f"calls[{number}].arguments: expected an object, or its JSON text")
        calls.append(Call(name, arguments))
    return calls


def _compact(value: Any) -> str:
    """JSON text without white space, with every number and every member as it was given."""
    if isinstance(value, _Object):
        return "{" + ",".join(f"{quote(key)}:{_compact(item)}" for key, item in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_compact, value)) + "]"
    if isinstance(value, _Number):
        return str(value)
    return quote(value) if isinstance(value, str) else json.dumps(value)
