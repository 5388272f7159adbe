"""Text that arrives in pieces, before anybody looks for calls in it.

In goes the text of a reply, cut anywhere; the answers depend on its characters alone. `scanner` holds the text that is
unread or undecided. `markdown` knows whether a place is in code, a quotation or reasoning, with the help of
`literals` for other notations. `lookalike` finds text that only looks like a tag, `echo` text that the request already
holds. `patterns` runs the user's regular expressions within a time limit. Read `scanner` first.
"""
