"""`toolcalls cases`: the dialects' cases (`flows/cases`) as JSON lines, and other parsers tried on them.

`command` writes the cases and runs a parser, and is what to read first; `parity` compares its answers.
"""
