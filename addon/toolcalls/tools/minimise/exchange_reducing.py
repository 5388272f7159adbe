"""A smaller and smaller job that still shows a verdict: fewer frames, fewer members of their JSON and of the request's,
shorter strings; then neutral names and values.

Strategy: `search` is run on the frames, then on each object, list and string, from the outside to the inside, so that
most goes at once. All of it is repeated until nothing more goes. JSON that cannot be written again without losing what
is shown (a name twice, a number as it is spelt) stays text, and is cut by characters.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from toolcalls.tools.minimise.exchange_job import ExchangeJob
from toolcalls.tools.minimise.search import ROUNDS, WORDS, Clock, fewer

_WORD = re.compile(r"[^\W\d_]\w*")
_NUMBER = re.compile(r"\d+")
_MOST = 400  # words that are tried

type Shows = Callable[[ExchangeJob], bool]


def as_text_where_needed(job: ExchangeJob, shows: Shows) -> ExchangeJob:
    """The job with frames as text, from the first one on, until it shows it; all of them where it never does."""
    for place, part in enumerate(job.parts):
        if shows(job):
            break
        job = replace(job, parts=(*job.parts[:place], part.as_text, *job.parts[place + 1 :]))
    return job


def reduced_job(job: ExchangeJob, shows: Shows, clock: Clock) -> ExchangeJob:
    """The smallest job that was found. `job` itself must show it."""
    for _ in range(ROUNDS):
        before = job
        job = _parts(_about(job, shows, clock), shows, clock)
        if job.request is not None:
            job = replace(job, request=_smaller(job.request, _of_request(job, shows), clock))
            without = replace(job, request=None)
            job = without if shows(without) else job
        for place in range(len(job.parts)):
            said = _smaller(job.parts[place].said, _of_part(job, place, shows), clock)
            job = _with_part(job, place, said)
        if job == before or clock.over:
            break
    return job


def anonymised_job(job: ExchangeJob, shows: Shows, clock: Clock) -> ExchangeJob:
    """The job with neutral names and values, as far as it then still shows it."""
    for pattern, neutral in ((_WORD, "x"), (_NUMBER, "1")):
        words = dict.fromkeys(word for text in job.strings() for word in pattern.findall(text))
        for word in list(words)[:_MOST]:
            if clock.over:
                return job
            made = job.mapped(_replacing(word, neutral))
            if word != neutral and made != job and shows(made):
                job = made
    return job


def _replacing(word: str, neutral: str) -> Callable[[str], str]:
    whole = re.compile(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])")
    return lambda text: whole.sub(lambda _: neutral, text)


def _about(job: ExchangeJob, shows: Shows, clock: Clock) -> ExchangeJob:
    return replace(job, about=tuple(fewer(job.about, lambda some: shows(replace(job, about=tuple(some))), clock)))


def _parts(job: ExchangeJob, shows: Shows, clock: Clock) -> ExchangeJob:
    return replace(job, parts=tuple(fewer(job.parts, lambda some: shows(replace(job, parts=tuple(some))), clock)))


def _of_request(job: ExchangeJob, shows: Shows) -> Callable[[Any], bool]:
    return lambda value: shows(replace(job, request=value))


def _of_part(job: ExchangeJob, place: int, shows: Shows) -> Callable[[Any], bool]:
    return lambda said: shows(_with_part(job, place, said))


def _with_part(job: ExchangeJob, place: int, said: Any) -> ExchangeJob:
    part = replace(job.parts[place], said=said)
    return replace(job, parts=(*job.parts[:place], part, *job.parts[place + 1 :]))


def _smaller(value: Any, shows: Callable[[Any], bool], clock: Clock) -> Any:
    """The smallest value of its kind that was found."""
    if isinstance(value, str):
        for atoms in (WORDS.findall(value), None):
            value = "".join(fewer([*value] if atoms is None else atoms, lambda some: shows("".join(some)), clock))
    elif isinstance(value, list):
        value = fewer(value, lambda some: shows([*some]), clock)
        for place, one in enumerate(value):
            value = [*value[:place], _smaller(one, _in_list(value, place, shows), clock), *value[place + 1 :]]
    elif isinstance(value, dict):
        value = dict(fewer([*value.items()], lambda some: shows(dict(some)), clock))
        for key, one in value.items():
            value = {**value, key: _smaller(one, _in_dict(value, key, shows), clock)}
    return value


def _in_list(value: list[Any], place: int, shows: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda one: shows([*value[:place], one, *value[place + 1 :]])


def _in_dict(value: dict[str, Any], key: str, shows: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda one: shows({**value, key: one})
