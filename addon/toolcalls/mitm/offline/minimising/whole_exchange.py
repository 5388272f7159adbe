"""What is shown where text alone does not show it: a verdict of a native call or of a rule, in a job of its own."""

import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from mitmproxy import http

from toolcalls import __version__
from toolcalls.commands.streams import BadInput, print_error
from toolcalls.events import Verdict
from toolcalls.insight.redaction import redacted_text
from toolcalls.insight.report import verdict_data
from toolcalls.mitm.flow_redaction import flow_secrets
from toolcalls.mitm.judging import Recorded
from toolcalls.mitm.offline.minimising.case_text import fenced
from toolcalls.mitm.offline.minimising.exchange_job import ExchangeJob, Sign, job_of, reading_by, sign_of
from toolcalls.mitm.offline.minimising.exchange_reducing import (
    Shows,
    anonymised_job,
    as_text_where_needed,
    reduced_job,
)
from toolcalls.mitm.offline.minimising.search import Clock
from toolcalls.route import Config


@dataclass(frozen=True)
class WholeExchange:
    """What will be shown: the job as it was recorded, the question, and the sign of the verdict."""

    job: ExchangeJob
    shows: Shows
    sign: Sign

    def minimised(self, clock: Clock) -> ExchangeJob:
        """The smallest job that was found, with neutral names and values."""
        shows = clock.counting(self.shows)
        return reduced_job(anonymised_job(reduced_job(self.job, shows, clock), shows, clock), shows, clock)

    def line(self, job: ExchangeJob) -> str:
        """The job as it is written, without what looks like a secret. Raises BadInput where that is another one."""
        line = redacted_text(job.line)
        try:
            json.loads(line)
        except ValueError as error:
            raise BadInput("the job cannot be written without what looks like a secret in it") from error
        return f"{line}\n"

    def paste(self, job: ExchangeJob, *, has_config: bool) -> str:
        """Markdown for an issue."""
        config = " --config FILE" if has_config else ""
        parts: Sequence[str] = [
            f"{self.sign}.",
            "",
            f"toolcalls {__version__}, Python {platform.python_version()}, {sys.platform}",
            "",
            f"As a job for `toolcalls rewrite --jsonl{config}`:",
            "",
            *fenced(self.line(job), "json"),
        ]
        return "\n".join(parts) + "\n"


def whole_exchange(
    flow: http.HTTPFlow, reply: Recorded, config: Config | None, lane: int, verdict: Verdict
) -> WholeExchange | str:
    """The exchange that shows a verdict; a text says why none does.

    config   the one that is named; None for the built-in one, which a job has by itself
    """
    sign = sign_of(verdict_data(verdict, lane))
    read = reading_by(config, None if config is None else reply.plan.call_policy.route.name)

    def shows(job: ExchangeJob) -> bool:
        return sign in read(job)

    for own in (flow_secrets(flow), None):
        job = job_of(flow, reply, own)
        if job is None:
            return f"the verdict {sign} needs more than its text, and the body is none"
        job = as_text_where_needed(job, shows)
        if shows(job):
            if own is None:
                print_error(
                    "toolcalls minimise", "what looks like a secret matters here: it is taken out of what is written"
                )
            return WholeExchange(job, shows, sign)
    return f"the verdict {sign} needs more than the reply and its request"
