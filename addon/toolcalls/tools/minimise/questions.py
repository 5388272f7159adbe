"""What `toolcalls minimise` is asked: the first exchange of a recording that shows it, as a text or as a whole.

A verdict, an expectation or a difference is looked for in the texts first, since a text is a case that people can read;
where no text alone shows it (native calls, rules), in the whole exchange.
"""

from argparse import Namespace
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from mitmproxy import http

from toolcalls.events import Verdict
from toolcalls.flows.cases.example import Example, example_of, read, settings_of, wanted
from toolcalls.flows.exchange_plan import ReplyNotParsed
from toolcalls.flows.flow_files import exchanges
from toolcalls.flows.flow_redaction import flow_secrets
from toolcalls.flows.judging import Recorded, replies
from toolcalls.insight.formatting import counted
from toolcalls.insight.redaction import redacted_text, redacted_value
from toolcalls.route import Config
from toolcalls.streams import BadInput, print_error
from toolcalls.tools.line_program import LineProgram
from toolcalls.tools.minimise import showing
from toolcalls.tools.minimise.exchange_job import Reading, reading_by, reading_by_program
from toolcalls.tools.minimise.showing import Shows, sign_of
from toolcalls.tools.minimise.whole_exchange import (
    WholeExchange,
    exchange_with_difference,
    exchange_with_verdict,
)
from toolcalls.tools.options import configuration

_ANSWER = 30.0  # seconds of another version for one example
SOUND = frozenset({"lifted", "lowered"})
_OF_TEXT, _OF_NATIVE = frozenset({"lifted", "declined"}), frozenset({"native", "lowered"})  # statuses


@dataclass(frozen=True)
class Found:
    """What will be shown: the example as it was recorded, the question, and what to say about it."""

    example: Example
    shows: Shows
    dialect: str
    about: tuple[str, ...]
    title: str


@dataclass(frozen=True)
class _Other:
    """What is compared with: another configuration, or another version by what it `parses` and `rewrites`."""

    config: Config | None
    parses: LineProgram | None
    rewrites: LineProgram | None

    @property
    def name(self) -> str:
        """For people."""
        return "configuration" if self.rewrites is None else "version"

    def reading(self, theirs: Recorded | None) -> Reading:
        """Of jobs. `theirs` is the reply by the other configuration."""
        if self.rewrites is not None:
            return reading_by_program(self.rewrites)
        assert theirs is not None
        return reading_by(self.config, theirs.plan.call_policy.route.name)


def found_in(arguments: Namespace, config: Config, stack: ExitStack) -> Found | WholeExchange:
    """The first exchange that shows what is asked for. Raises BadInput where none does."""
    named = None if arguments.config is None else config
    other = _other(arguments, stack)
    seen, why = 0, ""
    found: Found | WholeExchange | str
    for _, flow in exchanges([arguments.file]):
        if arguments.flow is not None and not flow.id.startswith(arguments.flow):
            continue
        seen += 1
        try:
            for place, (_, reply) in enumerate(replies(flow, config)):
                if other is None:
                    found = _verdict(flow, reply, named, arguments)
                else:
                    theirs = None if other.config is None else replies(flow, other.config)[place][1]
                    found = _difference(flow, reply, other, theirs)
                    if isinstance(found, str):
                        found = exchange_with_difference(flow, reply, named, other.reading(theirs), of=other.name)
                if isinstance(found, Found):
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


def _other(arguments: Namespace, stack: ExitStack) -> _Other | None:
    """What is compared with, None for nothing. The programs of another version start when they are asked."""
    if arguments.against is not None:
        return _Other(configuration(arguments.against), None, None)
    if arguments.against_python is None:
        return None
    path = arguments.against_python
    python = str(Path(path) / "bin" / "python") if Path(path).is_dir() else path
    config = [] if arguments.config is None else ["--config", arguments.config]
    parses, rewrites = (
        stack.enter_context(LineProgram([python, "-P", "-m", "toolcalls", *command, "--jsonl"], _ANSWER))
        for command in (["parse"], ["rewrite", *config])
    )
    return _Other(None, parses, rewrites)


def _verdict(
    flow: http.HTTPFlow, reply: Recorded, named: Config | None, arguments: Namespace
) -> Found | WholeExchange | str:
    """One candidate's verdict: the one that is asked for, else the first that is no call, else that of the first native
    call that is damaged or was blocked, or with --expect is not what is expected. A text says why not.
    """
    expected = None if arguments.expect is None else expected_in(arguments.expect)
    own = list(reply.read().verdicts)
    texts = [(lane, one) for lane, one in own if one.dialect is not None]
    if arguments.candidate is not None:
        chosen = texts[arguments.candidate - 1 : arguments.candidate]
    else:
        chosen = [(lane, one) for lane, one in texts if one.status not in SOUND][:1]
    if expected is not None and expected[0] in _OF_NATIVE:
        chosen = []
    if not chosen and arguments.candidate is None:
        natives = [(lane, one) for lane, one in own if one.dialect is None]
        damaged = [(lane, one) for lane, one in natives if expected is not None or _is_damaged(one)]
        if damaged and expected is not None and expected[0] in _OF_TEXT:
            return "--expect is for calls in text where it is lifted or declined, and its calls are native"
        if others := [(lane, one) for lane, one in damaged if (one.status, one.reason) != expected]:
            return exchange_with_verdict(flow, reply, named, *others[0], expected)
        if damaged:
            return f"its {counted(len(damaged), 'native call')} already are {arguments.expect}"
    if not chosen:
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
    if expected is not None:
        if (verdict.status, verdict.reason) == expected:
            return f"the candidate already is {arguments.expect}"
        shows = showing.keeps_and_lacks(sign, expected)
        if expected[0] == "lifted" and wanted(example, verdict.name) is not None:
            shows = showing.both(shows, _would_be_a_call)
        about.append(f"Expected: {arguments.expect}.")
        title = f"{arguments.expect}, and not {title}"
    if not shows(example):  # a rule, a native call or a frame decides
        return exchange_with_verdict(flow, reply, named, lane, verdict, expected)
    return _checked(flow, example, shows, dialect, about, title)


def _is_damaged(native: Verdict) -> bool:
    return native.status != "native" or bool(native.reason or native.repairs or native.defects)


def _difference(flow: http.HTTPFlow, reply: Recorded, other: _Other, theirs: Recorded | None) -> Found | str:
    """The text that is read in another way. A text says why there is none."""
    lanes = dict.fromkeys(lane for lane, _ in (*reply.read().verdicts, *(theirs.read().verdicts if theirs else ())))
    for lane in lanes or [0]:
        example = example_of(reply, lane)
        if theirs is not None:
            reading = showing.by_settings(settings_of(theirs.plan.call_policy.route))
        else:
            assert other.parses is not None
            reading = showing.by_program(other.parses)
        pair = showing.first_difference(showing.signs(example), reading(example))
        if pair is None:
            continue
        ours, its = (one or "no verdict" for one in pair)
        dialect = next((one.dialect for one in pair if one is not None and one.dialect), "")
        about = [f"{ours}; the other {other.name} says {its}."]
        return _checked(flow, example, showing.differs(reading, pair), dialect, about, f"{ours}, and there {its}")
    return "no text of it is read in another way"


def _checked(
    flow: http.HTTPFlow, example: Example, shows: Shows, dialect: str, about: Sequence[str], title: str
) -> Found:
    """The example, which shows it, without secrets where that still does."""
    clean = _clean(flow, example)
    if not shows(clean):
        print_error("toolcalls minimise", "what looks like a secret matters here: it is taken out of what is written")
        clean = example
    return Found(clean, shows, dialect, tuple(about), title)


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
    return any(wanted(example, one.name) is not None for one in read(example).verdicts if one.status not in SOUND)


def expected_in(line: str) -> tuple[str, str | None]:
    """`status [reason] [name]` of a verdict, as in a case."""
    status, *rest = line.split() or [""]
    if status not in {"lifted", "lowered", "native", "declined", "truncated", "malformed", "blocked"}:
        raise BadInput(f"--expect: expected a verdict as cases have it, `lifted` or `declined fenced`, found {line!r}")
    return status, rest[0] if rest and status != "lifted" else None
