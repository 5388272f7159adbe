"""What the laws draw from: texts made of the dialects' own markup, routes, calls, places to cut and damage.

`replies` strings together whole calls, half tags, quotes, line ends, entities, CDATA, fences, words and lone
surrogates, so that most texts are nearly calls. `sampling.py` says how many texts a law looks at.
"""

import json
from itertools import pairwise
from typing import Any, get_args

from hypothesis import strategies as st

from support.sampling import examples
from toolcalls.dialects import all_dialects
from toolcalls.request import Tool
from toolcalls.requests.evidence import Kind
from toolcalls.route import Route, Taken
from toolcalls.shapes import Call
from toolcalls.values.toolbox import Toolbox

law = examples(60)

DIALECTS = tuple(all_dialects())
KINDS: tuple[Kind, ...] = get_args(Kind.__value__)
NS = "antml" + ":"


def tool(name: str, **types: Any) -> Tool:
    return Tool(name, {"type": "object", "properties": {key: {"type": kind} for key, kind in types.items()}})


TOOLS = (
    tool("Bash", command="string"),
    tool("Save", text="string", n="integer", data="object"),
    tool("Noop"),
    Tool("Loose"),
)

# --- texts ------------------------------------------------------------------------------------------------------------

TAGS = [
    "<function_calls>", "</function_calls>", '<invoke name="Bash">', "<invoke name='Save'>", '<invoke name="No">',
    "</invoke>", '<parameter name="command">', '<parameter name="text">', '<parameter name="n">', "</parameter>",
    f"<{NS}function_calls>", f'<{NS}invoke name="Bash">', f"</{NS}invoke>", f"</{NS}parameter>",
    '<invoke name="Noop"/>', "<Save>", "</Save>", "<text>", "</text>", "<n>", "</n>", "<Bash>", "<command>",
    "</command>", "</Bash>", "<Noop>", "<read_file>", "<path>", "</path>", "</read_file>",
]  # fmt: skip
PARTS = [
    "<", "</", "<inv", "oke ", 'name="', '"', "'", ">", "/>", "=", "<func", "tion_calls>", "</par", "ameter>", "<Sa",
]  # fmt: skip
NOISE = [
    "\n", "\n", "\r\n", "\r", " ", "    ", "\n\n", "\t", "word", "call", "court\n", "count ", "&lt;", "&amp;", "&am",
    "&", "<![CDATA[", "]]>", "]]", "]]]]><![CDATA[>", "```", "```xml\n", "`", "> ", "- ", "<!--", "-->", "<think>",
    "</think>", "<|END_THINKING|>",
    "42", "true", '{"a":1}', "é", "🙂", "\ud83d", "\ude42", "\u2028", "\x00", "<b>", "a < b && c",
]  # fmt: skip

_values = st.lists(st.sampled_from([*NOISE, *PARTS]), max_size=4).map("".join)


def invoke_of(name: str, values: dict[str, str]) -> str:
    inside = "".join(f'<parameter name="{key}">{value}</parameter>\n' for key, value in values.items())
    return f'<invoke name="{name}">\n{inside}</invoke>'


def tagged_of(name: str, values: dict[str, str]) -> str:
    inside = "".join(f"<{key}>{value}</{key}>\n" for key, value in values.items())
    return f"<{name}>\n{inside}</{name}>"


_arguments = st.one_of(
    st.tuples(st.just("Bash"), st.fixed_dictionaries({"command": _values})),
    st.tuples(st.just("Save"), st.fixed_dictionaries({"text": _values}, optional={"n": st.sampled_from(["7", "x"])})),
    st.tuples(st.sampled_from(["Noop", "Unknown"]), st.just({})),
)
blocks = st.one_of(
    _arguments.map(lambda call: invoke_of(*call)),
    _arguments.map(lambda call: tagged_of(*call)),
    st.lists(_arguments, min_size=1, max_size=3).map(
        lambda calls: "\n".join(["<function_calls>", *(invoke_of(*call) for call in calls), "</function_calls>"])
    ),
)


def written_by(dialect: str, call: tuple[str, dict[str, str]]) -> str:
    """The call as the dialect's own writer writes it, read back or not; nothing where it refuses."""
    try:
        return all_dialects()[dialect].write([Call(call[0], json.dumps(call[1]))], Toolbox(TOOLS))
    except ValueError:
        return ""


# Every dialect's own form, whole and with a stretch of it lost or said twice; and every opener there is.
any_dialect = st.builds(written_by, st.sampled_from(DIALECTS), _arguments)
damaged_dialect = st.builds(
    lambda text, start, end: text[:start] + text[end:], any_dialect, st.integers(0, 80), st.integers(0, 80)
)
OPENERS = sorted(
    {opener for dialect in all_dialects().values() for opener in dialect.openers(tuple(tool.name for tool in TOOLS))}
)
_pieces = st.one_of(
    st.sampled_from(OPENERS),
    any_dialect,
    any_dialect.map(lambda text: f"\n{text}\n"),
    damaged_dialect,
    st.sampled_from(TAGS),
    st.sampled_from(PARTS),
    st.sampled_from(NOISE),
    blocks,
    blocks.map(lambda text: f"\n{text}\n"),
)
replies = st.lists(_pieces, max_size=9).map("".join)


def decodable(text: str) -> str:
    """The text as a client decodes it: without a lone surrogate."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


routes = st.builds(
    Route,
    client=st.just("native"),
    upstream=st.just("text"),
    policy=st.sampled_from(["standard", "standard", "strict", "lenient"]),
    allowed_tools=st.sampled_from([None, None, ("Bash",), ()]),
    multiple_calls=st.sampled_from([None, None, False]),
    infer_types=st.booleans(),
    starts_in_reasoning=st.sampled_from([False, False, False, True]),
    max_buffer_bytes=st.sampled_from([64 * 1024, 64 * 1024, 80]),
    max_held_call_bytes=st.sampled_from([8 * 1024 * 1024, 200, 80]),
    take=st.sampled_from([None, None, None, (), get_args(Taken), ("inline",), ("fenced", "reasoning")]),
    require=st.sampled_from([None, None, None, (), ("complete",), ("terminal",), ("arguments",), ("line_start",)]),
    max_calls=st.sampled_from([1000, 1000, 2]),
    max_candidates=st.sampled_from([2000, 2000, 3]),
)
STANDARD = Route(client="native", upstream="text")


@st.composite
def cut[T: (str, bytes)](draw: st.DrawFn, whole: T) -> list[T]:
    """`whole` in pieces, none of them empty."""
    places = draw(st.lists(st.integers(0, len(whole)), max_size=8))
    ends = sorted({0, *places, len(whole)})
    return [whole[start:end] for start, end in pairwise(ends)]


# --- calls ------------------------------------------------------------------------------------------------------------

_texts = st.one_of(
    st.text(max_size=12),
    st.lists(st.sampled_from([*TAGS, *NOISE, *PARTS]), max_size=5).map("".join),
    st.sampled_from(["", "\n", "\r\n", "007", "true", "null", "1e400", '"quoted"', " padded ", "[]", "{}"]),
    st.sampled_from(["C:\temp\new", "C:\n", "a:\b", "C:\\temp\\new", 'x:"', "D:\t}", "\\bfoo\\d", "\b\\d", "\f"]),
)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
)
_keys = st.sampled_from(["command", "text", "n", "data", "path"]) | _texts
calls = st.builds(
    lambda name, values: Call(name, json.dumps(values)),
    st.sampled_from(["Bash", "Save", "Noop", "Loose", "Other", "read_file"]) | _texts,
    st.dictionaries(_keys, _json, max_size=3),
)


# --- bytes ------------------------------------------------------------------------------------------------------------


_BREAKING = [
    b"\n", b"\n\n", b"\r", b"null", b"{", b"}", b"[", b"[[", b'"', b"\\", b"\\ud800", b"-1", b"1e999", b"\xff",
]  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn, body: bytes) -> bytes:
    """`body` with a few of its pieces taken out, doubled, replaced or put elsewhere."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(body)))
        end = min(len(body), start + draw(st.integers(0, 40)))
        piece = body[start:end]
        new = draw(st.sampled_from([b"", piece * 2, *_BREAKING]) | st.binary(max_size=4))
        body = body[:start] + new + body[end:]
    return body
