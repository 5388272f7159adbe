"""Configuration: what each key means; a mistake is one line with its place; no text does worse than that."""

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.growth import grows_with_its_input
from support.repository import REPO
from support.sampling import smaller
from toolcalls import config as config_module
from toolcalls.config import ConfigError, default_path, load, parse, select
from toolcalls.request import Tool
from toolcalls.route import Config, Match, Mended, Price, Route

DIALECTS = ("invoke", "tagged")
WIRES = ("openai_chat",)
EXAMPLES = sorted((REPO / "config" / "examples").glob("*.yaml"))


def read(text: str) -> Config:
    return parse(text, "c.yaml", DIALECTS, WIRES)


def mistakes(text: str) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        read(text)
    return caught.value.errors


def one_route(**settings: Any) -> Config:
    return Config(routes=(replace(Route(name="routes[0]"), **settings),))


GOOD = {
    "empty": ("", Config()),
    "comment": ("# nothing\n", Config()),
    "null document": ("---\n", Config()),
    "byte order mark": ("\ufeffversion: 1\n", Config()),
    "windows lines": ("defaults:\r\n  newline_count: 3\r\n", Config(default=Route(newline_count=3))),
    "empty sections": ("defaults:\nroutes:\n", Config()),
    "version": ("version: 1", Config()),
    "JSON": ('{"defaults": {"multiple_calls": false}}', Config(default=Route(multiple_calls=False))),
    "patterns": ("vtc_client_patterns: [mine]", Config(vtc_client_patterns=("mine",))),
    "prices": (
        "prices: [{model: a*, input: 1, output: 2.5}, {model: b, input: 0, output: 0, cached: 0.1}]",
        Config(prices=(Price("a*", 1.0, 2.5), Price("b", 0.0, 0.0, 0.1))),
    ),
    "a currency": (
        "currency: EUR\nprices: [{model: a*, input: 1, output: 2.5}]",
        Config(prices=(Price("a*", 1.0, 2.5, currency="EUR"),)),
    ),
    "no prices": ("prices:", Config()),
    "detection off": ("vtc_client_patterns: []", Config(vtc_client_patterns=())),
    "seed's keys": (
        "defaults: {max_buffer_bytes: 64, newline_count: 0, prepend_newlines: false, allowed_tools: [a, b.*]}",
        Config(default=Route(max_buffer_bytes=64, newline_count=0, prepend_newlines=False, allowed_tools=("a", "b.*"))),
    ),
    "a marker": (
        "routes: [{marker: 'CALL(', max_payload_chars: 0}]",
        one_route(marker=("CALL(",), max_payload_chars=0),
    ),
    "no WebSocket": ("defaults: {refuse_websocket: true}", Config(default=Route(refuse_websocket=True))),
    "markers": ("defaults: {marker: [A, B, A]}", Config(default=Route(marker=("A", "B")))),
    "all tools": ("routes: [{allowed_tools: null}]", one_route(allowed_tools=None)),
    "no tools": ("routes: [{allowed_tools: []}]", one_route(allowed_tools=())),
    "match": (
        "routes:\n- name: r\n  match: {host: '*.Example.com', path: /v1/*, model: 'qwen[23]*', wire: openai_chat}",
        Config(
            routes=(Route(name="r", match=Match(host="*.Example.com", path="/v1/*", model="qwen[23]*", wire=WIRES[0])),)
        ),
    ),
    "IPv6 host": ("routes: [{match: {host: '::1'}}]", one_route(match=Match(host="::1"))),
    "sides": ("routes: [{client: text, upstream: native}]", one_route(client="text", upstream="native")),
    "client is a dialect": ("routes: [{client: tagged}]", one_route(client="text", client_dialect="tagged")),
    "upstream is a dialect": ("routes: [{upstream: invoke}]", one_route(upstream="text", dialects=("invoke",))),
    "one dialect": ("routes: [{dialects: invoke}]", one_route(dialects=("invoke",))),
    "dialects": ("routes: [{dialects: [tagged, invoke]}]", one_route(dialects=("tagged", "invoke"))),
    "auto": ("routes: [{dialects: auto, client_dialect: auto}]", one_route()),
    "escaped values": ("routes: [{escaped_values: true}]", one_route(escaped_values=True)),
    "policy, types": ("routes: [{policy: strict, infer_types: false}]", one_route(policy="strict", infer_types=False)),
    "parts of the policy": (
        "routes: [{policy: lenient, take: [fenced, echo, fenced], require: [terminal]}]",
        one_route(policy="lenient", take=("fenced", "echo"), require=("terminal",)),
    ),
    "no parts of the policy": ("routes: [{take: [], require: []}]", one_route(take=(), require=())),
    "the policy's own parts": ("defaults: {take: null, require: null}", Config()),
    "nothing is mended": ("defaults: {mend: []}", Config(default=Route(mend=()))),
    "mended": ("routes: [{mend: [protocol, protocol]}]", one_route(mend=("protocol",))),
    "limits": (
        "defaults: {max_call_chars: 64, max_calls: 1, max_candidates: 1, max_frame_bytes: 1024, "
        "max_decoded_bytes: 1048576}",
        Config(
            default=Route(
                max_call_chars=64, max_calls=1, max_candidates=1, max_frame_bytes=1024, max_decoded_bytes=1024 * 1024
            )
        ),
    ),
    "tool, flat": (
        "routes: [{tools: [{name: a, description: does a, parameters: {type: object, n: [1, 1.5, -2e1, null, no]}}]}]",
        one_route(tools=(Tool("a", {"type": "object", "n": [1, 1.5, -20.0, None, "no"]}, "does a"),)),
    ),
    "tool of an OpenAI request": (
        'routes: [{tools: [{"type": "function", "function": {"name": "\\ud83d\\ude00", "strict": true}}, {name: b}]}]',
        one_route(tools=(Tool("\U0001f600"), Tool("b"))),
    ),
    "YAML 1.1's surprises are text": (
        "routes: [{tools: [{name: on, parameters: {1: yes, y: 12:30, o: 010, x: 0x10, d: 2024-01-01}}]}]",
        one_route(tools=(Tool("on", {"1": "yes", "y": "12:30", "o": "010", "x": "0x10", "d": "2024-01-01"}),)),
    ),
}


@pytest.mark.parametrize(("text", "expected"), GOOD.values(), ids=GOOD)
def test_good(text: str, expected: Config) -> None:
    assert read(text) == expected


def test_a_route_inherits_defaults_wherever_they_stand() -> None:
    config = read(
        "routes:\n- {client: text, newline_count: 1}\n- {client: native}\n"
        "defaults: {client: tagged, newline_count: 5, multiple_calls: false}\n"
    )
    default = Route(client="text", client_dialect="tagged", newline_count=5, multiple_calls=False)
    assert config.default == default
    assert config.routes == (
        replace(default, name="routes[0]", newline_count=1),
        replace(default, name="routes[1]", client="native"),
    )


SIDES = "auto, native, text or the name or file of a dialect"
KINDS = ", ".join(get_args(Mended))
BAD = {
    "unknown key": ("\nrouts: []", '2: unknown key "routs"; did you mean "routes"?'),
    "unknown key in a route": (
        "routes:\n- name: a\n  polcy: strict",
        '3: unknown key "polcy"; did you mean "policy"?',
    ),
    "nothing like it": (
        "zz: 1",
        '1: unknown key "zz"; expected one of version, vtc_client_patterns, prices, currency, defaults, routes',
    ),
    "key too high": (
        "newline_count: 1",
        '1: unknown key "newline_count" in this place; it belongs in defaults or a route',
    ),
    "no output's price": ("prices: [{model: a, input: 1}]", '1: prices[0]: expected the key "output"; found none'),
    "a price below 0": (
        "prices: [{model: a, input: -1, output: 1}]",
        "1: prices[0].input: expected a price of a million tokens, 0 or more; found -1",
    ),
    "a price that is a word": (
        "prices: [{model: a, input: free, output: 1}]",
        '1: prices[0].input: expected a price of a million tokens, 0 or more; found "free"',
    ),
    "key too low": (
        "routes: [{vtc_client_patterns: []}]",
        '1: unknown key "vtc_client_patterns" in this place; it belongs in the top level',
    ),
    "host beside match": (
        "routes:\n- host: a",
        '2: unknown key "host" in this place; it belongs in the match of a route',
    ),
    "defaults cannot match": ("defaults: {match: {}}", '1: unknown key "match" in this place; it belongs in a route'),
    "key twice": ("version: 1\n\nversion: 1", '3: key "version" is given twice, first on line 1'),
    "key twice in a schema": (
        "defaults:\n  tools:\n  - name: a\n    parameters: {a: 1, 'a': 2}",
        '4: key "a" is given twice, first on line 4',
    ),
    "side": (
        "routes:\n- name: a\n  client: nativ",
        f'3: routes[0].client: expected one of {SIDES}; found "nativ"; did you mean "native"?',
    ),
    "dialect as side": (
        "routes: [{upstream: hermes}]",
        f'1: routes[0].upstream: expected one of {SIDES}; found "hermes"',
    ),
    "side is empty": ("defaults:\n  client:\n", f"2: defaults.client: expected one of {SIDES}; found nothing"),
    "dialect": (
        "defaults: {client_dialect: invok}",
        "1: defaults.client_dialect: expected auto or the name or file of a dialect; "
        'found "invok"; did you mean "invoke"?',
    ),
    "dialects": (
        "defaults: {dialects: 3}",
        "1: defaults.dialects: expected auto, the name or file of a dialect or a list of such; found 3",
    ),
    "one of the dialects": (
        "defaults:\n  dialects:\n  - invoke\n  - zz",
        '4: defaults.dialects[1]: expected one of invoke, tagged; found "zz"',
    ),
    "no dialects": (
        "defaults: {dialects: []}",
        '1: defaults.dialects: expected at least one dialect (to read none, set "upstream: native")',
    ),
    "dialect named twice": (
        "routes: [{client: tagged, client_dialect: invoke}]",
        "1: routes[0].client_dialect: another key beside it has set client_dialect; expected one of the two",
    ),
    "wire": ("routes: [{match: {wire: gemini}}]", '1: routes[0].match.wire: expected openai_chat; found "gemini"'),
    "policy": (
        "defaults: {policy: loose}",
        '1: defaults.policy: expected one of standard, strict, lenient; found "loose"',
    ),
    "flag": ("defaults: {infer_types: yes}", '1: defaults.infer_types: expected true or false; found "yes"'),
    "flag is a number": (
        "defaults: {multiple_calls: 1}",
        "1: defaults.multiple_calls: expected true, false or null (what the client takes); found 1",
    ),
    "number is a flag": (
        "defaults: {newline_count: true}",
        "1: defaults.newline_count: expected a whole number, 0 to 10; found true",
    ),
    "a condition that nobody knows": (
        "defaults: {take: [fence]}",
        "1: defaults.take[0]: expected one of undeclared, escaped, inline, fenced, indented_code, inline_code, "
        "block_quote, html_comment, reasoning, echo, duplicate, undeclared_arguments, no_arguments, "
        'weak_sign; found "fence"; did you mean "fenced"?',
    ),
    "a condition that is no list": (
        "defaults: {require: terminal}",
        "1: defaults.require: expected null (what the policy says) or a list of complete, arguments, terminal, "
        'line_start; found "terminal"',
    ),
    "a kind of damage that nobody knows": (
        "defaults: {mend: [protocols]}",
        f'1: defaults.mend[0]: expected one of {KINDS}; found "protocols"; did you mean "protocol"?',
    ),
    "damage that is no list": (
        "defaults: {mend: protocol}",
        f'1: defaults.mend: expected a list of {KINDS}, or [] for none; found "protocol"',
    ),
    "null damage": (
        "defaults:\n  mend: null",
        f"2: defaults.mend: expected a list of {KINDS}, or [] for none; found nothing",
    ),
    "no calls at all": (
        "defaults: {max_calls: 0}",
        "1: defaults.max_calls: expected a whole number, 1 or more; found 0",
    ),
    "number is text": (
        "defaults: {max_buffer_bytes: 64k}",
        '1: defaults.max_buffer_bytes: expected a whole number, 64 or more; found "64k"',
    ),
    "too many newlines": (
        "defaults: {newline_count: 11}",
        "1: defaults.newline_count: expected a whole number, 0 to 10; found 11",
    ),
    "negative newlines": (
        "defaults: {newline_count: -1}",
        "1: defaults.newline_count: expected a whole number, 0 to 10; found -1",
    ),
    "small buffer": (
        "defaults: {max_buffer_bytes: 63}",
        "1: defaults.max_buffer_bytes: expected a whole number, 64 or more; found 63",
    ),
    "empty marker": (
        "routes:\n- marker: ''",
        '2: routes[0].marker: expected a marker or a list of markers of 1 to 200 printable characters; found ""',
    ),
    "marker is a number": (
        "defaults:\n  marker: 5",
        "2: defaults.marker: expected a marker or a list of markers (in quotes if need be); found 5",
    ),
    "one of the markers": (
        "defaults:\n  marker:\n  - CALL\n  - true",
        "4: defaults.marker[1]: expected a marker (in quotes if need be); found true",
    ),
    "marker of two lines": (
        'defaults: {marker: "a\\nb"}',
        '1: defaults.marker: expected a marker or a list of markers of 1 to 200 printable characters; found "a\\nb"',
    ),
    "white space around a marker": (
        "defaults: {marker: 'CALL '}",
        '1: defaults.marker: expected a marker without white space around it; found "CALL "',
    ),
    "no markers": ("defaults: {marker: []}", "1: defaults.marker: expected at least one marker; found an empty list"),
    "payload": (
        "defaults: {max_payload_chars: -1}",
        "1: defaults.max_payload_chars: expected a whole number, 0 or more; found -1",
    ),
    "huge number": ("version: 1e999", '1: the number "1e999" is out of range (quote it to make it text)'),
    "version": ("version: 2", "1: version: expected 1; found 2"),
    "patterns": (
        "vtc_client_patterns:",
        "1: vtc_client_patterns: expected a list of words ([] switches detection off); found nothing",
    ),
    "blank pattern": (
        "vtc_client_patterns:\n- a\n- ' '",
        '3: vtc_client_patterns[1]: expected a word of 1 to 200 printable characters; found " "',
    ),
    "regular expression": (
        "defaults:\n  allowed_tools:\n  - read\n  - 'a('",
        '4: defaults.allowed_tools[1]: expected a regular expression; found "a(" '
        "(missing ), unterminated subpattern at position 1)",
    ),
    "repeat count": (
        "defaults: {allowed_tools: ['a{99999999999}']}",
        "1: defaults.allowed_tools[0]: expected a regular "
        'expression; found "a{99999999999}" (the repetition number is too large)',
    ),
    "no list": (
        "defaults: {allowed_tools: read}",
        '1: defaults.allowed_tools: expected null or a list of regular expressions; found "read"',
    ),
    "host with port": (
        "routes: [{match: {host: 'a:80'}}]",
        '1: routes[0].match.host: expected a host name without scheme, port and path; found "a:80"',
    ),
    "relative path": (
        "routes: [{match: {path: v1/*}}]",
        '1: routes[0].match.path: expected a path that begins with "/" or "*"; found "v1/*"',
    ),
    "open bracket": (
        "routes: [{match: {model: 'a[b'}}]",
        '1: routes[0].match.model: expected a pattern in which every "[" is closed by a "]"; found "a[b"',
    ),
    "model is a number": (
        "routes: [{match: {model: 4}}]",
        "1: routes[0].match.model: expected a pattern (in quotes if need be); found 4",
    ),
    "empty pattern": (
        "routes: [{match: {path: ''}}]",
        '1: routes[0].match.path: expected a pattern of 1 to 1000 characters; found ""',
    ),
    "name taken": ("routes:\n- name: a\n- name: a", '3: routes[1]: the name "a" is taken already'),
    "default is taken": ("routes: [{name: default}]", '1: routes[0]: the name "default" is taken already'),
    "name breaks the line": (
        'routes: [{name: "a\\nb"}]',
        '1: routes[0].name: expected a name of 1 to 200 printable characters; found "a\\nb"',
    ),
    "route is empty": ("routes:\n-", "2: routes[0]: expected a mapping of keys to values; found nothing"),
    "routes is a mapping": ("routes:\n  a: {}", "2: routes: expected a list of routes; found a mapping"),
    "document is a list": ("- a", "1: expected a mapping of keys to values; found a list"),
    "tool without name": (
        "defaults:\n  tools:\n  - description: a",
        '3: defaults.tools[0]: expected a tool with the key "name"; found none',
    ),
    "tool twice": (
        "defaults:\n  tools:\n  - name: a\n  - name: a",
        '4: defaults.tools[1]: the tool "a" is given twice; expected it once',
    ),
    "tool of another API": (
        "defaults: {tools: [{name: a, input_schema: {}}]}",
        '1: unknown key "input_schema"; expected one of name, description, parameters, type, strict',
    ),
    "tool type": (
        "defaults: {tools: [{type: custom, function: {name: a}}]}",
        '1: defaults.tools[0].type: expected function; found "custom"',
    ),
    "schema": (
        "defaults: {tools: [{name: a, parameters: []}]}",
        "1: defaults.tools[0].parameters: expected a mapping of keys to values; found a list",
    ),
    "syntax": (
        "version: 1\nroutes: [",
        "2: not YAML: while parsing a flow node, expected the node content, but found '<stream end>'",
    ),
    "tab": (
        "defaults:\n\tclient: auto",
        "2: not YAML: while scanning for the next token, found character '\\t' that cannot start any token",
    ),
    "control character": ("version: 1\n\n# \x00", "3: found character U+0000, which YAML does not allow"),
    "escape out of range": (
        'version: "\\UFFFFFFFF"',
        "1: not YAML: a number in an escape or a directive is out of range",
    ),
    "half a surrogate pair": ('version: "\\ud83d"', "1: found half of a surrogate pair; expected whole characters"),
    "two documents": ("version: 1\n---\nversion: 1", "2: found a second document; expected one"),
    "anchor": ("routes:\n- &a {}", '2: found the anchor or alias "a"; expected the value itself'),
    "alias": ("routes:\n- *a", '2: found the anchor or alias "a"; expected the value itself'),
    "tag": (
        "version: !!python/name:os.system x",
        '1: found the tag "tag:yaml.org,2002:python/name:os.system"; expected a plain value or quoted text',
    ),
    "key is a list": ("? [a]\n: b", "1: found a list, a mapping or an alias as a key; expected a word"),
    "deep": ("[" * 500, "1: found values nested more than 64 deep; expected fewer levels"),
    "line breaks in a key": (
        '"a\\u2028b\\x1b[2J": 1',
        '1: unknown key "a\\u2028b\\x1b[2J"; expected one of version, vtc_client_patterns, prices, currency, defaults, '
        "routes",
    ),
}


@pytest.mark.parametrize(("text", "line"), BAD.values(), ids=BAD)
def test_bad(text: str, line: str) -> None:
    assert mistakes(text) == (f"c.yaml:{line}",)


def test_every_mistake_has_its_line_in_order() -> None:
    errors = mistakes("zz: 1\nroutes:\n- client: 1\n  policy: x\n- 5\n- match:\n    host: ''\nversion: 3\n")
    assert [int(error.split(":")[1]) for error in errors] == [1, 3, 4, 5, 7, 8]


def test_str_is_all_mistakes() -> None:
    with pytest.raises(ConfigError) as caught:
        read("a: 1\nb: 2")
    assert str(caught.value) == "\n".join(caught.value.errors)
    assert len(caught.value.errors) == 2


def test_mistakes_are_bounded() -> None:
    flat = mistakes("".join(f"unknown{i}: 1\n" for i in range(500)))
    nested = mistakes("routes:\n" + "- {client: 1, policy: 1}\n" * 500)
    assert len(flat) == len(nested) == config_module.MAX_MISTAKES


# Each made as large as asked, in lines, words or signs of its kind.
BOMBS: dict[str, tuple[Callable[[int], str], int]] = {
    "billion laughs": (lambda size: "a0: &a0 [x, x]\n" + "".join(map(laugh, range(1, size))), 320),
    "open lists": (lambda size: "[" * size, 900_000),
    "open lists, one a line": (lambda size: "[\n" * size, 400_000),
    "nested blocks": (lambda size: "- " * size, 400_000),
    "nested keys": (lambda size: "? " * size, 400_000),
    "many values": (lambda size: "- a\n" * size, 240_000),
    "many lines of one value": (lambda size: "a\n" * size, 400_000),
    "one long word": (lambda size: "a" * size + ": 1", 900_000),
    "one long number": (lambda size: "version: " + "9" * size, 900_000),
    "base 60": (lambda size: "version: " + "1" + ":59" * size, 300_000),
    "escapes": (lambda size: '"' + "\\x41" * size + '"', 220_000),
    "long directive": (lambda size: "%YAML " + "9" * size + ".1\n---\n", 900_000),
}


def laugh(number: int) -> str:
    return f"a{number}: &a{number} [*a{number - 1}, *a{number - 1}]\n"


@pytest.mark.parametrize(("bomb", "size"), BOMBS.values(), ids=BOMBS)
def test_bombs_are_refused_soon(bomb: Callable[[int], str], size: int) -> None:
    """The work grows with the text, whatever it would unfold to."""
    size = smaller(size)
    (error,) = mistakes(bomb(size))
    assert "\n" not in error
    assert len(error) < 300

    def work(size: int) -> Callable[[], object]:
        text = bomb(size)
        return lambda: mistakes(text)

    grows_with_its_input(work, size // 16)


def one_line_or_config(text: str) -> None:
    try:
        read(text)
        lines: tuple[str, ...] = ()
    except ConfigError as error:
        lines = error.errors or ("no line",)
    for line in lines:
        assert re.match(r"c\.yaml:[1-9][0-9]*: \S", line)
        assert line.splitlines() == [line]
        assert int(line.split(":")[1]) <= len(text.splitlines()) + 1


@given(st.text())
@example("\ud800")
@example("a: \x85\u2028\n\x00")
def test_any_text_gives_a_config_or_lines(text: str) -> None:
    one_line_or_config(text)


YAML_PIECES = [
    *"-?:,[]{}#&*!|>'\"%@`~<=\\ \n\t09ae", "\n  ", "\n- ", ": ", "---\n", "...\n", "<<: ", "!!int ", "&a ", "*a ",
    "%YAML 1.1\n", "%TAG ! x\n", "|2-\n", '"\\x', '"\\u', "\\ud83d", "\r", "\x85", "\ufeff", "null", "true",
    "1e400", "-0",
    "version", "vtc_client_patterns", "prices", "defaults", "routes", "name", "match", "host", "path", "model", "wire",
    "client", "upstream", "client_dialect", "dialects", "policy", "allowed_tools", "tools", "function", "parameters",
    "newline_count", "auto", "native", "text", "invoke", "tagged", "strict", "openai_chat",
]  # fmt: skip


@given(st.lists(st.sampled_from(YAML_PIECES), max_size=40).map("".join))
def test_any_yaml_like_text_gives_a_config_or_lines(text: str) -> None:
    one_line_or_config(text)


KEYS = [piece for piece in YAML_PIECES if re.fullmatch("[a-z_]{4,}", piece)]
TREES = st.recursive(
    st.sampled_from(
        ["1", "-1", "65536", "true", "null", '"("', '"["', '""', '"/*"', '"a"', *(f'"{key}"' for key in KEYS)]
    ),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]")
        | st.lists(st.tuples(st.sampled_from(KEYS), inner), max_size=4).map(
            lambda items: "{" + ", ".join(f"{key}: {value}" for key, value in items) + "}"
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from(["", "defaults: ", "routes: ", "routes:\n- ", "routes:\n- tools:\n  - "]), TREES)
def test_any_tree_of_known_keys_gives_a_config_or_lines(section: str, tree: str) -> None:
    one_line_or_config(section + tree)


def test_load_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text("version: 1\nx: 1\n")
    with pytest.raises(ConfigError, match=rf"^{re.escape(str(path))}:2: unknown key \"x\""):
        load(path, DIALECTS, WIRES)


UNREADABLE = {
    "not UTF-8": (b"# a\n\xff\n", "2: found byte 0xff, which is not UTF-8; expected UTF-8 text"),
    "UTF-16": ("a: 1".encode("utf-16-le"), "1: found character U+0000, which YAML does not allow"),
    "too large": (b"#" * 1_000_001, "1: the file is too large; expected at most 1000000 bytes"),
}


@pytest.mark.parametrize(("data", "line"), UNREADABLE.values(), ids=UNREADABLE)
def test_load_refuses_in_one_line(tmp_path: Path, data: bytes, line: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        load(path, DIALECTS, WIRES)
    assert caught.value.errors == (f"{path}:{line}",)


@pytest.mark.parametrize("name", ["absent.yaml", "", "a\0b"], ids=["absent", "folder", "no path"])
def test_load_of_what_is_no_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / name, DIALECTS, WIRES)
    (line,) = caught.value.errors
    assert ":1: the file cannot be read: " in line


@pytest.mark.parametrize("data", ["", " \n\n"])
def test_an_empty_file_takes_no_rules_away(tmp_path: Path, data: str) -> None:
    """Editors empty a file before they write it, and the addon may look in between."""
    path = tmp_path / "c.yaml"
    path.write_text(data)
    with pytest.raises(ConfigError) as caught:
        load(path, DIALECTS, WIRES)
    assert caught.value.errors == (f"{path}:1: the file is empty; a configuration begins with `version: 1`",)
    path.write_text("# nothing is configured\n")
    for nothing in (path, Path(os.devnull)):
        assert load(nothing, DIALECTS, WIRES) == Config()


def test_largest_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(b"version: 1 #".ljust(1_000_000, b"#"))
    assert load(path, DIALECTS, WIRES) == Config()


def test_default_file_says_the_defaults() -> None:
    assert default_path() == REPO / "config" / "toolcalls.yaml"
    assert load(default_path(), DIALECTS, WIRES) == Config()


def test_default_file_names_every_key() -> None:
    text = default_path().read_text()
    keys = {
        *Route.__dataclass_fields__,
        *Match.__dataclass_fields__,
        "version",
        "vtc_client_patterns",
        "prices",
        "defaults",
        "routes",
    }
    keys.remove("own")  # `dialects` sets it
    assert {key for key in keys if not re.search(rf"^[# -]*{key}:", text, re.MULTILINE)} == set()


def test_default_file_commented_route_is_good() -> None:
    before, _, commented = default_path().read_text().partition("routes: []\n")
    text = before + "routes:\n" + re.sub(r"^# ", "", commented, flags=re.MULTILINE)
    assert read(text).routes[0].match == Match("*.example.com", "/v1/*", "qwen*", "openai_chat")


def test_default_path_of_an_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "lib" / "site-packages" / "toolcalls"
    monkeypatch.setattr(config_module, "__file__", str(package / "config" / "__init__.py"))
    assert default_path() == package / "_config" / "toolcalls.yaml"


CHAT = {"host": "127.0.0.1", "path": "/v1/chat/completions", "model": "m", "wire": "openai_chat"}
EXAMPLE_SIDES = {
    "local-server": ("native", "text", None),
    "log-only": ("native", "native", None),
    "text-client": ("text", "native", "tagged"),
    "virtual-tool-calling": ("text", "text", "invoke"),
    "access-rules": ("auto", "auto", None),
    "content-filters": ("auto", "auto", None),
    "loop-guard": ("auto", "auto", None),
    "reactors": ("auto", "auto", None),
    "steering": ("auto", "auto", None),
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_does_what_its_name_says(path: Path) -> None:
    route = select(load(path, DIALECTS, WIRES), **CHAT)
    assert (route.client, route.upstream, route.client_dialect) == EXAMPLE_SIDES[path.stem]
    heading = path.read_text().partition("\n\n")[0]
    assert heading.startswith("# For whom: ")
    assert "\n# Start: mitm" in heading
    assert f"config/examples/{path.name}" in heading
    assert "\n# You will see: " in heading


def test_all_examples_are_there() -> None:
    assert {path.stem for path in EXAMPLES} == EXAMPLE_SIDES.keys()


SELECT = {
    "host in any case": (Match(host="API.*"), {"host": "Api.Example.com"}, True),
    "host is matched whole": (Match(host="example.com"), {"host": "api.example.com"}, False),
    "path without query": (Match(path="*/completions"), {"path": "/v1/chat/completions?a=/b"}, True),
    "star takes slashes": (Match(path="/v1/*"), {"path": "/v1/a/b"}, True),
    "path in its case": (Match(path="/V1/*"), {}, False),
    "model": (Match(model="qwen[23]-?"), {"model": "qwen3-x"}, True),
    "model in its case": (Match(model="Qwen*"), {"model": "qwen3"}, False),
    "wire": (Match(wire="openai_chat"), {}, True),
    "other wire": (Match(wire="gemini"), {}, False),
    "all must fit": (Match(model="m", host="other"), {}, False),
    "nothing set fits all": (Match(), {}, True),
}


@pytest.mark.parametrize(("match", "request_", "fits"), SELECT.values(), ids=SELECT)
def test_select(match: Match, request_: dict[str, str], fits: bool) -> None:
    config = Config(routes=(Route(name="it", match=match),))
    assert select(config, **{**CHAT, **request_}).name == ("it" if fits else "default")


def test_first_match_wins() -> None:
    routes = (Route(name="no", match=Match(model="x")), Route(name="first"), Route(name="second"))
    assert select(Config(routes=routes), **CHAT) is routes[1]
