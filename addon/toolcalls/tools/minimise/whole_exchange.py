"""What is shown where text alone does not show it: a verdict of a native call or of a rule, or a difference of two
readings, in a job of its own.
"""

import json
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mitmproxy import http

from toolcalls import __version__
from toolcalls.events import Verdict
from toolcalls.flows.cases.case_text import fenced
from toolcalls.flows.flow_redaction import flow_secrets
from toolcalls.flows.judging import Recorded
from toolcalls.insight.report import verdict_data
from toolcalls.route import Config
from toolcalls.streams import BadInput, print_error
from toolcalls.tools.minimise.exchange_job import ExchangeJob, Reading, Sign, job_of, reading_by, sign_of
from toolcalls.tools.minimise.exchange_reducing import (
    Shows,
    anonymised_job,
    as_text_where_needed,
    reduced_job,
)
from toolcalls.tools.minimise.search import Clock
from toolcalls.tools.minimise.showing import first_difference


@dataclass(frozen=True)
class WholeExchange:
    """What will be shown: the job as it was recorded, the question, and what to say about it."""

    job: ExchangeJob
    shows: Shows
    about: str

    def minimised(self, clock: Clock) -> ExchangeJob:
        """The smallest job that was found, with neutral names and values."""
        shows = clock.counting(self.shows)
        return reduced_job(anonymised_job(reduced_job(self.job, shows, clock), shows, clock), shows, clock)

    def line(self, job: ExchangeJob) -> str:
        """The job as it is written, without what looks like a secret. Raises BadInput where that is another one."""
        line = job.clean_line
        try:
            json.loads(line)
        except ValueError as error:
            raise BadInput("the job cannot be written without what looks like a secret in it") from error
        return f"{line}\n"

    def paste(self, job: ExchangeJob, *, has_config: bool) -> str:
        """Markdown for an issue."""
        config = " --config FILE" if has_config else ""
        parts: Sequence[str] = [
            self.about,
            "",
            f"toolcalls {__version__}, Python {platform.python_version()}, {sys.platform}",
            "",
            f"As a job for `toolcalls rewrite --jsonl{config}`:",
            "",
            *fenced(self.line(job), "json"),
        ]
        return "\n".join(parts) + "\n"


def exchange_with_verdict(
    flow: http.HTTPFlow,
    reply: Recorded,
    config: Config | None,
    lane: int,
    verdict: Verdict,
    expected: tuple[str, str | None] | None = None,
) -> WholeExchange | str:
    """The exchange that shows a verdict; a text says why none does.

    config     the one that is named; None for the built-in one, which a job has by itself
    expected   status and reason that no more verdicts may have than at first
    """
    sign = sign_of(verdict_data(verdict, lane))
    read = reading_by(config, _route_of(config, reply))

    def question(job: ExchangeJob) -> Shows:
        most = _having(expected, read(job))

        def shows(smaller: ExchangeJob) -> bool:
            found = read(smaller)
            return sign in found and _having(expected, found) <= most

        return shows

    hoped = "" if expected is None else f" Expected: {' '.join(filter(None, expected))}."
    found = _first_job(flow, reply, question)
    if found is None:
        return f"the verdict {sign} needs more than the reply and its request"
    return WholeExchange(*found, f"{sign}.{hoped}")


def exchange_with_difference(
    flow: http.HTTPFlow, reply: Recorded, config: Config | None, other: Reading, *, of: str
) -> WholeExchange | str:
    """The exchange of which another reading says something else; a text says that none does.

    config   as for a verdict
    of       what reads otherwise, for people: configuration, version
    """
    read = reading_by(config, _route_of(config, reply))
    pairs: list[tuple[Sign | None, Sign | None]] = []

    def question(job: ExchangeJob) -> Shows:
        pair = first_difference(read(job), other(job))
        if pair is None:
            return lambda _: False
        pairs[:] = [pair]
        return lambda smaller: first_difference(read(smaller), other(smaller)) == pair

    found = _first_job(flow, reply, question)
    if found is None:
        return "nothing of it is read in another way"
    ours, theirs = (one or "no verdict" for one in pairs[0])
    return WholeExchange(*found, f"{ours}; the other {of} says {theirs}.")


def _route_of(config: Config | None, reply: Recorded) -> str | None:
    return None if config is None else reply.plan.call_policy.route.name


def _having(expected: tuple[str, str | None] | None, signs: Sequence[Sign]) -> int:
    """How many verdicts are what is expected."""
    return sum((one.status, one.reason) == expected for one in signs)


def _first_job(
    flow: http.HTTPFlow, reply: Recorded, question: Callable[[ExchangeJob], Shows]
) -> tuple[ExchangeJob, Shows] | None:
    """The job that an exchange is, and whether a smaller one still shows what this one does, as `question` finds it.

    Without secrets where that shows it, too; None where nothing does.
    """
    for own in (flow_secrets(flow), None):
        job = job_of(flow, reply, own)
        if job is None:
            return None
        shows = question(job)
        job = as_text_where_needed(job, shows)
        if shows(job):
            if own is None:
                print_error(
                    "toolcalls minimise", "what looks like a secret matters here: it is taken out of what is written"
                )
            return job, shows
    return None
