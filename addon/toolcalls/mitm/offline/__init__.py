"""The commands of `toolcalls` that read flow files: `judge`, `report`, `export` and `redact`, one file each.

In: flow files, HAR and journals. Out: text, a page, or a file. They are here because flows are mitmproxy's. Each has a
`run(arguments)`, like the modules of `commands`. Read `files` first: it reads flows and writes files.
"""
