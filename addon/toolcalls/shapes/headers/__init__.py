"""Calls whose name stands in front of their JSON arguments: in a header of tokens, a tag, an element or words.

Each file is one form and says by its name where the name stands. Read `name_in_header` first.
"""
