"""`toolcalls judge FILE…`: recorded replies read again by today's configuration and code; exit status 1 for changes.

What they are compared with is what the addon wrote into each flow when it was recorded; or, with `--baseline`, an
earlier output of `judge --json`; or, with `--against`, what another configuration says of the same flows, and with
`--against-python` what another installed version does. A flow that has no earlier verdicts is new, which is no change.

Strategy: flows are read, judged (`judged_flow`) and compared one at a time, here or in other processes (`archive`), and
each result goes to whoever shows it (`judge_output`), so that nothing of all flows is held.

`--mend KINDS` asks something else: what mending would have changed (`mending`).
"""

import json
from argparse import Namespace
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from hashlib import blake2b
from typing import Any

from toolcalls import __version__
from toolcalls.insight.formatting import counted
from toolcalls.streams import BadInput, print_error, read_json
from toolcalls.tools.archive.parts import files_of
from toolcalls.tools.archive.progress import Progress
from toolcalls.tools.judge.job import Judging
from toolcalls.tools.judge.judged_flow import compare
from toolcalls.tools.judge.mending import show_mending
from toolcalls.tools.judge.other_python import OtherPython
from toolcalls.tools.judge.output import Output
from toolcalls.tools.judge.spreading import Spreading
from toolcalls.tools.options import configuration

# What another reading says of a flow; None for nothing.
type Before = Callable[[dict[str, Any]], Mapping[str, Any] | None]


def run(arguments: Namespace) -> int:
    """The command: exit status 1 when verdicts changed or flows of the baseline are missing, 2 when some of the files
    cannot be read. Raises BadInput.
    """
    _one_question(arguments)
    config = configuration(arguments.config)
    files = files_of(arguments.files)
    names = [file.path for file in files]
    if arguments.mend is not None:
        return show_mending(names, config, arguments.mend, as_data=arguments.json)
    broken: set[str] = set()
    missing: set[str] = set()
    with ExitStack() as stack:
        baseline = None if arguments.baseline is None else _baseline(arguments.baseline)
        against = None if arguments.against is None else configuration(arguments.against)
        missing.update(baseline or ())
        before = _before(arguments, names, baseline, stack)
        job = Judging(config, None if before is not None else against, arguments.parquet, baseline)
        progress = stack.enter_context(Progress(names, [file.size for file in files]))
        output = stack.enter_context(Output(arguments, progress.line))
        for judged in stack.enter_context(closing(_spreading(arguments, job).judged(files, job))):
            progress.add(judged.size, judged.flows)
            for result, other in judged.results:
                missing.discard(result["flow"])
                earlier = other if before is None else before(result)
                output.add(compare(result, earlier, other=before is not None or against is not None))
            for file, line, torn in judged.broken:
                print_error("toolcalls" if torn else "toolcalls judge", line)
                if not torn:
                    broken.add(file)
        if output.summary.changes or not broken:  # where nothing at all could be read, the errors say it
            output.end()
    if broken and len(files) > 1:
        print_error("toolcalls judge", f"{len(broken)} of {counted(len(files), 'file')} cannot be read as a whole")
    if missing and not broken:
        gone = f"{counted(len(missing), 'flow')} of {arguments.baseline}"
        print_error("toolcalls judge", f"{gone} not found in these files, for instance {min(missing)}")
    return 2 if broken else 1 if missing or output.summary.changes["changed"] else 0


def _spreading(arguments: Namespace, job: Judging) -> Spreading:
    """How the options want it spread. Raises BadInput."""
    if arguments.scheduler is not None and arguments.engine != "dask":
        raise BadInput("--scheduler is for --engine dask")
    if job.parquet is not None and arguments.against_python is not None:
        raise BadInput("--parquet takes no --against-python: what another version says is known here alone")
    known = {"config": repr(job.config), "against": repr(job.against), "baseline": repr(job.baseline)}
    digests = {key: blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest() for key, text in known.items()}
    asked = {"toolcalls": __version__, **digests, "parquet": job.parquet}
    return Spreading(arguments.engine, arguments.jobs, arguments.scheduler, arguments.state, asked)


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


def _before(
    arguments: Namespace, names: list[str], baseline: Mapping[str, Any] | None, stack: ExitStack
) -> Before | None:
    """What is compared with; None for the flows' own verdicts, and for what the job finds itself. Raises BadInput."""
    if arguments.against_python is not None:
        config = arguments.config if arguments.against is None else arguments.against
        other = stack.enter_context(OtherPython(arguments.against_python, config, names))
        return lambda result: other.before(result["file"], result["number"])
    if baseline is not None:
        return lambda result: baseline.get(result["flow"])
    return None


def _baseline(path: str) -> dict[str, Any]:
    """An earlier output by flow, without those that were unread. Raises BadInput."""
    data = json.loads(read_json(path))
    found = data.get("flows") if isinstance(data, dict) else None
    if not isinstance(found, list) or not all(isinstance(one, dict) and "flow" in one for one in found):
        raise BadInput(f"{path}: this is not an output of `toolcalls judge --json`")
    return {str(one["flow"]): one for one in found if one.get("change") != "unread"}
