"""`toolcalls.export`: flows for other programs."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import mitmproxy.types
from mitmproxy import exceptions, flow, http
from mitmproxy.log import ALERT

from toolcalls.flows.flow_records import failure_report, has_report, reported_records
from toolcalls.insight.exports import FORMATS
from toolcalls.insight.exports.pieces import pieces_of
from toolcalls.mitm import background
from toolcalls.mitm.commands.recorded_replies import RecordedReplies
from toolcalls.mitm.config_file import ConfigFile
from toolcalls.streams import written

logger = logging.getLogger(__name__)

_AT_ONCE = 8 * 1024  # bytes that are exported while the proxy waits: some tens of milliseconds


class ExportCommands:
    """Commands that write flows to files."""

    def __init__(self, config_file: Callable[[], ConfigFile | None]) -> None:
        self._replies = RecordedReplies(config_file)
        self._stopped = False

    def done(self) -> None:
        self._stopped = True

    def formats(self) -> Sequence[str]:
        return list(FORMATS)

    def export(self, format: str, flows: Sequence[flow.Flow], path: mitmproxy.types.Path) -> None:  # noqa: A002
        ours = [one for one in flows if isinstance(one, http.HTTPFlow) and (has_report(one) or failure_report(one))]
        if not ours:
            raise exceptions.CommandError("the addon has read none of these flows")
        prices, opened = self._replies.config_file.current().prices, ExitStack()
        try:
            pieces = pieces_of(
                next(one for one in FORMATS if one == format),
                reported_records(self._while_running(ours)),
                content=True,
                prices=prices,
            )
            file = opened.enter_context(written(str(Path(path).expanduser())))
        except ValueError as missing:  # an extra that is not installed
            raise exceptions.CommandError(str(missing)) from None
        except OSError as error:
            raise exceptions.CommandError(f"{path}: {error.strerror}") from None

        def finish() -> None:
            try:
                with opened:  # a file that is not written to its end does not stay
                    file.writelines(pieces)
            except OSError as error:
                raise exceptions.CommandError(f"{path}: {error.strerror}") from None

        about = f"Exported {len(ours)} flows to {path}."
        if not background.loop_is_running() or background.exchange_bytes(ours) <= _AT_ONCE:
            finish()
            logger.log(ALERT, about)
            return

        async def write_on() -> None:
            await asyncio.to_thread(finish)
            logger.log(ALERT, about)

        logger.log(ALERT, f"Exporting {len(ours)} flows to {path} …")
        background.start(write_on(), "toolcalls.export")

    def _while_running(self, flows: Sequence[http.HTTPFlow]) -> Iterator[http.HTTPFlow]:
        """The flows; none of them any more when mitmproxy stops, which would wait for the thread."""
        for one in flows:
            if self._stopped:
                raise exceptions.CommandError("mitmproxy stopped before the export was whole, so there is no file")
            yield one
