"""Calls out as text, in a dialect.

`writer` turns calls into text and reads every text back, so that nothing is written that means something else;
`for_client` makes sure that a simpler reader finds the same, and `behind` that it is found after the text before it.
`blocks` writes a block call by call. `roundtrip` leaves a client's own calls as the model wrote them. `prompting`
declares tools, teaches a dialect and writes what a tool answered. Read `writer` first.
"""
