"""Reads text line by line, one character or a stretch at a time: the driver of the state machine.

Each line starts in PREFIX, where columns, containers and markers are read one character at a time (`line_start.py`); as
soon as its kind is known it moves on to a state (`line_inside.py`) that one compiled search leaves only at the few
characters that matter there. What the end of a line may still overrule (a list that turns out a thematic break, a fence
whose info string holds a backtick) goes by its likelier reading and keeps the few numbers that undo it.
"""

import re
from collections.abc import Callable

from toolcalls.text.literals import NAMED_TURNS, REACH
from toolcalls.text.markdown import line_inside, line_start, states
from toolcalls.text.markdown.blocks import HEADING, HTML_END, NO_LEAF, PARAGRAPH
from toolcalls.text.markdown.closers import RAW
from toolcalls.text.markdown.inline import begins_tag
from toolcalls.text.markdown.line import Line
from toolcalls.text.markdown.states import HASHES, MARKER, PREFIX, RULE, SEARCH, TAG, TEXT, TOKEN_START
from toolcalls.text.markdown.tokens import NO_MARK, is_no_token
from toolcalls.text.scanner import past

# Lines of paragraphs and between them that change nothing but whether a paragraph is open: words, whole inline code,
# and no mark of Markdown's or of `literals`. `_between` says where they are.
_PLAIN_LINES = re.compile(
    rf"(?:(?=[^\n]{{0,{REACH - 2}}}\n)"  # of a longer line not all is looked at
    rf"((?:(?!{NAMED_TURNS})[^\W\d_](?:[^`\\<>|\"'\r\n]|`[^`<>|\"'\r\n]++`(?!`)|{NO_MARK})*+"
    r"(?<![:+\-`$> \t]))?)\r?\n)++"
)

type _Step = Callable[[Line, str], bool]
_STEPS: dict[int, _Step] = {
    PREFIX: line_start.prefix,
    MARKER: line_start.after_marker,
    states.DIGITS: line_start.digits,
    HASHES: line_start.hashes,
    states.FENCE_RUN: line_start.fence_run,
    states.INFO: line_start.info,
    states.CLOSING: line_start.closing,
    states.CLOSING_BLANKS: line_start.closing,
    RULE: line_start.rule_or_text,
    TOKEN_START: line_inside.in_token,
    states.TOKEN: line_inside.in_token,
    states.TICKS: line_inside.ticks,
    states.ESCAPE: line_inside.escape,
    TEXT: line_inside.in_text,
    states.SPAN: line_inside.in_span,
    TAG: line_inside.in_tag,
    states.QUOTED: line_inside.in_tag,
    states.RAW_LINE: line_inside.raw_line,
    states.REST: line_inside.rest,
    states.CODE: line_inside.rest,
}
# Undecided at the end of a line: a line end decides like any character that does not fit.
_UNDECIDED = (states.DIGITS, HASHES, states.FENCE_RUN, TOKEN_START, states.TOKEN, states.TICKS)
_AT_END: dict[int, _Step] = {state: _STEPS[state] for state in _UNDECIDED}


def read(line: Line, text: str, at: int, end: int) -> int:
    """Read up to `end`, or up to where a closer is to be looked for. Returns where."""
    awaited, tail, begin = line.awaited, line.tail, at
    closer = awaited.closer
    while at < end and awaited.closer is closer:
        search = SEARCH.get(line.state)
        if search is not None:
            match = search.search(text, at, end)
            if match is None:
                at = end
                break
            at = match.start()
        elif not line.first and _between(line) and (lines := _PLAIN_LINES.match(text, at, end)) is not None:
            begin = at = lines.end()
            line.blocks.leaf = PARAGRAPH if lines[1] else NO_LEAF  # as the last of them leaves it
            continue
        char = text[at]
        at += 1
        if char in "\r\n":
            if char == "\r" or not line.after_return:
                tail.note(text[begin : at - 1])
                line.literals.line(tail.text(), *line.begins(), line.is_ordinary)
                tail.pieces.clear()
                _end_line(line)
            line.after_return = char == "\r"
            begin = at
            continue
        line.after_return = False
        if char == " " and line.state == PREFIX:  # mostly one of many, before code
            first, at = at - 1, min(end, past(text, at, " "))
            line.blocks.indent_by(at - first)
            continue
        if char == "<" and line.state in (TEXT, TAG) and at < end and is_no_token(text[at - 1 : min(at + 2, end)]):
            line.blocks.inline.tag = ">" if begins_tag(text[at]) else ""  # the shortest way of the commonest case
            line.state = TAG if line.blocks.inline.tag else TEXT
            continue
        while not _STEPS[line.state](line, char):
            pass
    tail.note(text[begin:at])
    return at


def _between(line: Line) -> bool:
    """Whether a line begins here, outside all but paragraphs: nothing is open, and nothing is expected of it."""
    blocks = line.blocks
    if (
        blocks.leaf > PARAGRAPH
        or line.state != PREFIX
        or blocks.stack
        or blocks.column
        or line.tail.pieces
        or blocks.marker_end
        or line.after_closer
        or line.after_return
    ):
        return False
    inline = blocks.inline
    return not (inline.span or inline.tag or inline.unsure or inline.element) and line.literals.quiet


def _end_line(line: Line) -> None:
    state, blocks, rule = line.state, line.blocks, line.rule
    if rule.char and rule.char != "=" and rule.count >= 3:
        blocks.close(rule.depth)
    elif state == MARKER or blocks.marker_end:
        blocks.end_marker(line.marker)
    elif state == PREFIX:
        if not (line.after_closer and blocks.leaf == PARAGRAPH):
            blocks.end_blank()
    elif state == RULE and rule.underline:
        blocks.close(blocks.depth)
    elif line.opens_fence():
        blocks.start_fence(line.run)
    elif line.closes_fence():
        blocks.leaf = NO_LEAF
    elif state == HASHES and line.run <= 6:
        blocks.close(blocks.depth)
    elif (
        state == TOKEN_START and line.token.flush and line.awaited.closer is None
        and (closer := RAW.get(line.token.text.lower())) is not None
    ):  # fmt: skip
        line.start_html()
        line.awaited.look_for(closer)
    elif state in _AT_END:
        _AT_END[state](line, "\n")
    if blocks.leaf in (HEADING, HTML_END):
        blocks.close(len(blocks.stack))
    if line.spans_end_with_lines:
        blocks.inline.span, blocks.inline.unsure = 0, False
    line.new_line()
