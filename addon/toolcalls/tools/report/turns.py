"""The job of `toolcalls report`: the flows of a part as turns, which are bounded and hold no secrets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from toolcalls.flows.reports import all_of
from toolcalls.insight.conversation import Message
from toolcalls.insight.turn import Turn, turn_of
from toolcalls.route import Config
from toolcalls.tools.archive.engines import in_processes, processes_for
from toolcalls.tools.archive.parts import PART, File, Part, parts_of
from toolcalls.tools.archive.reading import Broken, flows_of

_REMEMBERED = 32 * 1024 * 1024  # bytes of messages
_EACH = 512  # bytes of a message beside its texts


@dataclass(slots=True)
class Turns:
    """The turns of a part; how many flows and bytes they are of; what cannot be read, and whether it is torn off."""

    turns: list[Turn] = field(default_factory=list)
    flows: int = 0
    size: int = 0
    broken: list[tuple[str, bool]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Reading:
    """The job. `known` are messages of earlier parts: each request repeats those of the ones before it."""

    config: Config
    known: dict[tuple[str, str], Message] = field(default_factory=dict)

    def __call__(self, part: Part) -> Turns:
        made, known = Turns(size=part.size), self.known
        if sum(_EACH + len(one.kept) + len(one.excerpt) for one in known.values()) > _REMEMBERED:
            known.clear()
        for found in flows_of(part):
            if isinstance(found, Broken):
                made.broken.append((found.said, found.torn))
                continue
            made.flows += 1
            for record in all_of(found.flow, self.config, compare=True):
                turn = turn_of(record, known)
                known.update(((message.role, message.digest), message) for message in turn.request.messages)
                made.turns.append(turn)
        return made


def turns_of(files: Sequence[File], config: Config, jobs: int | None = None) -> Iterator[Turns]:
    """The turns of all files, in their order. `jobs` processes; None for as many as are worth it. Raises BadInput."""
    job = _Reading(config)
    parts = (part for file in files for part in parts_of(file, PART // 4))
    count = processes_for(files, jobs)
    if count == 1:
        yield from map(job, parts)
        return
    for _, made in in_processes(job, parts, lambda _: False, count):
        if made is not None:
            yield made
