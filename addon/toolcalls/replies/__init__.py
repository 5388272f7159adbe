"""One request and its reply: bytes in, bytes and verdicts out.

In comes a reply's body, whole or in pieces, with what the route and the request say of it (`CallPolicy`, `Decision`,
the tools, the processors). Out come the bytes for the client, the verdicts and the notes for the report, and the calls
that the client was given.

Read `stages/__init__.py` first: it names the stages of a reply's way and what goes through them. `plan.py` is the table
that says which kind of exchange goes through which; `lane.py` drives a row of them, and `short_ways.py` says when that
is not needed. `exchange.py` and `waiting.py` know frames: which bytes leave as they came, which are encoded anew, and
which must wait. `known_frames.py` recognizes most of them without decoding them.
"""
