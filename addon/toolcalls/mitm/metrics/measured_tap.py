"""A tap that says how long each piece took, and how much it holds. Only where somebody asked for metrics: the usual tap
looks at no clock but for the times of its pieces.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from toolcalls.mitm.response_tap import ResponseTap


@dataclass(frozen=True, slots=True)
class Measures:
    """Where the figures go: seconds, bytes, and changes of a number of bytes or replies."""

    piece: Callable[[float], None]
    first_byte: Callable[[float], None]
    held: Callable[[int], None]
    open_replies: Callable[[int], None]
    upstream_bytes: Callable[[int], None]
    client_bytes: Callable[[int], None]


class MeasuredTap(ResponseTap):
    """One reply."""

    def __init__(self, measures: Measures, *given: Any, **how: Any) -> None:
        super().__init__(*given, **how)
        self._measures = measures
        self._held = 0
        self._began: float | None = None  # when the first byte came; None after the first that left
        self._is_first = True
        self._is_counted = False  # among the open replies

    def __call__(self, data: bytes) -> bytes | Sequence[bytes]:
        """The next piece, as the tap takes it."""
        measures, begun = self._measures, perf_counter()
        if self._is_first:
            self._is_first = False
            self._began = begun
            self._is_counted = True
            measures.open_replies(1)
        out = super().__call__(data)
        ended = perf_counter()
        measures.piece(ended - begun)
        if out and self._began is not None:
            measures.first_byte(ended - self._began)
            self._began = None
        measures.upstream_bytes(len(data))
        measures.client_bytes(len(out))
        self._count_held()
        return out

    def _end(self) -> bytes:
        out = super()._end()
        self._forget()
        return out

    def abort(self) -> None:
        super().abort()
        self._forget()

    def _count_held(self) -> None:
        held = 0 if self.ended else self.exchange.held
        if held != self._held:
            self._measures.held(held - self._held)
            self._held = held

    def _forget(self) -> None:
        self._count_held()
        if self._is_counted:
            self._is_counted = False
            self._measures.open_replies(-1)
