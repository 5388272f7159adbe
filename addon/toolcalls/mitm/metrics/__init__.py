"""Counts for Prometheus, at an address of their own (`toolcalls_metrics`), made with the official client (extra
`metrics`).

`names` is the table of all metrics, `counts` fills and serves them, `measured_tap` times the pieces of a reply. No
content is in any: a label holds a word of the project's own vocabulary, an API, or the name of a model or an agent, and
of what models and agents say of themselves only the first so many.
"""
