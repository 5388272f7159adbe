"""The commands that mitmproxy gets from the addon, by name in its command line or by a key in its console.

    toolcalls.why FLOW                  each candidate of a reply with the seven conditions, met or failed
    toolcalls.stats FLOWS               how many calls had which outcome, how many replies came with which damage
    toolcalls.judge FLOWS               read recorded replies again with today's configuration
    toolcalls.policy FLOWS POLICY       another policy for their routes until mitmproxy stops, and judge them again
    toolcalls.copy FLOW FORM [CALL] [FILE]   a call as JSON or as text of a dialect, to the clipboard or to a file
    toolcalls.export FORMAT FLOWS FILE  flows for other programs

In: flows, as mitmproxy's command line selects them. Out: a table, a changed report, the clipboard or a file.
`declared` is what mitmproxy sees of them; `explain`, `rejudge`, `copy_call` and `export` do the work; `keys` binds the
keys. Signatures are typed like mitmproxy's own, so mitmproxy completes arguments and reports mistakes in them. Text of
a model is shown with its hidden characters as escapes, and copied and exported as it is.
"""
