"""The commands of `toolcalls` that need no mitmproxy, one file each (those on recorded flows are in `mitm/offline/`).

Parsed arguments come in, an exit status goes out: `cli.py` imports the file of a command and calls its `run`. Status 0
is done, 1 found what it looks for (or was refused), 2 bad use or bad input. Read `parse.py` first. The commands share

    streams   files, standard input and output, JSON
    jobs      the lines of `--jsonl`
    options   the values of options and of job members
"""
