"""Flows with secrets in every place of a request and a reply, through the addon."""

import json
from typing import Any

from mitmproxy import http
from mitmproxy.test import tflow, tutils

from support.loopback import EVENTS, TOOLS
from toolcalls.mitm.hooks import ToolCalls


def flow_of(path: str, headers: dict[str, str], body: bytes) -> http.HTTPFlow:
    flow = tflow.tflow(req=tutils.treq(method=b"POST", path=path.encode(), content=body), resp=True)
    flow.request.headers.update(headers)
    flow.live = True
    flow.response = http.Response.make(200, b"", {**EVENTS, "set-cookie": "__cf_bm=CANARY14"})
    flow.response.raw_content = None
    return flow


def body_of(**more: Any) -> bytes:
    messages = [
        {"role": "system", "content": "The password is CANARY20."},
        {"role": "user", "content": "refresh_token=CANARY21"},
    ]
    return json.dumps({"model": "m", "stream": True, "messages": messages, "tools": TOOLS} | more).encode()


def goes_through(addon: ToolCalls, flow: http.HTTPFlow, pieces: list[bytes]) -> bytes:
    """The reply as the client gets it."""
    for hook in (addon.requestheaders, addon.request, addon.responseheaders):
        hook(flow)
    assert flow.response is not None
    tap: Any = flow.response.stream
    out = [tap(piece) for piece in [*pieces, b""]]
    addon.response(flow)
    return b"".join(piece if isinstance(piece, bytes) else b"".join(piece) for piece in out)
