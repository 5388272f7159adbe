"""What is copied of an exchange: the request as a curl command, the reply as a dialect case or for an issue.

All of it is made from the flow without its secrets, by the same code as `toolcalls minimise` but for cutting it down.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from mitmproxy import http
from mitmproxy.addons import export

from toolcalls.flows.exchange_plan import ReplyNotParsed
from toolcalls.flows.flow_redaction import redacted
from toolcalls.flows.judging import Recorded, replies
from toolcalls.insight.exchange_record import flow_of
from toolcalls.route import Config

_CASE_TEXT = "toolcalls.flows.cases.case_text"
_EXAMPLE = "toolcalls.flows.cases.example"
_TITLE = "from a recording"


@dataclass(frozen=True, slots=True)
class _Case:
    """The reply as a case. `dialect` is that of the first call that is in the text, "" for none."""

    example: Any
    dialect: str
    verdicts: tuple[str, ...]
    yaml: str


def copy_of(flow: http.HTTPFlow, id_: str, what: str, config: Config) -> str:
    """The text. `id_` is the exchange's (`flow_of`), `what` one of `WHATS`. Raises ReplyNotParsed and KeyError."""
    return WHATS[what](redacted(flow), id_, config)


def _curl(flow: http.HTTPFlow, _: str, __: Config) -> str:
    return f"{export.curl_command(flow)}\n"


def _case_of(flow: http.HTTPFlow, id_: str, config: Config) -> _Case:
    # Loaded when it is asked for: mitmweb does without it until then.
    cases: Any = import_module(_CASE_TEXT)
    examples: Any = import_module(_EXAMPLE)
    reply = _reply(flow, id_, config)
    verdicts = [(lane, one) for lane, one in reply.read().verdicts if one.dialect is not None]
    lane, dialect = (verdicts[0][0], verdicts[0][1].dialect or "") if verdicts else (0, "")
    example = examples.example_of(reply, lane)
    outcome = examples.read(example)
    text = cases.as_yaml(cases.case_of(example, outcome, _TITLE, dialect))
    said = tuple(cases.verdict_line(one, dialect) for _, one in verdicts)
    return _Case(example, dialect, said, text)


def _reply(flow: http.HTTPFlow, id_: str, config: Config) -> Recorded:
    """The reply of an exchange: of a WebSocket, the one of its number."""
    found = [reply for _, reply in replies(flow, config)]
    number = id_.removeprefix(flow_of(id_)).removeprefix(".")
    place = int(number) if number.isdigit() else 0
    if place >= len(found):
        raise ReplyNotParsed("it has no such reply")
    return found[place]


def _case(flow: http.HTTPFlow, id_: str, config: Config) -> str:
    return _case_of(flow, id_, config).yaml


def _issue(flow: http.HTTPFlow, id_: str, config: Config) -> str:
    cases: Any = import_module(_CASE_TEXT)
    case = _case_of(flow, id_, config)
    about = [
        f"Verdict{'s' if len(case.verdicts) > 1 else ''}: {', '.join(case.verdicts) or 'none'}.",
        "",
        "Expected: …",
    ]
    text: str = cases.as_paste(case.yaml, case.example, about, case.dialect or "none")
    return text


WHATS: Mapping[str, Callable[[http.HTTPFlow, str, Config], str]] = {"curl": _curl, "case": _case, "issue": _issue}
