"""`toolcalls stats FILE…`: how replies came, by model and server: how many, with which damage, how many mended.

What people count by hand of a provider. `--json` gives the same for programs, one object for each model on each server.
"""

import sys
from argparse import Namespace

from toolcalls.flows.reports import all_of
from toolcalls.insight.conformance import Conformance, Row
from toolcalls.insight.formatting import counted, percent
from toolcalls.insight.report import visible
from toolcalls.insight.turn import turn_of
from toolcalls.insight.vocabulary.statuses import POSSIBLY_LOST
from toolcalls.streams import as_json, encode, write_line, write_output
from toolcalls.tools.archive.parts import files_of
from toolcalls.tools.archive.progress import Progress
from toolcalls.tools.options import configuration


def run(arguments: Namespace) -> int:
    config = configuration(arguments.config)
    found = Conformance()
    files = files_of(arguments.files)
    with Progress([file.path for file in files], [file.size for file in files]) as progress:
        for _, _, flow in progress.exchanges():
            for record in all_of(flow, config):
                turn = turn_of(record)
                if turn.is_read:
                    found.add(turn.model, turn.server, turn.damage)
    rows = found.rows()
    if arguments.json:
        write_line(as_json({"version": 1, "servers": [_data(row) for row in rows]}, pretty=sys.stdout.isatty()))
    else:
        lines = [line for row in rows for line in _lines(row)] or ["no replies of an LLM API"]
        write_output(encode("".join(f"{visible(line)}\n" for line in lines)))
    return 0


def _data(row: Row) -> dict[str, object]:
    """One model on one server. `rate`: the share of its replies that came with it."""
    damage = {
        kind.code: {
            "rate": round(row.rate(kind.code), 4),
            "turns": kind.turns,
            "count": kind.count,
            "mended": kind.mended,
            **({"possible": True} if kind.possible else {}),
        }
        for kind in row.kinds
    }
    return {"model": row.model, "server": row.server, "turns": row.turns, "sound": row.sound, "damage": damage}


def _lines(row: Row) -> list[str]:
    """A line for the model on its server, and one below it for each kind of damage."""
    share = percent(row.sound / row.turns)
    head = f"{row.model} at {row.server}: {counted(row.turns, 'reply')}, {row.sound} without damage ({share})"
    return [head] + [
        f"  {kind.code:24} {percent(row.rate(kind.code)):>5}  in {counted(kind.turns, 'reply')}, "
        f"{counted(kind.count, 'time')}, {POSSIBLY_LOST if kind.possible else f'{kind.mended} mended'}"
        for kind in row.kinds
    ]
