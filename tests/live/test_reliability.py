"""A small part of the live faults (`reliability/live.py`): the scenarios that no other test plays, with few inputs.

`make reliability` runs all of them in full. Nothing here depends on how fast the machine is.
"""

import pytest

from reliability import live, live_beside
from reliability.live_kit import Got, Said, Tally, judged, said
from reliability.rows import Row, table
from support.loopback import CALL
from toolcalls.replies.exchange import Exchange

FRACTION, SEED = 0.01, 20


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return list(live.rows(FRACTION, SEED))


def test_every_input_survives(rows: list[Row]) -> None:
    assert all(row.n == row.survived and row.clean for row in rows), "\n".join(
        [table(rows), *(f"{row.group}: {failure}" for row in rows for failure in row.failures)]
    )


def test_the_scenarios_played(rows: list[Row]) -> None:
    groups = {row.group: row.n for row in rows}
    assert groups.keys() >= {
        "live: 1-byte chunks",
        "live: connection kept open",
        "live: exception in the callback",
        "live: SIGKILL while recording",
        "live: disk full",
        "live: folder gone",
    }
    assert all(groups.values())


# --- the judge --------------------------------------------------------------------------------------------------------

NATIVE = (
    b'data: {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": '
    b'{"name": "Bash", "arguments": "{}"}}]}}]}\n\n'
)


@pytest.mark.parametrize(
    ("what", "body", "ended", "kinds"),
    [
        (said("text", "hello"), None, True, []),
        (said("text", "hello"), None, False, ["lost"]),
        (said("text", "hello"), b"data: x\n\n", True, ["lost"]),
        (said("call", CALL, calls=[("Bash", "{}")]), NATIVE, True, []),
        (said("call", CALL, calls=[("Bash", '{"command":"ls"}')]), NATIVE, True, ["invented", "lost"]),
        (said("call", CALL, calls=[("Bash", "{}")]), NATIVE * 2, True, ["invented", "lost"]),
        (said("call", f"Look. {CALL}", calls=[("Bash", "{}")]), NATIVE, True, ["lost"]),
    ],
)
def test_what_is_wrong_is_seen(what: Said, body: bytes | None, ended: bool, kinds: list[str]) -> None:
    """A judge that lets everything pass would make every row green."""
    got = Got(200, {}, bytearray(what.body if body is None else body), ended)
    assert [kind for kind, _ in judged(what, got)] == kinds


def test_what_raises_is_counted() -> None:
    tally = Tally("group")
    with tally.input("fine"):
        pass
    with tally.input("stalls"):
        raise TimeoutError
    with tally.input("breaks") as problems:
        problems.append(("secrets", "here"))
        raise ValueError("why")
    row = tally.row()
    assert (row.n, row.survived, row.hangs, row.secrets, len(row.failures)) == (3, 1, 1, 1, 2)
    assert "ValueError: why" in row.failures[1]


def test_every_fault_has_its_function() -> None:
    """A fault in a function of another name would strike nowhere."""
    assert [name for name, _ in live_beside.FAULTS if not hasattr(Exchange, name)] == []
