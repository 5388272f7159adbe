"""What the addon needs of the mitmproxy it runs in. Old versions run this file, too: it imports nothing of ours and has
no new syntax.

Versions before `OLDEST` have no login in mitmweb (CVE-2025-23217) and cannot store what was streamed. A mitmproxy that
was installed alone (by a package manager, with pipx) lacks some of the packages that we import.
"""

import logging
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

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


def is_usable(borrowed_from: Path | None = None) -> bool:
    """Whether the addon can run here. If not, an error is logged, which makes mitmproxy exit while it starts.

    borrowed_from   the site-packages of another installation that the addon was loaded from; None for mitmproxy's own.
                    Packages there may be built for another Python, so each is imported to see.
    """
    wrong = ""
    if _numbers(version.VERSION) < _numbers(OLDEST):
        wrong = f"needs mitmproxy {OLDEST} or newer, this is {version.VERSION}"
    elif missing := missing_packages(borrowed=borrowed_from is not None):
        wrong = f"this mitmproxy ({sys.executable}) has no {', '.join(missing)}; {remedy(sys.prefix)}"
    if wrong:
        logging.getLogger(__name__).error(f"toolcalls: {wrong}")
    return not wrong


def missing_packages(*, borrowed: bool = False) -> list[str]:
    """The packages, as they are installed, that this Python lacks. `borrowed`: as for `is_usable`."""
    if not borrowed:
        return [package for module, package in NEEDED.items() if find_spec(module) is None]
    missing = []
    for module, package in NEEDED.items():
        try:
            import_module("lxml.etree" if module == "lxml" else module)
        except ImportError:
            missing.append(package)
    return missing


def remedy(prefix: str) -> str:
    """What installs the addon beside a mitmproxy, by the folder of its Python (`sys.prefix`)."""
    checkout = Path(__file__).resolve().parents[3]
    is_clone = (checkout / "pyproject.toml").is_file()
    package = f"'{checkout}'" if is_clone else "mitmproxy-toolcalls"
    folder = Path(prefix)
    if getattr(sys, "frozen", False) or {"Cellar", "homebrew"} & set(folder.parts):
        return f"nothing can be added to this one; `pipx install {package}` brings its own, for `toolcalls web`"
    # What pipx and uv write into the environment of a program.
    if (folder / "pipx_metadata.json").is_file():
        return f"`pipx inject {folder.name} {package}` adds them"
    if (folder / "uv-receipt.toml").is_file():
        return f"`uv tool install --with {package} {folder.name}` adds them"
    if is_clone:
        return (
            "start the one in .venv/bin of the repository, which `make demo` sets up, "
            f"or `{sys.executable} -m pip install {package}`"
        )
    return f"`{sys.executable} -m pip install {package}` adds them"


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])
