"""How a line is read inside: backticks, escapes, tags, and the tokens that open or end a quotation.

A step reads one character. It returns False where the next state has to read that character.
"""

from toolcalls.text.markdown.blocks import PARAGRAPH, QUOTE
from toolcalls.text.markdown.closers import COMMENT, RAW, REASONING
from toolcalls.text.markdown.inline import begins_tag
from toolcalls.text.markdown.line import Line
from toolcalls.text.markdown.states import ESCAPE, PREFIX, TICKS, TOKEN, TOKEN_START
from toolcalls.text.markdown.tokens import BEGINNINGS, CLOSERS, CODE_ENDS, TOKENS


def in_text(line: Line, char: str) -> bool:
    if char == "`":
        line.run, line.state = 0, TICKS
        return False
    if char == "<":
        line.start_token(char, TOKEN)
    elif char == "\\":
        line.state = ESCAPE
    return True


def in_span(line: Line, char: str) -> bool:
    if char != "`":
        return True
    line.run, line.state = 0, TICKS
    return False


def raw_line(line: Line, char: str) -> bool:
    if char == "<":
        line.start_token(char, TOKEN)
    return True


def ticks(line: Line, char: str) -> bool:
    if char == "`":
        line.run += 1
        return True
    line.end_ticks()
    return False


def escape(line: Line, char: str) -> bool:
    del char
    line.state = line.inside()
    return True


def in_tag(line: Line, char: str) -> bool:
    if char == "<":
        line.start_token(char, TOKEN)
    else:
        line.blocks.inline.in_tag(char)
        line.state = line.inside()
    return True


def rest(line: Line, char: str) -> bool:
    del line, char  # the search stops at line ends only, but the state may be entered with a character in hand
    return True


def in_token(line: Line, char: str) -> bool:
    token = line.token.text + char
    folded = token if token in BEGINNINGS else token.lower()
    if folded not in BEGINNINGS:
        _end_token(line, char)
        return False
    line.token.text = token
    if folded in TOKENS and not _complete(line, token, folded):
        _end_token(line, "")
    return True


def _complete(line: Line, token: str, folded: str) -> bool:
    """Act on a whole token; False when it is mere text here."""
    awaited, blank, flush = line.awaited, line.token.blank, line.token.flush
    if token == "<!--" and awaited.closer in (None, COMMENT):
        if flush:
            line.start_html()
        elif line.state == TOKEN_START:
            line.start_text()
        line.state = line.inside()
        if awaited.closer is None:
            awaited.look_for(COMMENT, "--")  # `<!-->` is a whole comment
    elif awaited.closer is not None:
        return False
    elif folded in RAW and flush:
        line.start_html()
        awaited.look_for(RAW[folded])
    elif folded in REASONING and blank:
        blocks = line.blocks
        line.quoted = QUOTE in (blocks.stack if blocks.leaf == PARAGRAPH else blocks.stack[: blocks.depth])
        awaited.look_for(REASONING[folded])
    elif token in CLOSERS and blank:
        line.state, line.line_start, line.after_closer = PREFIX, True, True
    else:
        return False
    return True


def _end_token(line: Line, char: str) -> None:
    """The token is text, `char` comes next ("" when it is whole); it may still begin a tag of any name."""
    if line.state == TOKEN_START:
        line.start_text()
    inline, token = line.blocks.inline, line.token.text
    if (folded := token.lower()) in CODE_ENDS:
        inline.element = inline.element or (CODE_ENDS[folded] if line.awaited.closer is None else "")
    elif folded == inline.element:
        inline.element = ""
    if token[0] == "<" and inline.tag in ("", ">"):
        second = (token + char)[1:2]
        inline.tag = ">" if begins_tag(second) and token[-1] != ">" else ""
    line.state = line.inside()
