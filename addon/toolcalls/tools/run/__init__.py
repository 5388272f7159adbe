"""`toolcalls run`: an agent behind the addon, with nothing set up by hand.

In: an agent's command. Out: mitmproxy with the addon on a free port, the agent with the environment that leads it
there, and its exit status. Read `agents` first: the table of what each agent needs. `routing` and `authorities` make
the environment, `proxy` starts mitmproxy, `command` does all of it.
"""
