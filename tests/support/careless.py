"""Calls as text clients' most careless parsers find them: how they are written, and readers of them (law 13).

The readers are written down from what Cline, Roo Code and OpenHands do, and from what scripts with a pattern do. The
shapes are those in which such a parser still finds a call: with words, comments, fences and unknown parameters in
between, with parameters twice, in quotations, beside a mention of the tool.
"""

import html
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

from support import anthropicclient, responsesclient
from toolcalls.processors.careless import PATIENCE
from toolcalls.request import Tool
from toolcalls.wires.frames import Form

type Calls = Iterator[tuple[str, dict[str, str]]]
type Arguments = Sequence[tuple[str, str]]
type Shape = tuple[str, str, str, str]  # of FORMS, JUNK, VALUES and AROUND


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
    """An element up to its last closer, and what is in elements further inside."""
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


def forge(text: str) -> Calls:
    """The first `<tool>` up to the first closer or the last one, read as XML whose order does not matter."""
    for reach in (".*?", ".*"):
        for call in re.finditer(rf"<tool>({reach})(?:</tool>|$)", text, re.DOTALL):
            inside = re.sub(r"<!--.*?-->", "", call[1], flags=re.DOTALL)
            values = {
                key: html.unescape(re.sub(r"<!\[CDATA\[(.*?)\]\]>", r"\1", value, flags=re.DOTALL)).strip()
                for key, value in re.findall(rf"<({'|'.join(KEYS)})>(.*?)</\1>", inside, re.DOTALL)
            }
            for name in re.findall(r"<tool_name>\s*(.*?)\s*</tool_name>", inside, re.DOTALL):
                yield name, values


def continues(text: str) -> Calls:
    """Lines: a name, arguments up to a line that ends one, the last of two; what is unknown is skipped."""
    lines = text.split("\n")
    for start, opener in enumerate(lines):
        named = re.search(r"tool_?name:(.*)", opener, re.IGNORECASE)
        if named is None:
            continue
        found: dict[str, str] = {}
        key, value = "", list[str]()
        for line in lines[start + 1 :]:
            begun = re.search(r"begin_?arg:(.*)", line, re.IGNORECASE)
            if key and re.search(r"end_?arg", line, re.IGNORECASE):
                found[key], key = "\n".join(value).strip(), ""
            elif key:
                value.append(line)
            elif begun is not None:
                key, value = begun[1].strip(), []
            elif line == "```":
                break
        if key:
            found[key] = "\n".join(value).strip()
        yield named[1].strip(), found


def react(text: str) -> Calls:
    """What LangChain's pattern finds, from each action on; and JSON with a name, in a fence or in the open."""
    for at in (match.start() for match in re.finditer("Action", text)):
        label = r"Action\s*+\d*+\s*+"
        call = re.match(rf"{label}:(.*?){label}Input\s*+\d*+\s*+:\s*+(.*)", text[at:], re.DOTALL)
        if call is None:
            continue
        name = call[1].strip().partition("\n")[0]
        for end in (call[2].find("}") + 1, call[2].rfind("}") + 1):
            try:
                yield name, dict(json.loads(call[2][call[2].find("{") : end]))
            except ValueError:
                yield name, {"command": call[2].strip(" ").strip('"')}
    for blob in re.finditer(r"\{.*?\}\s*\}|\{.*\}", text, re.DOTALL):
        try:
            found = json.loads(blob[0])
        except ValueError:
            continue
        yield from _blob(found)
    yield from _broken_off(text)


def _blob(found: Any) -> Calls:
    name, given = found.get("action", found.get("name")), found.get("action_input", found.get("arguments"))
    if isinstance(given, dict):
        yield str(name), given


def _broken_off(text: str) -> Calls:
    """An object that the text's end breaks off, closed as LangChain closes it."""
    for begin in range(len(text)):
        for closers in ("}", '"}', "}}", '"}}') if text[begin] == "{" else ():
            try:
                found = json.loads(text[begin:].rstrip(" \n`") + closers)
            except ValueError:
                continue
            yield from _blob(found)


# How a call is written


def _tagged(name: str, arguments: Arguments, junk: str) -> str:
    return f"<{name}>\n{junk}" + "".join(f"<{key}>{value}</{key}>\n" for key, value in arguments) + f"</{name}>"


def _invoke(name: str, arguments: Arguments, junk: str) -> str:
    inside = "".join(f'<parameter name="{key}">{value}</parameter>\n' for key, value in arguments)
    return f'<invoke name="{name}">\n{junk}{inside}</invoke>'


def _attributes(name: str, arguments: Arguments, junk: str) -> str:
    inside = "".join(f"<parameter type='a' name='{key}'>{value}</parameter>\n" for key, value in arguments)
    return f"<invoke id=\"1\" name='{name}' x=y>\n{junk}{inside}</invoke>"


def _function(name: str, arguments: Arguments, junk: str) -> str:
    inside = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in arguments)
    return f"<function={name}>\n{junk}{inside}</function>"


def _json(name: str, arguments: Arguments, junk: str) -> str:
    inside = ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in arguments)
    return f'<tool_call>\n{junk}{{"name": "{name}", "arguments": {{{inside}}}}}\n</tool_call>'


def _forge(name: str, arguments: Arguments, junk: str) -> str:
    inside = "".join(f"  <{key}>{value}</{key}>\n" for key, value in arguments)
    head = f"<server_name>local</server_name>\n<tool_name>{name}</tool_name>\n"
    return f"<tool>\n{junk}{head}<arguments>\n{inside}</arguments>\n</tool>"


def _continue(name: str, arguments: Arguments, junk: str) -> str:
    inside = "".join(f"BEGIN_ARG: {key}\n{value}\nEND_ARG\n" for key, value in arguments)
    return f"```tool\nTOOL_NAME: {name}\n{junk}{inside}```"


def _continue_bare(name: str, arguments: Arguments, junk: str) -> str:
    inside = "".join(f"begin_arg:{key}\n{value}\nend_arg\n" for key, value in arguments)
    return f"tool_name: {name}\n{junk}{inside}"


def _object(arguments: Arguments) -> str:
    return "{" + ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in arguments) + "}"


def _react(name: str, arguments: Arguments, junk: str) -> str:
    return f"Thought: I do it.\nAction: {name}\n{junk}Action Input: {_object(arguments)}"


def _react_blob(name: str, arguments: Arguments, junk: str) -> str:
    return f'Action:\n{junk}```json\n{{"action": "{name}", "action_input": {_object(arguments)}}}\n```'


@dataclass(frozen=True)
class CarelessForm:
    """One way to write calls of a dialect, and how those read it who read it.

    write      the text of a call: its name, its parameters in order, what is between opener and first parameter
    readers    what clients make of a text: every call that one of them finds
    rewritten  what is read in it may be written anew, with rules and without: JSON beside other text, for instance
    """

    dialect: str
    write: Callable[[str, Arguments, str], str]
    readers: tuple[Callable[[str], Calls], ...]
    rewritten: bool = False


FORMS = {
    "tagged": CarelessForm("tagged", _tagged, (cline, roo)),
    "invoke": CarelessForm("invoke", _invoke, (invoke,)),
    "invoke, attributes": CarelessForm("invoke", _attributes, (invoke,)),
    "qwen3_xml": CarelessForm("qwen3_xml", _function, (openhands,)),
    "openhands_fn": CarelessForm("openhands_fn", _function, (openhands,)),
    "hermes": CarelessForm("hermes", _json, (json_in_tags,), rewritten=True),
    "forge": CarelessForm("forge", _forge, (forge,)),
    "continue_codeblock": CarelessForm("continue_codeblock", _continue, (continues,)),
    "continue_codeblock, bare": CarelessForm("continue_codeblock", _continue_bare, (continues,)),
    "react": CarelessForm("react", _react, (react,), rewritten=True),
    "react, blob": CarelessForm("react", _react_blob, (react,), rewritten=True),
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


INSERTS = (
    *("w", "1", "é", " ", "\n", "\r", "\u00a0", "w ", "w\n", "* ", "--", "/", "\\", "=", "[", "{", "}", "&lt;"),
    *("\x0b", "\x85", "\u2028", "\u2028```\n", "\r```\n"),
    *('"', "'", "`", "```", "<", "<b", "<b>", "</b>", "</invoke>", "</parameter>", "<!--", "-->", "<![CDATA[", "]]>"),
    *(one * (9_000 // len(one)) for one in ("w ", "w\n", " ", "\n", "w", "1", "<b> ")),
)
# The blocks of a message, of a text, what is inserted and what comes after it.
ARRANGED: dict[str, Callable[[str, str, str], list[str]]] = {
    "one block": lambda before, inserted, after: [before + inserted + after],
    "first block": lambda before, inserted, after: [before + inserted, after],
    "second block": lambda before, inserted, after: [before, inserted + after],
}


def inserted(form: str, command: str) -> list[tuple[str, list[str]]]:
    """A call with something in each of its places, as the blocks of a message, each with its name."""
    text = FORMS[form].write("execute_command", [("title", "a"), ("command", command)], "")
    return [
        (f"{how}, {one[:9]!r} at {at}, {len(one)}", arranged(text[:at], one, text[at:]))
        for at in range(len(text) + 1)
        for one in INSERTS
        for how, arranged in ARRANGED.items()
    ]


def broken_off(form: str, command: str) -> list[str]:
    """A call that ends too early, at each of its places."""
    text = FORMS[form].write("execute_command", [("title", "it's {a}"), ("command", command)], "")
    return [text[:at] for at in range(len(text))]


def is_forbidden(form: str, blocks: Sequence[str]) -> bool:
    """Whether a reader finds a forbidden call in a message: clients join blocks with nothing or with a line end."""
    return any(forbidden(form, apart.join(blocks)) for apart in ("", "\n"))


def cut(text: str, step: int) -> list[str]:
    """A text in pieces of `step` characters."""
    return [text[at : at + step] for at in range(0, len(text), step)]


def forbidden(form: str, text: str) -> list[tuple[str, dict[str, str]]]:
    """The calls that the rules forbid, as the readers of a form find them in a text. Without a name nothing is run."""
    return [
        (name, found)
        for reader in FORMS[form].readers
        for name, found in reader(text)
        if name
        and (
            (name == "execute_command" and str(found.get("command", "")).startswith("rm"))
            or str(found.get("path", "")).startswith("/etc")
        )
    ]


SHAPES: list[Shape] = list(product(FORMS, JUNK, VALUES, AROUND))


def written(shape: Shape, command: str) -> str:
    """A call of `execute_command` in one of the shapes."""
    form, junk, values, around = shape
    arguments = [(key, value.format(command)) for key, value in VALUES[values]]
    return AROUND[around].replace("{}", FORMS[form].write("execute_command", arguments, JUNK[junk]))


def in_blocks(wire: str, form: Form, parts: Sequence[str]) -> bytes:
    """A reply of the Messages or the Responses API whose texts these are, each in a block or item of its own."""
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
    for line in out.decode().split("\n"):
        event = json.loads(line[6:]) if line.startswith("data: {") else {}
        if event.get("type") == "content_block_delta":
            found[event["index"]] = found.get(event["index"], "") + event["delta"]["text"]
        elif event.get("type") == "response.output_text.delta":
            found[event["output_index"]] = found.get(event["output_index"], "") + event["delta"]
    return [text for _, text in sorted(found.items())]


_FUNCTION_TAGS = (
    "<function=execute_command> </function> <parameter=command> <parameter=path> </parameter> <tool_call> "
    "</tool_call> <function=write_to_file> <parameter=content>"
)
FRAGMENTS = {  # of each dialect
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
    "qwen3_xml": _FUNCTION_TAGS,
    "openhands_fn": _FUNCTION_TAGS,
    "hermes": (
        '<tool_call> </tool_call> { } [ ] {"name":"execute_command","arguments":{"command":"rm~x"}} '
        '{"name":"execute_command","arguments":{"command":"ls","command":"rm~x"}} '
        '{"name":"write_to_file","arguments":{"path":"/etc/x"}} '
        '{"name":"write_to_file","arguments":{"path":"ok","content":"</tool_call>"}}'
    ),
    "forge": (
        "<tool> </tool> <tool_name>execute_command</tool_name> <tool_name>write_to_file</tool_name> <arguments> "
        "</arguments> <command> </command> <path> </path> <content> </content> <![CDATA[ ]]> <!-- --> &lt; "
        "<server_name>local</server_name> <to"
    ),
    "continue_codeblock": (
        "```tool\n \nTOOL_NAME:~execute_command\n tool_name:write_to_file\n \nBEGIN_ARG:~command\n begin_arg:path\n "
        "\nEND_ARG\n end_arg \n```\n TOOL _NAME:"
    ),
    "react": (
        'Action:~execute_command\n Action:~ write_to_file\n Action~Input:~ \nObservation: {"command":"rm~x"} '
        '{"command":"ls"} {"path":"/etc/x"} {"action":"execute_command","action_input":{"command":"rm~x"}} '
        "```json\n ``` Acti { }"
    ),
}
ANYWHERE = ["rm x", "ls", "/etc/x", "ok", "\n", "```\n", "> ", "word ", "<", ">", "x " * (PATIENCE // 2 + 100)]


def fragments(form: str) -> list[str]:
    """What texts are made of that nearly hold calls of a form: its tags, and words."""
    return [*(part.replace("~", " ") for part in FRAGMENTS[FORMS[form].dialect].split()), *ANYWHERE]


def of_fragments(form: str, random: Random) -> str:
    """A text of up to 16 fragments."""
    return "".join(random.choices(fragments(form), k=random.randint(1, 16)))
