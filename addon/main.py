"""What `mitmdump -s addon/main.py` loads in a clone: a short name for `toolcalls/mitm/addon.py`, which says how."""

import runpy
from pathlib import Path

addons = runpy.run_path(str(Path(__file__).resolve().parent / "toolcalls" / "mitm" / "addon.py"))["addons"]
