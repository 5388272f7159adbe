"""Recordings as an upstream: a server on loopback that answers with what was recorded, at its pace, and asks nobody.

`command` takes the options of `toolcalls serve`, and `playable` makes recordings of flows; the rest knows neither
mitmproxy nor files, since recordings come in as plain data (`recording`), also those of the demo. A request is matched
by what it says and not by its bytes (`matching`), the answer becomes a plan of pieces and moments (`pacing`), which
faults on request change (`faults`), and an ASGI application sends it (`app`). What nothing matches is answered with an
error in the API's own form (`errors`). `server` runs it all on uvicorn.

Read `recording` first. `app` and `server` wait and use sockets; the rest are functions of their input.
"""
