"""How tools hand on a text: in JSON, in HTML, in a diff, wrapped, with numbers or other signs before each line."""

import html
import json
import textwrap
from collections.abc import Callable


def _numbered(said: str) -> list[tuple[int, str]]:
    return list(enumerate(said.split("\n"), 1))


TOLD: dict[str, Callable[[str], str]] = {
    "JSON": lambda said: json.dumps({"output": said, "metadata": {"exit_code": 0}}),
    "JSON without escapes of letters": lambda said: json.dumps([{"type": "text", "text": said}], ensure_ascii=False),
    "lines of JSON": lambda said: f'{{"a": 1}}\n{json.dumps({"stdout": said})}',
    "JSON behind words": lambda said: f"The tool answered: {json.dumps(said)}, and that was all.",
    "JSON that was cut": lambda said: json.dumps({"output": said})[:-12],
    "JSON with escaped markup": lambda said: (
        json.dumps(said).replace("<", r"\u003c").replace(">", r"\u003E").replace("/", r"\/")
    ),
    "JSON in JSON": lambda said: json.dumps({"result": json.dumps({"text": said})}),
    "the words of Python": lambda said: repr({"out": said}),
    "cat -n": lambda said: "".join(f"{number:6}\t{line}\n" for number, line in _numbered(said)),
    "numbers and arrows": lambda said: "".join(f"{number:6}\u2192{line}\n" for number, line in _numbered(said)),
    "numbers and bars": lambda said: "".join(f"{number:05}| {line}\n" for number, line in _numbered(said)),
    "grep -n": lambda said: "".join(f"{number}:{line}\n" for number, line in _numbered(said)),
    "numbers in JSON": lambda said: json.dumps(
        {"content": "".join(f"{number:6}\t{line}\n" for number, line in _numbered(said))}
    ),
    "a diff": lambda said: "@@ -0,0 +1,9 @@\n" + "".join(f"+{line}\n" for line in said.split("\n")),
    "a quotation": lambda said: "".join(f"> {line}\n" for line in said.split("\n")),
    "HTML": lambda said: f"<p>{html.escape(said)}</p>",
    "an indented block": lambda said: "".join(f"    {line}\n" for line in said.split("\n")),
    "line ends of Windows": lambda said: said.replace("\n", "\r\n"),
    "blanks at the ends of lines": lambda said: said.replace("\n", " \t\n"),
    "line ends of old machines": lambda said: said.replace("\n", "\r"),
    "HTML in numbers": lambda said: said.replace("<", "&#60;").replace(">", "&#x3e;").replace('"', "&#34;"),
    "HTML twice": lambda said: html.escape(html.escape(said)),
    "HTML in JSON": lambda said: json.dumps({"o": html.escape(said)}),
    "JSON in HTML": lambda said: html.escape(json.dumps({"o": said})),
    "JSON in JSON in JSON": lambda said: json.dumps([json.dumps({"r": json.dumps({"o": said})})]),
    "JSON with line ends of Windows": lambda said: json.dumps({"o": said.replace("\n", "\r\n")}),
    "bytes of Python": lambda said: repr(said.encode()),
    "a row of CSV": lambda said: '1,"' + said.replace('"', '""') + '"',
    "wrapped lines": lambda said: "\n".join(
        textwrap.fill(line, 20, break_long_words=False, break_on_hyphens=False) for line in said.split("\n")
    ),
    "one line": lambda said: " ".join(said.split()),
    "twice as many lines": lambda said: said.replace("\n", "\n\n"),
    "a diff without its head": lambda said: "".join(f"+{line}\n" for line in said.split("\n")),
    "a diff in JSON": lambda said: json.dumps(
        {"o": "@@ -0,0 +1,9 @@\n" + "".join(f"+{line}\n" for line in said.split("\n"))}
    ),
    "a numbered diff": lambda said: (
        "   0\t@@ -1,9 +1,9 @@\n"
        + "".join(f"{number:4}\t{'+ '[number % 2]}{line}\n" for number, line in _numbered(said))
    ),
    "grep --color": lambda said: "".join(
        f"\x1b[35ma.md\x1b[m\x1b[36m:\x1b[m\x1b[32m{number}\x1b[m\x1b[36m:\x1b[m{line}\n"
        for number, line in _numbered(said)
    ),
    "colours": lambda said: "".join(f"\x1b[32m{line}\x1b[0m\n" for line in said.split("\n")),
}
# What tools write in front of each line, `#` for its number.
GUTTERS = {
    "nl": "    #  ", "dots": "#. ", "parentheses": "#) ", "brackets": "[#] ", "L": "L#: ", "a blank": "# ",
    "grep -rn": "docs/notes.md:#:", "context of grep": "#-", "context of grep -rn": "docs/no-tes.md-#-",
    "line comments": "// ", "Python's comments": "# ", "SQL's comments": "-- ", "TeX's comments": "%% ",
    "a block comment": " * ", "quotation by bars": "| ", "deeper quotation": "> > ", "a shell's prompt": "$ ",
    "dates": "2026-01-01T10:00:# ", "a log": "[10:00:#] INFO web-1 - ", "containers": "web-1  | ",
    "hard blanks": "\u00a0\u00a0", "marks of a diff": "+", "a box": " # \u2502 ", "arrows": "#\u2192", "tabs": "#\t\t",
}  # fmt: skip


def said_with(call: str) -> str:
    """A text in which a call stands, with other words around it."""
    return f"# notes\n\n{call}\n\nbye \U0001f44b\n"


def behind_gutters(gutter: str, text: str, first: int = 8) -> str:
    """A text with a gutter in front of each of its lines, numbered from `first`."""
    return "\n".join(gutter.replace("#", str(number)) + line for number, line in enumerate(text.split("\n"), first))
