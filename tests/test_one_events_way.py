"""The walk "One event's way" of docs/design.md: every function in it exists and is called in that order.

Strategy: each event goes through a real tap while a profile function notes each call into the package; the list of the
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
from support.exchanges import of_request
from support.spoken import SPOKEN, exchange
from toolcalls.mitm.response_tap import ResponseTap
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.wires import all_wires

PACKAGE = Path(toolcalls.__file__).parent
DESIGN = (Path(__file__).parents[1] / "docs" / "design.md").read_text(encoding="utf-8")
_STEP = re.compile(r"^(\d+)\. `([\w/]+\.py)`: `([\w.<>]+)`", re.MULTILINE)
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


TOOLS = (Tool("Bash", {"type": "object", "properties": {"command": {"type": "string"}}}),)
TO_NATIVE = [event(chunk({"content": text})) for text in ("Hello", " there.", BEGINS)]
FUNCTION = {"name": "Bash", "arguments": ""}
TO_TEXT = [
    event(chunk({"tool_calls": [{"index": 0, "id": "call_0", "type": "function", "function": FUNCTION}]})),
    *(
        event(chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}))
        for piece in ('{"command":"ls', " -l", " -a", '"}')
    ),
    event(chunk({}, "tool_calls")),
]
# For each list of the section: whether the client reads text, the place of the event, and what leaves.
WALKS: dict[str, tuple[bool, int, Callable[[bytes], bool]]] = {
    "a plain piece of text": (False, 0, TO_NATIVE[0].__eq__),
    "a call begins": (False, 2, lambda out: b"tool_calls" in out),
    "a native call begins": (True, 0, lambda out: b"Bash" not in out),
    "a piece of a native call": (True, 3, lambda out: out == b""),
    "a native call becomes text": (True, 5, lambda out: b"ls -l -a</parameter>" in out),
}


def test_the_section_shows_these_events() -> None:
    assert len(walks()) == len(WALKS)


@pytest.mark.parametrize("kind", WALKS)
def test_an_event_goes_the_way_that_is_written_down(kind: str) -> None:
    as_text, place, leaves = WALKS[kind]
    route = Route(client="text", upstream="native", client_dialect="invoke")
    wire = all_wires()["openai_chat"]
    made = of_request(wire, Request(tools=TOOLS), route, form="sse") if as_text else exchange(SPOKEN[wire.name], TOOLS)
    tap = ResponseTap(made, form="sse", decoder=None, changes=True)
    events = TO_TEXT if as_text else TO_NATIVE
    for earlier in (event(chunk(HEAD)), *events[:place]):
        tap(earlier)
    out: list[bytes] = []
    calls = calls_of(lambda: out.append(left if isinstance(left := tap(events[place]), bytes) else b"".join(left)))
    assert leaves(out[0])
    went = iter(calls)
    walk = walks()[list(WALKS).index(kind)]
    missing = [f"{file}: {function}" for file, function in walk if (file, function) not in went]
    assert missing == [], "this step is not made, or not in this place: mend docs/design.md"
