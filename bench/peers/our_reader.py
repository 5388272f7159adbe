"""This project's reader, timed as the parsers of other engines are."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from timing import time_lines

sys.path.insert(0, str(Path(__file__).parents[2] / "addon"))

from toolcalls.dialects import all_dialects
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import Route


def begin(_: str, job: Mapping[str, Any]) -> Callable[[str], object]:
    """Reads all dialects, as it does where nobody says which one the model writes."""
    tools = tuple(Tool(one["function"]["name"], one["function"]["parameters"]) for one in job["tools"])
    return Reader(CallPolicy(Route(), Request(tools=tools))).feed


if __name__ == "__main__":
    time_lines({name: name for name in all_dialects()}, begin)
