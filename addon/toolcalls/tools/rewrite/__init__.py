"""`toolcalls rewrite`: what the addon does to a reply's body.

`command` takes bodies and jobs, and is what to read first; `body_heads` tells a stream from a whole body by its first
bytes.
"""
