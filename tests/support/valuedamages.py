"""Native calls whose names, values or JSON came damaged, on every wire, as servers send them.

A `Form` writes a reply with calls of any argument text; wires whose arguments are an object write text that is none as
a string, as servers do. `KINDS` has, by the kind that mends it, what each damage makes of a sound call, and what it is.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from support import damaging
from support.damagedwires import ALL, MESSAGE, Heard, payloads
from support.damaging import Sound, chat_stream, chat_whole, entries, entry
from support.geminiclient import body_of
from support.geminiclient import reply as gemini_reply
from support.ollamaclient import body_of as lines_of
from support.ollamaclient import line
from toolcalls.request import Tool

ITEM = {"type": "object", "properties": {"old": {"type": "string"}, "n": {"type": "integer"}}, "required": ["old"]}
EDIT = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "edits": {"type": "array", "items": {"$ref": "#/$defs/item"}},
        "all": {"type": "boolean"},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "scale": {"type": "number"},
        "where": {"type": "object", "properties": {"line": {"type": "integer"}}},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "any": {},
    },
    "required": ["path"],
    "$defs": {"item": ITEM},
}
READ = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
RUN = {"type": "object", "properties": {"argv": {"type": "array", "items": {"type": "string"}}}}
TOOLS = (
    Tool("run", RUN),
    Tool("edit", EDIT),
    Tool("read_file", READ),
    Tool("Bash", damaging.SCHEMA),
    Tool("now", {"type": "object"}),
)

BIG = 2**70


def in_pieces(text: str, size: int) -> tuple[str, ...]:
    return tuple(text[at : at + size] for at in range(0, len(text), size)) if size else (text,)


@dataclass(frozen=True)
class Form:
    """How a wire writes replies. `as_text`: arguments are text there, in which anything may stand."""

    wire: str
    form: str
    body: Callable[[Sequence[Sound]], bytes]
    heard: Callable[[bytes], Heard]
    as_text: bool = True


def _chat(calls: Sequence[Sound]) -> bytes:
    return chat_stream([{"tool_calls": [one]} for place, call in enumerate(calls) for one in entries(call, place)])


def _heard_chat(body: bytes) -> Heard:
    calls: dict[int, list[str]] = {}
    for chunk in payloads(body):
        for choice in chunk["choices"]:
            for one in choice["delta"].get("tool_calls", ()):
                call = calls.setdefault(one["index"], ["", "", ""])
                function = one["function"]
                call[0] += one.get("id", "")
                call[1] += function.get("name", "")
                call[2] += function.get("arguments", "")
    return [(id_, name, text) for id_, name, text in calls.values()]


def _heard_chat_whole(body: bytes) -> Heard:
    (choice,) = json.loads(body)["choices"]
    found = choice["message"]["tool_calls"]
    return [(one["id"], one["function"]["name"], one["function"]["arguments"]) for one in found]


def _responses(calls: Sequence[Sound]) -> bytes:
    """With a delta for each piece."""
    events = payloads(ALL["openai_responses"].sound(calls))
    pieces = {call.arguments: call.pieces for call in calls}
    whole = [event["arguments"] for event in events if event["type"] == "response.function_call_arguments.done"]
    made: list[dict[str, Any]] = []
    begun = ""
    for event in events:
        if event["type"] != "response.function_call_arguments.delta":
            begun = "" if event["type"] == "response.output_item.added" else begun
            made.append(event)
        elif not begun:
            begun = whole.pop(0)
            made += [{**event, "delta": piece} for piece in pieces[begun]]
    numbered = [{**event, "sequence_number": number} for number, event in enumerate(made)]
    return b"".join(b"event: %b\ndata: %b\n\n" % (one["type"].encode(), json.dumps(one).encode()) for one in numbered)


def _raw(call: Sound) -> Any:
    """The arguments of a wire that has an object for them, or the text that a server has in its place."""
    try:
        made = json.loads(call.arguments)
    except ValueError:
        return call.arguments
    return made if isinstance(made, dict) else call.arguments


def _anthropic_whole(calls: Sequence[Sound]) -> bytes:
    blocks = [{"type": "tool_use", "id": call.id, "name": call.name, "input": _raw(call)} for call in calls]
    return json.dumps({**MESSAGE, "content": blocks}).encode()


def _gemini(form: Any) -> Callable[[Sequence[Sound]], bytes]:
    def body(calls: Sequence[Sound]) -> bytes:
        given = [
            {"thoughtSignature": "c2ln", "functionCall": {"id": call.id, "name": call.name, "args": _raw(call)}}
            for call in calls
        ]
        if form == "whole":
            return body_of([gemini_reply(given, "STOP")], form)
        return body_of([*(gemini_reply([one]) for one in given), gemini_reply([""], "STOP")], form)

    return body


def _ollama(calls: Sequence[Sound]) -> bytes:
    made = [
        line(
            {
                "content": "",
                "tool_calls": [
                    {"id": call.id, "function": {"index": place, "name": call.name, "arguments": _raw(call)}}
                ],
            }
        )
        for place, call in enumerate(calls)
    ]
    return lines_of([*made, line("", "stop")])


FORMS = {
    "openai_chat": Form("openai_chat", "sse", _chat, _heard_chat),
    "openai_chat whole": Form(
        "openai_chat", "whole", lambda calls: chat_whole([*map(entry, calls)]), _heard_chat_whole
    ),
    **{
        name: Form(ALL[name].wire, ALL[name].form, ALL[name].sound, ALL[name].heard)
        for name in ("openai_responses whole", "anthropic")
    },
    "openai_responses": Form("openai_responses", "sse", _responses, ALL["openai_responses"].heard),
    "anthropic whole": Form("anthropic", "whole", _anthropic_whole, ALL["anthropic whole"].heard, as_text=False),
    "gemini": Form("gemini", "sse", _gemini("sse"), ALL["gemini sse"].heard, as_text=False),
    "gemini whole": Form("gemini", "whole", _gemini("whole"), ALL["gemini whole"].heard, as_text=False),
    "ollama": Form("ollama", "ndjson", _ollama, ALL["ollama"].heard, as_text=False),
}

SOUND = Sound(
    "call_e",
    "edit",
    (
        '{"path": "größe \\" {}[]", "edits": [ {"old": "a, }", "n": 1180591620717411303424}, {"old": "\\ud83d\\ude00"}'
        '] ,"all": true, "limit": null, "scale": 1.50, "where": {"line": 3}, "note": "x", "any": "5"}',
    ),
)


@dataclass(frozen=True)
class Damage:
    """What became of a sound call, and what mending it is called. `arguments`: what mending makes of them."""

    call: Sound
    repairs: frozenset[str]
    arguments: str = SOUND.arguments
    name: str = "edit"


def _typed(**changes: Any) -> Damage:
    """Members of the sound arguments written as others."""
    text = SOUND.arguments
    for was, now in changes.values():
        assert was in text
        text = text.replace(was, now)
    return Damage(replace(SOUND, pieces=(text,)), frozenset({"wrong_type"}))


def _string(raw: str) -> tuple[str, str]:
    return raw, json.dumps(raw)


_EDITS = SOUND.arguments[SOUND.arguments.index("[ {") : SOUND.arguments.index("] ,") + 1]

TYPES: dict[str, Damage] = {
    "an array as a string": _typed(a=_string(_EDITS)),
    "an array as a string, with raw characters": _typed(a=(_EDITS, json.dumps(_EDITS, ensure_ascii=False))),
    "a boolean as a string": _typed(a=('"all": true', '"all": "true"')),
    "a null as a string": _typed(a=('"limit": null', '"limit": "null"')),
    "a number as a string": _typed(a=("1.50", '"1.50"')),
    "an object as a string": _typed(a=_string('{"line": 3}')),
    "a number inside an object": _typed(a=('"line": 3', '"line": "3"')),
    "a number in a string in an object": _typed(a=('{"line": 3}', json.dumps('{"line": "3"}'))),
    "a big number inside": _typed(a=("1180591620717411303424", '"1180591620717411303424"')),
    "all of them": _typed(
        a=_string(_EDITS), b=('"all": true', '"all": "true"'), c=("1.50", '"1.50"'), d=_string('{"line": 3}')
    ),
    "an object where a string is wanted": Damage(
        replace(SOUND, pieces=('{"path": {"b":  1, "a": [2]}, "note": 1.5}',)),
        frozenset({"wrong_type"}),
        '{"path": "{\\"b\\":  1, \\"a\\": [2]}", "note": "1.5"}',
    ),
    "an array where a string is wanted": Damage(
        replace(SOUND, pieces=('{"path": ["a", "b"]}',)), frozenset({"wrong_type"}), '{"path": "[\\"a\\", \\"b\\"]"}'
    ),
}

# What has two readings, or none, and stays as it is.
UNSURE: dict[str, str] = {
    "a word for an array": '{"path": "a", "edits": "none"}',
    "two values in a string": '{"path": "a", "edits": "[] []"}',
    "an object for an array": '{"path": "a", "edits": {"old": "x"}}',
    "a null where a string is wanted": '{"path": null}',
    "a fraction for a whole number": '{"path": "a", "limit": "1.5"}',
    "a boolean in capitals": '{"path": "a", "all": "True"}',
    "an array whose items lack what they must have": '{"path": "a", "edits": "[{\\"n\\": 1}]"}',
    "a string in a string": '{"path": "a", "limit": "\\"5\\""}',
    "an empty string": '{"path": "a", "limit": ""}',
}


def _written(was: str, now: str, *repairs: str, sound: str = '{"path": "a b", "all": true, "limit": [1, 2]}') -> Damage:
    assert was in sound
    text = sound.replace(was, now)
    return Damage(replace(SOUND, pieces=(text,)), frozenset(repairs), sound)


JSON: dict[str, Damage] = {
    "single quotes": Damage(
        replace(SOUND, pieces=("{'path': 'a \"b\"', 'any': ['x']}",)),
        frozenset({"single_quotes"}),
        '{"path": "a \\"b\\"", "any": ["x"]}',
    ),
    "a trailing comma": _written("]}", "],}", "trailing_comma"),
    "a trailing comma in an array": _written("2]", "2 , ]", "trailing_comma"),
    "Python's words": _written("true", "True", "python_literal"),
    "a comment": _written('"all"', '/* all, "of" } them */ "all"', "comment"),
    "a comment to the end of the line": _written(', "all"', ', // it\n "all"', "comment"),
    "raw line ends": Damage(
        replace(SOUND, pieces=('{"path": "a\nb\tc"}',)), frozenset({"raw_newline"}), '{"path": "a\\nb\\tc"}'
    ),
    "keys without quotes": _written('"all"', "all", "bare_key"),
    "an escape that is none": Damage(
        replace(SOUND, pieces=('{"path": "C:\\dir \\x41"}',)),
        frozenset({"invalid_escape"}),
        '{"path": "C:\\\\dir \\\\x41"}',
    ),
    "an escaped apostrophe": Damage(
        replace(SOUND, pieces=('{"path": "don\\\'t"}',)), frozenset({"invalid_escape"}), '{"path": "don\'t"}'
    ),
    "a number with a plus sign": _written("[1,", "[+1,", "number"),
    "escapes between values": Damage(
        replace(SOUND, pieces=('{\\n  "path": "a\\nb",\\n\\t"any": [1,\\n 2]\\n}',)),
        frozenset({"escaped_line_end"}),
        '{"path": "a\\nb", "any": [1, 2]}',
    ),
    "a brace too many": _written("]}", "]}}", "surplus_bracket"),
    "everything": Damage(
        replace(SOUND, pieces=("{'path': 'a', all: True, \"any\": [.5,], } ",)),
        frozenset({"single_quotes", "bare_key", "python_literal", "number", "trailing_comma"}),
        '{"path": "a", "all": true, "any": [0.5]}',
    ),
}

# What is cut off, or means nothing for sure.
NO_JSON: dict[str, str] = {
    "cut off in a string": "{'path': 'a",
    "cut off behind a value": "{'path': 'a'",
    "cut off in a list": '{"path": "a", "any": [1, 2',
    "no comma": '{"path": "a" "all": true}',
    "no value": '{"path": , "all": true}',
    "two objects": '{"path": "a"}{"path": "b"}',
    "two objects, the first with a comma too many": '{"path": "a",}{"path": "b"}',
    "words": "path a",
    "a quotation mark that is missing": '{"path": "a, "all": true}',
}

_READ = Sound("call_r", "read_file", ('{"pa', 'th": "a b"}'))


def _named(name: str, arguments: tuple[str, ...] = _READ.pieces, repair: str = "name") -> Damage:
    call = replace(_READ, name=name, pieces=arguments)
    return Damage(call, frozenset({repair}), _READ.arguments, "read_file")


NAMES: dict[str, Damage] = {
    "another case": _named("Read_File"),
    "another sign": _named("read-file"),
    "no sign": _named("ReadFile"),
    "a prefix": _named("functions.read_file"),
    "a server": _named("mcp__files__read_file"),
    "a prefix and another case": _named("default_api.readFile"),
    "a channel": _named("read_file<|channel|>commentary", repair="markup_in_name"),
    "a channel and a form": _named("read_file <|channel|>commentary <|constrain|>json", repair="markup_in_name"),
    "a prefix and a channel": _named("functions.read_file<|channel|>analysis", repair="markup_in_name"),
    "white space around it": _named(" read_file\n"),
    "a channel without its token": _named("read_file commentary", repair="markup_in_name"),
    "a closing tag": _named("read_file</function>", repair="markup_in_name"),
    "GLM's pairs": _named(
        "read_file<arg_key>path</arg_key><arg_value>a b</arg_value>", ("{}",), repair="markup_in_name"
    ),
    "GLM's pairs on lines": _named(
        "read_file\n<arg_key>path</arg_key>\n<arg_value>a b</arg_value>\n", ("{", "}"), repair="markup_in_name"
    ),
    "GLM's pairs beside arguments": _named(
        "read_file<arg_key>path</arg_key><arg_value>z</arg_value>", repair="markup_in_name"
    ),
    "parameters": _named("read_file<parameter=path>a b</parameter>", ("{}",), repair="markup_in_name"),
}

# Names that mean no declared tool for sure.
NO_NAMES = (
    "write_file",
    "write_file commentary",
    "commentary",
    "read",
    "<|channel|>commentary",
    "x<|channel|>read_file",
    "readfiles",
)

KINDS: Mapping[str, Mapping[str, Damage]] = {"types": TYPES, "names": NAMES, "json": JSON}
