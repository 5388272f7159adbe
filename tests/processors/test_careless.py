"""Rules for text clients hold against the most careless parser of a client's dialect (law 13).

A generator writes a forbidden and a permitted call in every shape that such a parser still reads: with words,
comments, fences and unknown parameters in between, with parameters twice and further inside, without closers, over
several blocks.
The readers below are written down from what Cline, Roo Code and OpenHands do, and from what scripts with a pattern do.
Of the forbidden call none of them may find anything in what leaves; the permitted one leaves byte for byte.
"""

import json
import re
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import anthropicclient, responsesclient
from support.growth import grows_with_its_input
from support.processorcases import no_reactors, route_of, words
from support.sampling import some
from support.spoken import SPOKEN, through
from support.strategies import law
from toolcalls.processors import Processors
from toolcalls.processors.access import Gate
from toolcalls.processors.careless import PATIENCE, CarelessReading
from toolcalls.processors.careless_tags import Tags
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request, Tool
from toolcalls.requests.evidence import Decision, call_policy_of
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

type Calls = Iterator[tuple[str, dict[str, str]]]


def _tool(name: str, *keys: str) -> Tool:
    return Tool(name, {"type": "object", "properties": {key: {"type": "string"} for key in keys}})


TOOLS = (
    _tool("execute_command", "command", "title"),
    _tool("write_to_file", "path", "content"),
    Tool("read_file", {"type": "object", "properties": {"path": {"type": "string"}, "args": {"type": "object"}}}),
)
RULES = {
    "access": {
        "message": "No.",
        "rules": [
            {"name": "no-rm", "action": "block", "tools": "execute_command", "arguments": {"command": "^rm"}},
            {"name": "no-etc", "action": "block", "arguments": {"path": "^/etc"}},
        ],
    }
}
NAMES = [tool.name for tool in TOOLS]
KEYS = ["command", "title", "path", "content"]

# What clients make of a text


def cline(text: str, *, inner: bool = False) -> Calls:
    """First opener, values to the first closer, the last of two, what is unknown skipped; what never ends counts."""
    at = 0
    while at < len(text):
        name = next((name for name in NAMES if text.startswith(f"<{name}>", at)), None)
        if name is None:
            at += 1
            continue
        at += len(name) + 2
        found: dict[str, str] = {}
        while at < len(text) and not text.startswith(f"</{name}>", at):
            key = next((key for key in KEYS if text.startswith(f"<{key}>", at)), None)
            if key is None:
                at += 1
                continue
            at += len(key) + 2
            end = text.find(f"</{key}>", at)
            end = len(text) if end < 0 else end
            found[key] = text[at:end].strip()
            at = end if inner else end + len(key) + 3
        yield name, found


def roo(text: str) -> Calls:
    """An element up to its last closer, and what stands in elements further inside."""
    for name in NAMES:
        for reach in (".*", ".*?", "[^\0]*$"):
            closer = "" if "$" in reach else f"</{name}>"
            if not closer and f"</{name}>" in text:
                continue
            for call in re.finditer(rf"<{name}>({reach}){closer}", text, re.DOTALL):
                for inside in (".*", ".*?"):
                    pairs = re.findall(rf"<({'|'.join(KEYS)})>({inside})</\1>", call[1], re.DOTALL)
                    yield name, {key: value.strip() for key, value in pairs}


def openhands(text: str) -> Calls:
    """Its own pattern; the reply may have stopped at the closer. It takes no element that nobody knows amiss."""
    for call in re.finditer(r"<function=([^>]+)>(.*?)(?:</function|$)", text, re.DOTALL):
        yield call[1], {key: value.strip() for key, value in re.findall(
            r"<parameter=([^>]+)>(.*?)</parameter>", call[2], re.DOTALL)}  # fmt: skip


def invoke(text: str) -> Calls:
    """Attributes in any order, in any quotes."""
    named = r"""<{}\b[^>]*?\bname\s*=\s*["']?([^"'\s>]+)[^>]*>"""
    for reach in (".*", ".*?"):
        closer = "</invoke>" if "</invoke>" in text else "$"
        for call in re.finditer(named.format("invoke") + rf"({reach}){closer}", text, re.DOTALL):
            pairs = re.findall(named.format("parameter") + r"(.*?)</parameter>", call[2], re.DOTALL)
            yield call[1], {key: value.strip() for key, value in pairs}


def json_in_tags(text: str) -> Calls:
    """From the first brace to the last one."""
    for reach in (".*", ".*?") if "</tool_call>" in text else ("[^\0]*$",):
        closer = "" if "$" in reach else "</tool_call>"
        for call in re.finditer(rf"<tool_call>({reach}){closer}", text, re.DOTALL):
            try:
                found = json.loads(call[1][call[1].find("{") : call[1].rfind("}") + 1])
            except ValueError:
                continue
            yield str(found.get("name")), found.get("arguments", {})


# How a call is written


def _tagged(name: str, arguments: list[tuple[str, str]], junk: str) -> str:
    return f"<{name}>\n{junk}" + "".join(f"<{key}>{value}</{key}>\n" for key, value in arguments) + f"</{name}>"


def _invoke(name: str, arguments: list[tuple[str, str]], junk: str) -> str:
    inside = "".join(f'<parameter name="{key}">{value}</parameter>\n' for key, value in arguments)
    return f'<invoke name="{name}">\n{junk}{inside}</invoke>'


def _attributes(name: str, arguments: list[tuple[str, str]], junk: str) -> str:
    inside = "".join(f"<parameter type='a' name='{key}'>{value}</parameter>\n" for key, value in arguments)
    return f"<invoke id=\"1\" name='{name}' x=y>\n{junk}{inside}</invoke>"


def _function(name: str, arguments: list[tuple[str, str]], junk: str) -> str:
    inside = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in arguments)
    return f"<function={name}>\n{junk}{inside}</function>"


def _json(name: str, arguments: list[tuple[str, str]], junk: str) -> str:
    inside = ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in arguments)
    return f'<tool_call>\n{junk}{{"name": "{name}", "arguments": {{{inside}}}}}\n</tool_call>'


FORMS: dict[str, tuple[str, Callable[[str, list[tuple[str, str]], str], str], list[Callable[[str], Calls]]]] = {
    "tagged": ("tagged", _tagged, [cline, roo]),
    "invoke": ("invoke", _invoke, [invoke]),
    "invoke, attributes": ("invoke", _attributes, [invoke]),
    "qwen3_xml": ("qwen3_xml", _function, [openhands]),
    "openhands_fn": ("openhands_fn", _function, [openhands]),
    "hermes": ("hermes", _json, [json_in_tags]),
}
JUNK = {
    "nothing": "",
    "line": "Let me do it.\n",
    "comment": "<!-- first -->\n",
    "fence": "```xml\n",
    "unknown": "<note>now</note>\n",
    "thought": "<thinking>I < you > me</thinking>\n",
    "parameter": '<parameter name="note">now</parameter>\n',
    "function": "<parameter=note>now</parameter>\n",
    "lines": "So:\n\n> a\n> b\n\n",
}
VALUES = {
    "once": [("command", "{}")],
    "behind": [("title", "a title"), ("command", "{}")],
    "last": [("command", "ls"), ("command", "{}")],
    "first": [("command", "{}"), ("command", "ls")],
    "blanks": [("command", "\n  {}\n")],
}
AROUND = {
    "bare": "{}",
    "fence": "So:\n```\n{}\n```\nDone.\n",
    "inline": "I run {} now.\n",
    "twice": "{}\n{}\n",
    "mention": "Use `<execute_command>` for it.\n\n{}\nDone.\n",
    "behind": "{}\n\nMore to say about <b>it</b>.\n",
}


def client_of(dialect: str, wire: str = "openai_chat", form: Form = "sse", rules: Any = RULES) -> Exchange:
    route = route_of(rules)
    decision = Decision("roundtrip", "text", "auto", dialect, ())
    call_policy, tools = call_policy_of(route, Request(tools=TOOLS), decision)
    processors = Processors(route, run=no_reactors) if route.processes else None
    return Exchange(all_wires()[wire], call_policy, decision, tools, form=form, seed=b"s", processors=processors)


def got(dialect: str, pieces: list[str], wire: str = "openai_chat", rules: Any = RULES) -> tuple[str, Exchange]:
    spoken = SPOKEN[wire]
    exchange = client_of(dialect, spoken.wire, spoken.form, rules)
    out = through(exchange, spoken.said(pieces))
    assert exchange.failure is None, repr(exchange.failure)
    return spoken.heard(out)[0], exchange


def cut(text: str, step: int) -> list[str]:
    return [text[at : at + step] for at in range(0, len(text), step)]


def forbidden(form: str, text: str) -> list[tuple[str, dict[str, str]]]:
    readers = FORMS[form][2]
    return [
        (name, found)
        for reader in readers
        for name, found in reader(text)
        if (name == "execute_command" and str(found.get("command", "")).startswith("rm"))
        or str(found.get("path", "")).startswith("/etc")
    ]


SHAPES = list(product(FORMS, JUNK, VALUES, AROUND))


def written(form: str, junk: str, values: str, around: str, command: str) -> str:
    arguments = [(key, value.format(command)) for key, value in VALUES[values]]
    call = FORMS[form][1]("execute_command", arguments, JUNK[junk])
    return AROUND[around].replace("{}", call)


@pytest.mark.parametrize("wire", SPOKEN)
@pytest.mark.parametrize("form", FORMS)
def test_no_reader_finds_a_forbidden_call(form: str, wire: str) -> None:
    seen = 0
    for shape in some([shape for shape in SHAPES if shape[0] == form], 6, f"{form} {wire}"):
        text = written(*shape, "rm -rf x")
        seen += bool(forbidden(form, text))
        outs = {got(FORMS[form][0], cut(text, step), wire)[0] for step in (1, 7, 10_000)}
        assert len(outs) == 1, shape
        assert not forbidden(form, outs.pop()), shape
    assert seen


@pytest.mark.parametrize("wire", SPOKEN)
@pytest.mark.parametrize("form", FORMS)
def test_a_permitted_call_stays_byte_for_byte(form: str, wire: str) -> None:
    for shape in some([shape for shape in SHAPES if shape[0] == form], 6, f"{form} {wire}"):
        text = written(*shape, "du -sh x")
        for step in (1, 7, 10_000):
            out, exchange = got(FORMS[form][0], cut(text, step), wire)
            # One object behind other text in a call that is none is written anew, with rules and without.
            assert out == (text if form != "hermes" else got("hermes", cut(text, step), wire, {})[0]), shape
            assert not [word for word in words(exchange) if word.startswith("blocked")]


def in_blocks(wire: str, form: Form, parts: list[str]) -> bytes:
    if wire == "anthropic":
        events = anthropicclient.stream([anthropicclient.text(*cut(part, 9)) for part in parts])
        return anthropicclient.written(events) if form == "sse" else anthropicclient.whole(events)
    items = responsesclient.stream([cut(part, 9) for part in parts])
    return responsesclient.written(items) if form == "sse" else responsesclient.whole(items)


def blocks_of(wire: str, form: Form, out: bytes) -> list[str]:
    """The texts of the blocks or items that a client gets, in order."""
    found: dict[int, str] = {}
    if form == "whole":
        body = json.loads(out)
        parts = body["content"] if wire == "anthropic" else [p for item in body["output"] for p in item["content"]]
        return [part["text"] for part in parts]
    for line in out.decode().splitlines():
        event = json.loads(line[6:]) if line.startswith("data: {") else {}
        if event.get("type") == "content_block_delta":
            found[event["index"]] = found.get(event["index"], "") + event["delta"]["text"]
        elif event.get("type") == "response.output_text.delta":
            found[event["output_index"]] = found.get(event["output_index"], "") + event["delta"]
    return [text for _, text in sorted(found.items())]


@pytest.mark.parametrize("body_form", ["sse", "whole"])
@pytest.mark.parametrize("wire", ["anthropic", "openai_responses"])
@pytest.mark.parametrize("form", FORMS)
def test_a_call_over_several_blocks_is_one_call(form: str, wire: str, body_form: Form) -> None:
    call = FORMS[form][1]
    dialect = FORMS[form][0]
    for command in ("rm -rf x", "du -sh x"):
        text = call("execute_command", [("title", "a"), ("command", command)], "So.\n")
        for at in some(range(1, len(text)), 25, f"{form} {wire} {body_form}"):
            parts = [text[:at], text[at:]]
            exchange = client_of(dialect, wire, body_form)
            blocks = blocks_of(wire, body_form, through(exchange, in_blocks(wire, body_form, parts)))
            assert exchange.failure is None
            if command.startswith("rm"):
                assert not forbidden(form, "".join(blocks)), parts
                assert not forbidden(form, "\n".join(blocks)), parts
            else:
                unruled = client_of(dialect, wire, body_form, {})
                assert blocks == blocks_of(wire, body_form, through(unruled, in_blocks(wire, body_form, parts)))
                assert not [word for word in words(exchange) if word.startswith("blocked")]


SPLIT = {
    "closer": ("tagged", ["<execute_command>a</execute", "_command>b<command>rm x</command>c</execute_command>"]),
    "parameter": ("tagged", ["<execute_command><title", ">a<command>rm x</command></title></execute_command>"]),
    "objects": (
        "hermes", ["<tool_call>a</tool_", 'call>{"name": "read_file", "arguments": {"path": "/etc/x"}}</tool_call>']
    ),
}  # fmt: skip


@pytest.mark.parametrize("title", SPLIT)
def test_a_tag_over_two_blocks_is_one_and_is_none(title: str) -> None:
    """Clients join blocks with nothing or with a line end."""
    form, parts = SPLIT[title]
    assert any(forbidden(form, apart.join(parts)) for apart in ("", "\n"))
    exchange = client_of(form, "anthropic", "sse")
    blocks = blocks_of("anthropic", "sse", through(exchange, in_blocks("anthropic", "sse", parts)))
    assert not any(forbidden(form, apart.join(blocks)) for apart in ("", "\n")), blocks


FILE = "<write_to_file>\n<path>{}</path>\n<content>x</content>\n{}\n</write_to_file>"
DUPLICATES = {
    "twice": (FILE.format("ok.txt", "<path>/etc/passwd</path>\ny</content>"), "write_to_file"),
    "first": (FILE.format("/etc/passwd", "<path>ok.txt</path>"), "write_to_file"),
    "inside": (
        "<read_file>\n<args><file><path>/etc/passwd</path></file></args>\n</read_file>", "read_file"
    ),
    "unknown": (
        "<read_file>\n<files><one><path>/etc/passwd</path></one></files>\n</read_file>", "read_file"
    ),
    "behind its closer": (
        "<execute_command>\n<command>ls</command>\n</execute_command>\n<command>rm x</command>\n</execute_command>",
        "execute_command"
    ),
    "never ends": ("<execute_command>\nSo:\n<command>rm x", "execute_command"),
    "value swallows": ("<read_file>\n<path>/etc/passwd\n</read_file>", "read_file"),
}  # fmt: skip


@pytest.mark.parametrize("title", DUPLICATES)
def test_each_value_of_a_parameter_counts_wherever_it_stands(title: str) -> None:
    text, name = DUPLICATES[title]
    for step in (1, 7, 10_000):
        out, exchange = got("tagged", cut(f"{text}\nMore.\n", step))
        assert not forbidden("tagged", out), out
        assert [word for word in words(exchange) if word.startswith(f"blocked {name}")]
        assert out.count("No.") == 1


@pytest.mark.parametrize("title", sorted(DUPLICATES.keys() - {"value swallows"}))  # what never ends is undecided
def test_with_other_values_they_stay(title: str) -> None:
    text = DUPLICATES[title][0].replace("/etc/passwd", "/home/u/a").replace("rm x", "ls y") + "\nMore.\n"
    for step in (1, 7, 10_000):
        without = got("tagged", cut(text, step), rules={})[0]
        assert got("tagged", cut(text, step))[0] == without == text


def test_what_a_file_documents_is_no_call() -> None:
    """Up to its first closer a value is data to every client, also where it holds calls."""
    docs = "Call:\n\n<execute_command>\n<command>rm x</command>\n</execute_command>\n<path>/etc/x</path>\n"
    for form, call in (("tagged", _tagged), ("invoke", _invoke), ("qwen3_xml", _function), ("hermes", _json)):
        text = call("write_to_file", [("path", "a.md"), ("content", docs)], "")
        for step in (1, 7, 10_000):
            out, exchange = got(form, cut(text, step))
            assert out == text
            assert not [word for word in words(exchange) if word.startswith("blocked")]


def test_a_mention_holds_no_text_for_long_and_still_opens_a_call() -> None:
    prose = "Use <execute_command> for it. " + "So it is. " * (PATIENCE // 5)
    exchange = client_of("tagged")
    spoken = SPOKEN["openai_chat"]
    out = spoken.said(cut(prose, 50))
    shown = exchange.feed(out[: out.index(b"[DONE]") - 300]).decode()
    assert shown.count("So it is") > PATIENCE // 10
    for step in (7, 10_000):
        text = f"{prose}\n<command>rm x</command>\nMore.\n"
        left, exchange = got("tagged", cut(text, step))
        assert left.startswith(prose)
        assert left.endswith("More.\n")
        assert not forbidden("tagged", left)
        assert words(exchange)[-1:] == ["blocked execute_command no-rm"]


def test_a_long_value_that_no_rule_asks_for_streams() -> None:
    text = _tagged("write_to_file", [("path", "a.md"), ("content", "line\n" * PATIENCE)], "So.\n")
    exchange = client_of("tagged")
    body = SPOKEN["openai_chat"].said(cut(text, 50))
    assert exchange.feed(body[: len(body) // 2]).count(b"line") > PATIENCE // 4


FRAGMENTS = {
    "tagged": (
        "<execute_command> </execute_command> <command> </command> <write_to_file> </write_to_file> <path> </path> "
        "<content> </content> <title> </title> <note> </note> <args> </args> <file> </file> <read_file> </read_file> "
        "<exec"
    ),
    "invoke": (
        "<invoke~name=\"execute_command\"> </invoke> <parameter~name=\"command\"> <parameter~x='y'~name='path'> "
        '</parameter> <note> <invoke~name="write_to_file"> <parameter~name="content"> <function_calls> '
        "</function_calls>"
    ),
    "qwen3_xml": (
        "<function=execute_command> </function> <parameter=command> <parameter=path> </parameter> <tool_call> "
        "</tool_call> <function=write_to_file> <parameter=content>"
    ),
    "hermes": (
        '<tool_call> </tool_call> { } [ ] {"name":"execute_command","arguments":{"command":"rm~x"}} '
        '{"name":"execute_command","arguments":{"command":"ls","command":"rm~x"}} '
        '{"name":"write_to_file","arguments":{"path":"/etc/x"}} '
        '{"name":"write_to_file","arguments":{"path":"ok","content":"</tool_call>"}}'
    ),
}
ANYWHERE = ["rm x", "ls", "/etc/x", "ok", "\n", "```\n", "> ", "word ", "<", ">", "x " * (PATIENCE // 2 + 100)]


@law
@given(st.data(), st.sampled_from(sorted(FRAGMENTS)), st.sampled_from([1, 2, 5]))
def test_no_text_of_tags_and_words_holds_a_forbidden_call(data: st.DataObject, form: str, step: int) -> None:
    parts = [part.replace("~", " ") for part in FRAGMENTS[form].split()]
    text = "".join(data.draw(st.lists(st.sampled_from([*parts, *ANYWHERE]), max_size=16)))
    whole = got(form, cut(text, 1 << 20))[0]
    assert not forbidden(form, whole)
    left = got(form, cut(text, step))[0]
    assert not forbidden(form, left)
    if form != "hermes":  # where what separates a call that is written anew depends on the pieces
        assert left == whole


COSTLY = {
    "openers": "<execute_command> ",
    "values": "<execute_command><command>ls</command> ",
    "closers": "</command>",
    "nested": "<args><file>",
    "tags that never end": "<execute_command a ",
    "calls": "<execute_command><command>ls</command></execute_command>\n",
    "words": "a < b and so on ",
}


@pytest.mark.parametrize("title", COSTLY)
def test_work_grows_with_the_text(title: str) -> None:
    access = route_of(RULES).access
    assert access is not None
    tools = Toolbox(TOOLS)

    def read(size: int) -> Callable[[], object]:
        pieces = cut("<execute_command><command>ls" + COSTLY[title] * size, 40)

        def work() -> None:
            reading = CarelessReading(Gate(access, model="", agent=""), Tags(("tagged",), tools, ()))
            for piece in pieces:
                if not reading.passes(piece) and not reading.hidden:
                    reading.feed(piece)
            reading.boundary()

        return work

    grows_with_its_input(read, 500)
