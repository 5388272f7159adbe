"""`toolcalls judge FILE…`: recorded replies read again by today's configuration and code; exit status 1 for changes.

What they are compared with is what the addon wrote into each flow when it was recorded; or, with `--baseline`, an
earlier output of `judge --json`; or, with `--against`, what another configuration says of the same flows, and with
`--against-python` what another installed version does. A flow that has no earlier verdicts is new, which is no change.

Strategy: flows are read, judged and compared one at a time (`judged_flow`), and each result goes to whoever shows it
(`judge_output`), so that only `--json` and `--junit` hold anything of all flows.

`--mend KINDS` asks something else: what mending would have changed (`mending`).
"""

import json
from argparse import Namespace
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from mitmproxy import http

from toolcalls.commands.streams import BadInput, read_json
from toolcalls.mitm.offline.files import configuration
from toolcalls.mitm.offline.judge_output import Output
from toolcalls.mitm.offline.judged_flow import compare, judge_flow
from toolcalls.mitm.offline.mending import show_mending
from toolcalls.mitm.offline.other_python import OtherPython
from toolcalls.mitm.offline.progress import Progress

# What another reading says of a flow; None for nothing.
type Before = Callable[[dict[str, Any], http.HTTPFlow], Mapping[str, Any] | None]


def run(arguments: Namespace) -> int:
    """The command. Raises BadInput."""
    _one_question(arguments)
    config = configuration(arguments.config)
    if arguments.mend is not None:
        return show_mending(arguments.files, config, arguments.mend, as_data=arguments.json)
    files = list(dict.fromkeys(arguments.files))
    with ExitStack() as stack:
        before = _before(arguments, files, stack)
        progress = stack.enter_context(Progress(files))
        output = Output(arguments, progress.line)
        for path, number, flow in progress.exchanges():
            result = judge_flow(path, number, flow, config)
            if result is not None:
                earlier = None if before is None else before(result, flow)
                output.add(compare(result, earlier, other=before is not None))
    output.end()
    return 1 if output.summary.changes["changed"] else 0


def _one_question(arguments: Namespace) -> None:
    """Raises BadInput for options that ask two different things."""
    other = "--against" if arguments.against is not None else "--against-python"
    against = arguments.against is not None or arguments.against_python is not None
    if arguments.baseline is not None and against:
        raise BadInput(f"--baseline and {other} each name what to compare with; give one of them")
    if arguments.mend is None:
        return
    asked = {
        other: against,
        "--baseline": arguments.baseline is not None,
        "--summary": arguments.summary,
        "--junit": arguments.junit is not None,
        "--github": arguments.github,
        "--jsonl": arguments.jsonl,
    }
    for option, given in asked.items():
        if given:
            raise BadInput(f"--mend compares with nothing, so it takes no {option}")


def _before(arguments: Namespace, files: list[str], stack: ExitStack) -> Before | None:
    """What is compared with; None for the flows' own verdicts. Raises BadInput."""
    if arguments.against_python is not None:
        config = arguments.config if arguments.against is None else arguments.against
        other = stack.enter_context(OtherPython(arguments.against_python, config, files))
        return lambda result, _: other.before(result["file"], result["number"])
    if arguments.against is not None:
        other_config = configuration(arguments.against)
        return lambda result, flow: judge_flow(result["file"], result["number"], flow, other_config)
    if arguments.baseline is not None:
        baseline = _baseline(arguments.baseline)
        return lambda result, _: baseline.get(result["flow"])
    return None


def _baseline(path: str) -> dict[str, Any]:
    """An earlier output, by flow."""
    data = json.loads(read_json(path))
    found = data.get("flows") if isinstance(data, dict) else None
    if not isinstance(found, list) or not all(isinstance(one, dict) and "flow" in one for one in found):
        raise BadInput(f"{path}: this is not an output of `toolcalls judge --json`")
    return {str(one["flow"]): one for one in found if one.get("change") != "unread"}
