"""`toolcalls.copy`: a call as JSON or as text of a dialect."""

import logging
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import mitmproxy.types
from mitmproxy import exceptions, flow
from mitmproxy.log import ALERT

from toolcalls.dialects import all_dialects
from toolcalls.flows.exchange_plan import ReplyNotParsed
from toolcalls.insight import report
from toolcalls.mitm.commands.recorded_replies import RecordedReplies
from toolcalls.mitm.config_file import ConfigFile
from toolcalls.mitm.tables import calls_of, cell
from toolcalls.shapes import Call, Unwritable
from toolcalls.streams import BadInput, written
from toolcalls.values.conversion import members, quote
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import write

logger = logging.getLogger(__name__)

_pyperclip: Any = import_module("pyperclip")  # it has no types


class CopyCommands:
    """Commands that copy calls."""

    def __init__(self, config_file: Callable[[], ConfigFile | None]) -> None:
        self._replies = RecordedReplies(config_file)

    def forms(self) -> Sequence[str]:
        return ["json", *all_dialects()]

    def copy(self, flow: flow.Flow, form: str, call: int, path: mitmproxy.types.Path) -> None:
        calls = list(calls_of(flow))
        if not calls:
            raise exceptions.CommandError("the reply made no call")
        if not 1 <= call <= len(calls):
            raise exceptions.CommandError(f"the reply made {len(calls)} calls; there is no number {call}")
        text = self._text(flow, calls[call - 1], form)
        if path:
            try:
                _write(path, text.encode("utf-8", "backslashreplace"))
            except BadInput as mistake:
                raise exceptions.CommandError(str(mistake)) from None
            except OSError as error:
                raise exceptions.CommandError(f"{path}: {error.strerror}") from None
        else:
            try:
                _pyperclip.copy(text)
            except _pyperclip.PyperclipException as error:
                first = next(iter(str(error).strip().splitlines()), "")
                raise exceptions.CommandError(f"no clipboard here, name a file instead: {first}") from None
        logger.log(ALERT, f"Copied {cell(calls[call - 1].name)} as {form}{f' to {path}' if path else ''}.")

    def _text(self, flow: flow.Flow, call: Call, form: str) -> str:
        try:
            members(call.arguments)
        except ValueError:
            raise exceptions.CommandError("the call was cut off, or its arguments are no JSON object") from None
        if form == "json":
            return f'{{"name": {quote(call.name)}, "arguments": {call.arguments}}}'
        try:
            tools = self._replies.of(flow)[-1][1].plan.tools
        except ReplyNotParsed:
            tools = Toolbox()
        try:
            return write(form, [call], tools)
        except Unwritable as refusal:
            raise exceptions.CommandError(f"{form} cannot hold this call: {report.visible(str(refusal))}") from None


def _write(path: str, data: bytes) -> None:
    """A file that only its owner can read: it holds what models and clients said. Raises OSError and BadInput."""
    with written(str(Path(path).expanduser())) as file:
        file.write(data)
