"""Results that a model repeats in another form than the one in which they stand: in every dialect, an echo.

Strategy. A result holds a call of each dialect in each form (`FORMS`), and the reply repeats it plain; where the reply
may have the form as well (colours, no-break spaces), also the other way round. Each is read whole and in pieces. The
controls are replies that call something else, against the same results: they are lifted, so nothing was taken for an
echo that is none. Then what is read in pieces is what is read whole, and in time.
"""

import html
import json
import re
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.growth import grows_with_its_input
from support.quoting import DIALECTS, TOOLS, written
from support.sampling import a_few, examples, smaller, some
from toolcalls.events import Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request
from toolcalls.route import Route
from toolcalls.shapes import Call
from toolcalls.text import echo
from toolcalls.text.echo import EchoIndex
from toolcalls.text.echo_forms import (
    Bare,
    Canonical,
    bare,
    canonical,
    joined_literals,
    line_prefixes,
    literal_quotes,
    readings,
    without_prefixes,
    words_of,
)
from toolcalls.text.request_text import RequestText


def command(text: str) -> Call:
    return Call("run_shell", json.dumps({"command": text}))


SIMPLE, OTHER = command("rm -rf build"), command("rm -rf other")
LINES = command("cd \"a b\"\nrm -rf 'build' \\n `x`\n")
OTHER_LINES = command("cd \"a b\"\nrm -rf 'bulid' \\n `x`\n")


def double(line: str) -> str:
    return json.dumps(line, ensure_ascii=False)


def single(line: str) -> str:
    return "'" + line.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def template(line: str) -> str:
    return "`" + line.replace("\\", "\\\\").replace("`", "\\`").replace("${", "\\${") + "\\n`"


def each(before: str, behind: str, write: Callable[[str], str] = double, end: str = "\n") -> Callable[[str], str]:
    """Each line as a string of a program, with this before and after it."""
    return lambda text: "".join(f"{before}{write(line + end)}{behind}\n" for line in text.split("\n"))


def cells(text: str, indent: int | None = 1) -> str:
    """A notebook with this text in a cell (nbformat 4: `source` is a list of lines)."""
    source = [f"{line}\n" for line in text.split("\n")]
    return json.dumps({"cells": [{"cell_type": "code", "metadata": {}, "source": source}]}, indent=indent)


def numbered(text: str) -> str:
    return "".join(f"{number:6}\t{line}\n" for number, line in enumerate(text.split("\n"), 1))


def coloured(text: str) -> str:
    """What `grep --color` does to what it looked for."""
    return text.replace("rm", "\x1b[01;31m\x1b[Krm\x1b[m\x1b[K")


def with_places(text: str, name: str = "") -> str:
    """`grep -n --color`, and `grep -rn --color` with a file's name."""
    colon = "\x1b[36m\x1b[K:\x1b[m\x1b[K"
    where = f"\x1b[35m\x1b[K{name}\x1b[m\x1b[K{colon}" if name else ""
    return "".join(
        f"{where}\x1b[32m\x1b[K{number}\x1b[m\x1b[K{colon}{coloured(line)}\n"
        for number, line in enumerate(text.split("\n"), 1)
    )


def ripgrep(text: str) -> str:
    found = text.replace("rm", "\x1b[0m\x1b[1m\x1b[31mrm\x1b[0m")
    return "".join(f"\x1b[0m\x1b[32m{number}\x1b[0m:{line}\n" for number, line in enumerate(found.split("\n"), 1))


def page(text: str, before: str, behind: str) -> str:
    """A page with the text escaped, and elements around each line."""
    return "".join(f"{before}{html.escape(line)}{behind}\n" for line in text.split("\n"))


def boxed(text: str) -> str:
    width = max(map(len, text.split("\n")))
    lines = "".join(f"\u2502 {line.ljust(width)} \u2502\n" for line in text.split("\n"))
    return f"\u250c{'\u2500' * (width + 2)}\u2510\n{lines}\u2514{'\u2500' * (width + 2)}\u2518\n"


def log(text: str) -> str:
    return "".join(json.dumps({"ts": number, "msg": line}) + "\n" for number, line in enumerate(text.split("\n")))


LITERALS: dict[str, Callable[[str], str]] = {
    "JavaScript, Go": each("\t", " +"),
    "JavaScript, the sign in front": each("  + ", ""),
    "C": each("    ", ""),
    "Python": each("    ", "", repr),
    "Python's f-strings": each("    f", ""),
    "a list": each("    ", ",", end=""),
    "a list in single quotes": each("    ", ",", single, ""),
    "a list on one line": lambda text: json.dumps({"lines": text.split("\n")}),
    "a list of Python on one line": lambda text: repr(text.split("\n")),
    "PHP": each("  . ", ""),
    "Lua": each("", " .."),
    "Visual Basic": each("", " & vbCrLf & _", lambda line: '"' + line.replace('"', '""') + '"', ""),
    "SQL": each("", " ||", lambda line: "'" + line.replace("'", "''") + "'", ""),
    "templates": each("  ", " +", template, ""),
    "one call each": each("out.push(", ");", end=""),
    "one print each": each("print(", ")", repr, ""),
    "a shell's echo": each("echo ", "", lambda line: "'" + line.replace("'", "'\\''") + "'", ""),
    "Rust": lambda text: '"' + "\\n\\\n    ".join(double(line)[1:-1] for line in text.split("\n")) + '"',
    "numbered": lambda text: numbered(each("\t", " +")(text)),
    "in JSON": lambda text: json.dumps({"content": each("    ", ",", single)(text)}),
    "a diff": lambda text: "@@ -0,0 +1,9 @@\n" + each("+    ", ",")(text),
    "a notebook": cells,
    "a notebook on one line": lambda text: cells(text, None),
    "a notebook in JSON": lambda text: json.dumps({"content": cells(text)}),
    "a numbered notebook": lambda text: numbered(cells(text)),
}
# These a reply may have as well.
COLOURS: dict[str, Callable[[str], str]] = {
    "grep --color": coloured,
    "colours of 256": lambda text: text.replace("rm", "\x1b[38:5:196mrm\x1b[0m"),
    "links": lambda text: text.replace("rm", "\x1b]8;;file:///a/rm\x1b\\rm\x1b]8;;\x1b\\"),
    "cat -v": lambda text: text.replace("rm", "^[[01;31m^[[Krm^[[m^[[K"),
    "no-break spaces": lambda text: text.replace(" ", "\u00a0"),
    "one no-break space": lambda text: text.replace(" ", "\u00a0", 1),
    "narrow no-break spaces": lambda text: text.replace(" ", "\u202f"),
}
# Layouts that say the same: of what a tool gave back, and of what the model made of it.
LAYOUTS: dict[str, Callable[[str], str]] = {
    "two blanks for each": lambda text: text.replace(" ", "  "),
    "no white space between tags": lambda text: re.sub(r">\s+<", "><", text),
    "blanks at the ends of tags": lambda text: re.sub(r"(?<=[\w\"])>", " >", text),
    "blanks behind marks of JSON": lambda text: re.sub(r'(?<=")([:,]) ?', r"\1  ", text),
    "no blanks behind marks of JSON": lambda text: re.sub(r'(?<=")([:,]) ', r"\1", text),
    "single quotes": lambda text: text.replace('"', "'"),
    "typographic quotes": lambda text: re.sub(r'"([^"]*)"', "\u201c\\1\u201d", text),
    "entities": html.escape,
    "entities for brackets": lambda text: text.replace("<", "&lt;"),
}
FORMS = {
    **LITERALS,
    **COLOURS,
    **LAYOUTS,
    "a page": lambda text: page(text, "", "<br/>"),
    "paragraphs": lambda text: page(text, "<p>", "</p>"),
    "a list of a page": lambda text: page(text, '<li class="x">', "</li>"),
    "words of a page": lambda text: re.sub(r"(?<![&#\w])(\w+)(?![\w;])", r"<span>\1</span>", html.escape(text)),
    "Markdown": lambda text: re.sub(r"([<>_*|`\[\]#-])", r"\\\1", text),
    "a box": boxed,
    "a log": log,
    "a numbered log": lambda text: json.dumps({"out": log(text)}),
    "grep -n --color": with_places,
    "grep -rn --color": lambda text: with_places(text, "docs/notes.md"),
    "ripgrep": ripgrep,
    "colours in JSON": lambda text: json.dumps({"stdout": coloured(text)}),
    "colours in Python": lambda text: repr({"stdout": coloured(text)}),
    "colours in octal": lambda text: json.dumps({"o": coloured(text)}).replace(r"\u001b", r"\033"),
    "no-break spaces in JSON": lambda text: json.dumps(text.replace(" ", "\u00a0")),
    "no-break spaces in HTML": lambda text: html.escape(text).replace(" ", "&nbsp;"),
    "no-break spaces before lines": lambda text: "".join(f"\u00a0\u00a0{line}\n" for line in text.split("\n")),
}


@cache
def reply_of(dialect: str, call: Call) -> str:
    """A reply with this call that is lifted where nothing in the request is like it; "" where the dialect has none."""
    text = written(dialect, call)
    for reply in (f"So:\n\n{text}\n", text) if text else ():
        if "lifted" in found(reply, "")[0]:
            return reply
    return ""


def found(text: str, result: str, size: int = 7) -> tuple[list[str], list[str | None]]:
    """What became of the calls in a reply to a request with this result, and why."""
    reader = Reader(CallPolicy(Route(client="native", upstream="text"), Request(tools=TOOLS, quotable=(result,))))
    events = [event for at in range(0, len(text), size) for event in reader.feed(text[at : at + size])]
    verdicts = [event for event in (*events, *reader.finish(cut=False)) if isinstance(event, Verdict)]
    return [verdict.status for verdict in verdicts], [verdict.reason for verdict in verdicts]


def holding(dialect: str, call: Call) -> str:
    return f"# notes\n\n{written(dialect, call)}\n\nbye\n"


@pytest.mark.parametrize("form", FORMS)
def test_what_stands_in_a_result_in_this_form_is_an_echo(form: str) -> None:
    for dialect in some(a_few(DIALECTS, len(DIALECTS) // 2, form), 4, form):
        for call, other, small in ((SIMPLE, OTHER, 1), (LINES, OTHER_LINES, 7)):
            reply, control = reply_of(dialect, call), reply_of(dialect, other)
            result = FORMS[form](holding(dialect, call))
            for size in (small, 1000) if reply else ():
                statuses, reasons = found(reply, result, size)
                assert "echo" in reasons, (dialect, call, size, result)
                assert "lifted" not in statuses, (dialect, call, size, result)
            assert not control or "lifted" in found(control, result)[0], (dialect, other, result)


@pytest.mark.parametrize("form", COLOURS)
def test_a_coloured_reply_is_an_echo(form: str) -> None:
    """Where it is one without the form: what comes so of an opener or a name is no call at all."""
    for dialect in some(DIALECTS, 4, f"{form} in the reply"):
        for call, other in ((SIMPLE, OTHER), (LINES, OTHER_LINES)):
            reply = COLOURS[form](reply_of(dialect, call))
            for result in (holding(dialect, call), COLOURS["grep --color"](holding(dialect, call))):
                for size in (1, 7, 1000):
                    assert "lifted" not in found(reply, result, size)[0], (dialect, call, size, result)
            control = COLOURS[form](reply_of(dialect, other))
            statuses = found(control, "")[0]
            assert found(control, holding(dialect, call))[0] == statuses, (dialect, other)


@pytest.mark.parametrize("form", LAYOUTS)
def test_a_reply_in_another_layout_is_an_echo(form: str) -> None:
    """Where it is a call without the result."""
    for dialect in some(a_few(DIALECTS, len(DIALECTS) // 2, form), 4, f"{form} in the reply"):
        for call, other in ((SIMPLE, OTHER), (LINES, OTHER_LINES)):
            reply, control = LAYOUTS[form](reply_of(dialect, call)), LAYOUTS[form](reply_of(dialect, other))
            for size in (1, 7, 1000) if "lifted" in found(reply, "")[0] else ():
                assert "lifted" not in found(reply, holding(dialect, call), size)[0], (dialect, reply, size)
            assert found(control, holding(dialect, call))[0] == found(control, "")[0], (dialect, other)


def test_the_escape_character_may_be_lost() -> None:
    """A model that cannot write it writes the rest."""
    text = written("hermes", command("rm -rf build"))
    result = coloured(f"# notes\n{text}\nbye\n")
    assert found(coloured(text).replace("\x1b", ""), result)[1] == ["echo"]


NEAR: dict[str, tuple[str, str]] = {
    # By what the text says that is in the result, and the command that is called.
    "another string": (each("    ", ",")("# notes\n" + written("hermes", OTHER)), "rm -rf build"),
    "half of it": (each("    ", ",")("\n".join(written("hermes", SIMPLE).split("\n")[:2])[:-9]), "rm -rf build"),
    "its lines in another order": (
        each("    ", ",")("\n".join(reversed(written("hermes", SIMPLE).split("\n")))),
        "rm -rf build",
    ),
    "the same words in strings of their own": ('"rm", "-rf", "build"', "rm -rf build"),
    "without its blanks": (coloured(written("hermes", command("rm-rfbuild"))), "rm -rf build"),
    "a colour's letters": (written("hermes", command("rm [01;31mbuild")), "rm build"),
}


@pytest.mark.parametrize(("result", "called"), NEAR.values(), ids=NEAR)
def test_what_is_merely_like_it_is_a_call(result: str, called: str) -> None:
    for size in (1, 1000):
        assert found(f"So:\n\n{written('hermes', command(called))}\n", result, size) == (["lifted"], [None])


def test_the_guard_needs_the_forms() -> None:
    """As it is, none of these texts holds the call."""
    made = "<bash>\n<b>c</b>\n</bash>"
    for form, write in LITERALS.items():
        if form == "SQL":  # what is around its lines counts for nothing
            continue
        result = write(f"# notes\n\n{made}\n")
        assert bare(made) not in bare(canonical(result)), form
        assert EchoIndex([result]).trace(made) is not None, form
        assert EchoIndex([result]).trace(made.replace("c", "d")) is None, form


def test_only_texts_with_such_strings_are_read_as_strings() -> None:
    assert literal_quotes('x = "<a>"\ny <a>', "<a>") == {'"'}
    assert literal_quotes("it's `<a>`", "<a>") == {"`"}
    assert literal_quotes('"x"\n<a>', "<a>") == set()
    assert list(joined_literals('say "a"', '"')) == []
    assert "a\n    b" not in "".join(joined_literals('"a",\n    "b"', "'"))


# What a text is made of, and what is done to all of it, one after the other.
fragments = st.sampled_from(
    [
        *("ab", "a:b", "name=", "9", "_", "<a>", '"', "'", "`", "\\", "/", "$", "&", "#", ";", " ", "\n", "\r", "\t"),
        *(
            "\u00a0",
            '""',
            "\\\n",
            r"\"",
            r"\u0061",
            r"\x62",
            r"\033[0m",
            r"\e[m",
            r"\\u0061",
            "&amp;",
            "&lt;",
            "&ltab;",
        ),
        *("&lowbar;", "&bsol;u0061", "&#97;", "&amp;#97;", "&amp;amp;#97;", "&amp#97;", "\x1b[0m", "\x1b", "^[[m"),
        *("1: ", "2| ", "> ", "+", "-", "@@ -1 +1 @@\n", '",\n  "', "',\n'", " * ", ":", "[0m"),
        *(r"\u00e9", "\u00e9", r"\xe9", r"\ud83d\ude00", r"\ud83d", "\U0001f600", r"\u2581", "a\u2581b"),
        *(r"\x00", r"\x1f", r"\u007f", r"\x0a", r"\x1b[0m", r"\u001b", "\0", "\x7f"),
    ]
)
layers = st.sampled_from([str, json.dumps, repr, html.escape, numbered, each("  ", ","), lambda text: f"@@ 1\n{text}"])


@examples(600)
@given(st.lists(fragments, min_size=4, max_size=16), st.lists(layers, max_size=3), st.data())
def test_what_one_of_its_forms_holds_a_text_may_hold(
    parts: list[str], made_by: list[Callable[[str], str]], data: st.DataObject
) -> None:
    """Whatever is in a form: the text is never excluded."""
    text = "".join(parts)
    for layer in made_by:
        text = layer(text)
    quoted = RequestText(text)
    first = data.draw(st.sampled_from(parts))
    forms = [*quoted.readings]
    for variant in quoted.variants:
        forms += [without_prefixes(variant, prefix) for prefix in line_prefixes(variant, first)]
        forms += [one for quote in "\"'`" for made in joined_literals(variant, quote) for one in readings(made)]
    form = data.draw(st.sampled_from(forms))
    start = data.draw(st.integers(0, len(form)))
    held = form[start : start + 24]
    if "\x1b" not in held:
        assert quoted.may_hold(words_of(canonical(held))), (text, form, held)


@examples(300)
@given(st.lists(st.tuples(st.lists(fragments, max_size=12), layers), min_size=1, max_size=4), st.data())
def test_no_answer_depends_on_which_texts_are_read(
    given_parts: list[tuple[list[str], Callable[[str], str]]], data: st.DataObject
) -> None:
    """Against an index that reads all texts at once, for candidates in pieces of any size."""
    texts = [layer("".join(parts)) for parts, layer in given_parts]
    lazy, eager = EchoIndex(texts), EchoIndex(texts)
    for _ in range(3):
        parts = data.draw(st.sampled_from([parts for parts, _ in given_parts]))
        candidate = ("".join(parts) + data.draw(st.sampled_from(["", "ab"]))).lstrip()
        size = data.draw(st.integers(1, 9))
        if not bare(canonical(candidate[:size])):
            continue
        trace = lazy.trace(candidate[:size])
        with (
            patch.object(RequestText, "may_hold", lambda *_: True),
            patch.object(echo.EchoIndex, "first_as_given", lambda *_: None),
        ):
            other = eager.trace(candidate[:size])
            answers = [other is not None]
            for at in range(size, len(candidate), size) if other else ():
                answers.append(other.grow(candidate[at : at + size]))
                if not answers[-1]:
                    break
        assert (trace is not None) == answers[0], (texts, candidate, size)
        for at, answer in zip(range(size, len(candidate), size), answers[1:], strict=False):
            assert trace is not None
            assert trace.grow(candidate[at : at + size]) == answer, (texts, candidate, size)


def test_texts_without_a_candidates_words_are_not_read() -> None:
    """Whose layers are taken off depends on what the candidate begins with."""
    made = written("hermes", SIMPLE)
    other, holding_it = RequestText("import json\n" * 40), RequestText(json.dumps(f"see {made}"))
    assert EchoIndex([other, holding_it]).trace(made) is not None
    assert "readings" not in other.__dict__
    assert "readings" in holding_it.__dict__


def test_escapes_of_letters_that_no_word_has_hide_none() -> None:
    other = RequestText(json.dumps({"said": "caf\u00e9 \u2026 \U0001f600"}))
    assert not other.may_hold(words_of("<tool_call> {"))
    assert "variants" not in other.__dict__
    assert other.may_hold(["caf\u00e9"])
    assert RequestText(r"\u003ctool_call>").may_hold(words_of("<tool_call>"))
    assert RequestText(r"t\u006fol_call").may_hold(words_of("<tool_call"))
    for joined in (r"tool\x1b_call", r"tool\x1b[0m_call", r"tool\e[0m_call", r"tool\033[0m_call", r"tool\u001b_call"):
        assert RequestText(joined).may_hold(["tool_call"]), joined
    assert not RequestText(r"[\x00-\x1f\x7f] of a tool").may_hold(["tool_call"])
    assert RequestText(r"a\x00b").may_hold(["a\0b"])


pieces = st.lists(st.text('a ^[m\x1b]\\0;\x07\u00a0\n"|&lt#39', max_size=9), max_size=12)


@examples(400)
@given(pieces)
def test_pieces_are_read_as_the_whole(cut: list[str]) -> None:
    """White space at the end waits, and what may still become a colour."""
    text = "".join(cut)
    for parts in (cut, list(text), [text]):
        colours, rest = Canonical(), Bare()
        made = "".join(rest.feed(colours.feed(part)) for part in [*parts, "\x07zz."])
        assert made == bare(canonical(f"{text}\x07zz.")), parts


def test_a_colour_may_be_cut_anywhere() -> None:
    for whole in ("a\x1b[01;31mb", "a\x1b]8;;http://x\x1b\\b", "a\x1b]8;;x\x07b", "a^[[01;31mb", "a \x1b[m\n\u00a0b"):
        for first in range(len(whole)):
            for second in range(first, len(whole)):
                reader = Canonical()
                cuts = pairwise((0, first, second, len(whole)))
                made = "".join(reader.feed(whole[one:other]) for one, other in cuts)
                assert made == ("a \n b" if "\n" in whole else "ab"), (whole, first, second)


LONG = {
    "white space": " ",
    "colours": "\x1b[m",
    "links that do not end": "\x1b]8;;x",
    "white space between colours": f"{' ' * 50}\x1b[m",
    "strings": '"",\n',
    "quotes": "'\" `",
    "commas": '", ',
    "backslashes": "\\",
}


@pytest.mark.parametrize("kind", LONG)
def test_the_work_grows_with_the_text(kind: str) -> None:
    """A candidate and a request that hold one thing again and again."""

    def work(size: int) -> Callable[[], object]:
        text = "<a>" + LONG[kind] * (size // len(LONG[kind]))
        result = f'x = "{text}"\n'

        def run() -> None:
            trace = EchoIndex([result]).trace(text[:20])
            for at in range(20, len(text), 4):
                if trace is None or not trace.grow(text[at : at + 4]):
                    break

        return run

    grows_with_its_input(work, smaller(100_000))
