r"""Backslashes in a JSON string that were meant as such: in a path of Windows, in a pattern.

Models forget to double them, and what is left may be an escape of JSON: `C:\temp\new`, `\bfoo\b and \d+`. Two things
say that none was meant. A string that begins as a path with a drive does, and is one to its end, holds no escape
(`path_end`). A string with an escape that JSON does not know was not written by a JSON encoder: its `\b` and `\f`,
which hardly any text has, are literal, and all others keep their meaning (`json_strings`).

What a name may hold: https://learn.microsoft.com/en-us/windows/win32/fileio/naming-a-file.
"""

import re

from toolcalls.values.json_tokens import ESCAPE

MOST_PATH = 300  # characters of a string that are held until it is known whether it is a path
MOST_HELD = 64 * 1024  # characters of a string that are held until it is known how its `\b` and `\f` were meant
UNDECIDED, NO_PATH = -1, -2

_FIRST_CODE = r"(?!\\u[0-9a-fA-F]{4})"  # a writer's escape: the text behind the drive is not written as it stands
# What is no name: the letter of an escape with a blank after it, or the whole of a line end's. That is text with line
# ends and tabs: `a:\n  b: 1\n`.
_ESCAPE_LETTER = r"(?![nrt]?[ ]|[nr][\\{quote}])"
_CHARACTER = r'[^\\/:*?"<>|\x00-\x1f{quote}]'
_PATHS = {
    quote: re.compile(rf"{_FIRST_CODE}(?:\\{_ESCAPE_LETTER}{_CHARACTER}++)++".replace("{quote}", quote))
    for quote in "\"'`"
}
_BEHIND = re.compile(r'[ \t\r\n]{0,64}+(?:[}\]]|,[ \t\r\n]{0,64}+"?)?')
_STRICT = re.compile(rf"(?:[^\\]|{ESCAPE})*+")
_LINES = re.compile(r"(?:\\n[^\\]*+)*+")
_NEXT_LINE = re.compile(r"\\n[^a-z]")  # a line that begins with a capital or a mark
_CONTROL_BEHIND_DRIVE = re.compile(r'("[A-Za-z]:)\\([bfnrt])')
_CODES = {"b": "0008", "f": "000c", "n": "000a", "r": "000d", "t": "0009"}


def path_end(text: str, at: int, quote: str) -> int:
    r"""Where the path ends that goes on at `at`, behind its drive and the colon, with a backslash.

    That is the place of the quote that closes the string. UNDECIDED: more text decides; NO_PATH: it is none.
    A backslash in front of a quote is the path's last character where the quote is followed by what follows a string.
    """
    found = _PATHS[quote].match(text, at)
    end = at if found is None else found.end()
    if end - at + 2 > MOST_PATH:
        return NO_PATH
    if end + 1 >= len(text) and (end == len(text) or text[end] == "\\"):
        return UNDECIDED
    if text[end] == quote:
        return NO_PATH if _has_lines(text[at:end]) else end
    if found is None or text[end] != "\\" or text[end + 1] != quote:
        return NO_PATH
    behind = _BEHIND.match(text, end + 2)
    follows = "" if behind is None else behind[0].strip()
    if follows in {"", ","}:
        return UNDECIDED if behind is not None and behind.end() == len(text) else NO_PATH
    return end + 1


def _has_lines(raw: str) -> bool:
    """Whether text that may be a path is rather text with line ends."""
    return _LINES.fullmatch(raw) is not None and _NEXT_LINE.search(raw) is not None


def is_json_content(raw: str) -> bool:
    """Whether the raw content of a string holds no backslash but those of JSON's escapes."""
    return _STRICT.fullmatch(raw) is not None


def without_drives(json: str) -> str:
    r"""JSON text whose strings are read as they are: none begins with a letter, a colon and the escape of a control
    character (`C:\t`), which a model's text has where a path was meant.
    """
    return _CONTROL_BEHIND_DRIVE.sub(lambda found: f"{found[1]}\\u{_CODES[found[2]]}", json) if ":\\" in json else json
