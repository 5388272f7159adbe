"""What is said of a reply, declared once: the meaning of every status, reason and repair, and the fields of a verdict.

The codes are types in `events`. `words.toml` has an entry for each: read it first. `words` reads and checks it, and
`entries` says what an entry holds; `statuses`, `reasons` and `glossary` are what the code asks of them. `fields.toml`
has the fields of an exchange, and `fields` reads it. The views, the page, the log, the exports and the tables of the
docs (`scripts/tables.py`) take their words from here. `tests/insight/test_vocabulary.py` holds the codes and the
entries to each other.
"""
