"""The mitmproxy addon, and the only place that imports mitmproxy.

In: mitmproxy's events, with requests, pieces of replies and WebSocket messages. Out: the bytes that the client gets,
reports in flows, views, commands, a log and recordings. Read `hooks` first: it has mitmproxy's hooks.

on the way of a reply    `exchange_plan` decides from the request what is done, `response_tap` passes a reply's pieces
                         through an exchange, `content_codings` decodes them, `websocket/` does it for messages
kept and reported        `flow_metadata`, `reporting`, `journal`, `recorder`; `append_file` writes files that grow
what people see          `views/`, `commands/`, `tables`, `page/`; `log_line`; the list of flows: `live`, `progress`;
                         the console's bottom line: `console_status`
flows read again         `judging`, `flow_records`, `offline/`
start and configuration  `addon` is what mitmproxy loads, `start` starts mitmproxy; `requirements`, `options`,
                         `config_file`, `exposed_listeners`, `banner`
"""
