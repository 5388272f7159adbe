"""What a conversation begins with: the first sentence that its user wrote, by which people know a session again."""

import re
import zlib

from toolcalls.insight.conversation import Message, RequestSummary, excerpt

_LENGTH = 110  # characters that are shown
_READ = 16 * 1024  # characters of a message in which the sentence is sought
_LOOKED_AT = 4  # user messages
_SENTENCE = re.compile(r"[^\n]*?[.!?](?=\s|$)")
_TAG = re.compile(r"<([A-Za-z][\w.-]{0,60})(?:\s[^<>]*)?>")
_HEADING = re.compile(r"[#*=\s-]*")


def opening_of(request: RequestSummary) -> str:
    """The user's first sentence, without secrets; "" where the user wrote nothing.

    What agents put before it in tags (`<system-reminder>`, `<environment_context>`) is not the user's.
    """
    said = [message for message in request.messages if message.role == "user" and not message.results]
    return next(filter(None, map(_sentence, said[:_LOOKED_AT])), "")


def _sentence(message: Message) -> str:
    text = message.excerpt
    if message.kept:
        data = zlib.decompressobj().decompress(message.kept, 4 * _READ)
        text = data.decode("utf-8", "replace")[:_READ]
    text = _without_tagged(text)
    line = _HEADING.sub("", text, count=1).partition("\n")[0][: 4 * _LENGTH]
    found = _SENTENCE.match(line)
    return " ".join(excerpt(found.group() if found else line, _LENGTH).split())


def _without_tagged(text: str) -> str:
    """The text after whole elements at its beginning; what is in the first one where nothing is after them."""
    start, inner = 0, ""
    while True:
        while start < len(text) and text[start].isspace():
            start += 1
        opener = _TAG.match(text, start)
        if opener is None:
            break
        end = text.find(f"</{opener[1]}>", opener.end())
        if end < 0:
            break
        if opener[1].lower() in _USERS_OWN:
            inner = inner or text[opener.end() : end].strip()
        start = end + len(opener[1]) + 3
    return text[start:].strip() or inner


# Elements in which agents wrap what the user wrote.
_USERS_OWN = frozenset({"task", "user_message", "user_query", "user_request", "feedback", "question"})
