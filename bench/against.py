"""The reader beside the parsers of other engines: µs a delta of 4 characters, in the dialects that both read.

Each engine runs in the Python in which it is installed, which an environment variable names; without one its rows are
left out, with the reason. Engine and reader get the same texts in turns, each in a process of its own, and are timed by
the same code (`peers/timing.py`), by the clock, delta by delta. A parser of an engine knows which dialect its model
writes and looks for that alone; the reader looks for all of them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import dialects
import readers

PEERS = Path(__file__).with_name("peers")
ENGINES = {"SGLANG_PYTHON": ("SGLang", PEERS / "sglang_parsers.py")}
# vLLM's parsers stream token ids besides text, which only its own tokenizers make.
NOT_TIMED = {"vLLM": "its parsers stream token ids, which a text alone does not have"}
SIZES = (10_000, 100_000, 1_000_000)
LIMIT = 20  # seconds for one text: some parsers read all of it again with every delta
ROUNDS = 3
TOOLS = [{"type": "function", "function": {"name": "write_to_file", "parameters": readers.SCHEMA}}]
# With a call of each dialect first: what both read.
DIALECTS = ("hermes", "qwen3_xml", "glm_xml", "kimi_k2", "minimax_m2", "deepseek_v31", "mistral")


def texts(dialect):
    """The texts that are compared, by name: a function of their size."""
    small = dialects.written(dialect, 20)
    return {
        "prose": lambda size: readers.filled(readers.PROSE, size),
        "signs of HTML": lambda size: readers.filled(readers.ANGLES, size),
        "one long call": lambda size: dialects.written(dialect, size),
        "many small calls": lambda size: readers.filled(small + "\n", size),
    }


class Timed:
    """A process that times jobs."""

    def __init__(self, python, script):
        command = [python, str(script), "--time"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=PEERS
        )

    def best(self, job, before=None):
        """The answer with the least median of some rounds; the other process gets its turn between them."""
        answers = []
        for _ in range(ROUNDS):
            answers.append((self._ask(job), before._ask(job) if before is not None else None))
            if "skipped" in answers[0][0] or answers[0][0]["deltas"] < answers[0][0]["of"]:
                break
        return [
            min(row, key=lambda one: one.get("mean", 0)) if row[0] is not None else None
            for row in zip(*answers, strict=True)
        ]

    def _ask(self, job):
        try:
            print(json.dumps(job), file=self._process.stdin, flush=True)
        except OSError:
            return {"skipped": "it did not start"}
        line = self._process.stdout.readline()
        return json.loads(line) if line else {"skipped": "it did not start"}

    def close(self):
        """End the process."""
        self._process.stdin.close()
        self._process.wait(30)


def shown(size, ours, theirs):
    """A row: ours, theirs, the ratio of the means."""
    cells = "".join(f"{one[key]:9.1f}" for one in (ours, theirs) for key in ("median", "p99", "worst"))
    cut = "" if theirs["deltas"] == theirs["of"] else f"  stopped after {4 * theirs['deltas'] // 1000} KB"
    return f"{size // 1000:8} KB{cells}{ours['mean'] / theirs['mean']:9.2f}{cut}"


def main():
    """Print the tables."""
    for name, why in NOT_TIMED.items():
        print(f"{name}: not timed, {why}")
    for variable, (name, script) in ENGINES.items():
        python = os.environ.get(variable)
        if not python:
            print(f"{name}: skipped, {variable} names no Python in which it is installed")
            continue
        print(f"Beside {name}, µs by the clock for each delta of 4 characters: ours, {name}'s, and the ratio of means")
        print(f"{'':11}{'median':>9}{'p99':>9}{'worst':>9}{'median':>9}{'p99':>9}{'worst':>9}{'ratio':>9}")
        engine, reader = Timed(python, script), Timed(sys.executable, PEERS / "our_reader.py")
        try:
            for dialect in DIALECTS:
                for kind, text in texts(dialect).items():
                    print(f"{dialect}, {kind}")
                    for size in SIZES:
                        job = {"dialect": dialect, "tools": TOOLS, "text": text(size), "step": 4, "limit": LIMIT}
                        ours, theirs = reader.best(job, engine)
                        skipped = ours.get("skipped") or theirs.get("skipped")
                        print(f"  skipped: {skipped}" if skipped else shown(size, ours, theirs), flush=True)
                        if skipped or theirs["deltas"] < theirs["of"]:
                            break
        finally:
            engine.close()
            reader.close()


if __name__ == "__main__":
    main()
