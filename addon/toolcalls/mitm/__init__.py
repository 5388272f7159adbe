"""The mitmproxy addon: what runs inside mitmproxy.

In: mitmproxy's events, with requests, pieces of replies and WebSocket messages. Out: the bytes that the client gets,
reports in flows, views, commands, a log and recordings. Read `hooks` first: it has mitmproxy's hooks. What is decided
of a request, and what a flow keeps, is in `flows/`.

on the way of a reply    `exchanges`; `response_tap` passes a reply's pieces through an exchange; `websocket_hooks`, and
                         `websocket_injection` for a message that leaves ahead of the one in hand
kept and reported        `reporting`, `journal`, `recording/`; `append_file` writes files that grow
what people see          `views/`, `commands/`, `tables`, `conditions`, `page/`; `log_line`; the list of flows: `live`,
                         `in_progress`, `records_in_progress`; the console's bottom line: `console_status`
start and configuration  `addon` is what mitmproxy loads; `requirements`, `options`, `config_file`, `exposed_listeners`,
                         `banner`
"""
