"""What `mitmdump -s addon/main.py` loads.

mitmproxy watches this file and runs it again when it changes, but not what it imports (mitmproxy #4253). So the package
is forgotten first, and its folder comes first on the path: this copy is used from whatever directory mitmproxy was
started in, and whatever version of the package may be installed. Saving this file loads all of it anew.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

for name in [name for name in sys.modules if name == "toolcalls" or name.startswith("toolcalls.")]:
    del sys.modules[name]
# mitmproxy puts the folder there too, once more on each reload.
sys.path[:] = [str(HERE), *(entry for entry in sys.path if Path(entry).resolve() != HERE)]

from toolcalls.mitm.requirements import is_usable  # noqa: E402 - only now it is this copy's

addons = []
if is_usable():
    from toolcalls.mitm.addon import ToolCalls

    addons.append(ToolCalls())
