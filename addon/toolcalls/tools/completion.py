"""`toolcalls completion SHELL`: the shell's completion of commands and options, written from the command line's own."""

from argparse import Namespace

import shtab

from toolcalls.streams import encode, write_output


def run(arguments: Namespace) -> int:
    write_output(encode(shtab.complete(arguments.parser, arguments.shell) + "\n"))
    return 0
