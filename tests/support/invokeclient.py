"""Bedrock's `InvokeModel` for tests: payloads of another API in chunks, and botocore's reading of these."""

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from support import anthropicclient, converseclient
from support.converseclient import PADDING, frame


def written(payloads: Iterable[Mapping[str, Any]]) -> bytes:
    """A streamed body with these payloads."""
    return b"".join(chunk(json.dumps(one, separators=(",", ":")).encode()) for one in payloads)


def chunk(payload: bytes) -> bytes:
    """One event with a payload."""
    return frame("chunk", {"bytes": base64.b64encode(payload).decode(), "p": PADDING})


def edited(body: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """A body whose payloads are changed."""

    def changed(payload: bytes) -> bytes:
        said = json.loads(payload)
        said["bytes"] = base64.b64encode(change(base64.b64decode(said["bytes"]))).decode()
        return json.dumps(said, separators=(",", ":")).encode()

    return converseclient.edited(body, changed)


def nova(events: Iterable[Mapping[str, Any]]) -> bytes:
    """Events of Messages as Nova says them: Converse's, with their names in the payloads."""
    return written({name: payload} for name, payload in converseclient.of_messages(events))


def payloads(body: bytes) -> list[bytes]:
    """What is in the chunks, as botocore gives them to its callers."""
    return [event["chunk"]["bytes"] for event in converseclient.parsed(body, "InvokeModelWithResponseStream")]


def received(body: bytes) -> anthropicclient.Reply:
    """What a strict client of Claude makes of a streamed body."""
    made = anthropicclient.written([json.loads(one) for one in payloads(body)])
    return anthropicclient.received(made.replace(b'"toolu_bdrk_', b'"toolu_'))


def received_nova(body: bytes) -> anthropicclient.Reply:
    """What a strict client of Nova makes of a streamed body."""
    events = [json.loads(one.replace(b'"toolu_bdrk_', b'"tooluse_')) for one in payloads(body)]
    return converseclient.received(b"".join(frame(name, payload) for one in events for name, payload in one.items()))
