"""How a line begins: its containers and markers, and the block that it starts. One function for each state.

A step reads one character. It returns False where the next state has to read that character.
"""

from toolcalls.text.markdown import states
from toolcalls.text.markdown.blocks import FENCE, HEADING, HTML, PARAGRAPH, QUOTE
from toolcalls.text.markdown.line import Line


def prefix(line: Line, char: str) -> bool:
    blocks = line.blocks
    if char in " \t":
        blocks.indent_by(4 - blocks.column % 4 if char == "\t" else 1)
        return True
    blank, line.line_start, blocks.after_quote = line.line_start, False, False
    if not line.first:
        line.first, line.blanks = char, blocks.column
    if blocks.marker_end:
        blocks.enter_item(blocks.item_content)
    indent, matched = blocks.column - blocks.base, blocks.depth == len(blocks.stack)
    if char == ">" and indent <= 3 and not matched and blocks.stack[blocks.depth] == QUOTE:
        blocks.depth += 1
        blocks.quote_marker()
        return True
    blocks.empty_item = False
    if char != line.rule.char:
        line.rule.char = ""
    if blocks.leaf in (FENCE, HTML):
        if matched:
            closing = blocks.leaf == FENCE and char == blocks.fence and indent <= 3
            line.run = 0
            line.state = states.CLOSING if closing else states.REST if blocks.leaf == FENCE else states.RAW_LINE
            return False
        blocks.close(blocks.depth)
    if indent >= 4 and blocks.leaf != PARAGRAPH:
        blocks.close(blocks.depth)
        line.state = states.RULE if line.rule.char else states.CODE  # `- -      -` is a break, `- -      -a` is code
        return not line.rule.char
    if char in "<[":
        line.start_token(char, states.TOKEN_START)
        line.token.blank, line.token.flush = blank, indent <= 3
        return True
    if indent >= 4:
        line.start_text()
        return False
    return _start_block(line, char)


def _start_block(line: Line, char: str) -> bool:
    blocks, rule = line.blocks, line.rule
    if char in "-*_" and char == rule.char:
        rule.count += 1
    else:
        rule.char, rule.count, rule.depth = char if char in "-*_=" else "", 1, blocks.depth
    rule.underline = 1 if char in "-=" and blocks.interrupts() else 0
    line.run = 0
    if char == ">":
        blocks.enter(QUOTE)
        blocks.quote_marker()
        return True
    if char in "-*+":
        blocks.column += 1
        line.state, line.marker = states.MARKER, char
        return True
    if char in "_=":
        line.start_text()
        line.state = states.RULE
        return True
    if char in "`~":
        line.state, blocks.fence = states.FENCE_RUN, char
    elif char == "#":
        line.state = states.HASHES
    elif char in "0123456789":
        line.state, line.number = states.DIGITS, 0
    else:
        line.start_text()
    return False


def after_marker(line: Line, char: str) -> bool:
    if char in " \t":
        line.state, line.blocks.marker_end = states.PREFIX, line.blocks.column
        return False
    line.start_text()
    if char == line.rule.char:
        line.state = states.RULE
    else:
        line.rule.char = ""
    return False


def digits(line: Line, char: str) -> bool:
    if char in "0123456789" and line.run < 9:
        line.run += 1
        line.number = line.number * 10 + int(char)
        line.blocks.column += 1
        return True
    if char in ".)" and (line.number == 1 or not line.blocks.interrupts()):
        line.blocks.column += 1
        line.state, line.marker = states.MARKER, char
        return True
    line.start_text()
    return False


def rule_or_text(line: Line, char: str) -> bool:
    rule = line.rule
    if char == rule.char:
        rule.count += 1
        rule.underline = 1 if rule.underline == 1 else 0
    elif char in " \t":
        rule.underline = 2 if rule.underline else 0
    else:
        rule.char, line.state = "", line.inside() if line.blocks.leaf == PARAGRAPH else states.CODE
        return False
    return True


def hashes(line: Line, char: str) -> bool:
    if char == "#":
        line.run += 1
        return True
    if char in " \t" and line.run <= 6:
        line.blocks.start(HEADING)
        line.state = states.TEXT
    else:
        line.start_text()
    return False


def fence_run(line: Line, char: str) -> bool:
    blocks = line.blocks
    if char == blocks.fence:
        line.run += 1
        return True
    if line.run < 3:
        line.start_text()
        if blocks.fence == "`":
            line.end_ticks()
    elif blocks.fence == "~":
        blocks.start_fence(line.run)
        line.state = states.REST
    else:
        line.state = states.INFO
    return False


def info(line: Line, char: str) -> bool:
    """A backtick in the info string: the line was text, and its run opened inline code or closed it."""
    if char != "`":
        return True
    line.start_text()
    inline = line.blocks.inline
    if inline.span:  # closed or not, the info string was not read as inline text
        inline.unsure = True
    else:
        inline.span = line.run
    line.state = line.inside()
    return False


def closing(line: Line, char: str) -> bool:
    """In what may close the fence: its run, and blanks."""
    if char == line.blocks.fence and line.state == states.CLOSING:
        line.run += 1
    elif char in " \t":
        line.state = states.CLOSING_BLANKS
    else:
        line.state = states.REST
    return True
