"""How a reply is framed where its content type does not say what was asked for."""

import pytest
from mitmproxy import http

from toolcalls.flows.reply_forms import form_of
from toolcalls.wires import all_wires

STREAM = "application/vnd.amazon.eventstream"


def asked(path: str) -> http.Request:
    return http.Request.make("POST", f"http://127.0.0.1{path}", b'{"prompt": "Hi", "stream": true}')


@pytest.mark.parametrize(
    ("wire", "path", "said", "form", "guarded"),
    [
        ("bedrock", "/model/m/invoke-with-response-stream", STREAM, "eventstream_chunks", "eventstream_chunks"),
        ("bedrock", "/model/m/invoke-with-response-stream", "application/json", None, "eventstream_chunks"),
        ("bedrock", "/model/m/invoke", "application/json", "whole", "whole"),
        ("bedrock", "/model/m/invoke", "text/plain", None, "whole"),
        ("bedrock_converse", "/model/m/converse-stream", f"{STREAM}; x=y", "eventstream", "eventstream"),
        ("bedrock_converse", "/model/m/converse-stream", "text/event-stream", None, "eventstream"),
        ("bedrock_converse", "/model/m/converse", "text/event-stream", None, "whole"),
    ],
)
def test_bedrocks_paths_say_it(wire: str, path: str, said: str, form: str | None, guarded: str) -> None:
    """Clients read what they asked for, whatever the content type says. So rules must, too, that may block."""
    reply = http.Response.make(200, b"", {"content-type": said})
    assert form_of(all_wires()[wire], asked(path), reply) == form
    assert form_of(all_wires()[wire], asked(path), reply, guarded=True) == guarded
