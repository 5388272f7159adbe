"""Many exchanges seen together, without mitmproxy: what the page, the report and the exports are made of.

`seen` is one exchange as it was recorded, `turn` what is told of it, `sessions` many of them, `differences` what a
request says that the one before did not, `scorecard` how often calls went well, `page` and `plots` all of that as HTML.
Below `seen` everything is bounded: texts are excerpts, free of secrets and short; `sessions` says how much is kept.
"""
