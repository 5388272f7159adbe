"""What the console says of the flow in focus: its list has no column for a comment, and no other place for a line.

The bottom of the screen has room for a message. So while somebody goes through the list, what became of the calls of
each flow is there for a few seconds, and of one that is coming what it does at the moment. The line is the flow's
comment: `insight/report.py` words it (`summarize`), `flow_metadata` sets it.
"""

from importlib import import_module
from typing import Any

from mitmproxy import ctx

_SECONDS = 6  # after which mitmproxy's keys are there again


class Focus:
    """An ear for the console's view. mitmdump and mitmweb have none."""

    def __init__(self) -> None:
        self._signals: Any = None

    def start(self) -> None:
        """Follow the focus, in the console."""
        if getattr(ctx.master, "keymap", None) is None or self._signals is not None:
            return
        self._signals = import_module("mitmproxy.tools.console.signals")  # only now: mitmdump has not loaded it
        view: Any = ctx.master.addons.get("view")
        view.focus.sig_change.connect(self._say)
        view.sig_view_update.connect(self._say)

    def stop(self) -> None:
        """Leave it alone, so that a reload can follow it anew."""
        if self._signals is not None:
            view: Any = ctx.master.addons.get("view")
            view.focus.sig_change.disconnect(self._say)
            view.sig_view_update.disconnect(self._say)
            self._signals = None

    def _say(self, flow: object = None) -> None:
        """Show the comment of the flow in focus. `flow`: the one that has changed, where one has."""
        view: Any = ctx.master.addons.get("view")
        focused = view.focus.flow
        from toolcalls.insight.report import visible  # noqa: PLC0415 - only in the console

        if focused is not None and focused.comment and flow in {None, focused}:
            self._signals.status_message.send(message=visible(focused.comment), expire=_SECONDS)
