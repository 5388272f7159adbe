"""Reactors that are useful as they are: paths relative to the project, and a limit for shell commands.

A reactor is given a complete call and returns what is to become of it: Keep, Drop, Edit or Say; None means Keep.
docs/reactors.md says more. This file runs inside mitmproxy.
"""

from pathlib import PurePosixPath

from toolcalls.processors import Call, Edit, Keep, Say

PROJECT = PurePosixPath("/project")  # your project's folder, as the agent sees it
PATHS = ("path", "file_path", "filename", "directory")
LONGEST = 120  # seconds
UNITS = {"Bash": 1000}  # in how many parts of a second a tool counts its timeout; tools that are not named: seconds

__all__ = ["capped_timeout", "relative_paths"]


def relative_paths(call: Call) -> Keep | Edit:
    """Paths inside the project are made relative to it, as most agents expect them."""
    changed = {}
    for key in PATHS:
        value = call.arguments.get(key)
        if isinstance(value, str) and PurePosixPath(value).is_relative_to(PROJECT) and ".." not in value.split("/"):
            changed[key] = str(PurePosixPath(value).relative_to(PROJECT))
    return Edit(arguments={**call.arguments, **changed}) if changed else Keep()


def capped_timeout(call: Call) -> Keep | Edit | Say:
    """No command may run longer than LONGEST. A call without a timeout keeps its tool's own."""
    timeout = call.arguments.get("timeout")
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        return Keep()
    longest = LONGEST * UNITS.get(call.name, 1)
    if timeout <= longest:
        return Keep()
    return Edit(arguments={**call.arguments, "timeout": longest})
