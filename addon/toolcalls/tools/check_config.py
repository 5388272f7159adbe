"""`toolcalls check-config`: validates a configuration; every mistake is one line with its place."""

from argparse import Namespace
from pathlib import Path

from toolcalls.config import ConfigError, default_path, load
from toolcalls.dialects import all_dialects
from toolcalls.own_dialects.loading import Loading
from toolcalls.streams import encode, print_error, write_output
from toolcalls.wires import all_wires


def run(arguments: Namespace) -> int:
    path = default_path() if arguments.file is None else Path(arguments.file)
    try:
        config = load(path, all_dialects(), all_wires(), Loading())
    except ConfigError as wrong:
        for mistake in wrong.errors:
            print_error("toolcalls check-config", mistake)
        return 2
    for warning in config.warnings:
        print_error("toolcalls check-config", warning)
    count = len(config.routes)
    write_output(encode(f"{path}: ok ({count} {'route' if count == 1 else 'routes'})\n"))
    return 0
