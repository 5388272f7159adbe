"""Flows whose replies have ended, read as turns in a thread, some at a time: for most flows, handing over to the thread
takes half as long as reading them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mitmproxy import http

from toolcalls.flows.flow_records import records_of
from toolcalls.flows.websocket.turns import TurnReader
from toolcalls.insight.conversation import Known, Message
from toolcalls.insight.turn import Turn, turn_of
from toolcalls.mitm.background import exchange_bytes

AT_A_TIME = 8  # flows; together they take some milliseconds, and the loop goes on meanwhile
_LARGE = 256 * 1024  # bytes of a request and its reply


@dataclass(frozen=True, slots=True)
class EndedFlow:
    """A flow to be read.

    report   its report, or that of a failure
    known    the ids of its exchanges that need not be read
    reader   what has read the messages of an open connection so far; None for other flows
    """

    flow: http.HTTPFlow
    report: Mapping[str, Any]
    known: frozenset[str]
    reader: TurnReader | None


def are_enough(flows: Sequence[EndedFlow]) -> bool:
    """Whether these are read now. A large one waits for no others, so that the time of a refresh stays bounded."""
    return len(flows) >= AT_A_TIME or (bool(flows) and _size(flows[-1]) > _LARGE)


def _size(ended: EndedFlow) -> int:
    """How many bytes are to be read: of a connection that was looked at before, those that have come since."""
    if ended.reader is None:
        return exchange_bytes([ended.flow])
    messages, _ = ended.reader.new_messages(ended.flow)
    return sum(len(message.content) for message in messages)


def turns_of(flows: Sequence[EndedFlow], known: Known) -> list[list[Turn] | Exception]:
    """The turns of each of these flows, or why it has none. What messages are `known` is not made anew."""
    messages = _Messages(known)
    return [_turns(one, messages) for one in flows]


def _turns(ended: EndedFlow, messages: "_Messages") -> list[Turn] | Exception:
    turns: list[Turn] = []
    try:
        for record in records_of(ended.flow, ended.report, known=ended.known, reading=ended.reader):
            turns.append(turn_of(record, messages))
            messages.add(turns[-1].request.messages)
    except Exception as error:  # noqa: BLE001 - one flow that fails must not hide the others
        return error
    return turns


class _Messages:
    """Known messages, and those of the requests that were just read: each repeats what the one before it said."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._said: dict[tuple[str, str], Message] = {}

    def get(self, key: tuple[str, str], /) -> Message | None:
        """The message of this role and digest."""
        return self._said.get(key) or self._known.get(key)

    def add(self, messages: Sequence[Message]) -> None:
        """Remember these messages as well."""
        self._said.update(((one.role, one.digest), one) for one in messages)
