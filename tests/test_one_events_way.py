"""The walk "One event's way" of docs/design.md: every function in it exists and is called in that order.

Strategy: both events go through a real tap while a profile function notes each call into the package; the list of the
section must be found in these calls, in order. So the section cannot outlive the code that it explains.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

import toolcalls
from support.chatclient import HEAD, chunk, event
from support.spoken import SPOKEN, exchange
from toolcalls.mitm.response_tap import ResponseTap
from toolcalls.request import Tool

PACKAGE = Path(toolcalls.__file__).parent
DESIGN = (Path(__file__).parents[1] / "docs" / "design.md").read_text(encoding="utf-8")
_STEP = re.compile(r"^(\d+)\. `([\w/]+\.py)`: `([\w.]+)`", re.MULTILINE)
BEGINS = '\n<invoke name="Bash">\n<parameter name="command">ls'


def walks() -> list[list[tuple[str, str]]]:
    """The section's lists: file and function of each step."""
    section = DESIGN.partition("## One event's way\n")[2].partition("\n## ")[0]
    found: list[list[tuple[str, str]]] = []
    for number, file, function in _STEP.findall(section):
        if number == "1":
            found.append([])
        assert int(number) == len(found[-1]) + 1
        found[-1].append((file, function))
    return found


def calls_of(run: Callable[[], object]) -> list[tuple[str, str]]:
    """The calls into the package, in order: file and function."""
    found: list[tuple[str, str]] = []

    def note(frame: FrameType, what: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if what == "call" and PACKAGE in path.parents:
            found.append((path.relative_to(PACKAGE).as_posix(), frame.f_code.co_qualname))

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def test_the_section_shows_both_events() -> None:
    assert len(walks()) == 2


@pytest.mark.parametrize("place", [0, 1], ids=["a plain piece of text", "a call begins"])
def test_an_event_goes_the_way_that_is_written_down(place: int) -> None:
    tools = (Tool("Bash", {"type": "object", "properties": {"command": {"type": "string"}}}),)
    tap = ResponseTap(exchange(SPOKEN["openai_chat"], tools), form="sse", decoder=None, changes=True)
    tap(event(chunk(HEAD)))
    events = [event(chunk({"content": text})) for text in ("Hello", " there.", BEGINS)]
    for earlier in events[: 2 * place]:
        tap(earlier)
    out: list[object] = []
    calls = calls_of(lambda: out.append(tap(events[2 * place])))
    assert (out[0] == events[0]) == (place == 0)
    left = iter(calls)
    missing = [f"{file}: {function}" for file, function in walks()[place] if (file, function) not in left]
    assert missing == [], "this step is not made, or not in this place: mend docs/design.md"
