"""Counts, times and texts as people read them, in mitmproxy's views and on the page."""

from html import escape

from toolcalls.insight.report import visible, visible_lines
from toolcalls.values.usage import Tokens


def counted(count: int, word: str) -> str:
    """`1 call`, `2,345 calls`, `2 replies`."""
    if count == 1:
        return f"1 {word}"
    return f"{count:,} {word[:-1]}ies" if word.endswith("y") else f"{count:,} {word}s"


def duration(seconds: float | None) -> str:
    """A time that people can read: 4 ms, 0.42 s, 12 s, 3 min 4 s."""
    if seconds is None:
        return "not known"
    if 0 < seconds < 0.1:
        return f"{max(1, round(seconds * 1000))} ms"
    if seconds < 10:
        return f"{seconds:.2f} s" if seconds else "0 s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def token_counts(tokens: Tokens) -> str:
    """What was counted: `812 in (128 cached), 41 out (12 reasoning)`; "" for nothing."""
    if tokens.input is None and tokens.output is None:
        return ""
    cached = f" ({tokens.cached:,} cached)" if tokens.cached else ""
    reasoning = f" ({tokens.reasoning:,} reasoning)" if tokens.reasoning else ""
    return f"{_number(tokens.input)} in{cached}, {_number(tokens.output)} out{reasoning}"


def _number(count: int | None) -> str:
    return "?" if count is None else f"{count:,}"


def percent(rate: float) -> str:
    """A share of 0 to 1: `42%`, and `0.3%` where whole numbers would say none or all."""
    return f"{100 * rate:.0f}%" if rate in {0.0, 1.0} or 0.01 <= rate <= 0.99 else f"{100 * rate:.1f}%"


def escaped(value: object) -> str:
    """Text from anywhere, safe between tags and in quoted attributes."""
    return escape(visible(str(value)))


def escaped_lines(text: str) -> str:
    """Text of several lines, as `escaped`; tabs and line ends stay."""
    return escape(visible_lines(text))


_LINES, _WIDTH = 14, 45  # of a block in a narrow window, from which on it may scroll


def preformatted(html: str, text: str, kind: str = "") -> str:
    """A block that keeps its lines. `html` is `text` as it is shown. One that may scroll can be reached by keyboard."""
    scrolls = text.count("\n") + len(text) / _WIDTH > _LINES
    named = f' class="{kind}"' if kind else ""
    return f"<pre{named}{' tabindex="0"' if scrolls else ''}>{html}</pre>"
