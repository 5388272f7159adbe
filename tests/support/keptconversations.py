"""Conversations that a server of the Responses API keeps: a client sends the results of calls, and not the calls."""

import json
from collections.abc import Sequence
from typing import Any

from support.loopback import EVENTS, Reply, Upstream, post
from support.responsesclient import framed, stream, understood
from support.responsesscene import TOOLS

PREVIOUS = {"previous_response_id": "resp_1"}
ASKED = {"model": "m", "tools": TOOLS, "stream": True}


def output(id_: str, text: str = "done", kind: str = "function_call_output") -> dict[str, Any]:
    return {"type": kind, "call_id": id_, "output": text}


def ids_in(events: Sequence[dict[str, Any]]) -> list[str]:
    return [item["call_id"] for item in understood(events).items if item["type"] == "function_call"]


def lifted_ids(upstream: Upstream, url: str, path: str, text: str) -> list[str]:
    """The ids of the calls of a first turn, in which the model says `text`."""
    upstream.replies = [Reply([framed(event) for event in stream([[text]])], dict(EVENTS))]
    got = post(url, json.dumps({**ASKED, "input": "go"}).encode(), path=path)
    lines = got.body.decode().split("\n")
    return ids_in([json.loads(line[6:]) for line in lines if line.startswith("data: ")])
