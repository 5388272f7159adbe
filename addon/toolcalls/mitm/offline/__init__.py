"""Commands on flows in files: `judge`, `report`, `export`, `redact`, one file each; `files` reads and writes.

They stand below `mitm` since flows are mitmproxy's. Each has a `run(arguments)` as the modules of `commands`.
"""
