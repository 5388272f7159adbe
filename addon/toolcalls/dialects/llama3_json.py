"""`llama3_json`: JSON objects after Llama 3's token, with semicolons between them.

Without the token it is `bare_json`, which counts only as a whole message. The built-in tools are called as Python,
`brave_search.call(query="weather")`, and models call the request's own tools so, too, with or without `.call`; other
code after the token is no call.
"""

from dataclasses import dataclass

from toolcalls.shapes import About, CallSink
from toolcalls.shapes.json.call_reader import CallReader
from toolcalls.shapes.json.json_values import MAX_NAME, value
from toolcalls.shapes.json.marked_json import MarkedJson
from toolcalls.shapes.spaced_closers import accept
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import quote
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="JSON in the open",
    written_by="Llama 3.1 to 3.3",
    source="https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_1/",
    example="""\
<|python_tag|>{"name": "read_file", "parameters": {"path": "src/a.ts"}}""",
)

_TAG = "<|python_tag|>"
_CALL = ".call"


@dataclass(frozen=True)
class _Llama3(MarkedJson):
    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """The calls after one token: a built-in one, or JSON."""
        ahead = yield from scan.space(len(_TAG))
        dotted = yield from _word(scan, ahead)
        called = dotted.removesuffix(_CALL)
        is_code = dotted.endswith(_CALL) or tools.resolve(dotted) in tools
        if not is_code or not (yield from scan.starts("(", ahead + len(dotted))):
            return (yield from super().read(scan, sink, tools))
        key_at = yield from scan.space(ahead + len(dotted) + 1)
        key = yield from _word(scan, key_at)
        behind = yield from scan.space(key_at + len(key))
        if not (yield from scan.starts("=" if key else ")", behind)):
            return False
        scan.take(key_at)
        block = CallReader(scan, sink, tools, self._rules)
        block.begin(called)
        return (yield from _keywords(scan, sink)) and (yield from self._close(scan, sink, block))


def _word(scan: Scanner, ahead: int) -> Step[str]:
    """The letters, digits, `_`, `.` and `-` that stand `ahead` characters from here, at most as many as a name."""
    size = 0
    while size <= MAX_NAME:
        at = scan.pos + ahead + size
        if at == len(scan.text):
            if scan.ended:
                break
            yield
        elif scan.text[at].isalnum() or scan.text[at] in "_.-":
            size += 1
        else:
            break
    start = scan.pos + ahead
    return scan.text[start : start + size]


def _keywords(scan: Scanner, sink: CallSink) -> Step[bool]:
    """Keyword arguments and the parenthesis after them. Returns whether the call is complete."""
    opening = "{"
    while not (yield from accept(scan, ")")):
        scan.take((yield from scan.space()))
        key = yield from _word(scan, 0)
        scan.take(len(key))
        whole = False
        if key and (yield from accept(scan, "=")):
            sink.piece(f"{opening}{quote(key)}:")
            opening = ","
            scan.take((yield from scan.space()))
            whole = yield from value(scan, sink, sink.piece, direct=True)
        if not whole or not ((yield from accept(scan, ",")) or (yield from _closes(scan))):
            if scan.rest() or not scan.ended:
                sink.fail()
            return False
    sink.piece("}" if opening == "," else "{}")
    return True


def _closes(scan: Scanner) -> Step[bool]:
    return (yield from scan.starts(")", (yield from scan.space())))


DIALECT = _Llama3(
    "llama3_json",
    opening=(_TAG,),
    closing=("<|eom_id|>", "<|eot_id|>"),
    closed=False,
    arguments="parameters",
    brackets=("{", "["),
    between="; ",
    place="anywhere",
)
