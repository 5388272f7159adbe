"""Blocks that notations other than Markdown mark as literal text: heredocs, strings over lines, RST, LaTeX, diffs, ...

A model that shows a file without a fence shows its marks. What is between them is the file's, as in a fence. Only
marks that say so by themselves count, and that a sentence, a heading or a rule would not hold at this place: a line of
dashes is no AsciiDoc unless a line with `[source]` comes before it.

Strategy: whole lines are looked at, as they end; of one longer than `REACH` its last characters. A block ends with its
closing mark, or, where indentation marks it, before the first line that is not indented. An open one lasts to the end,
as an open fence does.

A conversation in which both sides speak, recognised by labels at the start of lines (`User:`, then `Assistant:`),
is shown and not meant either: nothing in it is the reply's own from its assistant's first turn on.
"""

import re
from collections.abc import Callable

REACH = 256  # characters of a line that are looked at

# A mark at the start of a line, and what ends the block in a later line; `\g<1>` is what the first group held.
_PAIRS: tuple[tuple[str, str], ...] = (
    (r"\\begin\{((?:[BL]?[vV]erbatim|lstlisting|minted|alltt|comment|filecontents)\*?)\}", r"\\end\{\g<1>\}"),
    (r"(?i:#\+begin_([a-z]+))", r"(?i:^\s*#\+end_\g<1>\b)"),  # Org
    (r"\.(EX|nf)\s*$", r"^\.(?:EE|fi)\b"),  # roff
    (r"\{(code|noformat|quote)(?::[^{}]*)?\}\s*$", r"\{\g<1>\}"),  # Jira
    (r"(?i:\[(code|quote|pre)(?:=[^\[\]]*)?\])(?!:)(?!.*\[/)", r"(?i:\[/\g<1>\])"),  # BBCode
    (r"=(pod|begin\b.*|for\b.*)\s*$", r"^=(?:cut|end)\b"),  # POD
    (r"(/{4,}|\+{4,})\s*$", r"^\g<1>\s*$"),  # AsciiDoc's comments and passthroughs
    (r"/\*+(?=\s|$)(?!.*\*/)", r"\*/"),
    (r"(<{7})(?:\s|$)", r"^>{7}(?:\s|$)"),  # what a merge left open, and edits in its form
    # Results of tools and files, as prompts and transcripts hold them; a tag that closes itself holds nothing.
    (r"<((?:tool|function)_(?:result|response)s?)(?:\s[^<>]*)?(?<!/)>(?!.*</\1>)", r"</\g<1>>"),
    (r"<(file)\s+(?:path|name|src|filename)=[^<>]*(?<!/)>(?!.*</\1>)", r"</\g<1>>"),
)
# Where the mark is at the end of a line, or nearly.
_HEREDOC = re.compile(r"<<<?[-~]?(?:\s?(['\"])([A-Za-z_]\w*)\1|([A-Z_][A-Z0-9_]+))\s*(?:$|[>|&;)])")
_STRING = re.compile(r"(?:^\s*|[=(\[{,:]\s*|\breturn\s+)[rbfsuRBFU$#]{0,3}(\"\"\"|''')")
# Strings that only say at their end how they are closed: what opens one, and the closer of what it held.
_STRINGS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(opener), closer)
    for opener, closer in (
        (r"(?:^\s*|[=(\[{,:]\s*|\breturn\s+)[bc]?r(#*)\"(?!.*\"\1)", r"\"\g<1>"),  # Rust
        (r"\b(?:u8|[uUL])?R\"([^\s()\\\"]{0,16})\((?!.*\)\1\")", r"\)\g<1>\""),  # C++
        (r"(?:[=(\[{,]\s*|\breturn\s+)(?:\$@|@\$?)\"(?:[^\"]|\"\")*$", r"^(?:[^\"]|\"\")*\"(?!\")"),  # C#
        (r"(?:^\s*|[=(\s,])@(['\"])\s*$", r"^\g<1>@"),  # PowerShell
        (r"(?i:\b(?:as|do)\s+)(\$[A-Za-z_]*\$)\s*$", r"\g<1>"),  # PostgreSQL
        (
            r"^\s*(?i:(?:insert|values)\b.*[(,]\s*|(?:update|set|where|and|or)\b.*(?:=|\blike\b)\s*|select\s+)'(?:[^']|'')*$",
            r"^(?:[^']|'')*'(?!')",
        ),  # SQL
        (r"[=(,]\s*([\"'])\s*$", r"\g<1>"),  # a string that goes on below
    )
)
_TEMPLATE = re.compile(r"(?:[=(\[,:?]|\breturn|=>)\s*`\s*$")
_ATTRIBUTES = re.compile(r"\[(?:source|listing|literal|example|quote|verse|stem|subs)\b[^\[\]]*\]\s*$")
_TITLE = re.compile(r"\.[^\s.].*$")
_DELIMITER = re.compile(r"(-{2,}|={4,}|\.{4,}|_{4,}|\*{4,}|\+{4,}|`{3,})\s*$")
# After these a block is what is indented: RST's literals and directives, YAML's block scalars, footnotes of Markdown.
_INDENTED = re.compile(
    r"[ \t]*(?:(?:.*[^\s:])?::|\.\. [\w:-]+::.*|(?:- )*[\w.\"'/-]+:\s+[|>][+-]?[0-9]?[+-]?(?:\s+#.*)?"
    r"|\[\^[^\[\]]{1,80}\]:.*)\s*$"
)
_HUNK = re.compile(r"@@ -[0-9,]+ \+[0-9,]+ @@")
_BLANK = " \t"
# What a line that opens such a block has at its start or its end, or in it; all others are excluded at once.
_FIRST = frozenset("\\#.{[=/+@")
_MARKS = frozenset("\\#.{[=/+<")  # what a mark of `_PAIRS` begins with
_MANY_QUOTES = re.compile(r"\"\"\"|'''")
_QUOTING = re.compile(r"[\"'$]")  # what is in the opener of each of `_STRINGS`
_LAST = frozenset(":|>+-`$")
_INSIDE = re.compile(r"<<|\"\"\"|'''|: [|>]")
_QUOTE = re.compile(r"[\"'](?:(?<=[rR#@$].)|(?<=[=(,\s]')|\s*$)")  # one that may open a string over lines
_TAGS = ("<<<<<<<", "<tool_", "<function_", "<file")
# Labels of whose turn it is, in a conversation that is shown as text.
_USERS, _ASSISTANTS = "User|USER|Human|HUMAN", "Assistant|ASSISTANT|AI|Bot|Model|Claude|ChatGPT"
NAMED_TURNS = f"(?:{_USERS}|{_ASSISTANTS})"  # how a label begins that begins with a letter
_USER, _ASSISTANT = (
    re.compile(
        rf"\s*(?:(?:\*\*|__|\[)?(?:{names})(?:\*\*|__|\])?\s?:|#{{1,6}}\s+(?:{names})\b\s*:?\s*$"
        rf"|<\|im_start\|>{token}\b|<\|start_header_id\|>{token}\b|<start_of_turn>{token}\b)"
    )
    for names, token in (
        (_USERS, "user"),
        (_ASSISTANTS, "(?:assistant|model)"),
    )
)
_LABELS = frozenset("UHABMC*_[#<")
_OPENERS = tuple((re.compile(opener), closer) for opener, closer in _PAIRS)


class LiteralBlocks:
    """Whether a place is in such a block."""

    __slots__ = ("_asked", "_attributes", "_closer", "_hunk", "_margin", "conversation")

    def __init__(self) -> None:
        self._closer: re.Pattern[str] | None = None  # finds what ends the open block, in a line
        self._margin: int | None = None  # columns of white space before the line that opened an indented block
        self._hunk = False  # it is one of a diff
        self._attributes = False  # the line before says what the next block is
        self._asked = False  # a line began with a user's label
        self.conversation = False  # and a later one with an assistant's: what follows is one that is shown

    def copy(self) -> "LiteralBlocks":
        """The same, to go on from there with other lines."""
        made = LiteralBlocks()
        for field in self.__slots__:
            setattr(made, field, getattr(self, field))
        return made

    @property
    def open(self) -> bool:
        """Whether a block is open that only its closing mark ends."""
        return self._closer is not None

    @property
    def quiet(self) -> bool:
        """Whether no block is open, and the line before announces none."""
        return self._closer is None and self._margin is None and not self._attributes

    def line(self, line: str, blanks: int, first: str, plain: Callable[[], bool]) -> None:
        """A line ended: its text, of a long one the last REACH characters, and what it began with (see `holds`).

        plain   whether it was ordinary text, so that a mark in it is one
        """
        if self._closer is not None:
            if self._closer.search(line) is not None:
                self._closer = None
            return
        if not first:
            return
        if self._margin is not None:
            if self.holds(blanks, first):
                return
            self._margin = None
        attributes, self._attributes = self._attributes, False
        if first in _LABELS and not self.conversation:
            self._turn(line, plain)
        stripped = line.strip(_BLANK)
        if len(line) == REACH or not stripped:
            return
        if (attributes or _may_open(line, stripped, first)) and plain():
            self._open(line, stripped, blanks, attributes=attributes)

    def holds(self, blanks: int, first: str) -> bool:
        """Whether a place is literal in a line that begins with `first` after so many columns of white space."""
        if self._closer is not None:
            return True
        if self._margin is None:
            return False
        return blanks > self._margin or (self._hunk and first in {"+", "-", "\\"})

    def _turn(self, line: str, plain: Callable[[], bool]) -> None:
        """Note whose turn in a conversation a line begins."""
        if not self._asked:
            self._asked = _USER.match(line) is not None and plain()
        elif _ASSISTANT.match(line) is not None and plain():
            self.conversation = True

    def answers(self, line: str) -> bool:
        """Whether a conversation is shown in which this line, as far as it has come, is the assistant's."""
        return self._asked and line[:1] != "" and _ASSISTANT.match(line) is not None

    def _open(self, line: str, stripped: str, blanks: int, *, attributes: bool) -> None:
        """Note the block that this line opens, if it opens one."""
        if attributes:
            if (found := _DELIMITER.match(stripped)) is not None:
                self._closer = re.compile(rf"^{re.escape(found[1])}\s*$")
            else:
                self._attributes = _TITLE.match(stripped) is not None
            return
        for opener, closer in _OPENERS if stripped[0] in _MARKS else ():
            if (found := opener.match(stripped)) is not None:
                self._closer = re.compile(closer.replace(r"\g<1>", re.escape(found[1]) if found.re.groups else ""))
                return
        if "<<" in line and (found := _HEREDOC.search(line)) is not None:
            self._closer = re.compile(rf"^\s*{found[2] or found[3]}\b")
        elif (
            _MANY_QUOTES.search(line) is not None
            and (found := _STRING.search(line)) is not None
            and line.count(found[1]) % 2
        ):
            self._closer = re.compile(found[1])
        elif _QUOTING.search(line) is not None and (string := _string_of(line)) is not None:
            self._closer = string
        elif line.count("`") % 2 and _TEMPLATE.search(line) is not None:
            self._closer = re.compile("`")
        elif _HUNK.match(line) is not None or (":" in line and _INDENTED.match(line) is not None):
            self._hunk = line[0] == "@"
            self._margin = blanks
        else:
            self._attributes = _ATTRIBUTES.match(stripped) is not None


def _may_open(line: str, stripped: str, first: str) -> bool:
    """Whether a line may open a block; nearly all others are excluded here."""
    if first == "<" and stripped[-1] == ">":  # a line of HTML, mostly
        return stripped.startswith(_TAGS)
    if first in _FIRST or stripped[-1] in _LAST or _INSIDE.search(line) is not None:
        return True
    if first == "<" and stripped.startswith(_TAGS):
        return True
    return ('"' in line or "'" in line) and _QUOTE.search(line) is not None


def _string_of(line: str) -> re.Pattern[str] | None:
    """What closes the string that a line opens; None where it opens none."""
    for opener, closer in _STRINGS:
        if (found := opener.search(line)) is not None:
            return re.compile(closer.replace(r"\g<1>", re.escape(found[1]) if found.re.groups else ""))
    return None
