"""mitmproxy's flows as this package sees them, live or from a file; what `mitm/` and `tools/` both need of them.

In: flows, and files of flows. Out: what is done to an exchange, its plain records, its report, a flow without secrets.
Nothing here changes what passes through a proxy. Read `exchange_plan` first.

of a request         `exchange_plan` decides what is done to the reply; `request_signing`
of a reply           `content_codings`, `reply_forms`, `error_replies`, `timed_bodies`; `websocket/` for messages
kept in a flow       `flow_metadata`; `recorded_verdicts`: those of then, and of the configuration of now beside them
a flow read again    `judging` reads its replies once more, `reports` says what comes of it, `flow_records` makes plain
                     records of its exchanges, `flow_redaction` a flow without secrets, `cases/` a dialect case
files                `flow_files` is the one place that reads and writes flow files; `captures` (of other programs),
                     `frames` (bytes), `flow_index` (a line for each exchange), `remote_files` (s3://, gs://)
"""
