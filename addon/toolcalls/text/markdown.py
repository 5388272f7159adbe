"""Where in its Markdown a reply stands: in code, a quote, a comment, reasoning, or in ordinary text.

Strategy: CommonMark's block structure (https://spec.commonmark.org/0.31.2/) as a state machine over characters. Each
line starts in PREFIX, where columns, containers and markers are read one character at a time; as soon as its kind is
known it moves on to a state that one compiled search leaves only at the few characters that matter there. What the end
of a line may still overrule (a list that turns out a thematic break, a fence whose info string holds a backtick) goes
by its likelier reading and keeps the few numbers that undo it. Text is read when somebody asks, or when a bounded
amount of it has come: much at once takes half the time of the same in pieces. So memory is constant, nothing is read
twice, and the answers depend on the characters alone, not on how they were cut.

Quoting must not become a call, so every doubt is code: an open backtick run lasts to the end of its paragraph (with
`spans_end_with_lines` of its line), a comment or a `<pre>` also past the list item that holds it, and nesting past
MAX_DEPTH counts as code. Where CommonMark
is laxer than what the writer means, the writer wins: HTML blocks of kinds 4, 6 and 7 (`<div>`, `<answer>`) are read as
text, so a fence right below one is a fence; but what an element quotes is quoted: `<blockquote>`, `<example>` and its
like at the start of a line to their closers, `<code>` and its like to theirs or to the end of the paragraph. Link
reference definitions are read as paragraphs.

Longer than 300 lines because the states of one machine share its fields; cut in two it would be harder to follow.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from toolcalls.events import Quotation
from toolcalls.text.literals import NAMED_TURNS, REACH, LiteralBlocks
from toolcalls.text.quoting_marks import (
    CLOSER_ENDS,
    CLOSERS_LAST,
    CODE_TAGS,
    MESSAGE_ENDS,
    QUOTING_TAGS,
    RAW_TAGS,
    REASONING_CLOSERS,
    REASONING_TAGS,
)

# Shorter pieces of a line are kept one by one, so that what is kept of it is bounded.
_SHORT = 16
MOST_UNREAD = 1024  # characters that are kept until somebody asks; one piece may have more
# Containers (quotes and list items) that are tracked; deeper nesting is no reply's own text.
MAX_DEPTH = 16


class _Sought(NamedTuple):
    """A closer that is looked for across pieces: what it ends, its pattern, the length of its longest form."""

    ends: Quotation
    pattern: re.Pattern[str]
    width: int
    closer: str  # the first of its forms


def _sought(ends: Quotation, *closers: str) -> _Sought:
    pattern = re.compile("|".join(map(re.escape, closers)), re.IGNORECASE)
    return _Sought(ends, pattern, max(map(len, closers)), closers[0])


_COMMENT = _sought("html_comment", "-->")
# Of reasoning that the prompt began; Kimi K3's mark also with blanks in it or without its name.
_ANY_CLOSER = [*map(re.escape, (*REASONING_CLOSERS, *MESSAGE_ENDS)), r"<\|close\|>\s{0,8}(?:think\s{0,8})?<\|sep\|>"]
_ANY_REASONING = _Sought("reasoning", re.compile("|".join(_ANY_CLOSER), re.IGNORECASE), 48, REASONING_CLOSERS[0])
_REASONING = {opener: _sought("reasoning", closer) for opener, closer in REASONING_TAGS.items()}
_AFTER = ("", " ", "\t", ">")
_RAW = {
    **{f"<{name}{after}": _sought("fenced", f"</{name}>") for name in RAW_TAGS for after in _AFTER},
    **{f"<{name}{after}": _sought("block_quote", f"</{name}>") for name in QUOTING_TAGS for after in _AFTER},
    "<?": _sought("fenced", "?>"),  # kinds 3 and 5
    "<![CDATA[": _sought("fenced", "]]>"),
}
_CODE_ENDS = {f"<{name}{after}": f"</{name}>" for name in CODE_TAGS for after in _AFTER[1:]}
# Every literal that means something, and all their beginnings. `<pre` without more counts at the end of a line only.
_CLOSERS = frozenset(REASONING_CLOSERS)
_TOKENS = {
    *("<!--", *_REASONING, *_CLOSERS),
    *(tag for tag in _RAW if not tag[-1].isalpha()),
    *(*_CODE_ENDS, *_CODE_ENDS.values()),
}
_BEGINNINGS = frozenset(token[:size] for token in _TOKENS for size in range(1, len(token) + 1))

# What stands second in a token; a `<` before anything else begins at most a tag.
_SECONDS = frozenset(second for token in _TOKENS for second in (token[1], token[1].upper()))

_QUOTE = 0  # on the stack of containers; any other number is a list item's content offset, which is at least 2

# The open leaf block.
_NONE, _PARAGRAPH, _HEADING, _FENCE, _HTML, _HTML_END = range(6)  # _HTML_END: the closer was on this line

# States. Up to _TOKEN_START a line's kind is open, and what it does to the blocks before it has not been done.
(_PREFIX, _MARKER, _DIGITS, _HASHES, _FENCE_RUN, _TOKEN_START,
 _INFO, _CLOSING, _RULE, _TOKEN, _TICKS, _ESCAPE,
 _TEXT, _SPAN, _TAG, _QUOTED, _RAW_LINE, _REST, _CODE) = range(19)  # fmt: skip

# A `<` that stands for nothing here: a sign, or a whole tag without attributes, of no name that means something.
_TAG_NAMES = "|".join(sorted({name[1] for token in _TOKENS if (name := re.match(r"</?([A-Za-z]+)", token))}))
_NO_MARK = rf"<(?:(?=[ =\d])|/?(?!(?i:{_TAG_NAMES})>)[A-Za-z][A-Za-z0-9]*+>)"
# Lines of paragraphs and between them that change nothing but whether a paragraph is open: words, whole inline code,
# and no mark of Markdown's or of `literals`. `_between_lines` says where they are.
_PLAIN_LINES = re.compile(
    rf"(?:(?=[^\n]{{0,{REACH - 2}}}\n)"  # of a longer line not all is looked at
    rf"((?:(?!{NAMED_TURNS})[^\W\d_](?:[^`\\<>|\"'\r\n]|`[^`<>|\"'\r\n]++`(?!`)|{_NO_MARK})*+"
    r"(?<![:+\-`$> \t]))?)\r?\n)++"
)
_END_ONLY = re.compile(r"[\r\n]")
# The states that skip ahead, each to the next character that matters in it.
_SEARCH: dict[int, re.Pattern[str]] = {
    _INFO: re.compile(r"[`\r\n]"),
    _TEXT: re.compile(rf"[`\\\r\n]|(?!{_NO_MARK})<"),
    _SPAN: re.compile(r"[`\r\n]"),
    _TAG: re.compile(r"[`<>\"'\r\n]"),
    _QUOTED: re.compile(r"[`<\"'\r\n]"),
    _RAW_LINE: re.compile(r"[<\r\n]"),
    _REST: _END_ONLY,
    _CODE: _END_ONLY,
}
_IN_LINE: re.Pattern[str] = re.compile(
    rf"[\r\n{re.escape(''.join(sorted(CLOSERS_LAST)))}]"
)  # the end of the line, or of a closer of reasoning
_IN_REASONING: re.Pattern[str] = re.compile(r"[<\[\r\n]")


class Position:
    """Where the next character would stand, after all the text that was shown so far."""

    __slots__ = (
        "_after_closer",
        "_after_quote",
        "_after_return",
        "_base",
        "_blanks",
        "_column",
        "_deep",
        "_depth",
        "_element",
        "_empty_item",
        "_fence",
        "_fence_length",
        "_first",
        "_leaf",
        "_line",
        "_line_start",
        "_literals",
        "_marker",
        "_number",
        "_pending",
        "_quoted",
        "_rule",
        "_rule_count",
        "_rule_depth",
        "_run",
        "_sought",
        "_span",
        "_stack",
        "_state",
        "_tag",
        "_tail",
        "_token",
        "_token_blank",
        "_token_flush",
        "_underline",
        "_unread",
        "_unread_size",
        "_unsure",
        "keep",
        "spans_end_with_lines",
    )  # fmt: skip
    _leaf: int
    _line_start: bool

    def __init__(self, *, reasoning: bool = False) -> None:
        """`reasoning`: the reply starts inside reasoning without an opener; any closer ends it."""
        self._unread: list[str] = []  # text that was shown and not looked at
        self._unread_size = 0  # of what `advance` took
        # Takes text that was shown, like `advance`. Who uses it calls `settle` before MOST_UNREAD characters are kept.
        self.keep = self._unread.append
        # Inline code that is not closed on its line ends with it: a stray backtick quotes nothing below it.
        self.spans_end_with_lines = False
        self._line: deque[str] = deque(maxlen=REACH)  # the end of the line so far
        self._sought: _Sought | None = _ANY_REASONING if reasoning else None
        self._tail = ""  # the end of the text in which `_sought` was not found, as much as could begin a closer
        self._after_return = False
        self._token = ""
        self._token_blank = self._token_flush = False  # only blanks before it on its line; it may start a block
        self._blanks = self._number = self._run = 0
        self._marker = self._rule = self._fence = ""
        self._rule_count = self._rule_depth = self._fence_length = self._underline = 0
        self._quoted = False
        self._afresh()

    def advance(self, text: str) -> None:
        """Note text that was shown. It may be cut anywhere and hold anything; U+2028 and the like end no line."""
        if not text:
            return
        if self._unread and self._unread_size + len(text) > MOST_UNREAD:
            self.settle()
        self.keep(text)
        self._unread_size += len(text)

    def settle(self) -> None:
        """Read what was shown, as far as it is not."""
        if self._unread:
            text = self._unread[0] if len(self._unread) == 1 else "".join(self._unread)
            self._unread.clear()
            self._unread_size = 0
            self._advance(text)

    def _advance(self, text: str) -> None:
        at, end = 0, len(text)
        while at < end:
            sought = self._sought
            at = self._read(text, at, end) if sought is None else self._read_until(sought, text, at)

    @property
    def special(self) -> re.Pattern[str] | None:
        """Finds what may change `line_start` or `prompts_reasoning_end` in text that comes next; None: any may."""
        if self._sought is _ANY_REASONING:
            self.settle()
            if self._sought is _ANY_REASONING:
                return None if self._line_start or self._tail else _IN_REASONING
        return None if self.line_start else _IN_LINE

    def _note(self, text: str) -> None:
        """The line goes on."""
        if text:
            self._line.append(text[-REACH:])
            if len(text) >= _SHORT:
                tail = self._tail_of_line()
                self._line.clear()
                self._line.append(tail)

    @property
    def in_prompts_reasoning(self) -> bool:
        """Whether this place is in reasoning that nothing in the text has opened."""
        if self._sought is _ANY_REASONING:
            self.settle()
        return self._sought is _ANY_REASONING

    def prompts_reasoning_end(self, text: str, at: int) -> int:
        """Where reasoning that nothing in the text has opened ends in `text`, of which all before `at` was shown.

        -1 where this place is in no such reasoning, or it does not end there.
        """
        if not self.in_prompts_reasoning:
            return -1
        tail = self._tail
        end, found = self._find(_ANY_REASONING, text, at)
        self._tail = tail
        return end if found else -1

    def leave_reasoning(self) -> None:
        """The text so far did not start inside reasoning, though it was said to."""
        if self.in_prompts_reasoning:
            self._sought, self._tail = None, ""
            self.restart()

    def enter_reasoning(self) -> None:
        """The text that comes next is reasoning, up to any closer."""
        self.settle()
        self._open(_ANY_REASONING)

    def end_reasoning(self) -> None:
        """What seemed to be reasoning ends here, though no closer says so."""
        self.settle()
        self._sought, self._tail = None, ""
        self.restart()

    @property
    def in_fence(self) -> bool:
        """Whether this place is in a fence of Markdown's own."""
        self.settle()
        return self._leaf == _FENCE

    def restart(self) -> None:
        """A closer of reasoning is here that closes nothing: all before it was reasoning, and a message begins."""
        if self.in_prompts_reasoning:
            self._sought, self._tail = None, ""
        self.settle()
        self._afresh()

    @classmethod
    def behind(cls, blocks: Iterable[str]) -> "Position":
        """Where a text block begins that follows these of the same message."""
        place = cls()
        for text in blocks:
            place.advance(text)
            place.next_block()
        return place

    def copy(self) -> "Position":
        """The same place, to go on from there with other text."""
        self.settle()
        made = Position()
        for field in self.__slots__:
            setattr(made, field, getattr(self, field))
        made._stack, made._literals = list(self._stack), self._literals.copy()
        made._line = deque(self._line, maxlen=REACH)
        made._unread = []
        made.keep = made._unread.append
        return made

    def next_block(self) -> None:
        """Another text block of the same message begins here: a line, unless something quoted goes on."""
        self.settle()
        closes = self._state == _CLOSING and self._run >= self._fence_length
        opens = self._state == _INFO or (self._state == _FENCE_RUN and self._run >= 3)
        if self._sought is None and (closes or opens):  # the line of a fence is whole
            self._advance("\n")
        if self._blocks_go_on or self.reason() is not None:
            return
        if self._state != _PREFIX or self._column:
            self._advance("\n")

    def end_paragraph(self) -> None:
        """No paragraph goes on after this place, and so no inline code and no block quote; a fence does."""
        self.settle()
        if not self._blocks_go_on:
            self._advance("\n\n")

    @property
    def _blocks_go_on(self) -> bool:
        """Whether this place is in what only its own closer ends."""
        return self._sought is not None or self._leaf == _FENCE or self._literals.open

    def closers(self) -> tuple[str, ...]:
        """What may end the quotation that this place is in: a closer by itself, a fence on a line of its own."""
        self.settle()
        if self._sought is not None:
            return (self._sought.closer,)
        if self._leaf == _FENCE:
            return (self._fence * self._fence_length,)
        if self._state == _INFO or (self._state == _FENCE_RUN and self._run >= 3):
            return (self._fence * self._run,)
        return ()

    @property
    def line_start(self) -> bool:
        """Whether only spaces, tabs and closers of reasoning come before this place on its line."""
        for piece in reversed(self._unread):
            words = piece.rstrip(" \t")
            if words:
                last = words[-1]
                if last in "\r\n":
                    return True
                if last not in CLOSERS_LAST or words[-2:].strip().lower() not in CLOSER_ENDS:
                    return False
                self.settle()  # the end of a closer may be there
                break
        return self._line_start

    def follows(self, pattern: re.Pattern[str]) -> bool:
        """Whether `pattern` finds something in this line up to here, or in its last `REACH` characters."""
        self.settle()
        return pattern.search(self._tail_of_line()) is not None

    def reason(self) -> Quotation | None:
        """What a construct that starts here would be in, None for ordinary text.

        In reasoning nothing else is tracked: what is code in there is not the reply's code.
        """
        self.settle()
        reason = self._markdown()
        if reason not in (None, "inline_code", "indented_code"):
            return reason
        literals = self._literals
        if literals.conversation or literals.answers(self._tail_of_line()):
            return "block_quote"
        return "fenced" if literals.holds(*self._line_begins()) else reason

    def _markdown(self) -> Quotation | None:
        """The same by Markdown alone."""
        sought = self._sought.ends if self._sought else None
        if sought == "reasoning":
            return "reasoning"
        state, stack = self._state, self._stack
        span, unsure, fenced = self._span, self._unsure or bool(self._element), self._leaf == _FENCE
        indented = state == _CODE or (state == _RULE and self._leaf == _NONE)
        if state <= _TOKEN_START:  # as if text came next
            continued = self._leaf == _PARAGRAPH and not self._pending
            fenced = fenced and self._depth == len(stack)
            deep_enough = self._column - self._number > 4 if self._pending else self._indent() >= 4
            indented = state == _PREFIX and not continued and deep_enough
            if not continued:
                stack, span, unsure = stack[: self._depth], 0, False
        if _QUOTE in stack:  # before code: a fence inside a quotation is quoted, whoever reads fences
            return "block_quote"
        if sought == "fenced" or fenced or state == _INFO or (state == _FENCE_RUN and self._run >= 3):
            return "fenced"
        if indented or (self._deep and len(stack) == MAX_DEPTH):
            return "indented_code"
        if state == _TICKS or (state == _FENCE_RUN and self._fence == "`"):
            span = self._after_run(span)
        if span or unsure:
            return "inline_code"
        return sought

    # -- closers that are looked for across pieces -----------------------------------------------------------------

    def _read_until(self, sought: _Sought, text: str, at: int) -> int:
        """Read up to and with the closer, or all that is there. Comments are read as blocks at the same time:

        where CommonMark does not agree that it is a comment, its blocks must be known when it ends.
        """
        end, found = self._find(sought, text, at)
        if sought.ends == "reasoning":
            self._note_lines(text[at:end])
        else:
            self._read(text, at, end)
        if found:
            self._sought, self._tail = None, ""
            if self._leaf == _HTML:
                self._leaf = _HTML_END
            if sought.ends == "reasoning":
                self._afresh()
        return end

    def _find(self, sought: _Sought, text: str, at: int) -> tuple[int, bool]:
        """The end of the closer, or of the text. Looks at each character once, and again only at the seam."""
        tail, overlap = self._tail, sought.width - 1
        if tail:
            match = sought.pattern.search(tail + text[at : at + overlap])
            if match is not None and match.end() > len(tail):
                return at + match.end() - len(tail), True
        match = sought.pattern.search(text, at)
        if match is not None:
            return match.end(), True
        seam = (tail + text[max(at, len(text) - overlap) :])[-overlap:]
        begins = [mark for mark in map(seam.find, "<[-]?") if mark >= 0]
        self._tail = seam[min(begins) :] if begins else ""
        return len(text), False

    def _note_lines(self, text: str) -> None:
        last = max(text.rfind("\n"), text.rfind("\r"))
        if last >= 0:
            self._line.clear()
        self._note(text[last + 1 :])
        self._line_start = (self._line_start or last >= 0) and not text[last + 1 :].strip(" \t")

    def _open(self, sought: _Sought, tail: str = "") -> None:
        self._sought, self._tail = sought, tail

    def _afresh(self) -> None:
        """A new document, but a quote that reasoning was in is still one until a blank line."""
        self._stack: list[int] = [_QUOTE] if self._quoted else []
        self._leaf = _PARAGRAPH if self._quoted else _NONE
        self._span = 0  # the length of the backtick run that is open in this paragraph
        self._tag = ""  # ">" in what may be a tag, the quote in a quoted attribute of one
        self._unsure = False  # a backtick was in what may be a tag: which runs pair up is unknown in this paragraph
        self._element = ""  # the closer of an element of code that is open in this paragraph
        self._deep = self._empty_item = False
        self._literals = LiteralBlocks()
        self._line.clear()
        self._new_line()
        self._after_closer, self._after_return = True, False

    # -- blocks ----------------------------------------------------------------------------------------------------

    def _new_line(self) -> None:
        self._state = _PREFIX
        self._first = ""
        self._column = self._base = self._depth = 0  # base: where the content of the innermost matched container starts
        self._line_start = True
        self._after_closer = False  # a closer of reasoning was on this line: nothing to see, but it is no blank line
        self._after_quote = self._pending = False  # pending: a list marker with white space after it
        self._rule = ""

    def _indent(self) -> int:
        return self._column - self._base

    def _interrupts(self) -> bool:
        """Whether a block that started here would interrupt a paragraph of the same container."""
        return self._leaf == _PARAGRAPH and self._depth == len(self._stack)

    def _close(self, depth: int) -> None:
        """End the open leaf, and all containers but the first `depth`."""
        del self._stack[depth:]
        self._deep = self._deep and len(self._stack) == MAX_DEPTH
        self._leaf = _NONE
        self._span, self._tag, self._unsure, self._element = 0, "", False, ""

    def _enter(self, container: int) -> None:
        self._close(self._depth)
        if len(self._stack) == MAX_DEPTH:
            self._deep = True
        else:
            self._stack.append(container)
            self._depth += 1

    def _enter_item(self, content: int) -> None:
        """A list item whose content starts at this column."""
        self._enter(content - self._base)
        self._base = content
        self._pending = False

    def _start_text(self) -> None:
        """The line goes on as text: of the open paragraph (lazily, if containers are unmatched) or of a new one."""
        if self._leaf != _PARAGRAPH:
            self._close(self._depth)
            self._leaf = _PARAGRAPH
        self._state = self._inline()

    def _inline(self) -> int:
        """The state that reads on inside the line."""
        if self._leaf in (_HTML, _HTML_END):
            return _RAW_LINE
        if self._unsure:
            return _REST
        if self._span:
            return _SPAN
        if self._tag:
            return _TAG if self._tag == ">" else _QUOTED
        return _TEXT

    def _open_fence(self) -> None:
        self._close(self._depth)
        self._leaf, self._fence_length, self._state = _FENCE, self._run, _REST

    def _tail_of_line(self) -> str:
        return "".join(self._line)[-REACH:]

    def _line_begins(self) -> tuple[int, str]:
        """The columns before the first character of the line, and that, "" where there is none yet."""
        return (self._blanks if self._first else self._column), self._first

    def _ordinary(self) -> bool:
        return self._markdown() in (None, "inline_code")

    def _end_line(self) -> None:
        state = self._state
        if self._rule and self._rule != "=" and self._rule_count >= 3:
            self._close(self._rule_depth)
        elif state == _MARKER or self._pending:
            self._end_marker()
        elif state == _PREFIX:
            if not (self._after_closer and self._leaf == _PARAGRAPH):
                self._end_blank()
        elif state == _RULE and self._underline:
            self._close(self._depth)
        elif state == _INFO or (state == _FENCE_RUN and self._run >= 3):
            self._open_fence()
        elif state == _CLOSING and self._run >= self._fence_length:
            self._leaf = _NONE
        elif state == _HASHES and self._run <= 6:
            self._close(self._depth)
        elif state == _TOKEN_START and self._token_flush and self._token.lower() in _RAW and self._sought is None:
            self._open_html()
            self._open(_RAW[self._token.lower()])
        elif state in _AT_END:
            _AT_END[state](self, "\n")
        if self._leaf in (_HEADING, _HTML_END):
            self._close(len(self._stack))
        if self.spans_end_with_lines:
            self._span, self._unsure = 0, False
        self._new_line()

    def _end_marker(self) -> None:
        """A list marker alone on its line: an empty item, which cannot interrupt a paragraph."""
        if not self._interrupts():
            self._enter_item((self._column if not self._pending else self._number) + 1)
            self._empty_item = not self._deep
        elif self._marker == "-":  # a setext underline
            self._close(self._depth)

    def _end_blank(self) -> None:
        """A blank line ends paragraphs and quotes, not list items, unless the item is still empty."""
        depth, stack = self._depth, self._stack
        while depth < len(stack) and stack[depth] != _QUOTE:
            depth += 1
        if self._empty_item and depth == len(stack):
            depth -= 1
        self._empty_item = False
        if depth < len(stack) or self._leaf not in (_FENCE, _HTML):
            self._close(depth)

    # -- one character, one state: True when it is read, False when the new state has to read it ---------------------

    def _read(self, text: str, at: int, end: int) -> int:
        """Read up to `end`, or up to where a closer is to be looked for."""
        sought, begin = self._sought, at
        while at < end and self._sought is sought:
            search = _SEARCH.get(self._state)
            if search is not None:
                match = search.search(text, at, end)
                if match is None:
                    at = end
                    break
                at = match.start()
            elif self._between_lines and (lines := _PLAIN_LINES.match(text, at, end)) is not None:
                begin = at = lines.end()
                self._leaf = _PARAGRAPH if lines[1] else _NONE  # as the last of them leaves it
                continue
            char = text[at]
            at += 1
            if char in "\r\n":
                if char == "\r" or not self._after_return:
                    self._note(text[begin : at - 1])
                    self._literals.line(self._tail_of_line(), *self._line_begins(), self._ordinary)
                    self._line.clear()
                    self._end_line()
                self._after_return = char == "\r"
                begin = at
                continue
            self._after_return = False
            if char == " " and self._state == _PREFIX:  # mostly one of many, before code
                first, at = at - 1, _past_spaces(text, at, end)
                self._indent_by(at - first)
                continue
            if (
                char == "<"
                and self._state in (_TEXT, _TAG)
                and at < end
                and _is_no_token(text[at - 1 : min(at + 2, end)])
            ):
                self._tag = ">" if _begins_tag(text[at]) else ""  # the shortest way of the commonest case
                self._state = _TAG if self._tag else _TEXT
                continue
            while not _STEPS[self._state](self, char):
                pass
        self._note(text[begin:at])
        return at

    @property
    def _between_lines(self) -> bool:
        """Whether a line begins here, outside all but paragraphs: nothing is open, and nothing is expected of it."""
        return (
            self._state == _PREFIX
            and not (self._column or self._first or self._stack or self._line or self._pending)
            and not (
                self._span or self._tag or self._unsure or self._element or self._after_closer or self._after_return
            )
            and self._leaf in (_NONE, _PARAGRAPH)
            and self._literals.quiet
        )

    def _prefix(self, char: str) -> bool:
        if char in " \t":
            self._indent_by(4 - self._column % 4 if char == "\t" else 1)
            return True
        blank, self._line_start, self._after_quote = self._line_start, False, False
        if not self._first:
            self._first, self._blanks = char, self._column
        if self._pending:
            self._enter_item(self._column if self._column - self._number <= 4 else self._number + 1)
        indent, matched = self._indent(), self._depth == len(self._stack)
        if char == ">" and indent <= 3 and not matched and self._stack[self._depth] == _QUOTE:
            self._depth += 1
            return self._quote_marker()
        self._empty_item = False
        if char != self._rule:
            self._rule = ""
        if self._leaf in (_FENCE, _HTML):
            if matched:
                closing = self._leaf == _FENCE and char == self._fence and indent <= 3
                self._run, self._underline = 0, 1
                self._state = _CLOSING if closing else _REST if self._leaf == _FENCE else _RAW_LINE
                return False
            self._close(self._depth)
        if indent >= 4 and self._leaf != _PARAGRAPH:
            self._close(self._depth)
            self._state = _RULE if self._rule else _CODE  # `- -      -` is a break, `- -      -a` is code
            return not self._rule
        if char in "<[":
            self._start_token(char, _TOKEN_START)
            self._token_blank, self._token_flush = blank, indent <= 3
            return True
        if indent >= 4:
            self._start_text()
            return False
        return self._start_block(char)

    def _indent_by(self, columns: int) -> None:
        """Blanks are at the start of the line; count the list items whose content offset they reach."""
        if self._after_quote:  # the blank after ">" belongs to it, of a tab one column
            self._base, self._after_quote = self._base + 1, False
        self._column += columns
        stack = self._stack
        if self._pending or self._depth >= len(stack):
            return
        while self._depth < len(stack) and 0 < stack[self._depth] <= self._indent():
            self._base += stack[self._depth]
            self._depth += 1

    def _quote_marker(self) -> bool:
        self._column += 1
        self._base = self._column
        self._after_quote = True
        return True

    def _start_block(self, char: str) -> bool:
        if char in "-*_" and char == self._rule:
            self._rule_count += 1
        else:
            self._rule, self._rule_count, self._rule_depth = char if char in "-*_=" else "", 1, self._depth
        self._underline = 1 if char in "-=" and self._interrupts() else 0
        self._run = 0
        if char == ">":
            self._enter(_QUOTE)
            return self._quote_marker()
        if char in "-*+":
            self._column += 1
            self._state, self._marker = _MARKER, char
            return True
        if char in "_=":
            self._start_text()
            self._state = _RULE
            return True
        if char in "`~":
            self._state, self._fence = _FENCE_RUN, char
        elif char == "#":
            self._state = _HASHES
        elif char in "0123456789":
            self._state, self._number = _DIGITS, 0
        else:
            self._start_text()
        return False

    def _after_marker(self, char: str) -> bool:
        if char in " \t":
            self._state, self._pending, self._number = _PREFIX, True, self._column
            return False
        self._start_text()
        if char == self._rule:
            self._state = _RULE
        else:
            self._rule = ""
        return False

    def _digits(self, char: str) -> bool:
        if char in "0123456789" and self._run < 9:
            self._run += 1
            self._number = self._number * 10 + int(char)
            self._column += 1
            return True
        if char in ".)" and (self._number == 1 or not self._interrupts()):
            self._column += 1
            self._state, self._marker = _MARKER, char
            return True
        self._start_text()
        return False

    def _rule_or_text(self, char: str) -> bool:
        """`_underline`: 1 an unbroken run so far, 2 the same and blanks after it, 0 no setext underline."""
        if char == self._rule:
            self._rule_count += 1
            self._underline = 1 if self._underline == 1 else 0
        elif char in " \t":
            self._underline = 2 if self._underline else 0
        else:
            self._rule, self._state = "", self._inline() if self._leaf == _PARAGRAPH else _CODE
            return False
        return True

    def _hashes(self, char: str) -> bool:
        if char == "#":
            self._run += 1
            return True
        if char in " \t" and self._run <= 6:
            self._close(self._depth)
            self._leaf, self._state = _HEADING, _TEXT
        else:
            self._start_text()
        return False

    def _fence_run(self, char: str) -> bool:
        if char == self._fence:
            self._run += 1
            return True
        if self._run < 3:
            self._start_text()
            if self._fence == "`":
                self._span = self._after_run(self._span)
                self._state = self._inline()
        elif self._fence == "~":
            self._open_fence()
        else:
            self._state = _INFO
        return False

    def _info(self, char: str) -> bool:
        """A backtick in the info string: the line was text, and its run opened inline code or closed it."""
        if char != "`":
            return True
        self._start_text()
        if self._span:  # closed or not, the info string was not read as inline text
            self._unsure = True
        else:
            self._span = self._run
        self._state = self._inline()
        return False

    def _closing(self, char: str) -> bool:
        """`_underline`: 1 in the run, 2 in the blanks after it."""
        if char == self._fence and self._underline == 1:
            self._run += 1
        elif char in " \t":
            self._underline = 2
        else:
            self._state = _REST
        return True

    # -- inside a line ---------------------------------------------------------------------------------------------

    def _after_run(self, span: int) -> int:
        """The open span after a run of `_run` backticks: it opens one, or closes the one of its own length."""
        return self._run if span == 0 else 0 if span == self._run else span

    def _text(self, char: str) -> bool:
        if char == "`":
            self._run, self._state = 0, _TICKS
            return False
        if char == "<":
            self._start_token(char, _TOKEN)
        elif char == "\\":
            self._state = _ESCAPE
        return True

    def _in_span(self, char: str) -> bool:
        if char != "`":
            return True
        self._run, self._state = 0, _TICKS
        return False

    def _raw_line(self, char: str) -> bool:
        if char == "<":
            self._start_token(char, _TOKEN)
        return True

    def _ticks(self, char: str) -> bool:
        if char == "`":
            self._run += 1
            return True
        self._span = self._after_run(self._span)
        self._state = self._inline()
        return False

    def _escape(self, char: str) -> bool:
        del char
        self._state = self._inline()
        return True

    def _in_tag(self, char: str) -> bool:
        """In what may be a tag: a backtick in a real one opens nothing, so from there on we do not know."""
        if char == "`":
            self._unsure = True
        elif char == "<":
            self._start_token(char, _TOKEN)
            return True
        elif char == ">" == self._tag:
            self._tag = ""
        elif self._tag == ">" and char in "\"'":
            self._tag = char
        elif char == self._tag:  # the end of the quoted attribute
            self._tag = ">"
        self._state = self._inline()
        return True

    def _rest(self, char: str) -> bool:
        del char  # the search stops at line ends only, but the state may be entered with a character in hand
        return True

    def _start_token(self, char: str, state: int) -> None:
        self._token, self._state = char, state
        self._token_blank = self._token_flush = False

    def _in_token(self, char: str) -> bool:
        token = self._token + char
        folded = token if token in _BEGINNINGS else token.lower()
        if folded not in _BEGINNINGS:
            self._end_token(char)
            return False
        self._token = token
        if folded in _TOKENS and not self._complete(token, folded):
            self._end_token("")
        return True

    def _complete(self, token: str, folded: str) -> bool:
        """Act on a whole token; False when it is mere text here."""
        if token == "<!--" and self._sought in (None, _COMMENT):
            if self._token_flush:
                self._open_html()
            elif self._state == _TOKEN_START:
                self._start_text()
            self._state = self._inline()
            if self._sought is None:
                self._open(_COMMENT, "--")  # `<!-->` is a whole comment
        elif self._sought is not None:
            return False
        elif folded in _RAW and self._token_flush:
            self._open_html()
            self._open(_RAW[folded])
        elif folded in _REASONING and self._token_blank:
            self._quoted = _QUOTE in (self._stack if self._leaf == _PARAGRAPH else self._stack[: self._depth])
            self._open(_REASONING[folded])
        elif token in _CLOSERS and self._token_blank:
            self._state, self._line_start, self._after_closer = _PREFIX, True, True
        else:
            return False
        return True

    def _open_html(self) -> None:
        self._close(self._depth)
        self._leaf, self._state = _HTML, _RAW_LINE

    def _end_token(self, char: str) -> None:
        """The token is text, `char` comes next ("" when it is whole); it may still begin a tag of any name."""
        if self._state == _TOKEN_START:
            self._start_text()
        if (folded := self._token.lower()) in _CODE_ENDS:
            self._element = self._element or (_CODE_ENDS[folded] if self._sought is None else "")
        elif folded == self._element:
            self._element = ""
        if self._token[0] == "<" and self._tag in ("", ">"):
            second = (self._token + char)[1:2]
            self._tag = ">" if _begins_tag(second) and self._token[-1] != ">" else ""
        self._state = self._inline()


def _past_spaces(text: str, at: int, end: int) -> int:
    """Where the first character from `at` on stands that is no space; `end` for none before it."""
    while at < end and text[at] == " ":
        at += 1
    return at


def _is_no_token(begins: str) -> bool:
    """Whether a `<` and what follows it, three characters if there are as many, begin no token."""
    if begins[1] not in _SECONDS:
        return True
    return len(begins) == 3 and begins not in _BEGINNINGS and begins.lower() not in _BEGINNINGS


def _begins_tag(second: str) -> bool:
    """Whether a `<` and this character may begin a tag."""
    return second.isalpha() or second in ("/", "!", "?")


type _Step = Callable[[Position, str], bool]
_STEPS: dict[int, _Step] = {
    _PREFIX: Position._prefix,
    _MARKER: Position._after_marker,
    _DIGITS: Position._digits,
    _HASHES: Position._hashes,
    _FENCE_RUN: Position._fence_run,
    _TOKEN_START: Position._in_token,
    _INFO: Position._info,
    _CLOSING: Position._closing,
    _RULE: Position._rule_or_text,
    _TOKEN: Position._in_token,
    _TICKS: Position._ticks,
    _ESCAPE: Position._escape,
    _TEXT: Position._text,
    _SPAN: Position._in_span,
    _TAG: Position._in_tag,
    _QUOTED: Position._in_tag,
    _RAW_LINE: Position._raw_line,
    _REST: Position._rest,
    _CODE: Position._rest,
}
# Undecided at the end of a line: a line end decides like any character that does not fit.
_AT_END: dict[int, _Step] = {
    state: _STEPS[state] for state in (_DIGITS, _HASHES, _FENCE_RUN, _TOKEN_START, _TOKEN, _TICKS)
}
