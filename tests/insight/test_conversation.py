"""A request's messages, which a report's processes send each other."""

import pickle
from dataclasses import fields

from toolcalls.insight.conversation import EXCERPT, Message, request_summary


def test_a_message_can_be_sent_to_another_process() -> None:
    every = Message("tool", "a1", 400, "the beginning…", ("read_file",), 2, b"kept")
    assert all(getattr(every, field.name) != field.default for field in fields(Message)), "one field is not tried"
    assert pickle.loads(pickle.dumps(every)) == every


def test_a_message_that_was_sent_has_its_text() -> None:
    body = b'{"messages": [{"role": "user", "content": "%s"}]}' % (b"word " * EXCERPT)
    [message] = request_summary("openai_chat", body).messages
    assert pickle.loads(pickle.dumps(message)).text == "word " * EXCERPT
