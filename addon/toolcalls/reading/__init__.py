"""Text in, events out: which text of a reply is a call.

In goes the text of one choice or block, in pieces; out come `events`: text, markup, calls while they arrive, and one
verdict for each candidate. `openers` finds where candidates begin. A dialect's grammar reads from there and reports to
a `block`. The `ledger` decides by the `policy` what is shown, held or taken. `stray_closers` and `invented_results` are
what may come after a call. Read `policy` for the conditions, `reader` for the way through them.
"""
