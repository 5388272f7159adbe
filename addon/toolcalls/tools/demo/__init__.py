"""`toolcalls demo`: a recorded reply played through a real mitmdump on this machine, with both sides and verdicts.

Read `command` first. `model_server` plays the reply, `proxy` runs mitmdump, `client` streams through it; what each sees
goes into one queue (`observations`), which `display` prints.
"""
