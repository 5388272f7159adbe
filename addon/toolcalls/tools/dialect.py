"""`toolcalls dialect draft`: a dialect's file from a reply that no dialect reads.

The form is found by trying: the one that reads the reply's calls without a repair, and would write them just so, is
taken, else the one that comes nearest. What was guessed is said, on standard error and in the file.
"""

import re
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence

from toolcalls.config import ConfigError, default_path, load
from toolcalls.dialects import OwnForm, OwnName, all_dialects
from toolcalls.flows.cases.example import example_of
from toolcalls.flows.exchange_plan import ReplyNotParsed
from toolcalls.flows.flow_files import exchanges
from toolcalls.flows.judging import replies
from toolcalls.own_dialects.draft import Found, all_tries, read_already, reading
from toolcalls.own_dialects.engines import ENGINES, Unsayable, said
from toolcalls.own_dialects.examples import Example, contradicts
from toolcalls.own_dialects.form_file import check_name, form_of
from toolcalls.own_dialects.form_text import example, form_text
from toolcalls.request import Tool
from toolcalls.streams import BadInput, decode, encode, input_name, print_error, read_input, write_output, written
from toolcalls.tools.options import read_tools
from toolcalls.values.conversion import members
from toolcalls.wires import all_wires

_FLOW = re.compile(rb"\d+:\d+:")  # how a file of flows begins
_NEAREST = 3  # forms that are named where none fits


def run(arguments: Namespace) -> int:
    wrong = check_name(arguments.name, all_dialects())
    if wrong is not None:
        raise BadInput(f"--{wrong}")
    text, tools = _reply(arguments)
    by = read_already(text, tools)
    if by:
        print_error("toolcalls dialect", f"the dialect {by} reads this reply already: a route needs no file for it")
        return 1
    tries = all_tries(arguments.name, text, tools)
    for found in tries:
        draft = _draft(found, tries, text, given_tools=bool(tools)) if _may_do(found) else None
        if draft is not None:
            _put(arguments, found, *draft)
            return 0
    print_error("toolcalls dialect", "no form fits this reply; docs/own-dialects.md says what a file may hold")
    for found in tries[:_NEAREST]:
        print(f"  near: {found.candidate.summary} But {'; '.join(found.trial.problems[:3])}.", file=sys.stderr)
    return 1


# What the draft is made from


def _reply(arguments: Namespace) -> tuple[str, tuple[Tool, ...]]:
    """The reply's text, and the request's tools. Raises BadInput."""
    tools = read_tools(arguments.tools)
    data = read_input(arguments.file)
    if _FLOW.match(data) is not None and arguments.file != "-":
        text, declared = _recorded(arguments)
        return text, tools or declared
    if arguments.flow is not None:
        raise BadInput(f"--flow names a flow of a recording; {input_name(arguments.file)} is none")
    text = decode(data).rstrip("\n")
    if not text.strip():
        raise BadInput(f"{input_name(arguments.file)}: there is no text in it")
    return text, tools


def _recorded(arguments: Namespace) -> tuple[str, tuple[Tool, ...]]:
    """Of a recording, the first reply that may hold a call in an unknown form, else the first whose text made none."""
    likely = list(_texts(arguments))
    found = [one for one in likely if one[0]] or likely
    if not found:
        raise BadInput(f"{arguments.file}: no reply of it has a text without calls")
    return found[0][1].rstrip("\n"), found[0][2]


def _texts(arguments: Namespace) -> Iterator[tuple[bool, str, tuple[Tool, ...]]]:
    """Each text that made no call, whether a note says that its form is unknown, and the request's tools."""
    config = load(default_path(), all_dialects(), all_wires())
    for _, flow in exchanges([arguments.file]):
        if arguments.flow is not None and not flow.id.startswith(arguments.flow):
            continue
        try:
            recorded = [reply for _, reply in replies(flow, config)]
        except ReplyNotParsed:
            continue
        for reply in recorded:
            read = reply.read()
            made = {lane for lane, one in read.verdicts if one.status in {"lifted", "lowered", "native"}}
            noted = {lane for lane, note in read.notes if note.rule == "unknown_form"}
            for lane in sorted({*noted, 0} - made):
                text = example_of(reply, lane).text
                if text.strip():
                    yield lane in noted, text, reply.plan.call_policy.request.tools


# The draft


def _may_do(found: Found) -> bool:
    """Whether it reads calls, and each candidate is one."""
    return bool(found.trial.calls) and all(one.status == "lifted" for one in found.trial.verdicts)


def _draft(found: Found, tries: Sequence[Found], text: str, *, given_tools: bool) -> tuple[str, list[str]] | None:
    """The file's text, and what is not sure; None where the form cannot be said in a file."""
    try:
        form, data = said(found.candidate.dialect)
    except Unsayable:
        return None
    name = found.candidate.dialect.name
    unsure = _unsure(found, tries, form, data, given_tools=given_tools)
    own = OwnName(name, OwnForm(found.candidate.dialect, found.name.form.about))
    fenced = f"```\n{found.trial.block}\n```\nis how a call is written."
    examples = [example(text, found.trial.calls)]
    if contradicts(own, Example(fenced, (), None, 1), found.tools) is None:
        examples.append(example(fenced, []))
    remarks = ("Made from a reply by `toolcalls dialect draft`. Not sure, so check:", *(f"- {one}" for one in unsure))
    made = form_text(name, form, data, examples, about={}, tools=found.tools, remarks=remarks)
    try:
        form_of(made, name, all_dialects())
    except ConfigError:
        return None
    return made, unsure


def _unsure(
    found: Found, tries: Sequence[Found], form: str, data: dict[str, object], *, given_tools: bool
) -> list[str]:
    """What was guessed, a line each."""
    own = reading(found.trial.calls)
    others = sorted({reading(one.trial.calls) for one in tries if one.trial.fits} - {own})
    unsure = list(found.trial.problems)
    unsure += [f"the reply can also be read as {one}: --tools may tell which" for one in others]
    if not given_tools:
        unsure.append("the tools are those that the reply calls, with types by the looks of their values (`tools`)")
    if len(found.trial.calls) == 1:
        unsure.append("the reply has one call: whether a block holds several is not seen")
    strings = any(raw.startswith('"') for call in found.trial.calls for _, raw in members(call.arguments))
    if strings and form in {"tags", "function_tags", "pairs"}:
        unsure.append("whether line ends around a value belong to it (`content`), and whether values are escaped")
    if ENGINES[form].open_by and data.get(ENGINES[form].open_by) is False:
        unsure.append("nothing that ends a call was found (`closed: false`)")
    unsure.append("how the model reads what a tool answered (`result`)")
    return unsure


def _put(arguments: Namespace, found: Found, text: str, unsure: Sequence[str]) -> None:
    """Write the file, and on standard error what it is and would read."""
    if arguments.output is None:
        write_output(encode(text))
    else:
        with written(arguments.output) as file:
            file.write(encode(text))
    lines = [f"{arguments.name}: {found.candidate.summary} It reads:"]
    lines += [f"  {reading([call])}" for call in found.trial.calls]
    lines += ["Not sure:", *(f"  {one}" for one in unsure)]
    path = arguments.output or "FILE.yaml"
    lines.append(f"Name it in a route, `dialects: [auto, {path}]`, and run `toolcalls check-config`.")
    print("\n".join(lines), file=sys.stderr)
