"""What a team's proxy goes through: many streams, a worker that is killed, another one that is restarted under them."""

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Any

from support.team import FIRST, PacedUpstream, Stream, Team, Worker, read_stream
from support.waiting import seen, until


@dataclass(frozen=True)
class Outcome:
    """What became of the streams.

    killed    those of the worker that was killed
    again     the same ones, asked for once more
    others    those that were open meanwhile
    late      those that were begun while the other worker was emptied
    after     those that were begun when it was there again
    asked     how often the upstream was asked for each
    said      the exit status of the restart, and what it printed
    is_new    whether the worker is another process
    """

    killed: list[Stream]
    again: list[Stream]
    others: list[Stream]
    late: list[Stream]
    after: list[Stream]
    asked: Counter[str]
    said: tuple[int, str]
    is_new: bool

    def mistakes(self) -> list[str]:
        """Each stream that is not as it should be, in words."""
        whole = [*self.again, *self.others, *self.late, *self.after]
        found = [f"{one.name} ({one.worker}) broke" for one in whole if not one.ended]
        found += [f"{one.name}: calls {one.calls}" for one in whole if one.calls != [_arguments(one)]]
        found += [f"{one.name} was killed, and looks whole" for one in self.killed if one.ended]
        found += [f"{one.name}: a call of a stream that broke" for one in self.killed if one.calls]
        retried = {one.name for one in self.killed}
        expected = {name: 1 + (name in retried) for name in self.asked}
        found += [
            f"{name} was asked for {count} times" for name, count in self.asked.items() if count != expected[name]
        ]
        if self.said[0] or not self.is_new:
            found.append(f"the worker was not restarted: {self.said}")
        return found


def _arguments(stream: Stream) -> str:
    return f'{{"command":"ls {stream.name}"}}'


async def kill_and_reload(team: Team, upstream: PacedUpstream, streams: int) -> Outcome:
    """Half of the streams are open when the first worker is killed. The second is then restarted while it streams, and
    the other half of the streams begins meanwhile.
    """
    first, second = team.workers[0], team.workers[1]
    early, running = _begin(team, [f"early{n}" for n in range(streams // 2)])
    await until(lambda: all(one.events >= FIRST for one in early))
    impatient = team.reload(second, 0)
    refused = (await asyncio.to_thread(impatient.communicate))[0]
    assert impatient.returncode == 1, refused
    assert "are still open after 0 s; it gets requests again" in refused
    assert team.states()[second.name] == "UP"
    killed = [one for one in early if one.worker == first.name]
    await asyncio.to_thread(first.kill)
    await until(lambda: all(task.done() for one, task in zip(early, running, strict=True) if one in killed))
    again, more = _begin(team, [one.name for one in killed])
    await until(lambda: all(one.events >= FIRST for one in again))
    await asyncio.to_thread(_up, team, first)

    old = second.pid
    reload = team.reload(second)
    await until(lambda: team.states()[second.name] != "UP")
    late, last = _begin(team, [f"late{n}" for n in range(streams - len(early))])
    await until(lambda: all(one.events >= FIRST for one in late))
    assert reload.poll() is None, "the worker was restarted under its streams"
    assert second.pid == old
    upstream.gate.set()
    await asyncio.gather(*running, *more, *last)
    said = (await asyncio.to_thread(reload.communicate))[0]
    after, tasks = _begin(team, [f"after{n}" for n in range(max(8, streams // 10))])
    await asyncio.gather(*tasks)
    return Outcome(
        killed=killed,
        again=again,
        others=[one for one in early if one not in killed],
        late=late,
        after=after,
        asked=upstream.asked,
        said=(reload.returncode, said),
        is_new=second.pid != old,
    )


def _begin(team: Team, names: list[str]) -> tuple[list[Stream], list["asyncio.Task[Any]"]]:
    made = [Stream(name) for name in names]
    return made, [asyncio.create_task(read_stream(one, team.port)) for one in made]


def _up(team: Team, worker: Worker) -> None:
    """Wait until HAProxy has seen that a worker is there again."""
    seen(lambda: len(worker.runs) > 1 and team.states()[worker.name] == "UP")
