"""A form for a reply that no dialect reads: every form that may fit is tried on it."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from toolcalls.dialects import OwnForm, OwnName, all_dialects
from toolcalls.own_dialects.guesses import Candidate, candidates
from toolcalls.own_dialects.trial import Trial, read, tools_of, tried
from toolcalls.request import Tool
from toolcalls.shapes import About, Call
from toolcalls.writing.writer import calls_in


class Found(NamedTuple):
    """A form with what it made of the text, read with these tools."""

    candidate: Candidate
    trial: Trial
    tools: tuple[Tool, ...]

    @property
    def name(self) -> OwnName:
        return named(self.candidate)


def named(candidate: Candidate) -> OwnName:
    """The name by which a form that is nowhere yet is read and written."""
    about = About(form=candidate.form, written_by="", source="", example="")
    return OwnName(candidate.dialect.name, OwnForm(candidate.dialect, about))


def read_already(text: str, tools: tuple[Tool, ...]) -> str:
    """The dialect that reads all of a text's calls as it is, "" for none."""
    for name in all_dialects():
        calls = calls_in(read([text], tools, name))
        trial = tried(text, tools or tools_of(calls), name)
        if trial.fits:
            return name
    return ""


def all_tries(name: str, text: str, tools: tuple[Tool, ...]) -> list[Found]:
    """Every form that may fit with what it made of the text, the nearest first."""
    found = []
    for candidate in candidates(name, text, tuple(tool.name for tool in tools)):
        own = named(candidate)
        declared = tools or tools_of(calls_in(read([text], (), own)))
        found.append(Found(candidate, tried(text, declared, own), declared))
    return sorted(found, key=lambda one: (not one.trial.fits, -one.trial.taken, len(one.trial.problems)))


def reading(calls: Sequence[Call]) -> str:
    """Calls in words, without the white space around values: whether that is layout, the first form that fits says."""
    said = []
    for call in calls:
        values = json.loads(call.arguments).items()
        plain = {key: value.strip() if isinstance(value, str) else value for key, value in values}
        said.append(f"{call.name} {json.dumps(plain, ensure_ascii=False)}")
    return ", ".join(said)
