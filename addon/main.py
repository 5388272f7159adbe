"""What `mitmdump -s addon/main.py` loads.

mitmproxy watches this file and runs it again when it changes, but not what it imports (mitmproxy #4253). So the package
is forgotten first, and its folder comes first on the path: this copy is used from whatever directory mitmproxy was
started in, and whatever version of the package may be installed. Saving this file loads all of it anew.
"""

import logging
import re
import sys
from pathlib import Path

from mitmproxy import version

OLDEST = (12, 2, 2)  # older ones do not guard mitmweb (CVE-2025-23217) and cannot store what was streamed
HERE = Path(__file__).resolve().parent

for name in [name for name in sys.modules if name == "toolcalls" or name.startswith("toolcalls.")]:
    del sys.modules[name]
# mitmproxy puts the folder there too, once more on each reload.
sys.path[:] = [str(HERE), *(entry for entry in sys.path if Path(entry).resolve() != HERE)]

if tuple(int(number) for number in re.findall(r"\d+", version.VERSION)[:3]) < OLDEST:
    # An error while starting makes mitmdump, mitmweb and mitmproxy exit with this line.
    wanted = ".".join(str(number) for number in OLDEST)
    logging.getLogger("toolcalls").error(f"toolcalls: needs mitmproxy {wanted} or newer, this is {version.VERSION}")
    addons = []
else:
    from toolcalls.mitm.addon import ToolCalls

    addons = [ToolCalls()]
