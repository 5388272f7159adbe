"""Make docs/images/tutorial-leaked-call.png: what mitmweb shows at the end of docs/tutorial-leaked-call.md.

    .venv/bin/python scripts/screenshot_tutorial.py [FILE]

Needs chromium and the `dev` extra. The request and the model are those of the page; only ports are others.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).parents[1]
sys.path[:0] = [str(REPO / "addon"), str(REPO / "tests")]

from support.loopback import post  # noqa: E402 - only now they are on the path
from support.screens import browser, log_in, missing_for_browser, mitmweb, open_response, reserved_port, until_heard  # noqa: E402

PAGE = REPO / "docs" / "tutorial-leaked-call.md"
TARGET = REPO / "docs" / "images" / "tutorial-leaked-call.png"


def main() -> int:
    """Exit status 0 when the picture is made, 2 with one line when something is missing."""
    if missing := missing_for_browser():
        print(f"screenshot_tutorial: {missing}", file=sys.stderr)
        return 2
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    files = dict(re.findall(r"^cat > (\S+) <<'END'\n(.*?)^END$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL))
    with tempfile.TemporaryDirectory() as name, reserved_port() as port:
        folder = Path(name)
        model = subprocess.Popen([sys.executable, "-c", files["model.py"].replace("8000", str(port))])
        try:
            until_heard(port)
            with mitmweb(folder, to=f"http://127.0.0.1:{port}") as web:
                post(web.url, files["request.json"].encode())
                with browser(folder / "browser", height=620, scale=1.5) as page:
                    log_in(page, web)
                    open_response(page, "lifted bash")
                    page.mouse.move(0, 0)
                    page.screenshot(path=target)
        finally:
            model.kill()
            model.wait()
    print(f"{target}: {target.stat().st_size // 1024} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
