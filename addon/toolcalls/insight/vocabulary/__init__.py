"""What is said of a reply, declared once: the meaning of every status, reason and repair, and the fields of a verdict.

The codes are types in `events`; here each has its entry, and the views, the page, the log, the exports and the tables
of the docs (`scripts/tables.py`) take their words from it. `tests/insight/test_vocabulary.py` holds both to each other.
"""
