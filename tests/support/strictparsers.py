"""Strict parsers of all dialects, independent of the product's: a text is whole blocks of calls and nothing else.

Strategy: a message is a row of blocks with white space between them, and a block is an opener, a body of calls and a
closer. Each dialect is one row of `FORMS`, in a few shapes: JSON between exact tokens (read by `json`), Python calls
(read by `ast`), YAML (read by `yaml`), and tags around values (exact regular expressions). A token that is missing, or
that is where none belongs, is a `Stray`. Line ends in a token stand for any white space, also for none.

The tools are those of `TYPES`: forms without types are read by it. Values hold no markup.
"""

import ast
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

# The parameters of each tool and how a form without types is read.
TYPES: dict[str, Callable[[str], Any]] = {
    "command": str,
    "n": json.loads,
    "flag": lambda text: json.loads(text.lower()),  # some models write Python's True
}

type Found = tuple[str, dict[str, Any]]

_HOLES = {
    "{name}": r"(?P<name>[A-Za-z]\w*)",
    "{key}": r"(?P<key>\w+)",
    "{value}": r"(?P<value>.*?)",
    "{type}": r"(?P<type>\w+)",
    "{#}": r"\d+",
    "{=name}": r"(?P=name)",
    "{=key}": r"(?P=key)",
    "\n": r"\s*",
}
_PARTS = re.compile("|".join(map(re.escape, _HOLES)))


class Stray(AssertionError):
    """The text is no row of whole blocks."""


@cache
def _pattern(token: str) -> re.Pattern[str]:
    parts, at = [], 0
    for hole in _PARTS.finditer(token):
        parts += [re.escape(token[at : hole.start()]), _HOLES[hole[0]]]
        at = hole.end()
    return re.compile("".join([*parts, re.escape(token[at:])]), re.DOTALL)


class _Cursor:
    """A place in a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def tries(self, token: str) -> re.Match[str] | None:
        found = _pattern(token).match(self.text, self.at)
        self.at = self.at if found is None else found.end()
        return found

    def sees(self, token: str) -> bool:
        return _pattern(token).match(self.text, self.at) is not None

    def eat(self, token: str) -> re.Match[str]:
        found = self.tries(token)
        if found is None:
            raise Stray(f"no {token!r} but {self.text[self.at :]!r} in {self.text!r}")
        return found

    @property
    def ended(self) -> bool:
        return not self.text[self.at :].strip()

    def json(self) -> Any:
        try:
            value, self.at = json.JSONDecoder(object_pairs_hook=_once).raw_decode(self.text, self.at)
        except ValueError as error:
            raise Stray(f"no JSON at {self.text[self.at :]!r} in {self.text!r}") from error
        return value

    def up_to(self, token: str) -> str:
        """The text in front of a token, or of the end for ""."""
        end = self.text.find(token, self.at) if token else len(self.text)
        if end < 0:
            raise Stray(f"no {token!r} behind {self.text[self.at :]!r}")
        found, self.at = self.text[self.at : end], end
        return found


type _Body = Callable[[_Cursor, str], list[Found]]  # with the closer of the block
type _OneCall = Callable[[_Cursor], Found]


@dataclass(frozen=True)
class Form:
    """How the blocks of a dialect look."""

    body: _Body
    opener: str = ""
    closer: str = ""


def strictly(dialect: str, text: str) -> list[list[Found]]:
    """The blocks of a message and the calls in each: name and decoded arguments. Raises Stray."""
    form, cursor = FORMS[dialect], _Cursor(text)
    blocks: list[list[Found]] = []
    while not cursor.ended:
        cursor.eat(f"\n{form.opener}")
        blocks.append(form.body(cursor, form.closer))
        cursor.eat(form.closer)
    return blocks


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise Stray(f"a key twice in {pairs}")
    return dict(pairs)


def _each(call: _OneCall, between: str = "\n") -> _Body:
    """Calls with a token between them; one where neither a token nor the closer would say that another one follows."""

    def body(cursor: _Cursor, closer: str) -> list[Found]:
        found = [call(cursor)]
        while between.strip() or closer:
            if not between.strip() and cursor.sees(f"\n{closer}"):
                cursor.tries("\n")
                break
            if cursor.tries(between) is None:
                break
            found.append(call(cursor))
        return found

    return body


# JSON


def _call_of(value: Any, name: str, arguments: str, mark: str = "") -> Found:
    if not isinstance(value, dict) or set(value) - ({mark} if mark else set()) != {name, arguments}:
        raise Stray(f"no call: {value!r}")
    if not isinstance(value[arguments], dict):
        raise Stray(f"arguments that are no object: {value!r}")
    return value[name], value[arguments]


def _object(before: str = "", behind: str = "", *, name: str = "name", arguments: str = "arguments") -> _OneCall:
    """One object that holds name and arguments, between tokens."""

    def call(cursor: _Cursor) -> Found:
        cursor.eat(before)
        found = _call_of(cursor.json(), name, arguments)
        cursor.eat(behind)
        return found

    return call


def _named(before: str, behind: str = "") -> _OneCall:
    """The name in the token before, and the arguments as an object."""

    def call(cursor: _Cursor) -> Found:
        name, arguments = cursor.eat(before)["name"], cursor.json()
        if not isinstance(arguments, dict):
            raise Stray(f"arguments that are no object: {arguments!r}")
        cursor.eat(behind.replace("{=name}", name))
        return name, arguments

    return call


def _array(*, name: str = "name", arguments: str = "arguments", mark: str = "") -> _Body:
    def body(cursor: _Cursor, _: str) -> list[Found]:
        values = cursor.json()
        if not isinstance(values, list) or not values:
            raise Stray(f"no list of calls: {values!r}")
        return [_call_of(value, name, arguments, mark) for value in values]

    return body


def _keyed_array(cursor: _Cursor, _: str) -> list[Found]:
    """Apertus: each object has one member, the call."""
    values = cursor.json()
    if not isinstance(values, list) or not all(isinstance(value, dict) and len(value) == 1 for value in values):
        raise Stray(f"no list of calls: {values!r}")
    return [next(iter(value.items())) for value in values]


def _python_array(cursor: _Cursor, closer: str) -> list[Found]:
    """A list as Python prints it."""
    source = cursor.up_to(closer.strip("\n")).strip()
    try:
        values = ast.literal_eval(source)
    except (SyntaxError, ValueError) as error:
        raise Stray(f"no list at {source!r}") from error
    if not isinstance(values, list) or not values:
        raise Stray(f"no list of calls: {values!r}")
    return [_call_of(value, "name", "arguments", "") for value in values]


# Python


def _python(*, in_list: bool = False, between: str = "\n", wrapped: str = "") -> _Body:
    """Calls with keywords, in a list or one after the other. `wrapped`: what is around each."""

    def body(cursor: _Cursor, closer: str) -> list[Found]:
        source = cursor.up_to(closer.strip("\n")).strip()
        try:
            if in_list:
                (row,) = ast.parse(source).body
                assert isinstance(row, ast.Expr)
                assert isinstance(row.value, ast.List)
                nodes: Sequence[ast.expr] = row.value.elts
            else:
                nodes = [node.value for node in ast.parse(source).body if isinstance(node, ast.Expr)]
                assert len(nodes) == len(ast.parse(source).body)
                assert between == ";" or all(";" not in line for line in source.splitlines())
            assert nodes
            return [_python_call(node, wrapped) for node in nodes]
        except (SyntaxError, ValueError, AssertionError) as error:
            raise Stray(f"no Python calls: {source!r} in {cursor.text!r}") from error

    return body


def _python_call(node: ast.expr, wrapped: str) -> Found:
    if wrapped:  # print(default_api.NAME(...))
        assert isinstance(node, ast.Call)
        assert ast.unparse(node).startswith(wrapped)
        (node,) = node.args
    assert isinstance(node, ast.Call)
    assert not node.args
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
    return name, _once([(str(one.arg), ast.literal_eval(one.value)) for one in node.keywords])


# Tags around values


def _tags(head: str, item: str, tail: str) -> _OneCall:
    """The name in `head`, key and value in each `item`."""

    def call(cursor: _Cursor) -> Found:
        name = cursor.eat(head)["name"]
        end = f"\n{tail}".replace("{=name}", name)
        pairs = []
        while not (tail and cursor.sees(end)):
            found = cursor.tries(f"\n{item}")
            if found is None and not tail:
                break
            if found is None:
                cursor.eat(end)
                break
            pairs.append((found["key"], _typed(found)))
        cursor.tries(end)
        return name, _once(pairs)

    return call


def _typed(found: re.Match[str]) -> Any:
    key, text = found["key"], found["value"]
    kind = found.groupdict().get("type")  # its name, or whether it is a string
    try:
        if kind is not None:
            return text if kind in {"string", "true"} else json.loads(text)
        return TYPES[key](text)
    except ValueError as error:
        raise Stray(f"{key}: {text!r}") from error


def _key_values(key: str, value: str) -> str:
    return f"<{key}>{{key}}</{key}>\n<{value}>{{value}}</{value}>"


def _braces(head: str, quote: str, tail: str) -> _OneCall:
    """`{key:value,...}` with strings in `quote`s."""
    member = re.compile(rf"(?P<key>\w+):(?:{re.escape(quote)}(?P<string>.*?){re.escape(quote)}|(?P<value>[^,}}]+))")

    def call(cursor: _Cursor) -> Found:
        name, pairs = cursor.eat(head)["name"], []
        cursor.eat("{")
        while cursor.tries("}") is None:
            if pairs:
                cursor.eat(",")
            found = member.match(cursor.text, cursor.at)
            if found is None:
                raise Stray(f"no member at {cursor.text[cursor.at :]!r}")
            cursor.at = found.end()
            value = found["string"] if found["value"] is None else json.loads(found["value"])
            pairs.append((found["key"], value))
        cursor.eat(tail)
        return name, _once(pairs)

    return call


def _arrow(cursor: _Cursor) -> Found:
    """MiniMax' `{tool => …, args => {--key value}}`, a line for each argument."""
    name, pairs = cursor.eat('[TOOL_CALL]\n{tool => "{name}", args => {')["name"], []
    while (found := cursor.tries("\n--{key} ")) is not None:
        pairs.append((found["key"], cursor.json()))
    cursor.eat("\n}}\n[/TOOL_CALL]")
    return name, _once(pairs)


def _composer(cursor: _Cursor) -> Found:
    """Composer's lines: a key after its token, and its value on those below."""
    name = cursor.eat("<｜tool▁call▁begin｜>\n{name}\n")["name"]
    end = "<｜tool▁call▁end｜>"
    before, *parts = cursor.up_to(end).split("<｜tool▁sep｜>")
    pairs = [part.removesuffix("\n").partition("\n")[::2] for part in parts]
    if before or not {key for key, _ in pairs} <= set(TYPES):
        raise Stray(f"no arguments: {before!r}, {pairs}")
    cursor.eat(end)
    return name, _once([(key, TYPES[key](text)) for key, text in pairs])


def _yaml(cursor: _Cursor) -> Found:
    name = cursor.eat("<{name}>\n")["name"]
    values = yaml.safe_load(cursor.up_to(f"</{name}>")) or {}
    cursor.eat(f"</{name}>")
    if not isinstance(values, dict):
        raise Stray(f"no mapping: {values!r}")
    return name, values


_INVOKE = _tags('<invoke name="{name}">', '<parameter name="{key}">{value}</parameter>', "</invoke>")
_FUNCTION = "<parameter={key}>\n{value}\n</parameter>"
_DSML = '<｜{0}｜parameter name="{{key}}" string="{{type}}">{{value}}</｜{0}｜parameter>'
_ELEMENTS = _tags("<{name}>", "<{key}>{value}</{=key}>", "</{=name}>")
_M3 = "]<]minimax[>["


def _dsml(mark: str) -> Form:
    call = _tags(f'<｜{mark}｜invoke name="{{name}}">', _DSML.format(mark), f"</｜{mark}｜invoke>")
    return Form(_each(call), f"<｜{mark}｜tool_calls>\n", f"</｜{mark}｜tool_calls>")


def _sep_name(head: str, tail: str, key: str = "arg_key", value: str = "arg_value") -> _OneCall:
    return _tags(head, _key_values(key, value), tail)


FORMS: dict[str, Form] = {
    # JSON
    "apertus": Form(_keyed_array, "<|tools_prefix|>", "<|tools_suffix|>"),
    "apriel": Form(_array(), "<tool_calls>", "</tool_calls>"),
    "bare_calls": Form(_each(_named("{name}(", ")"))),
    "bare_json": Form(_each(_object(), "\n")),
    "bracket_marks": Form(_each(_object("[tool_call]\n", "\n[/tool_call]"))),
    "bracket_tool_call": Form(_each(_named("[Tool call: {name}(", ")]"))),
    "cohere_cmd3": Form(
        _array(name="tool_name", arguments="parameters", mark="tool_call_id"), "<|START_ACTION|>", "<|END_ACTION|>"
    ),
    "cohere_cmd4": Form(
        _array(name="tool_name", arguments="parameters", mark="tool_call_id"), "<|START_ACTION|>", "<|END_ACTION|>"
    ),
    "cohere_cmdr_plus": Form(_array(name="tool_name", arguments="parameters"), "Action:\n```json\n", "\n```"),
    "deepseek_v3": Form(
        _each(_named("<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n", "\n```<｜tool▁call▁end｜>")),
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls▁end｜>",
    ),
    "deepseek_v31": Form(
        _each(_named("<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>", "<｜tool▁call▁end｜>")),
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls▁end｜>",
    ),
    "fenced_json": Form(_each(_object()), "```json\n", "\n```"),
    "flattened_history": Form(_each(_named("[Previous assistant tool use]\nTool: {name}\nInput: "))),
    "functionary_v2": Form(_each(_named("<|from|>assistant\n<|recipient|>{name}\n<|content|>"))),
    "functionary_v31": Form(_each(_named("<function={name}>", "</function>"))),
    "functionary_v32": Form(_each(_named(">>>{name}\n"))),
    "gigachat3": Form(_each(_object("function call<|role_sep|>\n"))),
    "glaive": Form(_each(_object("<functioncall> "))),
    "granite3": Form(_array(), "<|tool_call|>"),
    "granite_20b_fc": Form(_each(_object("<function_call> "))),
    "harmony": Form(
        _each(_named("<|start|>assistant to=functions.{name}<|channel|>commentary json<|message|>", "<|call|>"))
    ),
    "harmony_stripped": Form(_each(_named("commentary to=functions.{name} json"), "assistant")),
    "header_stripped": Form(_each(_named("{name}[ARGS]"))),
    "hermes": Form(_each(_object("<tool_call>\n", "\n</tool_call>"))),
    "hunyuan_a13b": Form(_array(), "<tool_calls>", "</tool_calls>"),
    "inkling": Form(_each(_object("<|content_invoke_tool_json|>", "<|end_message|>", arguments="args"))),
    "internlm2": Form(_each(_object("<|action_start|><|plugin|>", "<|action_end|>", arguments="parameters"))),
    "jamba": Form(_array(), "<tool_calls>", "</tool_calls>"),
    "json_array": Form(_array()),
    "mixed_marks": Form(_each(_object("[TOOL_CALLS]<tool_call>\n", "\n</tool_call>"))),
    "module_calls": Form(_each(_named("default_api.{name}(", ")"))),
    "stripped_tags": Form(_each(_object("tool_call>\n", "\n/tool_call>"))),
    "json_behind_word": Form(_each(_object("<tool_call>\njson\n", "\n</tool_call>"))),
    "json_in_tag": Form(_each(_object("<functioncall ", ">"))),
    "json_tags": Form(_each(_object("<function_calls>\n", "\n</function_calls>"))),
    "kimi_k2": Form(
        _each(_named("<|tool_call_begin|>functions.{name}:{#}<|tool_call_argument_begin|>", "<|tool_call_end|>")),
        "<|tool_calls_section_begin|>",
        "<|tool_calls_section_end|>",
    ),
    "announced_calls": Form(_each(_named("Calling tool: {name}(", ")"))),
    "gptme": Form(_each(_named("@{name}(call_{#}): "))),
    "hyperclova_x": Form(_array(), "<|im_start|>assistant -> tool/function_call\n"),
    "cwm": Form(_each(_named("<tool: function>\n{name} ", "\n</tool>"))),
    "json_before_closer": Form(_each(_object("", "\n</tool_call>"))),
    "kimi_k2_stripped": Form(_each(_named("functions.{name}:{#}"))),
    "llama3_json": Form(_each(_object(arguments="parameters"), "; "), "<|python_tag|>"),
    "lm_studio": Form(_each(_object("[TOOL_REQUEST]", "[END_TOOL_REQUEST]"))),
    "longcat": Form(_each(_object("<longcat_tool_call>", "</longcat_tool_call>"))),
    "marker": Form(_each(_object("TOOL_CALL\n", name="tool_name", arguments="parameters"))),
    "minimax_m1": Form(_each(_object()), "<tool_calls>\n", "\n</tool_calls>"),
    "minimax_text01": Form(_each(_named("<function_call>```typescript\nfunctions.{name}(", ")\n```"))),
    "mistral": Form(_each(_named("[TOOL_CALLS]{name}[ARGS]"))),
    "named_elements": Form(
        _each(_named("<tool_call>\n<name>{name}</name>\n<arguments>", "</arguments>\n</tool_call>"))
    ),
    "named_tags": Form(_each(_named('<tool_call name="{name}">', "</tool_call>"))),
    "narrated_calls": Form(_each(_named("Assistant called tool {name} (call_{#}) with arguments: "))),
    "nemotron_v2": Form(_array(), "<TOOLCALL>", "</TOOLCALL>"),
    "pangu": Form(_array(), "[unused11]", "[unused12]"),
    "phi4_mini": Form(_array(), "functools"),
    "picoclaw": Form(_each(_named("<{name}>", "</{=name}>")), "<toolcall>", "</toolcall>"),
    "plamo3": Form(
        _each(
            _named(
                "<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>{name}<|plamo:end_tool_name:plamo|>"
                "<|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>",
                "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>",
            )
        ),
        "<|plamo:begin_tool_requests:plamo|>",
        "<|plamo:end_tool_requests:plamo|>",
    ),
    "qwen_agent": Form(_each(_named("✿FUNCTION✿: {name}\n✿ARGS✿: "))),
    "qwen_tools_tag": Form(_each(_object()), "<tools>\n", "\n</tools>"),
    "react": Form(_each(_named("Action: {name}\nAction Input: "))),
    "rwkv": Form(_each(_object("**Tool Call:**\n```json\n", "\n```"))),
    "sarashina": Form(_python_array, "<|tool_calls|>"),
    "solar_open": Form(
        _each(_named("<|tool_call:begin|>call{#}<|tool_call:name|>{name}<|tool_call:args|>", "<|tool_call:end|>")),
        "<|tool_calls|>",
        "<|calls|>",
    ),
    "step_audio": Form(_each(_named("<tool_call>function\n{name}\n", "</tool_call>"))),
    "tool_element": Form(_each(_named("<{name}>", "</{=name}>"))),
    "xlam": Form(_array()),
    "zeroclaw": Form(_each(_object("```tool_call\n", "\n```"))),
    # Python
    "gemma3_tool_code": Form(_python(wrapped="print(default_api."), "```tool_code\n", "\n```"),
    "gorilla": Form(_python(in_list=True), "<<function>>"),
    "lfm2": Form(_python(in_list=True), "<|tool_call_start|>", "<|tool_call_end|>"),
    "llama4_pythonic": Form(_python(in_list=True), "<|python_start|>", "<|python_end|>"),
    "minicpm3": Form(_python(), "<|tool_call_start|>\n```python\n", "\n```\n<|tool_call_end|>"),
    "nexusraven": Form(_python(between=";"), "Call: ", "<bot_end>"),
    "olmo3": Form(_python(), "<function_calls>", "</function_calls>"),
    "pythonic": Form(_python(in_list=True)),
    "pythonic_tags": Form(_python(), "<tool_call>", "</tool_call>"),
    # Tags around values
    "atem": Form(
        _each(
            _tags(
                '<|start|>assistant to={name}<|message|><atem:function_calls>\n<atem:invoke name="{=name}">',
                '<atem:parameter name="{key}">{value}</atem:parameter>',
                "</atem:invoke>\n</atem:function_calls><|eom|>",
            )
        )
    ),
    "bullet_function": Form(_each(_tags("● <function={name}>", "<parameter={key}>{value}</parameter>", ""))),
    "call_record": Form(
        _each(_tags('<call_record tool="{name}">', '<parameter name="{key}">{value}</parameter>', "</call_record>"))
    ),
    "continue_codeblock": Form(
        _each(_tags("```tool\nTOOL_NAME: {name}\n", "BEGIN_ARG: {key}\n{value}\nEND_ARG", "```"))
    ),
    "damaged_tags": Form(
        _each(_tags('invoke name="{name}">', 'parameter name="{key}">{value}/parameter>', "/invoke>"))
    ),
    "cursor_composer": Form(_each(_composer), "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
    "deepseek_dsml": _dsml("DSML"),
    "dots": Form(_each(_INVOKE), "<dots_function_call>\n", "</dots_function_call>"),
    "forge": Form(
        _each(
            _tags(
                "<tool>\n<server_name>local</server_name>\n<tool_name>{name}</tool_name>\n<arguments>",
                "<{key}>{value}</{=key}>",
                "</arguments>\n</tool>",
            )
        )
    ),
    "function_elements": Form(
        _each(_tags('<function name="{name}">', '<parameter name="{key}">{value}</parameter>', "</function>")),
        "<tool_call>\n",
        "</tool_call>",
    ),
    "function_tags_stripped": Form(_each(_tags("<parameter={name}>", _FUNCTION, "</function>\n</tool_call>"))),
    "functiongemma": Form(_each(_braces("<start_function_call>call:{name}", "<escape>", "<end_function_call>"))),
    "gemini_tool_code": Form(_each(_braces("[tool_code:{name}", "<ctrl46>", "]"))),
    "gemma4": Form(_each(_braces("<|tool_call>call:{name}", '<|"|>', "<tool_call|>"))),
    "gemma4_stripped": Form(_each(_braces("call:default_api:{name}", '<|"|>', "<tool_call|>"))),
    "gigachat35": _dsml("GCML"),
    "glm_naked": Form(_each(_sep_name("{name}", "</tool_call>"))),
    "glm_xml": Form(_each(_sep_name("<tool_call>{name}", "</tool_call>"))),
    "grok_xai": Form(
        _each(
            _tags(
                '<xai:function_call name="{name}">',
                '<parameter name="{key}">{value}</parameter>',
                "</xai:function_call>",
            )
        )
    ),
    "hy_v3": Form(_each(_sep_name("<tool_call>{name}<tool_sep>", "</tool_call>")), "<tool_calls>\n", "</tool_calls>"),
    "hy_v4": Form(_each(_sep_name("<tool_call>{name}", "</tool_call>")), "<tool_calls>\n", "</tool_calls>"),
    "invoke": Form(_each(_INVOKE), "<function_calls>\n", "</function_calls>"),
    "invoke_angleless": Form(
        _each(_tags('antml:invoke name="{name}">', '<parameter name="{key}">{value}</parameter>', "</invoke>"))
    ),
    "invoke_elements": Form(_each(_tags('<invoke name="{name}">', "<{key}>{value}</{=key}>", "</invoke>"))),
    "invoke_escaped": Form(
        _each(
            _tags(
                '&lt;invoke name="{name}"&gt;',
                '&lt;parameter name="{key}"&gt;{value}&lt;/parameter&gt;',
                "&lt;/invoke&gt;",
            )
        )
    ),
    "invoke_legacy": Form(
        _each(
            _tags(
                "<invoke>\n<tool_name>{name}</tool_name>\n<parameters>",
                "<{key}>{value}</{=key}>",
                "</parameters>\n</invoke>",
            )
        ),
        "<function_calls>\n",
        "</function_calls>",
    ),
    "beam": Form(
        _each(
            _tags(
                "<|start|>assistant to={name}<|channel|>analysis <|constrain|>xml<|message|>",
                '<rfl:parameter name="{key}">\n{value}\n</rfl:parameter>',
                "<|call|>",
            )
        )
    ),
    "iquest_coder": Form(_each(_sep_name("<iquestcoder_tool_call>{name}", "</iquestcoder_tool_call>"))),
    "telechat4": Form(_each(_sep_name("<tool_call>{name}", "</tool_call>", "param_key", "param_value"))),
    "solar_open2": Form(
        _each(
            _tags(
                "<|tool_call:start|>{name}\n",
                "<|tool_arg:start|>{key}<|tool_arg:value|>{value}<|tool_arg:end|>",
                "<|tool_call:end|>",
            )
        )
    ),
    "iquest": Form(_each(_sep_name("<iquest_tool_call>{name}", "</iquest_tool_call>"))),
    "k2_horizon": Form(
        _each(_sep_name("<ifm|tool_call>{name}", "</ifm|tool_call>", "ifm|arg_key", "ifm|arg_value")),
        "<ifm|tool_calls>",
        "</ifm|tool_calls>",
    ),
    "kimi_k3": Form(
        _each(
            _tags(
                '<|open|>call tool="{name}" index="{#}"<|sep|>',
                '<|open|>argument key="{key}" type="{type}"<|sep|>{value}<|close|>argument<|sep|>',
                "<|close|>call<|sep|>",
            )
        ),
        "<|open|>tools<|sep|>",
        "<|close|>tools<|sep|>",
    ),
    "longcat_xml": Form(
        _each(_sep_name("<longcat_tool_call>{name}", "</longcat_tool_call>", "longcat_arg_key", "longcat_arg_value"))
    ),
    "mimo_xml": Form(_each(_tags("<tool_call><function={name}>", _FUNCTION, "</function></tool_call>"))),
    "minicpm5": Form(_each(_tags('<function name="{name}">', '<param name="{key}">{value}</param>', "</function>"))),
    "minimax_arrow": Form(_each(_arrow)),
    "minimax_m2": Form(_each(_INVOKE), "<minimax:tool_call>\n", "</minimax:tool_call>"),
    "minimax_m3": Form(
        _each(_tags(f'{_M3}<invoke name="{{name}}">', f"{_M3}<{{key}}>{{value}}{_M3}</{{=key}}>", f"{_M3}</invoke>")),
        f"{_M3}<tool_call>\n",
        f"{_M3}</tool_call>",
    ),
    "morph_xml": Form(_each(_ELEMENTS)),
    "openhands_fn": Form(_each(_tags("<function={name}>", _FUNCTION, "</function>"))),
    "qwen3_xml": Form(_each(_tags("<tool_call>\n<function={name}>", _FUNCTION, "</function>\n</tool_call>"))),
    "seed_oss": Form(_each(_tags("<seed:tool_call>\n<function={name}>", _FUNCTION, "</function>\n</seed:tool_call>"))),
    "step3": Form(
        _each(
            _tags(
                '<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="{name}">',
                '<steptml:parameter name="{key}">{value}</steptml:parameter>',
                "</steptml:invoke><｜tool_call_end｜>",
            )
        ),
        "<｜tool_calls_begin｜>",
        "<｜tool_calls_end｜>",
    ),
    "tagged": Form(_each(_ELEMENTS)),
    "yaml_xml": Form(_each(_yaml)),
}
