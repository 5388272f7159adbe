"""The replies of flows that a command reads again."""

from collections.abc import Callable

from mitmproxy import exceptions, flow, http

from toolcalls.flows.exchange_plan import ReplyNotParsed
from toolcalls.flows.judging import Recorded, replies
from toolcalls.mitm.config_file import ConfigFile


class RecordedReplies:
    """Reads replies by the current configuration. `config_file` returns None before the addon is configured."""

    def __init__(self, config_file: Callable[[], ConfigFile | None]) -> None:
        self._config_file = config_file

    @property
    def config_file(self) -> ConfigFile:
        """The configuration file. Raises CommandError before the addon is configured."""
        config_file = self._config_file()
        if config_file is None:
            raise exceptions.CommandError("the addon is not configured yet")
        return config_file

    def of(self, one: flow.Flow) -> list[tuple[int | None, Recorded]]:
        """The replies of a flow, each with the number of the WebSocket message that asked for it. Raises
        ReplyNotParsed.
        """
        if not isinstance(one, http.HTTPFlow):
            raise ReplyNotParsed("it is no HTTP exchange")
        return replies(one, self.config_file.current())
