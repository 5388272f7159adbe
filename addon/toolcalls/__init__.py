"""Tool calls in LLM replies: written as text or sent natively, moved between the two while the reply streams.

Start with `toolcalls.events`, the hub that everything meets in. `toolcalls.mitm` is the mitmproxy addon and
`toolcalls.cli` the command line; nothing else knows either.
"""

__version__ = "0.1.0"
