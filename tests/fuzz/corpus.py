"""What fuzzing starts from: the dialects' own markup, and bodies of the wires that hold it."""

from collections.abc import Iterator

from fuzz.targets import CHOICES
from support.casefiles import dialect_cases
from support.spoken import SPOKEN
from toolcalls.dialects import all_dialects

_JSON = (
    '{"a": [1, -2.5e+10, "x\\u00e9\\n"], "b": null, "c": true}', "{'a': 'b', c: None,}", '{"a": "raw\nline"}',
    "[1,,2]", "{'x': True, /* c */ 'y': 0x1}", '{"a": 1e400, "a": 12345678901234567890}', '{"a": "\\ud83d', "[" * 40,
)  # fmt: skip
_FRAMES = (
    b"data: {}\n\n", b"event: x\r\ndata: a\r\ndata: b\r\n\r\n", b"\xef\xbb\xbfdata: a\r\rdata:b\r\r", b": ping\n\n",
    b'{"a": "}"}\n{"b": 1}\r\n', b'[{"a": "\\"{"}\n,\r\n{"b": {}}]',
)  # fmt: skip


def seeds(target: str) -> Iterator[bytes]:
    """The first inputs of a target."""
    if target == "transducer":
        for text in _JSON:
            yield _with(text.encode())
    elif target == "framing":
        for body in _FRAMES:
            yield _with(body)
        for spoken in SPOKEN.values():
            yield _with(spoken.said(["a", "é<b>"]))
    else:
        for name in all_dialects():
            for case in list(dialect_cases(name))[:12]:
                yield _with(case.text.encode("utf-8", "replace"), 128 if target == "exchange" else 0)
    if target == "exchange":
        for number, spoken in enumerate(SPOKEN.values()):
            yield _with(spoken.said(["Go.\n<tool_call>", '{"name": "Bash", "arguments": {}}', "</tool_call>"]), number)


def _with(data: bytes, number: int = 0) -> bytes:
    return bytes([number, 0, 7, 1][:CHOICES]) + data


def words() -> Iterator[str]:
    """What a fuzzer should know to write: all openers, and the marks that are in the dialects' cases."""
    found: set[str] = set()
    for dialect in all_dialects().values():
        found.update(opener for opener in dialect.openers(("Bash", "Read")) if opener)
    found.update(('"arguments":', '"name":', "</parameter>", "</invoke>", "</tool_call>", "```", "<![CDATA[", "]]>"))
    found.update(("<think>", "</think>", "<!--", "-->", "> ", "&lt;", '\\"', "data: ", "\r\n\r\n"))
    yield from sorted(found)
