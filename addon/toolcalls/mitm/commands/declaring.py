"""mitmproxy's decorators for commands, with types."""

from collections.abc import Callable
from typing import Any, cast

import mitmproxy.types
from mitmproxy import command

_argument: Any = command.argument
_Choice: Any = mitmproxy.types.Choice


def command_named[F: Callable[..., Any]](name: str) -> Callable[[F], F]:
    """Declares a method as the command of this name."""
    return cast("Callable[[F], F]", command.command(name))


def choice[F: Callable[..., Any]](argument: str, options: str) -> Callable[[F], F]:
    """The argument is one of what the command `options` returns."""
    return cast("Callable[[F], F]", _argument(argument, type=_Choice(options)))
