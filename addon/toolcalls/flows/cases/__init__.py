"""Replies as dialect cases (`tests/cases/README.md`): those that ship, and those that are made of a recorded reply.

`dialect_cases` reads case files and gives each case its defaults; read it first. `example` is a recorded reply as a
case has it, and reads one; `case_text` writes it as YAML, and as a paste for an issue.
"""
