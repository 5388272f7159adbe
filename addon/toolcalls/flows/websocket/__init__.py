"""The Responses API over WebSocket: replies that come as messages instead of as a streamed body.

https://developers.openai.com/api/docs/guides/websocket-mode. The client sends `response.create` messages, each with the
body of a request; the server answers with the events of a stream, each in a message; with `stream_id` several replies
run side by side. A message is read as one line of a stream, so the exchange is the same as for SSE.

In: mitmproxy's messages, live or from a file. Out: messages changed, dropped or injected, and the turns of a connection
with their reports. Start with `connection`, which handles a live connection; `upgrade` says which connections these
are, `turns` reads what a flow keeps.
"""
