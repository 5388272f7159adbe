"""The commands, one file each. `cli.py` loads the one that was asked for and calls its `run(arguments) -> exit status`.

Exit status: 0 done, 1 found what it looks for (or was refused), 2 bad use or bad input.
"""
