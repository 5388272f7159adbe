"""Calls as a JSON array between special tokens, beside a thinking and a text channel: Cohere's Command models.

The tokens of the channels go, and so do citations (`<co>text</co: 0:[1]>`), of which the text stays. What is thought is
reasoning, and so is an action in front of its closer; without one, an action ends it. A closer of a channel whose
opener was the end of the prompt goes as well. The text channel has two names, and each model is read by both.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from toolcalls.shapes import Call, CallSink, OpenerPlace
from toolcalls.shapes.channels import ends_first, take_up_to
from toolcalls.shapes.json.call_block import CallRules
from toolcalls.shapes.json.call_reader import CallReader
from toolcalls.shapes.json.closing import take_closer, take_surplus
from toolcalls.shapes.json.json_arguments import checked
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import quote
from toolcalls.values.toolbox import Toolbox

_THINK, _THOUGHT = "<|START_THINKING|>", "<|END_THINKING|>"
_ACT, _ACTED = "<|START_ACTION|>", "<|END_ACTION|>"
_SAY = {"<|START_RESPONSE|>": "<|END_RESPONSE|>", "<|START_TEXT|>": "<|END_TEXT|>"}
_SAID = tuple(_SAY.values())
_RULES = CallRules(arguments="", follow=(_ACTED,), ends=(_ACTED,))
_MAX_CITATION = 64
_ENDS_THOUGHT = re.compile(re.escape(_THOUGHT))
_BEGINS = re.compile("|".join(map(re.escape, (_THINK, *_SAY))))
_CITED = re.compile(r"</co[:\s\d,\[\]]*+")


@dataclass(frozen=True)
class CohereChannels:
    """Cohere's channels of actions, thoughts and text, which Command 3 and 4 spell alike."""

    name: str
    stray_words: tuple[str, ...] = ()
    place: OpenerPlace = "anywhere"

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        """The tokens of all channels."""
        return (_ACT, _THINK, _THOUGHT, *_SAY, *_SAID)

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """Read one channel: an action holds calls, a thought is reasoning, and the rest is text."""
        token = (yield from scan.among(self.openers(()))) or ""
        if token == _ACT:
            return (yield from self._actions(scan, sink, tools))
        if not token or not sink.may_remove_frame():
            return False
        scan.take(len(token))
        sink.mark_frame()
        if token == _THINK:
            closer = yield from take_up_to(scan, (_THOUGHT, _ACT, *_SAY), sink.mark_reasoning)
            if closer == _ACT and (yield from ends_first(scan, _ENDS_THOUGHT, _BEGINS)):
                closer = yield from take_up_to(scan, (_THOUGHT,), sink.mark_reasoning)  # the action is a draft
            scan.take(len(_THOUGHT) if closer == _THOUGHT else 0)
        elif token in _SAY:
            yield from self._says(scan, sink)
        return True

    def _says(self, scan: Scanner, sink: CallSink) -> Step[None]:
        """The text channel, without the marks of its citations."""
        while (mark := (yield from take_up_to(scan, (*_SAID, _ACT, "<co>", "</co"), sink.mark_text))) is not None:
            if mark == _ACT:
                return
            size = len(mark) if mark != "</co" else (yield from self._citation(scan))
            scan.take(size or 1)
            if size:
                sink.mark_frame()
            else:
                sink.mark_text()
            if mark in _SAID:
                return

    def _citation(self, scan: Scanner) -> Step[int]:
        """The length of a citation's closing mark that begins here; 0 where it is none."""
        while True:
            found = _CITED.match(scan.text, scan.pos, scan.pos + _MAX_CITATION)
            end = found.end() if found else scan.pos
            if end < len(scan.text) or scan.ended or end - scan.pos >= _MAX_CITATION:
                return end + 1 - scan.pos if scan.text.startswith(">", end) else 0
            yield

    def _actions(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        space = yield from scan.space(len(_ACT))
        if (yield from scan.among(("[", "{"), space)) is None:
            return False
        scan.take(space)
        found = CallReader(scan, sink, tools, _RULES)
        if not (yield from found.body()):
            if found.open and (scan.rest() or not scan.ended):
                sink.fail()
                closer = yield from take_up_to(scan, (_ACTED,), lambda: None)
                scan.take(len(closer or ""))
            return False
        yield from take_surplus(scan, sink, (_ACTED,))
        return (yield from take_closer(scan, sink, (_ACTED,), found.end))

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        """One array for all calls; "" for none."""
        return f"{_ACT}[\n{',\n'.join(items)}\n]{_ACTED}" if (items := list(map(_item, enumerate(calls)))) else ""


def _item(numbered: tuple[int, Call]) -> str:
    index, call = numbered
    call = checked(call)
    head = f'    {{"tool_call_id": "{index}", "tool_name": {quote(call.name)}'
    return f'{head}, "parameters": {call.arguments}}}'
