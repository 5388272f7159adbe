"""A route: what one kind of traffic speaks on either side, and how its text is to be read. Frozen data, no behaviour.

`config.py` builds routes from YAML; tests and the command line build them directly.
"""

from dataclasses import dataclass, field
from typing import Literal

from toolcalls.request import Tool

Side = Literal["auto", "native", "text"]
PolicyName = Literal["standard", "strict", "lenient"]


@dataclass(frozen=True, slots=True)
class Match:
    """Which traffic a route is for. Every field that is set must match; patterns match the whole value (glob)."""

    host: str | None = None
    path: str | None = None
    model: str | None = None
    wire: str | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """What a configuration says about one kind of traffic.

    client, upstream   what each side speaks; "auto" is decided per request from evidence
    client_dialect     the dialect that a text client is written to; None: what its prompt or history uses, else invoke
    dialects           the dialects that are read from an upstream's text; None: all of them
    policy             when text is a call (`policy.py`)
    allowed_tools      None: all; (): nothing; else regular expressions, each matched against the whole name
    tools              tools declared here in addition to the request's own
    multiple_calls     False: only the first call of a reply is lifted
    drop_invented_results   a tool result that the model wrote itself behind its call is not shown
    infer_types        values without a schema are typed by the dialect's own rule
    max_buffer_bytes   how much text of one candidate may be held back, in UTF-8 bytes
    marker             the words that the dialect `marker` looks for
    max_payload_chars  how many characters the JSON of one of its calls may have, 0 for any number
    rewrite_request    the request is rewritten to what the upstream speaks (`rewriting.py`); else it is never changed
    prepend_newlines, newline_count   a call written as text stands this many newlines below the text before it
    """

    name: str = "default"
    match: Match = field(default_factory=Match)
    client: Side = "auto"
    upstream: Side = "auto"
    client_dialect: str | None = None
    dialects: tuple[str, ...] | None = None
    policy: PolicyName = "standard"
    allowed_tools: tuple[str, ...] | None = None
    tools: tuple[Tool, ...] = ()
    multiple_calls: bool = True
    drop_invented_results: bool = False
    infer_types: bool = True
    max_buffer_bytes: int = 64 * 1024
    marker: tuple[str, ...] = ("TOOL_CALL",)
    max_payload_chars: int = 8000
    rewrite_request: bool = False
    prepend_newlines: bool = True
    newline_count: int = 2


VTC_CLIENT_PATTERNS = ("cline", "kilo", "roo")


@dataclass(frozen=True, slots=True)
class Config:
    """All routes in order (the first that matches wins; `default` when none does) and what is not a route's own."""

    routes: tuple[Route, ...] = ()
    default: Route = field(default_factory=Route)
    vtc_client_patterns: tuple[str, ...] = VTC_CLIENT_PATTERNS
