"""Many exchanges seen together, without mitmproxy: what the page, the report and the exports are made of.

`seen` is one exchange as it was recorded; `conversation` reads its request, `replies` its bodies, `agents` who asked;
`turn` is what is told of it. `sessions` are many of them, `differences` what a request says that the one before did
not, `scorecard` how often calls went well; `page`, `passage` and `plots` are all of that as HTML.
Below `seen` everything is bounded: texts are excerpts, free of secrets and short; `sessions` says how much is kept.
"""
