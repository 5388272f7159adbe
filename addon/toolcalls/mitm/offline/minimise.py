"""`toolcalls minimise FILE`: the smallest reply and request that still show what is wrong with an exchange.

A little over 300 lines: what is asked for is found, checked and written here for both kinds of results.

Strategy: the exchange's text, tools and messages become an example in the form of a dialect case. If that alone shows
the verdict (or the difference), it is cut down as long as it does, names and values that do not matter are replaced,
and the result is written as a case and as a paste for an issue. What was written is read back, so that it is sure to
show what it says. Where text alone does not show it (native calls, rules), the frames and the request are cut down
instead, as a job of `toolcalls rewrite --jsonl` (`whole_exchange`).
"""

import sys
from argparse import Namespace
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mitmproxy import http

from toolcalls.commands.dialect_cases import cases_in
from toolcalls.commands.line_program import LineProgram
from toolcalls.commands.progress_bar import Bar, progress_bar
from toolcalls.commands.streams import BadInput, encode, print_error, write_output
from toolcalls.events import Verdict
from toolcalls.insight.formatting import counted
from toolcalls.insight.redaction import redacted_text, redacted_value
from toolcalls.mitm.exchange_plan import ReplyNotParsed
from toolcalls.mitm.flow_redaction import flow_secrets
from toolcalls.mitm.judging import Recorded, replies
from toolcalls.mitm.offline.files import configuration, exchanges, written
from toolcalls.mitm.offline.minimising import showing
from toolcalls.mitm.offline.minimising.anonymising import anonymised
from toolcalls.mitm.offline.minimising.case_text import as_paste, as_yaml, case_of
from toolcalls.mitm.offline.minimising.example import (
    Example,
    Outcome,
    example_of,
    example_of_case,
    read,
    settings_of,
    wanted,
)
from toolcalls.mitm.offline.minimising.reducing import reduced
from toolcalls.mitm.offline.minimising.search import Clock
from toolcalls.mitm.offline.minimising.showing import Shows, sign_of
from toolcalls.mitm.offline.minimising.whole_exchange import WholeExchange, whole_exchange
from toolcalls.route import Config

_ANSWER = 30.0  # seconds of another version for one example
_SHAPE = "{n:.0f} of at most {total:.0f} s |{bar}|{postfix}"
_SOUND = frozenset({"lifted", "lowered"})


@dataclass(frozen=True)
class _Found:
    """What will be shown: the example as it was recorded, the question, and what to say about it."""

    example: Example
    shows: Shows
    dialect: str
    about: tuple[str, ...]
    title: str


def run(arguments: Namespace) -> int:
    """The command. Raises BadInput."""
    if arguments.expect is not None and (arguments.against or arguments.against_python):
        raise BadInput("--expect names what should come, and --against what to compare with; give one of them")
    if arguments.against and arguments.against_python:
        raise BadInput("--against and --against-python each name what to compare with; give one of them")
    config = configuration(arguments.config)
    with ExitStack() as stack:
        found = _found(arguments, config, stack)
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


def _found(arguments: Namespace, config: Config, stack: ExitStack) -> _Found | WholeExchange:
    """The first exchange that shows what is asked for. Raises BadInput where none does."""
    other = configuration(arguments.against) if arguments.against is not None else None
    python = _other_python(arguments.against_python, stack) if arguments.against_python is not None else None
    seen, why = 0, ""
    found: _Found | WholeExchange | str
    for _, flow in exchanges([arguments.file]):
        if arguments.flow is not None and not flow.id.startswith(arguments.flow):
            continue
        seen += 1
        try:
            for place, (_, reply) in enumerate(replies(flow, config)):
                if other is not None or python is not None:
                    theirs = replies(flow, other)[place][1] if other is not None else None
                    found = _difference(flow, reply, theirs, python)
                else:
                    found = _verdict(flow, reply, arguments)
                if isinstance(found, _Found):
                    return replace(found, title=arguments.title or found.title)
                if isinstance(found, WholeExchange):
                    return found
                why = found or why
        except ReplyNotParsed as reason:
            why = str(reason)
    if not seen:
        raise BadInput(f"{arguments.file}: no HTTP flow of it has the id {arguments.flow}" if arguments.flow else
                       f"{arguments.file}: it holds no HTTP flows")  # fmt: skip
    raise BadInput(f"{arguments.file}: {counted(seen, 'flow')}, and nothing to show" + (f": {why}" if why else ""))


def _other_python(path: str, stack: ExitStack) -> LineProgram:
    python = str(Path(path) / "bin" / "python") if Path(path).is_dir() else path
    return stack.enter_context(LineProgram([python, "-P", "-m", "toolcalls", "parse", "--jsonl"], _ANSWER))


def _verdict(flow: http.HTTPFlow, reply: Recorded, arguments: Namespace) -> _Found | WholeExchange | str:
    """One candidate's verdict: the one that is asked for, else the first that is no call, else that of the first native
    call that is damaged or was blocked. A text says why not.
    """
    own = [(lane, one) for lane, one in reply.read().verdicts]
    named = None if arguments.config is None else configuration(arguments.config)
    texts = [(lane, one) for lane, one in own if one.dialect is not None]
    if arguments.candidate is not None:
        chosen = texts[arguments.candidate - 1 : arguments.candidate]
    else:
        chosen = [(lane, one) for lane, one in texts if one.status not in _SOUND][:1]
    if not chosen:
        damaged = [(lane, one) for lane, one in own if one.dialect is None and _is_damaged(one)]
        if damaged and arguments.candidate is None:
            if arguments.expect is not None:
                return "--expect is for calls in text, and its damaged calls are native"
            return whole_exchange(flow, reply, named, *damaged[0])
        return (
            f"its {counted(len(texts), 'candidate')} became calls; name one with --candidate" if texts else "no calls"
        )
    ((lane, verdict),) = chosen
    dialect = verdict.dialect or ""
    example = example_of(reply, lane)
    sign = sign_of(verdict, [name for name, _ in example.tools])
    about = [f"{sign}."]
    shows = showing.keeps(sign)
    title = f"{sign.status} {sign.reason or ''}".strip() + f" ({dialect})"
    if arguments.expect is not None:
        status, reason = _expected(arguments.expect)
        if (verdict.status, verdict.reason) == (status, reason):
            return f"the candidate already is {arguments.expect}"
        shows = showing.keeps_and_lacks(sign, (status, reason))
        if status == "lifted" and wanted(example, verdict.name) is not None:
            shows = showing.both(shows, _would_be_a_call)
        about.append(f"Expected: {arguments.expect}.")
        title = f"{arguments.expect}, and not {title}"
    if arguments.expect is None and not shows(example):  # a rule, a native call or a frame decides
        return whole_exchange(flow, reply, named, lane, verdict)
    return _checked(flow, example, shows, dialect, about, title, f"the verdict {sign} needs more than its text")


def _is_damaged(native: Verdict) -> bool:
    return native.status != "native" or bool(native.reason or native.repairs or native.defects)


def _difference(
    flow: http.HTTPFlow, reply: Recorded, theirs: Recorded | None, python: LineProgram | None
) -> _Found | str:
    """Where another configuration or version says something else. A text says why there is nothing."""
    lanes = dict.fromkeys(lane for lane, _ in (*reply.read().verdicts, *(theirs.read().verdicts if theirs else ())))
    for lane in lanes or [0]:
        example = example_of(reply, lane)
        if theirs is not None:
            other = showing.by_settings(settings_of(theirs.plan.call_policy.route))
        elif python is not None:
            other = showing.by_program(python)
        else:
            raise AssertionError("one of them is there")
        pair = showing.first_difference(showing.signs(example), other(example))
        if pair is None:
            continue
        ours, its = (one or "no verdict" for one in pair)
        dialect = next((one.dialect for one in pair if one is not None and one.dialect), "")
        about = [f"{ours}; the other {'version' if python else 'configuration'} says {its}."]
        return _checked(flow, example, showing.differs(other, pair), dialect, about, f"{ours}, and there {its}", "")
    return "no text of it is read in another way"


def _checked(
    flow: http.HTTPFlow,
    example: Example,
    shows: Shows,
    dialect: str,
    about: Sequence[str],
    title: str,
    why: str,
) -> _Found | str:
    """The example without secrets where that still shows it; a text where not even the example itself does."""
    if not shows(example):
        return f"{why} and its tools: the rest of the exchange (native calls, other settings, rules) decides"
    clean = _clean(flow, example)
    if not shows(clean):
        print_error("toolcalls minimise", "what looks like a secret matters here: it is taken out of what is written")
        clean = example
    return _Found(clean, shows, dialect, tuple(about), title)


def _clean(flow: http.HTTPFlow, example: Example) -> Example:
    own = flow_secrets(flow)

    def text(value: str) -> str:
        return str(own.text(redacted_text(value)))

    made = replace(
        example,
        text=text(example.text),
        tools=tuple((text(name), own.value(redacted_value(schema))) for name, schema in example.tools),
        messages=tuple((role, text(content)) for role, content in example.messages),
    )
    return made if made.text == example.text else replace(made, cuts=())


def _would_be_a_call(example: Example) -> bool:
    """Whether more lenient terms make a call of what is none: then the case knows what should come."""
    return any(wanted(example, one.name) is not None for one in read(example).verdicts if one.status not in _SOUND)


def _expected(line: str) -> tuple[str, str | None]:
    """`status [reason] [name]` of a verdict, as in a case."""
    status, *rest = line.split() or [""]
    if status not in {"lifted", "declined", "truncated", "malformed", "blocked"}:
        raise BadInput(f"--expect: expected a verdict as cases have it, `lifted` or `declined fenced`, found {line!r}")
    return status, rest[0] if rest and status != "lifted" else None


def _write(arguments: Namespace, found: _Found, example: Example) -> None:
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
    status, reason = _expected(expect)
    place = next((at for at, one in enumerate(outcome.verdicts) if one.status not in _SOUND), 0)
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
