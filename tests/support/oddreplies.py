"""Replies that no API describes: what must hold whatever a server sends."""

from collections.abc import Iterable
from itertools import pairwise
from typing import get_args

from support.exchanges import LIFTING, of_request, run
from toolcalls.request import Request, Tool
from toolcalls.route import Mended, Route
from toolcalls.wires import Wire
from toolcalls.wires.frames import Form

CALL = '<invoke name="Bash"><parameter name="command">ls</parameter></invoke>'
TOOLS = (Tool("Bash", {"type": "object", "properties": {"command": {"type": "string"}}}), Tool("Noop"))
KINDS: tuple[Mended, ...] = get_args(Mended)
TEXTS = ("a\n", CALL, CALL[:30], CALL[30:], " ", "<")


def check_no_fault(wire: Wire, form: Form, body: bytes, cuts: Iterable[int] = ()) -> None:
    """Assert that a body is no fault, that it leaves as one that comes whole if it is cut at these places, and as it
    came where nothing may change.
    """
    pieces = [body[start:end] for start, end in pairwise([0, *sorted(cuts), len(body)])]

    def left(route: Route, tools: tuple[Tool, ...], chunks: list[bytes]) -> tuple[bytes, object]:
        one = of_request(wire, Request(tools=tools), route, form=form, seed=b"s")
        return run(one, chunks), one.verdicts

    for route in (LIFTING, Route(mend=KINDS), Route(client="text", client_dialect="invoke", mend=KINDS)):
        assert left(route, TOOLS, pieces) == left(route, TOOLS, [body])
    assert left(Route(mend=()), (), pieces)[0] == body
    assert left(Route(client="native", upstream="native", mend=()), TOOLS, pieces)[0] == body
