"""What people and other programs get to know of exchanges, without mitmproxy: words, reports, sessions, page, exports.

In comes an `Exchange` that has ended (`report` makes plain data of it), or an `ExchangeRecord`: a recorded request and
its reply. Out come the words of the views and the log (`descriptions`, `formatting`), the page in HTML and files in
JSON lines, HAR or OpenTelemetry. Read `vocabulary` first: it says what each status, reason, repair and field means.

`turn` sums up one exchange: `conversation` reads its request, `replies` its bodies, `agents` says who sent it.
`sessions` keeps turns, `request_diff` compares their requests, `scorecard` and `totals` count. Turns are bounded: their
texts are short excerpts without secrets, and `sessions` limits how many it keeps.
"""
