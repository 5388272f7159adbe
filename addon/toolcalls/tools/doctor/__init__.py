"""`toolcalls doctor`: what is between an agent and the addon on this machine.

`command` asks one question after the other, and is what to read first; `trial` sends a request through a proxy.
"""
