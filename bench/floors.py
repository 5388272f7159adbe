"""Addons to compare with, in the mitmdump that runs this project's. The last part of a request's path says which one
its reply goes through: `/text/identity`. No LLM API has such a path, so this project's addon leaves its replies alone.

unread      nothing is installed: mitmproxy gathers the reply, and sends it when it is whole
identity    hands every piece on: the floor of what any rewriting addon can cost
keeping     keeps each piece with its time too, as the flow view shows it: the floor where nothing is changed
rewriting   keeps both sides, and writes each piece of text as a piece of a call. It knows the bytes around the text,
            and reads no markup, looks for no call and counts nothing: the floor of what must be done for a call in text
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "addon"))
sys.path.insert(0, str(Path(__file__).parent))

from toolcalls.flows.timed_bodies import ReplyBodies
from toolcalls.values.conversion import escape, quote

FLOORS = ("unread", "identity", "keeping", "rewriting")
HEAD = b'"delta":{"content":"'
TAIL = b'"},"finish_reason":null}]}\n\n'
MADE = b'"delta":{"tool_calls":[{"index":0,"function":{"arguments":%b}}]},"finish_reason":null}]}\n\n'
_escaped = re.compile(rb'["\\\x00-\x1f]').search


def keeping():
    """The callable of `keeping`."""
    bodies = ReplyBodies()

    def piece(data):
        bodies.add(data, data)
        return data

    return piece


def rewriting():
    """The callable of `rewriting`."""
    bodies = ReplyBodies()

    def piece(data):
        left, at = data, data.find(HEAD)
        if at >= 0 and data.endswith(TAIL):
            inner = data[at + len(HEAD) : -len(TAIL)]
            if _escaped(inner) is None:
                left = data[:at] + MADE % quote(escape(inner.decode())).encode()
        bodies.add(data, left)
        return left

    return piece


class Floors:
    """Installs the callable that a path names."""

    def responseheaders(self, flow):
        """Install it."""
        name = flow.request.path.rpartition("/")[2]
        if name == "identity":
            flow.response.stream = lambda data: data
        elif name in ("keeping", "rewriting"):
            flow.response.stream = {"keeping": keeping, "rewriting": rewriting}[name]()


addons = [Floors()]
