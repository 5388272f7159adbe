"""The commands of `toolcalls`: what is done with replies, recordings and agents, outside of mitmproxy.

Parsed arguments come in, an exit status goes out: `cli.py` imports the file of a command, or `command` in the room of
its name, and calls its `run`. Status 0 is done, 1 found what it looks for (or was refused), 2 bad use or bad input
(`BadInput`). Read `parse/command.py` first. Commands that need no flows import no mitmproxy. They share

    arguments      the command line
    options        the values of options and of job members; `jobs`: the lines of `--jsonl`
    progress_bar   how far a command has come; `archive/progress` for files of flows
    archive/       many files of flows, read in parts by one process or by many
    line_program   another program that answers lines with lines
"""
