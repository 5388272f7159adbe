"""What tests share: clients, servers and readers, and the ways to make what they read. Tests import this and no tests.

*client         strict clients of each API, and what their upstreams send; `agentclient`: agents with the official SDKs
loopback        a real mitmdump, a scripted upstream, a client of sockets; `sockets` for WebSocket, `tlsclient` for TLS
screens         mitmweb in a browser, the console in a terminal; `commandline`: runs of `toolcalls`
casefiles       the files of `tests/cases`; `dialectcases`, `wirecases`, `processorcases`: how their cases are run
strategies      what the laws draw; `readings`: what a reader makes of it; `exchanges`: bytes through an exchange
"""
