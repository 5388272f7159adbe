"""What `mitmdump -s` loads: the file that `toolcalls addon-path` prints. In a clone, `addon/main.py` is a shorter name.

mitmproxy watches this file and runs it again when it changes, but not what it imports (mitmproxy #4253). So the package
is forgotten first: saving this file loads all of it anew.

mitmproxy puts this folder on the path, where its files would hide packages of the same names, so it is removed. The
folder that holds the package comes first instead: this copy is used from whatever directory mitmproxy was started in.
A site-packages comes last, since it may belong to another installation than mitmproxy: only what mitmproxy lacks is
taken from there.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

for name in [name for name in sys.modules if name == "toolcalls" or name.startswith("toolcalls.")]:
    del sys.modules[name]

paths = [entry for entry in sys.path if Path(entry).resolve() != HERE]
is_borrowed = False
if ROOT.name not in ("site-packages", "dist-packages"):
    paths = [str(ROOT), *(entry for entry in paths if Path(entry).resolve() != ROOT)]
elif ROOT not in [Path(entry).resolve() for entry in paths]:
    is_borrowed = True
    paths.append(str(ROOT))
sys.path[:] = paths

from toolcalls.mitm.requirements import is_usable  # noqa: E402 - only now it is this copy's

addons = []
if is_usable(borrowed_from=ROOT if is_borrowed else None):
    from toolcalls.mitm.hooks import ToolCalls

    addons.append(ToolCalls())
