"""Which of mitmweb's flows are new, changed or gone since the page was last brought up to date.

mitmproxy's view says so itself, so that nobody has to look at all flows to find the one that changed.
"""

from collections.abc import Iterable
from typing import Any


class ChangedFlows:
    """The ids of flows since they were last taken. Nothing is kept before `follow`."""

    def __init__(self) -> None:
        self._view: Any = None
        self._changed: dict[str, None] = {}  # in the order in which they changed
        self._gone: set[str] = set()
        self._all = True

    def follow(self, view: Any) -> None:
        """Listen to mitmproxy's view of the flows. Doing so again changes nothing."""
        if self._view is view:
            return
        self._view, self._all = view, True
        view.sig_view_add.connect(self._on_change)
        view.sig_view_update.connect(self._on_change)
        view.sig_view_remove.connect(self._on_remove)
        view.sig_view_refresh.connect(self._on_refresh)

    def take(self) -> tuple[list[str], set[str]] | None:
        """The ids of flows that are new or changed, and of those that went; None where any may have."""
        changed, gone, everything = [*self._changed], self._gone, self._all
        self._changed, self._gone, self._all = {}, set(), False
        return None if everything else (changed, gone)

    def put_back(self, ids: Iterable[str]) -> None:
        """These were taken, and there was no time for them."""
        self._changed = {**dict.fromkeys(ids), **self._changed}

    def _on_change(self, flow: Any) -> None:
        self._gone.discard(flow.id)
        self._changed[flow.id] = None

    def _on_remove(self, flow: Any, index: int) -> None:  # noqa: ARG002 - mitmproxy's signature
        self._changed.pop(flow.id, None)
        self._gone.add(flow.id)

    def _on_refresh(self) -> None:
        self._all = True
