"""`toolcalls addon-path`: where the file is that mitmproxy's `-s` takes."""

from argparse import Namespace
from pathlib import Path

from toolcalls.streams import write_line

ADDON = Path(__file__).resolve().parents[1] / "mitm" / "addon.py"


def run(arguments: Namespace) -> int:  # noqa: ARG001 - every command is called so
    write_line(str(ADDON))
    return 0
