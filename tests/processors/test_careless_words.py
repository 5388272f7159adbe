"""Calls in words and objects, as careless parsers find them (`processors/careless_words.py`), text by text.

Each row is a text and the calls that some parser finds in it: where, under which names, with which arguments it may
have, as JSON. Then where a call may begin that goes on in the next piece, and how much is looked at.
"""

from collections.abc import Callable

import pytest

from support.growth import grows_with_its_input
from toolcalls.processors.careless_words import WORD_FORMS, _Room
from toolcalls.processors.json_members import members_of
from toolcalls.request import Tool
from toolcalls.values.toolbox import Toolbox


def tool(name: str, **types: str) -> Tool:
    return Tool(name, {"type": "object", "properties": {key: {"type": kind} for key, kind in types.items()}})


BOX = Toolbox((tool("run", cmd="string", n="integer"), tool("write", path="string", content="string"), tool("list")))


def calls(dialect: str, text: str) -> list[tuple[str, tuple[str, ...], list[str]]]:
    return [
        (text[call.start : call.end], call.names, [f"{key}={raw}" for key, raw in call.arguments])
        for call in WORD_FORMS[dialect].calls(text, BOX)
    ]


CALLS: list[tuple[str, str, list[tuple[str, tuple[str, ...], list[str]]]]] = [
    (
        "forge",
        "a <tool><server_name>s</server_name><tool_name>run</tool_name><arguments><cmd>ls</cmd></arguments></tool> b",
        [
            (
                "<tool><server_name>s</server_name><tool_name>run</tool_name><arguments><cmd>ls</cmd></arguments></tool>",
                ("run", "s.run"),
                ['cmd="ls"'],
            )
        ],
    ),
    (
        "forge",
        "<tool><tool_name>run</tool_name><cmd>a</cmd><cmd>b</cmd></tool>",
        [
            (
                "<tool><tool_name>run</tool_name><cmd>a</cmd><cmd>b</cmd></tool>",
                ("run",),
                ['cmd="a"', 'cmd="a</cmd><cmd>b"', 'cmd="b"'],
            )
        ],
    ),
    (
        "forge",
        "<tool><tool_name>run</tool_name><cmd>a</tool> x </cmd></tool> y",
        [("<tool><tool_name>run</tool_name><cmd>a</tool>", ("run",), ['cmd="a"', 'cmd="a</tool> x"'])],
    ),
    (
        "forge",
        "<tool><tool_name>run</tool_name><cmd>a</cmd> x </cmd></tool>",
        [("<tool><tool_name>run</tool_name><cmd>a</cmd> x </cmd></tool>", ("run",), ['cmd="a"', 'cmd="a</cmd> x"'])],
    ),
    (
        "forge",
        "<tool><tool_name>run</tool_name><cmd>a",
        [("<tool><tool_name>run</tool_name><cmd>a", ("run",), ['cmd="a"'])],
    ),
    (
        "forge",
        "<TOOL x='1'><Tool_Name> run </Tool_Name><cmd>a</cmd></TOOL>",
        [("<TOOL x='1'><Tool_Name> run </Tool_Name><cmd>a</cmd></TOOL>", ("run",), ['cmd="a"'])],
    ),
    ("forge", "<tool><cmd>a</cmd></tool>", []),
    ("forge", "<toolbox><tool_name>run</tool_name></toolbox>", []),
    (
        "forge",
        "<tool><!-- <tool_name>list</tool_name> --><tool_name>run</tool_name></tool>",
        [("<tool><!-- <tool_name>list</tool_name> --><tool_name>run</tool_name></tool>", ("run",), [])],
    ),
    (
        "forge",
        "<tool><tool_name><![CDATA[run]]></tool_name><cmd><![CDATA[a<b>&amp;</b>]]>&amp;<!-- c -->d</cmd>",
        [
            (
                "<tool><tool_name><![CDATA[run]]></tool_name><cmd><![CDATA[a<b>&amp;</b>]]>&amp;<!-- c -->d</cmd>",
                ("run",),
                ['cmd="a<b>&amp;</b>&amp;d"', 'cmd="a<b>&amp;</b>&d"'],
            )
        ],
    ),
    (
        "forge",
        "<tool><tool_name>run</tool_name><ns:cmd>a</ns:cmd></tool>",
        [("<tool><tool_name>run</tool_name><ns:cmd>a</ns:cmd></tool>", ("run",), ['cmd="a"'])],
    ),
    (
        "forge",
        "<tool><tool_name>run</tool_name><n>1<cmd>a</cmd></n></tool>",
        [("<tool><tool_name>run</tool_name><n>1<cmd>a</cmd></n></tool>", ("run",), ['n="1<cmd>a</cmd>"', 'cmd="a"'])],
    ),
    (
        "forge",
        "<tool><tool_name>run</tool_name><cmd><n>1</n></cmd></tool>",
        [("<tool><tool_name>run</tool_name><cmd><n>1</n></cmd></tool>", ("run",), ['cmd="<n>1</n>"'])],
    ),
    (
        "forge",
        "<tool><tool_name>other</tool_name><x><y>1</y></x></tool>",
        [("<tool><tool_name>other</tool_name><x><y>1</y></x></tool>", ("other",), ['x="<y>1</y>"', 'y="1"'])],
    ),
    (
        "forge",
        '<tool>{"tool_name": "run", "arguments": {"cmd": "a"}}</tool>',
        [('{"tool_name": "run", "arguments": {"cmd": "a"}}', ("run",), ['cmd="a"'])],
    ),
    (
        "forge",
        "<tool><tool_name>run</tool_name></tool> <tool><tool_name>list</tool_name></tool>",
        [
            (
                "<tool><tool_name>run</tool_name></tool>",
                ("run", "run</tool_name></tool> <tool><tool_name>list", "list"),
                [],
            ),
            ("<tool><tool_name>list</tool_name></tool>", ("list",), []),
        ],
    ),
    (
        "forge",
        "<tool><tool_name>run</tool_name><tool_name>list</tool_name></tool>",
        [
            (
                "<tool><tool_name>run</tool_name><tool_name>list</tool_name></tool>",
                ("run", "run</tool_name><tool_name>list", "list"),
                [],
            )
        ],
    ),
    (
        "continue_codeblock",
        "a\n```tool\nTOOL_NAME: run\nBEGIN_ARG: cmd\nls\nEND_ARG\n```\nb",
        [("```tool\nTOOL_NAME: run\nBEGIN_ARG: cmd\nls\nEND_ARG\n", ("run",), ['cmd="ls"'])],
    ),
    (
        "continue_codeblock",
        "```tool\nrun\nBEGIN_ARG: cmd\nls\nEND_ARG\n```",
        [("```tool\nrun\nBEGIN_ARG: cmd\nls\nEND_ARG\n", ("run",), ['cmd="ls"'])],
    ),
    (
        "continue_codeblock",
        "x tool_name: run\nbeginarg: cmd\na\nb\nendarg\ny",
        [("tool_name: run\nbeginarg: cmd\na\nb\nendarg\ny", ("run",), ['cmd="a\\nb"'])],
    ),
    (
        "continue_codeblock",
        "TOOL_NAME: run\nwords\nBEGIN_ARG: cmd\na\nEND_ARG\nBEGIN_ARG: cmd\nb\nEND_ARG\n",
        [
            (
                "TOOL_NAME: run\nwords\nBEGIN_ARG: cmd\na\nEND_ARG\nBEGIN_ARG: cmd\nb\nEND_ARG\n",
                ("run",),
                ['cmd="a"', 'cmd="a\\nEND_ARG\\nBEGIN_ARG: cmd\\nb"', 'cmd="b"'],
            )
        ],
    ),
    (
        "continue_codeblock",
        "TOOL_NAME: run\nBEGIN_ARG: cmd\na",
        [("TOOL_NAME: run\nBEGIN_ARG: cmd\na", ("run",), ['cmd="a"'])],
    ),
    (
        "continue_codeblock",
        'TOOL_NAME: run\nBEGIN_ARG: cmd\n"a"\nEND_ARG\n',
        [('TOOL_NAME: run\nBEGIN_ARG: cmd\n"a"\nEND_ARG\n', ("run",), ['cmd="\\"a\\""', 'cmd="a"'])],
    ),
    (
        "continue_codeblock",
        'TOOL_NAME: run\nBEGIN_ARG: cmd\n"a\nEND_ARG\n',
        [('TOOL_NAME: run\nBEGIN_ARG: cmd\n"a\nEND_ARG\n', ("run",), ['cmd="\\"a"'])],
    ),
    (
        "continue_codeblock",
        "TOOL_NAME: run\nTOOL_NAME: list\n",
        [("TOOL_NAME: run\n", ("run",), []), ("TOOL_NAME: list\n", ("list",), [])],
    ),
    ("continue_codeblock", "```tool\n```\n", []),
    ("continue_codeblock", "```tool\n\nrun\n", []),
    ("continue_codeblock", "TOOL_NAME: run\n```\nBEGIN_ARG: cmd\na\nEND_ARG\n", [("TOOL_NAME: run\n", ("run",), [])]),
    ("continue_codeblock", "TOOL_NAME:\nrun\n", []),
    (
        "continue_codeblock",
        "```tool\nTOOL_NAME: run\n```\n```tool\nTOOL_NAME: list\n```\n",
        [("```tool\nTOOL_NAME: run\n", ("run",), []), ("```tool\nTOOL_NAME: list\n", ("list",), [])],
    ),
    (
        "react",
        'Thought: x\nAction: run\nAction Input: {"cmd": "a"}\nObservation: y',
        [('Action: run\nAction Input: {"cmd": "a"}', ("run",), ['cmd="a"', 'cmd="a"'])],
    ),
    (
        "react",
        "Action: run(x)\nAction Input: ls\n",
        [("Action: run(x)\nAction Input: ls\n", ("run", "run(x"), ['cmd="ls"', 'n="ls"'])],
    ),
    (
        "react",
        "**Action:** `run`\n**Action Input:** `ls`",
        [("Action:** `run`\n**Action Input:** `ls`", ("run",), ['cmd="ls"', 'n="ls"'])],
    ),
    (
        "react",
        "Action 1: run\nAction 1 Input 1: ls\nThought: b",
        [
            (
                "Action 1: run\nAction 1 Input 1: ls",
                ("run",),
                ['cmd="ls"', 'n="ls"', 'cmd="ls\\nThought: b"', 'n="ls\\nThought: b"'],
            )
        ],
    ),
    (
        "react",
        "Action: run\nAction Input: {'cmd': 'a'}\n",
        [
            (
                "Action: run\nAction Input: {'cmd': 'a'}\n",
                ("run",),
                ['cmd="a"', "cmd=\"{'cmd': 'a'}\"", "n=\"{'cmd': 'a'}\""],
            )
        ],
    ),
    (
        "react",
        'Action: run\nAction Input: {"cmd": "a\nb", "n": 1',
        [
            (
                'Action: run\nAction Input: {"cmd": "a\nb", "n": 1',
                ("run",),
                [
                    'cmd="a"',
                    'n="1"',
                    'cmd="{\\"cmd\\": \\"a\\nb\\", \\"n\\": 1"',
                    'n="{\\"cmd\\": \\"a\\nb\\", \\"n\\": 1"',
                ],
            )
        ],
    ),
    (
        "react",
        'Action: run\nAction Input: {"cmd": "a", "cmd": "b"}',
        [('Action: run\nAction Input: {"cmd": "a", "cmd": "b"}', ("run",), ['cmd="a"', 'cmd="b"'])],
    ),
    (
        "react",
        "Action: run\nwords\nAction Input: ls",
        [("Action: run\nwords\nAction Input: ls", ("run", "words", "run\nwords"), ['cmd="ls"', 'n="ls"'])],
    ),
    ("react", "Action:\nAction Input: ls", []),
    ("react", "Action: run\n", []),
    (
        "react",
        '```json\n{"action": "run", "action_input": {"cmd": "a"}}\n```',
        [('{"action": "run", "action_input": {"cmd": "a"}}', ("run",), ['cmd="a"'])],
    ),
    (
        "react",
        '{"action": "run", "action_input": "ls"}',
        [('{"action": "run", "action_input": "ls"}', ("run",), ['cmd="ls"', 'n="ls"'])],
    ),
    (
        "react",
        '{"x": {"name": "run", "arguments": "{\\"cmd\\": 1}"}}',
        [('{"x": {"name": "run", "arguments": "{\\"cmd\\": 1}"}}', ("run",), ['cmd="1"'])],
    ),
    (
        "react",
        '{"name": "list", "tool": "run", "args": {"cmd": "a"}}',
        [('{"name": "list", "tool": "run", "args": {"cmd": "a"}}', ("run", "list"), ['cmd="a"'])],
    ),
    (
        "react",
        "Action: run\nAction Input: a\nAction: list\nAction Input: b",
        [
            (
                "Action: run\nAction Input: a",
                ("run",),
                [
                    'cmd="a"',
                    'n="a"',
                    'cmd="a\\nAction: list\\nAction Input: b"',
                    'n="a\\nAction: list\\nAction Input: b"',
                ],
            ),
            ("Action: list\nAction Input: b", ("list",), []),
        ],
    ),
    ("react", '{"other": 1} {"name": 1}', [('{"name": 1}', ("1",), [])]),
    (
        "react",
        'Action: run\nAction Input: {"cmd": "a"}\n\nObservation\n {"cmd": "b"}',
        [('Action: run\nAction Input: {"cmd": "a"}', ("run",), ['cmd="a"', 'cmd="a"', 'cmd="b"'])],
    ),
]


@pytest.mark.parametrize(("dialect", "text", "found"), CALLS, ids=lambda one: str(one)[:60])
def test_the_calls_that_some_parser_finds(dialect: str, text: str, found: list[object]) -> None:
    assert calls(dialect, text) == found
    # What is around a call that ends does not change what is found in it, only where.
    assert calls(dialect, f"So.\n{text}") == found


@pytest.mark.parametrize("key", ["action", "name", "tool", "tool_name", "function", "function_name", "NAME"])
@pytest.mark.parametrize(
    "given", ["action_input", "arguments", "parameters", "args", "input", "kwargs", "params", "Args"]
)
def test_the_members_of_an_object_that_name_a_tool_and_its_arguments(key: str, given: str) -> None:
    for dialect, before in (("react", ""), ("forge", "<tool>")):
        text = f'{{"{key}": "run", "x": 1, "{given}": {{"cmd": "a\nb"}}}}'
        assert calls(dialect, before + text) == [(text, ("run",), ['cmd="a\\nb"'])]


def test_a_name_is_one_with_each_of_the_first_servers() -> None:
    """Four of them, since each may end at two places."""
    servers = "".join(f"<server_name>s{number}</server_name>" for number in range(10))
    ((_, names, _),) = calls("forge", f"<tool>{servers}<tool_name>run</tool_name></tool>")
    assert {name for name in names if "<" not in name} == {"run", "s0.run", "s1.run", "s2.run", "s3.run"}


def test_parameters_may_stand_before_the_name_and_at_the_very_beginning() -> None:
    text = "<tool><cmd>a</cmd><tool_name>run</tool_name></tool>"
    assert calls("forge", text) == [(text, ("run",), ['cmd="a"'])]
    text = "Action: run it now\nAction Input: ls"
    assert [names for _, names, _ in calls("react", text)] == [("run it now", "run")]
    text = "Action: run it (now)\nthen\nlist\nAction Input: ls"
    several = ("run it", "run it (now", "list", "run it (now)\nthen\nlist", "run")
    assert [names for _, names, _ in calls("react", text)] == [several]


# --- where one may begin ----------------------------------------------------------------------------------------------

OPENERS = {
    "forge": ["<tool>", "<  tool>", "<TOOL id='1'>", "<tool\n a>"],
    "continue_codeblock": ["```tool", "TOOL_NAME:", "toolname:"],
    "react": ["Action:", "action 1:", "Action ** :", f"Action{' ' * 40}:", "{"],
}
NO_OPENERS = {
    "forge": ["<toolbox>", "<tools", "</tool>", "tool", "<a><b"],
    "continue_codeblock": ["``", "```python", "TOOL NAME:", "tools"],
    "react": ["Actions:", "Act:", "reaction", "Action x:"],
}


@pytest.mark.parametrize(("dialect", "opener"), [(name, one) for name, found in OPENERS.items() for one in found])
def test_each_beginning_of_an_opener_is_waited_for(dialect: str, opener: str) -> None:
    form = WORD_FORMS[dialect]
    found = form.opener.search(f"So. {opener}")
    assert found is not None
    assert found.start() == 4
    for end in range(1, len(opener)):
        begun = form.begun.search(f"So. {opener[:end]}")
        assert begun is not None
        assert form.opener.search(f"So. {opener[:end]}") is not None or begun.start() == 4, opener[:end]


@pytest.mark.parametrize(("dialect", "text"), [(name, one) for name, found in NO_OPENERS.items() for one in found])
def test_what_begins_nothing_is_not_waited_for(dialect: str, text: str) -> None:
    form = WORD_FORMS[dialect]
    assert form.opener.search(f"So. {text} a") is None
    begun = form.begun.search(f"So. {text} -")
    assert begun is not None
    assert begun.start() == len(f"So. {text} -")


# --- how much ---------------------------------------------------------------------------------------------------------

LONG = {  # a call with far more in it than anyone writes, in the place of {0}
    "forge": ["<tool {0}><tool_name>run</tool_name></tool>", "<tool><tool_name {0}>run</tool_name></tool>"],
    "continue_codeblock": ["TOOL_NAME: run{0}\nBEGIN_ARG: cmd\nls", "TOOL_NAME: run\n{0}BEGIN_ARG: cmd\n{0}ls"],
    "react": [
        "Action{0}: run\nAction Input: ls", "Action: run\nAction{0} Input{0}: ls", "Action: run{0}\nAction Input: ls",
        "Action: run\nAction Input: ls{0}\nThought: x", "Action: run\nAction Input: {{{0} cmd",
        "Action: run\nAction Input: {{cmd{0}: ls{0}",
    ],
}  # fmt: skip


@pytest.mark.parametrize("filler", [" ", "\n", "\n ", "w", "w ", "1", ".", '"'])
@pytest.mark.parametrize(("dialect", "call"), [(name, one) for name, found in LONG.items() for one in found])
def test_the_work_on_a_long_call_grows_with_it(dialect: str, call: str, filler: str) -> None:
    def work(size: int) -> Callable[[], object]:
        text = call.format(filler * size)

        def found() -> None:
            WORD_FORMS[dialect].opener.search(text)
            calls(dialect, text)

        return found

    grows_with_its_input(work, 4000)
    if not filler.strip() and "\n" not in filler and "{0} cmd" not in call:
        assert [names for _, names, _ in calls(dialect, call.format(filler * 4000))] == [("run",)]


ONE = {
    "forge": "<tool>\n",
    "continue_codeblock": "TOOL_NAME: run\n",
    "react": "Action: run\nAction Input: ls\n",
}
ARGUMENT = {  # what comes before the arguments, one of them, and how many are looked at
    "forge": ("<tool><tool_name>x</tool_name>", "<a{0}>1</a{0}>", 257),
    "continue_codeblock": ("TOOL_NAME: x\n", "BEGIN_ARG: a\n{0}\nEND_ARG\n", 128),
    "react": ("Action: x\nAction Input: {{", "a: 1\n", 256),
}


@pytest.mark.parametrize("dialect", ONE)
def test_more_calls_than_are_looked_at_cannot_be_read(dialect: str) -> None:
    assert len(calls(dialect, ONE[dialect] * 256)) == (0 if dialect == "forge" else 256)  # of which none has a name
    with pytest.raises(ValueError, match="too many calls"):
        calls(dialect, ONE[dialect] * 257)


@pytest.mark.parametrize(
    "call",
    ["<tool><tool_name>run</tool_name></tool>\n", "<tool><tool_name>run</tool_name><cmd>a</cmd></tool>\n"],
)
def test_calls_that_each_reach_to_the_end_are_not_all_looked_at(call: str) -> None:
    """Else the work grew with the third power of the text."""
    assert len(calls("forge", call * 32)) == 32
    with pytest.raises(ValueError, match=r"too much text|too many arguments"):
        calls("forge", call * 250)


@pytest.mark.parametrize("dialect", ARGUMENT)
def test_more_arguments_than_are_looked_at_cannot_be_read(dialect: str) -> None:
    before, one, most = ARGUMENT[dialect]
    texts = [before.format() + "".join(map(one.format, range(count))) for count in (most, most + 1)]
    ((_, names, given),) = calls(dialect, texts[0])
    assert names == ("x",)
    assert len(given) >= 255
    with pytest.raises(ValueError, match="too many"):
        calls(dialect, texts[1])


@pytest.mark.parametrize("dialect", ["forge", "react"])
def test_more_beginnings_of_objects_than_are_tried_cannot_be_read(dialect: str) -> None:
    before, behind = ("<tool>", "</tool>") if dialect == "forge" else ("", "")
    call = '{"name": "run", "args": {"cmd": "a"}}'
    found = [(call, ("run",), ['cmd="a"'])]
    assert calls(dialect, f"{before}{'{"' * 256} {call}{behind}") == found
    with pytest.raises(ValueError, match="too many objects"):
        calls(dialect, f"{before}{'{"' * 257} {call}{behind}")
    assert calls(dialect, f"{before}{'{"' * 257} {behind}") == []  # nothing in it names a tool


# --- members ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "members"),
    [
        ('{"a": 1, "b": "x", "a": [true]}', [("a", '"1"'), ("b", '"x"'), ("a", "[true]")]),
        ('{"a": {"b": 1.50}}', [("a", '{"b": "1.50"}')]),
        ("[1]", []), ("7", []), ("", []), ("{", []), ('"{}"', []), ("[" * 100_000, []), (None, []), (7, []),
        ({"a": 1}, []), (["a"], []),
    ],
)  # fmt: skip
def test_members_are_those_of_an_object_with_duplicates(value: object, members: list[tuple[str, str]]) -> None:
    assert members_of(value) == members


def test_values_are_looked_at_up_to_their_limit_and_no_further() -> None:
    room = _Room(5)
    assert room.cut("abcdef", 1, 3) == "bc"
    assert room.cut("abcdef", 2, 5) == "cde"
    with pytest.raises(ValueError, match="too much text in values"):
        room.cut("abcdef", 0, 1)


@pytest.mark.parametrize("dialect", ["forge", "react"])
def test_a_long_text_before_a_call_hides_nothing(dialect: str) -> None:
    text = {
        "forge": "<tool><tool_name>run</tool_name><arguments><cmd>ls</cmd></arguments></tool>",
        "react": 'Action: run\nAction Input: {"cmd": "ls"}',
    }[dialect]
    assert calls(dialect, f"{'x y ' * 200_000}\n{text}")[-1][1:] == calls(dialect, text)[-1][1:]
