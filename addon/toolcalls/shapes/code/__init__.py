"""Calls as code: as Python writes them, or as a name with an object of the model's own notation.

`pythonic.py` is the form of Python calls, its values in `python_literal.py` and `python_string.py`. `codecalls.py` is
code in the open, without marks. `delimited_object.py` is the form `call:N{k:<q>text<q>}`, whose strings stand between
special tokens; `delimited_members.py` reads what is in its braces.
"""
