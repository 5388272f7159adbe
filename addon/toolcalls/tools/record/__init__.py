"""`toolcalls record ls|show|merge|split`: recordings listed, looked into, put together and taken apart.

In: flow files and folders of them; HAR and captures of other proxies, which have no index, are read. Out: text, JSON
lines, or flow files with an index beside each. Nothing is redacted here: what a file holds is copied byte for byte.
`sources` finds exchanges, and is what to read first.
"""
