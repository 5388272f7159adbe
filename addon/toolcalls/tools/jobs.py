"""Jobs: JSON objects, one a line with `--jsonl`, that say what a command should do, and the loop that runs them.

Strategy: only the top level of a job is parsed at first; each member stays JSON text until it is asked for. So an id is
returned as it was given, arguments keep every digit, and a body is decoded once. A member that is null counts as
missing. Errors name the member.
"""

import json
from collections.abc import Callable
from typing import Any

from toolcalls.streams import (
    BadInput,
    as_json,
    check_json,
    escape_hidden,
    input_lines,
    input_name,
    open_input,
    print_error,
    write_line,
)
from toolcalls.values.conversion import members

_LINES = 20  # of those that failed, that are named


class Job:
    """One JSON object. `text` is a whole document; raises BadInput when it is not one JSON object."""

    def __init__(self, text: str) -> None:
        try:
            self._members = dict(members(text))
        except ValueError as error:
            raise BadInput(_mistake(text)) from error

    def __contains__(self, key: str) -> bool:
        return self._members.get(key, "null").strip() != "null"

    @property
    def id(self) -> str:
        """The job's id as JSON text, as it was given; "null" for a job without."""
        return self._members.get("id", "null").strip()

    def raw(self, key: str) -> str:
        """A member as JSON text, "null" when it is missing."""
        return self._members.get(key, "null").strip()

    def value(self, key: str) -> Any:
        """A member, decoded; None when it is missing."""
        try:
            return json.loads(self.raw(key))
        except (ValueError, RecursionError) as error:  # a number of more than 4300 digits, nesting beyond the stack
            raise BadInput(f"{key}: {error}") from error

    def text(self, key: str, otherwise: str) -> str:
        """A member that is a string."""
        return str(self._typed(key, str, "a string")) if key in self else otherwise

    def flag(self, key: str) -> bool:
        """A member that is true or false; False when it is missing."""
        return bool(self._typed(key, bool, "true or false")) if key in self else False

    def size(self, key: str, otherwise: int | None) -> int | None:
        """A member that is a number of things, 1 or more."""
        if key not in self:
            return otherwise
        found = self._typed(key, int, "a whole number")
        if isinstance(found, bool) or found < 1:
            raise BadInput(f"{key}: expected a whole number from 1, found {self.raw(key)[:40]}")
        return int(found)

    def list_of(self, key: str, kind: type, name: str) -> list[Any]:
        """A member that is a list of one kind; [] when it is missing."""
        found = self._typed(key, list, f"a list of {name}") if key in self else []
        if not all(type(item) is kind for item in found):
            raise BadInput(f"{key}: expected a list of {name}")
        return list(found)

    def _typed(self, key: str, kind: type, name: str) -> Any:
        found = self.value(key)
        if not isinstance(found, kind):
            raise BadInput(f"{key}: expected {name}, found {self.raw(key)[:40]}")
        return found


def run_jobs(command: str, path: str, work: Callable[[Job], dict[str, Any]]) -> int:
    """Run each line of a file (`-`: standard input) as a job, and write one line for each, in order, flushed. Returns
    the exit status: 1 where a job failed, and then a line on standard error says which.

    `work` returns the result without its id. A job that fails gives {"id", "error"}, and the next one runs. This is
    the only place in the commands that catches our own bugs as well.
    """
    done, failed = 0, list[int]()
    with open_input(path) as source:
        for number, line in input_lines(source):
            done += 1
            id_, result, wrong = _run(line, work)
            if wrong:
                failed.append(number)
            write_line(escape_hidden(f'{{"id": {id_}, {result[1:]}'))
    if failed:
        lines = ", ".join(map(str, failed[:_LINES])) + (f" and {len(failed) - _LINES} more" if failed[_LINES:] else "")
        print_error(command, f"{input_name(path)}: {len(failed)} of {done} jobs failed, those of the lines {lines}")
    return int(bool(failed))


def _run(line: bytes, work: Callable[[Job], dict[str, Any]]) -> tuple[str, str, bool]:
    """A job's id as JSON text, its result as a JSON object, and whether it failed."""
    id_ = "null"
    try:
        job = Job(line.decode("utf-8", "surrogatepass"))
        id_ = job.id
        result = work(job)
        return id_, as_json(result), "error" in result
    except UnicodeDecodeError as error:
        mistake = f"this is not UTF-8: byte {error.start} of the line"
    except BadInput as error:
        mistake = str(error)
    except Exception as error:  # noqa: BLE001 - one job never ends the others
        mistake = f"internal error: {error!r}"
    return id_, as_json({"error": mistake}), True


def _mistake(text: str) -> str:
    """Why `text` is not one JSON object."""
    try:
        check_json(text)
    except json.JSONDecodeError as error:
        return f"this is not JSON: {error.msg} (column {error.colno})"
    except ValueError as error:
        return str(error)
    return "expected a JSON object"
