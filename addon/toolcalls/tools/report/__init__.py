"""`toolcalls report`: sessions, their turns and a scorecard as one HTML page.

`command` reads flows or a journal, and is what to read first; `turns` makes turns of the parts of an archive.
"""
