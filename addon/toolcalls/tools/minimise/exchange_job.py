"""A recorded reply with its request as a job of `toolcalls rewrite --jsonl`, frame by frame: what shows a verdict that
text alone does not (of native calls, of rules), and how it is read.

Whoever gets the job gives it to the same command that has read it here, so it shows there what it shows here.
"""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from mitmproxy import http

from toolcalls.flows.judging import Recorded
from toolcalls.insight.body_redaction import redacted_body
from toolcalls.insight.own_secrets import OwnSecrets
from toolcalls.insight.redaction import redacted_text
from toolcalls.route import Config
from toolcalls.streams import BadInput
from toolcalls.tools.jobs import Job
from toolcalls.tools.line_program import LineProgram
from toolcalls.tools.rewrite.command import OPTIONS, result_of
from toolcalls.wires import CONTENT_TYPES
from toolcalls.wires.frames import FRAMES, Form

_MESSAGES = frozenset({"eventstream", "eventstream_chunks"})  # forms whose frames are AWS's messages, and no text


@dataclass(frozen=True, slots=True)
class Part:
    """A frame of the reply: the JSON in it, with what comes before and after it.

    is_json   `said` is a value, and else text as it stands; None for a message without a payload, which stays
    raw       the frame as it came, or the payload of a message
    message   AWS's message that the frame is, with its headers; b"" for a frame that is text
    """

    before: str
    said: Any
    after: str
    is_json: bool
    raw: str = field(compare=False, repr=False)
    message: bytes = field(default=b"", compare=False, repr=False)

    @property
    def text(self) -> str:
        """The frame, or the payload of its message."""
        return f"{self.before}{_written(self.said) if self.is_json else self.said or ''}{self.after}"

    @property
    def as_text(self) -> "Part":
        """The same with its JSON as text, as it came."""
        return self if self.said is None else Part("", self.raw, "", False, self.raw, self.message)


@dataclass(frozen=True, slots=True)
class ExchangeJob:
    """The job. `about` are its members beside the request and the body; `request` is a value, None for none. `form` is
    that of AWS's messages, "" for a body that is text.
    """

    about: tuple[tuple[str, Any], ...]
    request: Any
    parts: tuple[Part, ...]
    form: Form | Literal[""] = ""

    @property
    def body(self) -> str:
        """The texts of the frames, joined."""
        return "".join(part.text for part in self.parts)

    @property
    def messages(self) -> bytes:
        """The body that is AWS's messages."""
        return b"".join(map(self._message, self.parts))

    def _message(self, part: Part) -> bytes:
        if part.said is None or not self.form:
            return part.message
        payload = part.text.encode("utf-8", "surrogatepass")
        return FRAMES[self.form]().build(payload, part.message, keep=False, name=None)

    @property
    def line(self) -> str:
        """The job as a line of JSON."""
        return self._line(self.body, self.messages)

    @property
    def clean_line(self) -> str:
        """The line without what looks like a secret."""
        if not self.form:
            return redacted_text(self.line)
        return redacted_text(self._line("", b"")).removesuffix('""}') + f'"{_base64(redacted_body(self.messages))}"}}'

    def _line(self, text: str, messages: bytes) -> str:
        asked = {} if self.request is None else {"request": self.request}
        body = {"body_base64": _base64(messages)} if self.form else {"body": text}
        return _written({**dict(self.about), **asked, **body})

    def mapped(self, new: Callable[[str], str]) -> "ExchangeJob":
        """The job with each string of its JSON, and each part that is none, replaced."""
        parts = tuple(replace(part, said=_mapped(part.said, new)) for part in self.parts)
        about = tuple((key, new(value) if key == "agent" else value) for key, value in self.about)
        return replace(self, about=about, request=_mapped(self.request, new), parts=parts)

    def strings(self) -> Iterator[str]:
        """Every string in the request and in what was said."""
        for value in (self.request, *(part.said for part in self.parts)):
            yield from _strings(value)


def job_of(flow: http.HTTPFlow, reply: Recorded, own: OwnSecrets | None) -> ExchangeJob | None:
    """The job that a recorded reply is; None for one that is neither text nor AWS's messages.

    own   the secrets of its flow, which are taken out of it, as is what looks like one; None leaves everything
    """
    asked, body = _request_body(flow), reply.body
    if own is not None:
        asked, body = redacted_body(asked, own), redacted_body(body, own)
    try:
        parts = tuple(_parts(reply.form, body))
        request = json.loads(asked) if asked else None
    except ValueError:
        return None
    about: dict[str, Any] = {"wire": reply.plan.wire.name, "content_type": CONTENT_TYPES[reply.form]}
    if reply.cut:
        about["cut"] = True
    if reply.error is not None:
        about["status"] = reply.error
    if agent := flow.request.headers.get("user-agent", ""):
        about["agent"] = agent.partition(" ")[0]
    return ExchangeJob(tuple(about.items()), request, parts, reply.form if reply.form in _MESSAGES else "")


@dataclass(frozen=True, slots=True)
class Sign:
    """What is recognised of a verdict of a job: all but names and places. `is_named`: it has a name."""

    status: str
    reason: str | None
    dialect: str | None
    rule: str | None
    repairs: tuple[str, ...]
    defects: tuple[str, ...]
    is_named: bool

    def __str__(self) -> str:
        said = [self.reason, *(one for one in self.defects if one != self.reason), self.rule and f"rule {self.rule}"]
        about = f" ({', '.join(filter(None, said))})" if any(said) else ""
        repairs = f", repaired: {', '.join(self.repairs)}" if self.repairs else ""
        return f"{self.status}{about} in {self.dialect or 'a native call'}{repairs}"


def sign_of(verdict: Mapping[str, Any]) -> Sign:
    """The sign of a verdict as reports have it."""
    return Sign(
        verdict["status"],
        verdict["reason"],
        verdict["dialect"],
        verdict.get("rule"),
        tuple(verdict["repairs"]),
        tuple(one["code"] for one in verdict.get("defects", ())),
        bool(verdict["name"]),
    )


type Reading = Callable[[ExchangeJob], list[Sign]]


def reading_by(config: Config | None, route: str | None) -> Reading:
    """What `toolcalls rewrite --jsonl` says of a job, with a configuration's route; none of a job that it refuses."""
    given: dict[str, Any] = {**dict.fromkeys(OPTIONS), "config": config, "route": route}

    def read(job: ExchangeJob) -> list[Sign]:
        try:
            return [sign_of(one) for one in result_of(Job(job.line), given)["verdicts"]]
        except BadInput:
            return []

    return read


def reading_by_program(program: LineProgram) -> Reading:
    """The same of another version, through its `toolcalls rewrite --jsonl`. Raises BadInput where that keeps dying."""
    return lambda job: [sign_of(one) for one in program.ask(json.loads(job.line)).get("verdicts", ())]


def _request_body(flow: http.HTTPFlow) -> bytes:
    try:
        return flow.request.get_content(strict=False) or b""
    except ValueError:
        return b""


def _parts(form: Form, body: bytes) -> Iterator[Part]:
    """The frames. Raises ValueError where they are no text."""
    if form == "whole":
        yield _part(body.decode())
        return
    frames = FRAMES[form](max(1, len(body)))
    for frame in (*frames.feed(body), *frames.flush()):
        if form not in _MESSAGES:
            yield _part(frame.raw.decode())
        elif frame.data is not None:
            yield _part(frame.data.decode(), frame.raw)
        else:
            yield Part("", None, "", False, "", frame.raw)


def _part(text: str, message: bytes = b"") -> Part:
    """A frame, with the JSON that one of its lines holds apart where it is written again as it stands."""
    start = text.find("{")
    end = text.rfind("}") + 1
    if 0 <= start < end:
        try:
            return Part(text[:start], json.loads(text[start:end]), text[end:], True, text, message)
        except ValueError:
            pass
    return Part("", text, "", False, text, message)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _mapped(value: Any, new: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return new(value)
    if isinstance(value, list):
        return [_mapped(one, new) for one in value]
    if isinstance(value, dict):
        return {new(key): _mapped(one, new) for key, one in value.items()}
    return value


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from _strings(one)
