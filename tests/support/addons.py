"""The addon in mitmproxy's test context, and flows through its hooks."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mitmproxy import http
from mitmproxy.flow import Flow
from mitmproxy.test import taddons

from toolcalls.mitm.hooks import ToolCalls
from toolcalls.mitm.response_tap import ResponseTap


@contextmanager
def addon_with(**options: Any) -> Iterator[ToolCalls]:
    """An addon with these options, for the length of a `with` block."""
    addon = ToolCalls()
    with taddons.context(addon) as context:
        context.configure(addon, **options)
        yield addon


def summary_in(flow: Flow) -> str:
    """A flow's comment without the name of the model `m`, which comes after its first part."""
    return re.sub(r"\A([^·]*), m(?= ·|\Z)", r"\1", flow.comment)


def tap_on(addon: ToolCalls, flow: http.HTTPFlow) -> ResponseTap:
    """What the body of a flow's reply goes through, once the addon has seen the headers."""
    for hook in (addon.request, addon.responseheaders):
        hook(flow)
    assert flow.response is not None
    tap = flow.response.stream
    assert isinstance(tap, ResponseTap)
    return tap
