"""`toolcalls minimise FILE`: the smallest reply and request that still show what is wrong with an exchange.

Strategy: the exchange's text, tools and messages become an example in the form of a dialect case. If that alone shows
the verdict (or the difference), it is cut down as long as it does, names and values that do not matter are replaced,
and the result is written as a case and as a paste for an issue. What was written is read back, so that it is sure to
show what it says. Where text alone does not show it (native calls, rules), the frames and the request are cut down
instead, as a job of `toolcalls rewrite --jsonl` (`whole_exchange`).
"""

import sys
from argparse import Namespace
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from toolcalls.events import Verdict
from toolcalls.flows.cases.case_text import as_paste, as_yaml, case_of
from toolcalls.flows.cases.dialect_cases import cases_in
from toolcalls.flows.cases.example import (
    Example,
    Outcome,
    example_of_case,
    read,
    wanted,
)
from toolcalls.insight.formatting import counted
from toolcalls.insight.redaction import redacted_text
from toolcalls.streams import BadInput, encode, print_error, write_output, written
from toolcalls.tools.minimise.anonymising import anonymised
from toolcalls.tools.minimise.questions import SOUND, Found, expected_in, found_in
from toolcalls.tools.minimise.reducing import reduced
from toolcalls.tools.minimise.search import Clock
from toolcalls.tools.minimise.whole_exchange import WholeExchange
from toolcalls.tools.options import configuration
from toolcalls.tools.progress_bar import Bar, progress_bar

_SHAPE = "{n:.0f} of at most {total:.0f} s |{bar}|{postfix}"


def run(arguments: Namespace) -> int:
    if arguments.expect is not None and (arguments.against or arguments.against_python):
        raise BadInput("--expect names what should come, and --against what to compare with; give one of them")
    if arguments.against and arguments.against_python:
        raise BadInput("--against and --against-python each name what to compare with; give one of them")
    config = configuration(arguments.config)
    with ExitStack() as stack:
        found = found_in(arguments, config, stack)
        if isinstance(found, WholeExchange):
            _minimise_exchange(arguments, found, stack)
            return 0
        bar = stack.enter_context(progress_bar(arguments.time, "s", shape=_SHAPE))
        clock = Clock(arguments.time, lambda clock: _show(bar, clock))
        shows = clock.counting(found.shows)
        before = found.example
        example = reduced(before, shows, clock)
        example = anonymised(example, shows, clock)
        example = reduced(example, shows, clock)
        bar.close()
        _write(arguments, found, example)
        _say(before, example, clock)
    return 0


def _minimise_exchange(arguments: Namespace, found: WholeExchange, stack: ExitStack) -> None:
    """Cut down the frames and the request, and write the job and the paste. Raises BadInput."""
    bar = stack.enter_context(progress_bar(arguments.time, "s", shape=_SHAPE))
    clock = Clock(arguments.time, lambda clock: _show(bar, clock))
    job = found.minimised(clock)
    bar.close()
    line, paste = found.line(job), found.paste(job, has_config=arguments.config is not None)
    _write_texts(arguments, line, paste)
    late = "; --time is up, so it may be cut down further" if clock.over else ""
    print(
        f"toolcalls minimise: {len(found.job.line):,} → {counted(len(job.line), 'character')}, "
        f"{len(found.job.parts)} → {counted(len(job.parts), 'frame')}, {counted(clock.readings, 'reading')}{late}",
        file=sys.stderr,
    )


def _show(bar: Bar, clock: Clock) -> None:
    """How much of its time is gone, and how often the example was read."""
    if not bar.disable:
        bar.set_postfix_str(counted(clock.readings, "reading"), refresh=False)
        bar.update(min(clock.passed, clock.seconds) - bar.n)


def _write(arguments: Namespace, found: Found, example: Example) -> None:
    """The case and the paste: into the files that are named, else to standard output. Raises BadInput."""
    outcome = read(example)
    if arguments.expect is not None:
        outcome = _hoped(example, outcome, arguments.expect)
    case = as_yaml(case_of(example, outcome, found.title, found.dialect))
    _read_back(case, example, found.dialect)
    paste = as_paste(case, example, found.about, found.dialect)
    _write_texts(arguments, redacted_text(case), redacted_text(paste))


def _write_texts(arguments: Namespace, case: str, paste: str) -> None:
    for path, text in ((arguments.output, case), (arguments.issue, paste)):
        if path is not None:
            with written(path) as file:
                file.write(encode(text))
    if arguments.output is None and arguments.issue is None:
        write_output(encode(paste))


def _hoped(example: Example, outcome: Outcome, expect: str) -> Outcome:
    """What should have come out, as far as that can be known: of a call, what more lenient terms make of it."""
    status, reason = expected_in(expect)
    place = next((at for at, one in enumerate(outcome.verdicts) if one.status not in SOUND), 0)
    verdict = outcome.verdicts[place]
    if status == "lifted" and (found := wanted(example, verdict.name)) is not None:
        return found
    hoped: Any = Verdict(status, reason, verdict.dialect, verdict.name, verdict.start, verdict.end)  # type: ignore[arg-type]
    if status == "lifted":
        print_error("toolcalls minimise", "no terms make a call of it: fill in the calls that should come")
        return replace(outcome, verdicts=(*outcome.verdicts[:place], hoped, *outcome.verdicts[place + 1 :]))
    return Outcome(
        example.text, (), (*outcome.verdicts[:place], hoped, *outcome.verdicts[place + 1 :]), outcome.reasoning
    )


def _read_back(case: str, example: Example, dialect: str) -> None:
    """Raises BadInput where the case that was written is not the example: then it would show something else."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{dialect or 'case'}.yaml"
        path.write_bytes(case.encode("utf-8", "surrogatepass"))
        (back,) = cases_in(path)
    again = example_of_case(back)
    if read(again) != read(example) or again.text != example.text:
        raise BadInput("the example cannot be written as a case: YAML does not hold it")


def _say(before: Example, example: Example, clock: Clock) -> None:
    """What was done, on standard error, where results are not."""
    late = "; --time is up, so it may be cut down further" if clock.over else ""
    print(
        f"toolcalls minimise: {len(before.text):,} → {counted(len(example.text), 'character')}, "
        f"{len(before.tools)} → {counted(len(example.tools), 'tool')}, {counted(clock.readings, 'reading')}{late}",
        file=sys.stderr,
    )
