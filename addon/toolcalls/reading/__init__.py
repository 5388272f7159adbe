"""Text in, events out: which text of a reply is a call.

In goes the text of one choice or block, in pieces; out come `events`: text, markup, calls while they arrive, and one
verdict for each candidate. The `reader` is made of `passing` (pieces in which nothing can begin), `between` (text up to
the next opener, which `openers` finds) and `attempts` (the dialects that share an opener, whose grammars report to a
`block`). The `ledger` decides by the `policy` which text is shown, held or taken; `consumed` keeps that text until
then. Read `policy` for the conditions, `reader` for the way through them.
"""
