"""What a reply without a call may have lost: text that a reader takes for a call at once, and that no dialect reads.

Five signs. The text holds a call of a tool that nobody declared, where its dialect knows declared names alone: that is
its verdict. It holds a declared tool and its parameters in marks that no dialect knows (`unknown_form`). The only
calls of the reply are quoted, and it ends with them; or they are in reasoning that nothing follows (`likely_meant`). It
announces a call in words and ends (`announced`). They are said and counted, and no byte changes.

The text is looked at once, at the reply's end, and only as far as it was kept (`TextEnds`).
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, get_args

from toolcalls.events import CallEnd, CallStart, Note, Quotation, Text, Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.reading.undeclared_calls import undeclared_calls
from toolcalls.reading.unknown_forms import UnknownForm, UnknownForms
from toolcalls.text.markdown import Position
from toolcalls.text.quoting_marks import CODE_TAGS, MESSAGE_ENDS, QUOTING_TAGS, RAW_TAGS, REASONING_CLOSERS
from toolcalls.text.text_ends import Part, TextEnds, place_in
from toolcalls.values.toolbox import Toolbox

_QUOTATIONS = frozenset(get_args(Quotation))
_ANNOUNCED = 600  # characters of the text's end in which a call is announced
_MOST_UNDECLARED = 8  # verdicts of one text
_BEHIND_OTHERS = 400  # characters between an unknown form behind other candidates and the text's end
# What may stand behind a call that is quoted, at the end of a text.
_QUOTE_ENDS = re.compile(
    rf"(?:\s|`{{1,8}}|~{{3,8}}|-->|</(?:{'|'.join((*QUOTING_TAGS, *CODE_TAGS, *RAW_TAGS))})>|"
    rf"{'|'.join(map(re.escape, (*REASONING_CLOSERS, *MESSAGE_ENDS, '<|im_end|>')))})*+\Z",
    re.IGNORECASE,
)
_QUOTE_END = 400  # characters in which it stands
_REASONING_ENDS = re.compile("|".join(map(re.escape, REASONING_CLOSERS)), re.IGNORECASE)
_QUOTED_LINE = re.compile(r"^[ \t]{0,3}>[ \t]?", re.MULTILINE)
_INDENT = re.compile(r"^(?: {4}|\t)", re.MULTILINE)
# "Let me run the tests:" and nothing more. Without the colon it must say which deed comes next.
_SOFAR = r"(?:(?:now|next|first|then|so|okay|ok|alright|great)[,!.]?\s+)?"
_FIRST_PERSON = r"(?:let me|let['’]s|let us|i['’]ll|i will|i am going to|i['’]m going to|i need to|i should)\b"
_DEEDS = (
    r"(?:now |first |quickly |just |also |start by |begin by |go ahead and |take a |try to )*"
    r"(?:run|check|look|read|search|open|list|explor|examin|inspect|view|fetch|call|invok|execut|find|grep|scan|use|see)"
)
_WORDS = r"(?:[^.!?:\n]|[.!?:](?=\S)){1,200}"
_ANNOUNCES = re.compile(
    rf"(?:\A|[.!?:\n])\s*{_SOFAR}{_FIRST_PERSON}(?:{_WORDS}:| {_DEEDS}{_WORDS}(?:\.{{1,3}}|…))[\s*_]*\Z", re.IGNORECASE
)


class Losses(NamedTuple):
    """What a text may have lost.

    meant     which of its verdicts are about calls that were likely meant, by place
    verdicts  those of calls that had none
    """

    notes: list[Note]
    meant: frozenset[int] = frozenset()
    verdicts: tuple[Verdict, ...] = ()


def losses_in(
    ends: TextEnds,
    verdicts: Sequence[Verdict],
    call_policy: CallPolicy,
    tools: Toolbox,
    *,
    is_last: bool,
    stopped: bool,
) -> Losses:
    """What a text of a reply without a call may have lost.

    verdicts  of the text's candidates
    is_last   no other text of its message follows
    stopped   the reply ended where the model ended it
    """
    parts = list(ends.parts())
    last = parts[-1]
    judged = [verdict for verdict in verdicts if verdict.dialect is not None]
    meant = is_last and _were_meant(last, judged, call_policy, tools)
    if meant:
        return Losses([], frozenset(place for place, one in enumerate(verdicts) if one.dialect is not None))
    answers = call_policy.request.response_format
    if not judged and not answers and tools.names:
        undeclared: list[Verdict] = []
        for part in parts:
            begin = _behind_reasoning(part.text)
            undeclared += undeclared_calls(part.text[begin:], part.at + begin, call_policy, tools)
        if undeclared:
            return Losses([], verdicts=tuple(undeclared[:_MOST_UNDECLARED]))
    form = None if answers else _unknown_form(parts, ends.size, judged, call_policy, tools)
    if form is not None:
        return Losses([Note("unknown_form", form, warns=True)])
    if is_last and stopped and not judged and _announces(last.text):
        said = "the text ends with words that announce a call, and none follows"
        return Losses([Note("announced", said, warns=True)])
    return Losses([])


def _were_meant(last: Part, judged: Sequence[Verdict], call_policy: CallPolicy, tools: Toolbox) -> bool:
    """Whether these are all quoted, in one way, and the text ends with them."""
    reasons = {verdict.reason for verdict in judged}
    if len(reasons) != 1 or not reasons <= _QUOTATIONS or judged[0].start < last.at:
        return False
    text = last.text[judged[0].start - last.at :]
    reason = judged[0].reason
    if reason == "block_quote":
        text = _QUOTED_LINE.sub("", text)
    elif reason == "indented_code":
        text = _INDENT.sub("", text)
    end = _QUOTE_ENDS.search(text, max(0, len(text) - _QUOTE_END))
    return end is not None and _is_calls(text[: end.start()], call_policy, tools)


def _is_calls(text: str, call_policy: CallPolicy, tools: Toolbox) -> bool:
    """Whether a text is nothing but whole calls that may be made, where nothing quotes them."""
    policy = replace(call_policy, lift=True, open_calls=False, may_start_in_reasoning=False)
    reader = Reader(policy, tools=tools, place=Position())
    events = [*reader.feed(text), *reader.finish(cut=False)]
    begun = {event.index for event in events if isinstance(event, CallStart)}
    ended = {event.index for event in events if isinstance(event, CallEnd)}
    shown = "".join(event.text for event in events if isinstance(event, Text))
    return bool(begun) and begun == ended and _QUOTE_ENDS.match(shown) is not None


def _unknown_form(
    parts: Sequence[Part], size: int, judged: Sequence[Verdict], call_policy: CallPolicy, tools: Toolbox
) -> str | None:
    """The first call in an unknown form, in words."""
    forms = UnknownForms(tools)
    after = max((verdict.end for verdict in judged), default=0)
    for part in parts:
        if not tools.may_be_named_in(part.text):
            continue
        begin = _behind_reasoning(part.text)
        text = part.text[begin:]
        at = part.at + begin
        for form in forms.in_text(text, ahead=at, behind=size - at - len(text)):
            start, end = at + form.at, at + form.end
            if judged and (start < after or size - end > _BEHIND_OTHERS or form.in_sentence):
                continue
            if call_policy.echo_index.trace(text[form.at : form.end]) is None:
                return _said(form, part, start)
    return None


def _behind_reasoning(text: str) -> int:
    """Where a text begins behind its reasoning; 0 where nothing is behind it."""
    end = 0
    for found in _REASONING_ENDS.finditer(text):
        end = found.end()
    return end if text[end:].strip() else 0


def _announces(text: str) -> bool:
    """Whether a text ends with words that announce a call: in its last line."""
    line = text[-_ANNOUNCED:].rstrip().rpartition("\n")[2]
    return line.rstrip("*_")[-1:] in {":", ".", "…"} and _ANNOUNCES.search(line) is not None


def _said(form: UnknownForm, part: Part, at: int) -> str:
    line, column = place_in(part, at)
    return f"{form.tool}, in line {line}, column {column}, is written as {form.marks}"
