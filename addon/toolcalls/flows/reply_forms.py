"""Which replies are read, and how their bodies are framed: what content types say, and what they do not.

Official SDKs look little at the content type. For a stream none of them does; a whole body is JSON to openai-python and
anthropic wherever the type ends in `json`, to ollama and google-genai always. So where a rule may block calls, a
successful reply is what was asked for, whatever it says it is.

Where a rule may block, a charset of which clients would make other characters than this addon is refused. A stream of
events is UTF-8 (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream), but ollama
decodes lines by the charset of the content type. A whole body's encoding shows in its first bytes (`body_encoding`).
"""

import re
from email.message import Message

from mitmproxy import http

from toolcalls.wires import Wire
from toolcalls.wires.frames import Form

# In a text the quotes would be escaped.
_STREAM, _WHOLE = re.compile(rb'"stream"\s*:\s*true'), re.compile(rb'"stream"\s*:\s*false')
_STREAM_PATH = re.compile(r"[?&](?:stream=true|alt=sse)\b")
# In these, and in UTF-8, the characters of markup and of JSON are the same bytes.
_ASCII = frozenset({"", "utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin-1", "latin1", "windows-1252"})
_SHOWN_BY_BYTES = re.compile(r"utf-?(?:16|32)(?:-?[bl]e)?")


def form_of(wire: Wire, request: http.Request, response: http.Response, *, guarded: bool = False) -> Form | None:
    """The form of a reply that can be read; None for an error's reply and for all other content types.

    guarded   a rule may block calls of it: then one of another type is what was asked for, as it is to most clients
    """
    if not 200 <= response.status_code < 300:
        return None
    form = wire.form(request.path, response.headers.get("content-type", ""))
    if form is not None or not guarded:
        return form
    body = request.raw_content or b""
    if wire.form_in_path:
        return wire.asked_form(request.path, body)
    if wire.name == "ollama":  # which streams where nothing is said
        return wire.form(request.path, "application/json" if _WHOLE.search(body) else "application/x-ndjson")
    streams = _STREAM.search(body) is not None or _STREAM_PATH.search(request.path) is not None
    return wire.form(request.path, "text/event-stream" if streams else "application/json")


def unreadable_charset(response: http.Response, form: Form) -> str | None:
    """The charset of a reply's content type in which clients may read what this addon does not; None for no such."""
    header = Message()
    header["content-type"] = response.headers.get("content-type", "")
    charset = str(header.get_param("charset", "")).strip().lower()
    if charset in _ASCII or (form == "whole" and _SHOWN_BY_BYTES.fullmatch(charset)):
        return None
    return charset
