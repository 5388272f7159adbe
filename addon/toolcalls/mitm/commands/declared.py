"""The commands as mitmproxy's command line knows them: names, arguments and help. What they do is loaded when one runs.

mitmproxy reads every attribute of an addon to find its commands, so what loads something is a method here.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import mitmproxy.types
from mitmproxy import flow

from toolcalls.mitm.commands.declaring import choice, command_named

if TYPE_CHECKING:
    from toolcalls.mitm.commands.copy_call import CopyCommands
    from toolcalls.mitm.commands.explain import ExplainCommands
    from toolcalls.mitm.commands.export import ExportCommands
    from toolcalls.mitm.commands.rejudge import JudgeCommands
    from toolcalls.mitm.config_file import ConfigFile

CLIPBOARD = mitmproxy.types.Path("")


class Commands:
    """All of them. `config_file` returns None before the addon is configured."""

    name = "toolcalls.commands"  # among mitmproxy's addons

    def __init__(self, config_file: "Callable[[], ConfigFile | None]") -> None:
        self._config_file = config_file
        self._export: ExportCommands | None = None

    def explaining(self) -> "ExplainCommands":
        """The commands that show tables."""
        from toolcalls.mitm.commands.explain import ExplainCommands  # noqa: PLC0415 - when a command runs

        return ExplainCommands(self._config_file)

    def judging(self) -> "JudgeCommands":
        """The commands that change the reports of flows."""
        from toolcalls.mitm.commands.rejudge import JudgeCommands  # noqa: PLC0415 - when a command runs

        return JudgeCommands(self._config_file)

    def copying(self) -> "CopyCommands":
        """The commands that copy calls."""
        from toolcalls.mitm.commands.copy_call import CopyCommands  # noqa: PLC0415 - when a command runs

        return CopyCommands(self._config_file)

    def exporting(self) -> "ExportCommands":
        """The commands that write flows to files: one object, since it knows what it is writing."""
        from toolcalls.mitm.commands.export import ExportCommands  # noqa: PLC0415 - when a command runs

        if self._export is None:
            self._export = ExportCommands(self._config_file)
        return self._export

    def done(self) -> None:
        """mitmproxy stops or reloads the addon: an export that is being written is cancelled."""
        if self._export is not None:
            self._export.done()

    @command_named("toolcalls.why")
    def why(self, flow: flow.Flow) -> mitmproxy.types.Data:
        """Say of each place in a reply that may be a tool call why it is one or none: its verdict by today's rules,
        and which of the seven conditions it meets.
        """
        return self.explaining().why(flow)

    @command_named("toolcalls.stats")
    def stats(self, flows: Sequence[flow.Flow]) -> mitmproxy.types.Data:
        """Count what became of the tool calls in flows: by model and dialect, and by reason; and how many replies of
        each model on each server came with which damage.
        """
        return self.explaining().stats(flows)

    @command_named("toolcalls.judge")
    def judge(self, flows: Sequence[flow.Flow]) -> None:
        """Read the replies of flows again, as the upstream sent them, with today's configuration. Their verdicts,
        comments and marks change, their bodies do not.
        """
        self.judging().judge(flows)

    @command_named("toolcalls.policies")
    def policies(self) -> Sequence[str]:
        """The policies by which text is a call; `file` is the one that the configuration names."""
        return self.judging().policies()

    @command_named("toolcalls.policy")
    @choice("policy", "toolcalls.policies")
    def policy(self, flows: Sequence[flow.Flow], policy: str) -> None:
        """Read the replies on the routes of these flows by another policy until mitmproxy stops, new ones too, and
        judge these flows again.
        """
        self.judging().policy(flows, policy)

    @command_named("toolcalls.copy.forms")
    def copy_forms(self) -> Sequence[str]:
        """The forms in which a call can be copied."""
        return self.copying().forms()

    @command_named("toolcalls.copy")
    @choice("form", "toolcalls.copy.forms")
    def copy(self, flow: flow.Flow, form: str, call: int = 1, path: mitmproxy.types.Path = CLIPBOARD) -> None:
        """Copy a tool call of a reply, the first unless another number is given, as JSON or as text of a dialect:
        to the clipboard, or to a file if one is named.
        """
        self.copying().copy(flow, form, call, path)

    @command_named("toolcalls.export.formats")
    def export_formats(self) -> Sequence[str]:
        """The formats for other programs."""
        return self.exporting().formats()

    @command_named("toolcalls.export")
    @choice("format", "toolcalls.export.formats")
    def export(self, format: str, flows: Sequence[flow.Flow], path: mitmproxy.types.Path) -> None:  # noqa: A002
        """Write what the addon knows of flows to a file that only its owner can read, for other programs."""
        self.exporting().export(format, flows, path)
