"""Lines of a view: fields with names, blocks, text whose hidden characters are seen, long values folded.

A view is YAML, since that is the one of mitmproxy's colourings (`syntax_highlight`) that tells names from text. Its
highlighter gives up after the first thing that is no YAML, so a value is quoted where it could be read as more than
text, and what people or models wrote is in a block of its own (`literal`).

mitmproxy asks for a view's text in the proxy's own loop, so nothing here is larger than what somebody would read: a
long text is shown from both of its ends, and what lies between is counted, not looked at. Nothing is cut silently.
"""

import json
import re
from collections.abc import Iterable, Iterator
from textwrap import wrap

import msgspec

from toolcalls.insight.formatting import counted
from toolcalls.insight.report import visible

_QUOTE = "'"
_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`~…=<")  # what a plain text of YAML may not begin with, and what looks so
_NAMES = 9  # characters of a name
_WIDTH = 58  # characters of a field's value in one line
_LINE = 2000  # characters of one line of a text
_WRAP = 76  # characters of a line of prose: mitmweb wraps nothing, and half of a browser's window holds about 80
_CODE = 70  # characters of a line of code or JSON, which are further to the right
_MORE = "↳ "  # before what goes on from the line above
_VALUE, _VALUE_END = 60, 10  # lines of the beginning and of the end of a long string in JSON
MAX_PRETTY = 64 * 1024  # characters of JSON that are laid out; longer JSON is shown as it came, folded

# A line of indented JSON that is a member or an item with a string in it: what comes before, the string, a comma.
_STRING_LINE = re.compile(r'( *+(?:"(?:[^"\\]|\\.)*+": )?+)("(?:[^"\\]|\\.)*+")(,?)')


def field(name: str, *values: str) -> Iterator[str]:
    """A few words with their name in front, in lines that fit half a browser's window, where nothing is wrapped.
    Each of several values begins a line.
    """
    texts = [" ".join(visible(value).split(" ")) for value in values]
    if any(map(_is_more_than_text, texts)):
        texts = [text.replace("'", "''") for text in texts]
        texts = [f"{'' if number else _QUOTE}{text}" for number, text in enumerate(texts)]
        texts[-1] += _QUOTE
    return _beside(name, [line for text in texts for line in wrap(text, _WIDTH) or [""]])


def title(text: str) -> str:
    """A line that names what follows it."""
    return f"{quoted(visible(text))}:"


def quoted(text: str) -> str:
    """A value on one line, already visible."""
    return f"'{text.replace(_QUOTE, _QUOTE * 2)}'" if _is_more_than_text(text) else text


def remark(text: str) -> str:
    """A line that belongs to nothing."""
    return f"# {visible(text)}"


def data(name: str, lines: Iterable[str]) -> Iterator[str]:
    """JSON that is laid out (`pretty`), already visible, with a name in front of its first line. What is not whole, or
    is shown with bars, is a text.
    """
    known = list(lines)
    whole = known[0][:1] + known[-1].rstrip()[-1:] in {"{}", "[]"} if known else False
    if whole and not any(line.lstrip().startswith(("│", "…")) for line in known):
        return _beside(name, wrapped(known, _CODE))
    return literal(name, known)


def literal(name: str, lines: Iterable[str], *, width: int = _CODE) -> Iterator[str]:
    """A text's lines, already visible, below their name; very long ones as several."""
    return below(f"  {name}:{' ' * (_NAMES - len(name))}", 6, wrapped(lines, width))


def below(before: str, indent: int, lines: Iterable[str]) -> Iterator[str]:
    """Lines below a line that ends with a colon, further to the right. YAML needs to know by how much where the first
    line itself begins with a blank.
    """
    known = list(lines)
    first = next((line for line in known if line.strip()), "")
    outer = len(before) - len(before.lstrip(" "))
    yield f"{before} |{indent - outer}" if first[:1].isspace() else f"{before} |"
    yield from (f"{' ' * indent}{line}" if line.strip() else "" for line in known)


def _beside(name: str, lines: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield f"  {'' if number else f'{name}:':<{_NAMES + 1}} {line}".rstrip(" ")


def _is_more_than_text(text: str) -> bool:
    """Whether YAML would read something else than a text that goes on to the end."""
    return not text or text[0] in _INDICATORS or text[-1] == ":" or ": " in text or " #" in text or text != text.strip()


def clipped(text: str, width: int) -> str:
    """The beginning of one line, visible, and how much more there is."""
    if len(text) <= width:
        return visible(text)
    return f"{visible(text[:width])} … {len(text) - width:,} more"


def shown(text: str) -> Iterator[str]:
    """Lines that show what they hold. Tabs stay: in code they are seen, and hide nothing."""
    return (_visible_line(line.removesuffix("\r")) for line in text.split("\n"))


def _visible_line(line: str) -> str:
    rest = f" … {len(line) - _LINE:,} more" if len(line) > _LINE else ""
    return "\t".join(visible(part) for part in line[:_LINE].split("\t")) + rest


def folded(text: str, *, lines: int = 400, tail: int = 40, size: int = 32 * 1024) -> Iterator[str]:
    """A text's lines. Of one that is longer than `lines` or `size` characters, `tail` lines of its end as well."""
    first = _beginning(text[:size], lines)
    if len(first) == len(text):
        yield from shown(text)
        return
    last = _end(text[max(len(first), len(text) - size // 4) :], tail)
    between = len(text) - len(first) - len(last)
    yield from shown(first.removesuffix("\n"))
    if between:
        yield f"… {counted(between, 'character')} left out …"
    if last:
        yield from shown(last)


def _beginning(text: str, lines: int) -> str:
    at = -1
    for _ in range(lines):
        at = text.find("\n", at + 1)
        if at < 0:
            return text
    return text[: at + 1]


def _end(text: str, lines: int) -> str:
    at = len(text)
    for _ in range(lines):
        at = text.rfind("\n", 0, at)
        if at < 0:
            return text
    return text[at + 1 :]


def wrapped(lines: Iterable[str], width: int = _WRAP) -> Iterator[str]:
    """Lines, long ones as several: cut after a space, each but the first with a `↳` before it."""
    for line in lines:
        start, mark = 0, ""
        while len(line) - start > width:
            space = line.rfind(" ", start + width // 2, start + width)
            end = start + width if space < 0 else space + 1
            yield mark + line[start:end]
            start, mark = end, _MORE
        yield mark + line[start:]


def shortened(text: str, lines: int, width: int) -> Iterator[str]:
    """The beginning of a text, and how much more there is."""
    split = text.split("\n", lines)
    for line in split[:lines]:
        yield from shown(line) if len(line) <= width else (clipped(line, width),)
    if len(split) > lines:
        yield f"… {counted(split[-1].count(chr(10)) + 1, 'more line')}"


def pretty(arguments: str) -> list[str]:
    """JSON with indentation and nothing else changed, no number and no key; what is not whole stays as it is.

    A string of more than one line, as of a file's content, is shown as these lines, each after a bar.
    """
    if len(arguments) > MAX_PRETTY:
        return list(folded(arguments, size=4096))
    try:
        laid_out = msgspec.json.format(arguments.encode(), indent=2).decode()
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return list(shown(arguments))
    out: list[str] = []
    for line in laid_out.split("\n"):
        found = _STRING_LINE.fullmatch(line)
        if found is None or "\\n" not in found[2] or "\n" not in (value := str(json.loads(found[2]))):
            out += shown(line)
            continue
        before = found[1].rstrip(" ") or found[1] + "-"
        bar = " " * (len(found[1]) - len(found[1].lstrip(" ")) + 2) + "│ "
        count = value.count("\n") + 1
        length = f"  ({counted(count, 'line')}, {counted(len(value), 'character')})" if count > 20 else ""
        out.append(visible(before) + length)
        width = max(_CODE - len(bar), _WIDTH)  # JSON may be nested deeper than a line is wide
        out += [bar + one for one in wrapped(map(_visible_line, _folded_value(value)), width)]
    return out


def _folded_value(value: str) -> Iterator[str]:
    """The lines of a long string, raw: the beginning, what is left out, the end."""
    lines = value.split("\n")
    if len(lines) <= _VALUE + _VALUE_END:
        yield from lines
        return
    yield from lines[:_VALUE]
    yield f"… {counted(len(lines) - _VALUE - _VALUE_END, 'line')} left out …"
    yield from lines[-_VALUE_END:]
