"""`harmony_stripped`: what is left of gpt-oss's messages where a server takes the special tokens away.

Headers run into the text in front of them and after them. A call is one to a declared tool, and it ends where its JSON
ends. `analysis` begins reasoning only where a word follows that such reasoning begins with; `assistantfinal` and the
like, which no prose holds, end it. Noise may be between a recipient and the arguments (`headers/recipients`).
"""

import re

from toolcalls.shapes import About, Call, CallSink, Grammar, OpenerPlace, Sign
from toolcalls.shapes.channels import take_up_to
from toolcalls.shapes.headers.recipients import NOISE, PARALLEL, PREFIX, declared, parallel_calls
from toolcalls.shapes.json.json_arguments import checked, json_call
from toolcalls.shapes.words import character
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="channels",
    sign=Sign(marks=("to=functions.", "to=multi_tool_use."), rests=("to=",), alone=True),
    written_by="servers that remove gpt-oss's special tokens",
    source="Rapid-MLX #480",
    example="""\
analysisWe need the file.assistantcommentary to=functions.read_file json{"path": "src/a.ts"}assistantfinalDone.""",
)

# A header is looked at whole before anything of it counts, so it is bounded.
_MAX_HEADER = 256
_HEADER = re.compile(
    r"(?:<\|start\|>)?(?:assistant|analysis|commentary|final|<\|channel\|>|\s)*to=(?P<recipient>[^\s<{]+)"
    rf"\s*(?:<\|channel\|>)?\s*(?:analysis|commentary|final)?\s*(?:<\|constrain\|>)?\s*{NOISE}"
    r"(?:<\|message\|>)?\s*"
)
# The arguments, or a line that no header goes on with. A line end before the arguments is part of it.
_STOP = re.compile(r'(?:"(?:\\")?)?\{|\n\s*(?=[^\s{jca<"])')

_STARTS = """
We The User I Need Let Now So They This It OK Ok Okay First There Looking Since Just You In To Got Next Maybe Must
Should Simple No Given What For Check Search Use Our My That If Probably Also
"""
_ANALYSIS = tuple(f"analysis{word}" for word in _STARTS.split())
_CALLS = (
    "assistantcommentary to=",
    "assistant commentary to=",
    "assistant\ncommentary to=",
    f"commentary to={PREFIX}",
    f"assistant to={PREFIX}",
    "assistantanalysis to=",
    "<|channel|>",
    f"to={PREFIX}",
    *(f"{before}to={PARALLEL}" for before in ("", "commentary ")),
)
_FRAMES = ("assistantfinal", "assistantanalysis", "assistantcommentary")
_SPOKEN = re.compile(r"[^\W_]|[*#\[{<\"“$(]")  # what a message begins with
_BREAKS = (*_FRAMES, *_CALLS, "<|end|>", "<|start|>", "<|call|>")
_TOKENS = ("<|call|>", "<|end|>", "<|return|>")


class _Stripped(Grammar):
    name = "harmony_stripped"
    place: OpenerPlace = "start"
    between = "assistant"

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The beginnings of headers."""
        return (*_CALLS, *_FRAMES, *_ANALYSIS, *_to(names))

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """Messages up to the first that is text."""
        begun = spoken = False
        while True:
            space = (yield from scan.space()) if begun else 0
            header = yield from self._call_header(scan, tools, space)
            if header is not None:
                scan.take(space + header[1])
                begun = True
                if header[0] == PARALLEL and PARALLEL not in tools:
                    if not (yield from parallel_calls(scan, sink, tools)):
                        return False
                elif not (yield from json_call(scan, sink, header[0], _TOKENS)):
                    return False
                closer = yield from scan.among(_TOKENS)
                scan.take(len(closer) if closer else 0)
                continue
            frame = yield from self._frame(scan, space)
            if frame is None or not sink.may_remove_frame():
                return begun or spoken
            if not (begun or spoken) and _SPOKEN.match((yield from character(scan, len(frame)))) is None:
                return False  # a word of some prose, which no text runs into
            scan.take(space + len(frame))
            sink.mark_frame()
            spoken = True
            if not frame.endswith("analysis"):
                return True
            closer = yield from take_up_to(scan, _BREAKS, sink.mark_reasoning)
            if closer == "<|end|>":
                scan.take(len(closer))

    def _frame(self, scan: Scanner, ahead: int) -> Step[str | None]:
        """The words of a header without a recipient, `ahead` characters from here."""
        frame = yield from scan.among(_FRAMES, ahead)
        if frame is not None:
            return frame
        opener = yield from scan.among(_ANALYSIS, ahead)
        if opener is None:
            return None
        behind = ahead + len(opener)
        while scan.rest() <= behind and not scan.ended:
            yield
        whole_word = not scan.text[scan.pos + behind : scan.pos + behind + 1].isalnum()
        return "analysis" if whole_word else None

    def _call_header(self, scan: Scanner, tools: Toolbox, ahead: int) -> Step[tuple[str, int] | None]:
        """The declared tool and the length of a header that stands `ahead` characters from here."""
        if (yield from scan.among((*_CALLS, *_to(tools.names)), ahead)) is None:
            return None
        seen = 0
        while True:
            text, start = scan.text, scan.pos + ahead
            stop = _STOP.search(text, start + seen, start + _MAX_HEADER)
            if stop is not None:
                break
            if scan.ended or len(text) - start >= _MAX_HEADER:
                return None
            seen = len(
                text[start:].rstrip().rstrip('"\\')
            )  # a line end is one only with what follows it, as a quote is
            yield
        found = _HEADER.fullmatch(text, start, stop.start()) if stop.group()[-1] == "{" else None
        if found is None:
            return None
        name = declared(found["recipient"], tools)
        return None if name is None else (name, stop.start() - start)

    def write_call(self, call: Call, tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        call = checked(call)
        return f"commentary to={PREFIX}{call.name} json{call.arguments}"


def _to(names: tuple[str, ...]) -> tuple[str, ...]:
    """Recipients without their namespace, with what may follow one in a header."""
    return tuple(f"to={name} {word}" for name in names for word in ("json", "code", "<|"))


DIALECT = _Stripped()
