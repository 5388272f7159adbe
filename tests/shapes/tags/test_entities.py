"""Entities in values between tags: what a model writes is what it means, unless it can only have been escaped.

Strategy: values with entities in every dialect that writes values between tags, in a parameter that a shell runs and in
another one, cut at any place. A value is decoded as a whole or not at all, and the verdict says so.
"""

import html
import json
import re
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.strategies import DIALECTS, law
from toolcalls.dialects import all_dialects
from toolcalls.events import Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.shapes import Call
from toolcalls.shapes.tags.entities import has_operator
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import calls_in

STRINGS = {"type": "object", "properties": {"command": {"type": "string"}, "content": {"type": "string"}}}
TOOLS = (Tool("Bash", STRINGS),)
MARK = "MARKOFAVALUE"
XML = frozenset({"forge", "invoke_escaped"})  # which escape all values, as XML does

OPERATORS = [
    "ls 2&gt;/dev/null",
    "a &amp;&amp; b",
    "sort &lt; in",
    "x &gt;&gt; 'a b'",
    "cat &lt;&lt;EOF\nx\nEOF",
    'echo "a" &gt; b',
]
NO_OPERATORS = [
    "sed 's/&lt;br&gt;//g' x", 'curl "?a=1&amp;b=2"', "Terms &amp; Conditions", "echo &lt;br&gt;",
    "python3 -c \"print('&gt;x')\"",
    "echo \\&gt; x", "it's &gt; open", "# &gt; comment", "&amp;", "printf '&quot;'", "a # don't\necho '&gt;'",
]  # fmt: skip
RAW = [" < a", " && b", " &nbsp;", " & ", "&am", " > z"]
PLAIN = ["", "echo ", "x y ", "a\nb "]
programs = st.builds(
    lambda before, parts: before + " ; ".join(parts),
    st.sampled_from(PLAIN),
    st.lists(st.sampled_from([*OPERATORS, *NO_OPERATORS]), min_size=1, max_size=3),
)


def between_tags(dialect: str) -> str | None:
    """How the dialect writes a call with a value, for forms in which the value is between tags as it stands."""
    try:
        text = all_dialects()[dialect].write([Call("Bash", json.dumps({"command": MARK}))], Toolbox(TOOLS))
    except ValueError:
        return None
    return text if re.search(f">{MARK}<\\W*/", "".join(text.split())) else None


FORMS = {name: text for name in DIALECTS if name not in XML and (text := between_tags(name)) is not None}


def read(pieces: list[str], dialect: str, escaped: bool | None = None) -> tuple[str, Verdict]:
    """The value of the call's one argument, and its verdict."""
    policy = CallPolicy(Route(client="native", upstream="text", dialects=(dialect,)), Request(tools=TOOLS))
    reader = Reader(policy, tools=Toolbox(TOOLS, escaped=escaped))
    events = [event for piece in pieces for event in reader.feed(piece)]
    events += reader.finish(cut=False)
    (call,) = calls_in(events)
    (verdict,) = [event for event in events if isinstance(event, Verdict)]
    (value,) = json.loads(call.arguments).values()
    return value, verdict


def cut(text: str, places: list[int]) -> list[str]:
    ends = sorted({0, *(place for place in places if place < len(text)), len(text)})
    return [text[start:end] for start, end in pairwise(ends)]


def test_there_are_such_dialects() -> None:
    assert {"invoke", "tagged", "qwen3_xml", "glm_xml", "minimax_m2", "deepseek_dsml"} <= FORMS.keys()


@law
@given(programs, st.sampled_from(["", *RAW]), st.sampled_from(sorted(FORMS)), st.lists(st.integers(0, 300), max_size=9))
def test_a_program_is_decoded_as_a_whole_where_an_operator_is_escaped(
    program: str, raw: str, dialect: str, places: list[int]
) -> None:
    value = f"{program}{raw}"
    text = FORMS[dialect].replace(MARK, value)
    got, verdict = read(cut(text, places), dialect)
    if raw or not has_operator(value):
        assert got.strip() == value.strip()
        assert "entities" not in verdict.repairs
    else:
        assert got.strip() == html.unescape(value).strip()
        assert verdict.repairs.count("entities") == 1


@law
@given(programs, st.sampled_from(["", *RAW]), st.sampled_from(sorted(FORMS)), st.lists(st.integers(0, 300), max_size=9))
def test_another_value_is_decoded_where_its_writer_is_known_to_escape(
    program: str, raw: str, dialect: str, places: list[int]
) -> None:
    value = f"{program}{raw}"
    assume("command" in FORMS[dialect])
    text = FORMS[dialect].replace("command", "content").replace(MARK, value)
    pieces = cut(text, places)
    got, verdict = read(pieces, dialect)
    assert (got.strip(), "entities" in verdict.repairs) == (value.strip(), False)
    got, verdict = read(pieces, dialect, escaped=True)
    escaped = raw in {"", " > z"}
    assert got.strip() == (html.unescape(value) if escaped else value).strip()
    assert ("entities" in verdict.repairs) is escaped


@pytest.mark.parametrize("program", OPERATORS)
def test_an_operator_is_one(program: str) -> None:
    assert has_operator(program)


@pytest.mark.parametrize("program", NO_OPERATORS)
def test_what_is_quoted_or_a_tag_is_none(program: str) -> None:
    assert not has_operator(program)


@pytest.mark.parametrize(("size", "decodes"), [(65_000, True), (66_000, False)])
def test_a_long_value_is_decoded_as_a_whole_or_not_at_all(size: int, decodes: bool) -> None:
    value = f"a &gt; b {'x' * size} &gt; c"
    text = FORMS["invoke"].replace(MARK, value)
    for step in (1000, len(text)):
        got, verdict = read([text[at : at + step] for at in range(0, len(text), step)], "invoke")
        assert got == (html.unescape(value) if decodes else value)
        assert ("entities" in verdict.repairs) is decodes
