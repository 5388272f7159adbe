"""What the addon needs of the mitmproxy it runs in. Old versions run this file, too: it imports nothing of ours and has
no new syntax.

Versions before `OLDEST` have no login in mitmweb (CVE-2025-23217) and cannot store what was streamed. A mitmproxy that
was installed alone (by a package manager, with pipx) lacks some of the packages that we import.
"""

import logging
import re
import sys
from importlib.util import find_spec

from mitmproxy import version

OLDEST = "12.2.2"
# What we import and mitmproxy does not bring: module, and what installs it. tests/mitm/test_requirements.py compares it
# with pyproject.toml.
NEEDED = {
    "msgspec": "msgspec",
    "yaml": "pyyaml",
    "re2": "google-re2",
    "regex": "regex",
    "lxml": "lxml",
    "pygal": "pygal",
    "jsonschema": "jsonschema",
    "tqdm": "tqdm",
    "uvicorn": "uvicorn",
}


def is_usable() -> bool:
    """Whether the addon can run here. If not, an error is logged, which makes mitmproxy exit while it starts."""
    wrong = ""
    if _numbers(version.VERSION) < _numbers(OLDEST):
        wrong = f"needs mitmproxy {OLDEST} or newer, this is {version.VERSION}"
    elif missing := [package for module, package in NEEDED.items() if find_spec(module) is None]:
        wrong = (
            f"this mitmproxy ({sys.executable}) has no {', '.join(missing)}; start the one in .venv/bin of the "
            "repository, which `make demo` sets up"
        )
    if wrong:
        logging.getLogger(__name__).error(f"toolcalls: {wrong}")
    return not wrong


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])
