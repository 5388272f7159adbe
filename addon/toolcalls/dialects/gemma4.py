"""`gemma4`: Gemma 4's own notation in special tokens, with its channel of thoughts.

    <|channel>thought
    The file first.<channel|><|tool_call>call:read_file{limit:20,path:<|"|>src/a.ts<|"|>}<tool_call|>

Strings stand between `<|"|>` with nothing escaped; numbers, `true`, `false` and `null` stand bare; keys are sorted. A
thought goes to the reasoning; its first token may be missing at the start of a reply, so that one alone closes it.
Source: the model's chat template (https://huggingface.co/google/gemma-4-31B-it, chat_template.jinja).
"""

from dataclasses import dataclass

from toolcalls.shapes import Calls
from toolcalls.shapes.keyed import Keyed
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

_CHANNEL, _CLOSED = "<|channel>", "<channel|>"
RESULT = '<|tool_response>response:{name}{value:<|"|>{text}<|"|>}<tool_response|>'


@dataclass(frozen=True)
class _Gemma4(Keyed):
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The call's marker, and those of a channel."""
        return (*super().openers(names), _CHANNEL, _CLOSED)

    def read(self, scan: Scanner, calls: Calls, tools: Toolbox) -> Step[bool]:
        """One call, or one channel."""
        mark = yield from scan.among((_CHANNEL, _CLOSED))
        if mark is None:
            return (yield from super().read(scan, calls, tools))
        if not calls.framed():
            return False
        scan.take(len(mark))
        calls.layout()
        if mark == _CHANNEL:
            yield from _channel(scan, calls)
        return True


def _channel(scan: Scanner, calls: Calls) -> Step[None]:
    """What stands in a channel, behind the line that names it."""
    name = yield from scan.among(("thought\r\n", "thought\n"))
    if name is not None:
        scan.take(len(name))
        calls.layout()
    calls.thinks()  # before any of it is here, so that it never matters how much comes at once
    while not (yield from scan.starts(_CLOSED)):
        at = scan.text.find("<", scan.pos + 1)
        scan.take((len(scan.text) if at < 0 else at) - scan.pos)
        calls.thinks()
        if not scan.rest():
            if scan.ended:
                return
            yield
    scan.take(len(_CLOSED))
    calls.layout()


DIALECT = _Gemma4("gemma4", opening=("<|tool_call>",), closing=("<tool_call|>",), delimiter='<|"|>')
