"""Leaked calls in the manner of public reports, each read in `standard`, and texts about calls, of which none is one.

The forms are those that people pasted; the tools and values are this file's own. `UNREAD` says what is known and left:
these come after words on their line, or in marks of which nothing certain is left.
"""

import json

import pytest

from support.strategies import tool
from toolcalls.events import Text
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request
from toolcalls.route import Route
from toolcalls.writing.writer import calls_in

TOOLS = (
    tool("bash", command="string", timeout="integer"),
    tool("read_file", path="string", offset="integer"),
    tool("write_file", path="string", content="string"),
    tool("web_search", query="string"),
    tool("now"),
)
LS = ("bash", {"command": "ls"})

READ = (
    (
        ('I\'ll run it.\n\ncourse\n  <invoke name="bash">\n  <parameter name="command">ls</parameter>\n  </invoke>'),
        [LS],
    ),
    (
        'call\n<invoke name="bash">\n<parameter name="command">ls</parameter>\n</invoke>',
        [LS],
    ),
    (
        (
            'court\n<invoke name="bash">\n<parameter name="command">ls</parameter>\n'
            '<parameter name="timeout">5</parameter>\n</invoke>'
        ),
        [("bash", {"command": "ls", "timeout": 5})],
    ),
    (
        'invoke name="bash">\nparameter name="command">lsparameter>\ninvoke>',
        [LS],
    ),
    (
        (
            '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="bash">\n'
            '<｜DSML｜parameter name="command" string="true">ls</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
            "</｜DSML｜tool_calls>"
        ),
        [LS],
    ),
    (
        (
            'Let me gather the facts.\n\n<｜｜DSML｜｜ calls>\n<｜｜DSML｜｜ invoke name="read_file">\n'
            '<｜｜DSML｜｜ parameter name="path" string="true">a.md</｜｜DSML｜｜ parameter>\n</｜｜DSML｜｜ invoke>\n'
            "</｜｜DSML｜｜ calls>"
        ),
        [("read_file", {"path": "a.md"})],
    ),
    (
        (
            '<｜｜DSML｜｜tool_calls>\n<｜｜DSML｜｜invoke name="now">\n</｜｜DSML｜｜invoke>\n'
            '<｜｜DSML｜｜invoke name="web_search">\n'
            '<｜｜DSML｜｜parameter name="query" string="true">strategy</｜｜DSML｜｜parameter>\n'
            "</｜｜DSML｜｜invoke>\n</｜｜DSML｜｜tool_calls>"
        ),
        [("now", {}), ("web_search", {"query": "strategy"})],
    ),
    (
        "<tool_call>web_search<arg_key>query</arg_key>days left</arg_value></tool_call>",
        [("web_search", {"query": "days left"})],
    ),
    (
        ("<tool_call>read_file<arg_key>path</arg_key></arg_key><arg_value>a.md</arg_value></tool_call>"),
        [("read_file", {"path": "a.md"})],
    ),
    (
        ("<tool_call>read_file<arg_key><arg_key>path</arg_key><arg_value>a.md</arg_value></tool_call>"),
        [("read_file", {"path": "a.md"})],
    ),
    (
        "<tool_call>bash<tool_call>command</arg_key><arg_value>ls</arg_value></tool_call>",
        [LS],
    ),
    (
        "<tool_call>bashcommand</arg_key><arg_value>ls</arg_value></tool_call>",
        [LS],
    ),
    (
        "<tool_call>bash command</arg_key><arg_value>ls</arg_value></tool_call>",
        [LS],
    ),
    (
        "<tool_call>bash\n<arg_key>command</arg_key>\n<arg_value>ls\n</tool_call>",
        [LS],
    ),
    (
        "bash<arg_key>command</arg_key><arg_value>ls</arg_value></tool_call>",
        [LS],
    ),
    (
        "<tool_call>now</arg_value></tool_call>",
        [("now", {})],
    ),
    (
        ('[TOOL_CALL] { "tool": "write_file", "args": { "path": "t.html", "content": "<html></html>" } } [/TOOL_CALL]'),
        [("write_file", {"path": "t.html", "content": "<html></html>"})],
    ),
    (
        '[TOOL_CALL]\n{tool => "bash", args => {\n  --command "ls"\n}}\n[/TOOL_CALL]',
        [LS],
    ),
    (
        '[tool_call]\n{"name": "bash", "arguments": {"command": "ls"}}\n[/tool_call]',
        [LS],
    ),
    (
        '[Tool Call] name=bash args={"command": "ls"}',
        [LS],
    ),
    (
        '[Calling tool: bash({"command": "ls"})]',
        [LS],
    ),
    (
        '[Tool Use: bash({"command": "ls"})]',
        [LS],
    ),
    (
        '[Tool call: bash]\nArguments: {"command": "ls"}',
        [LS],
    ),
    (
        (
            "Checking.\n"
            'Assistant called tool bash (call_resync_1) with arguments: {"command":"ls"}<|close|>argume'
            "nt<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"
        ),
        [LS],
    ),
    (
        (
            '<|open|>toolscall tool="bash" index="1"<|sep|><|open|>argument key="command" type="string"'
            "<|sep|>lsargument<|sep|><|close|>call<|sep|><|close|>toolstoolsmessage<|sep|>"
        ),
        [LS],
    ),
    (
        (
            "Lint passes.\n"
            '<|open|>toolscall tool="bash" index="1"<|sep|><|open|>argument key="command" type="string"'
            "<|sep|>ls<|close|>argument<|sep|><|close|>call<|sep|><|close|>toolsmessage<|sep|>"
        ),
        [LS],
    ),
    (
        (
            '<|open|>tools<|sep|><|open|>call tool="bash" index="1"<|sep|><|open|>argument key="command'
            '" type="string"<|sep|>ls<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|><'
            "|close|>message<|sep|>"
        ),
        [LS],
    ),
    (
        (
            "<|tool_calls_section_begin|> <|tool_call_begin|> functions.bash:0 <|tool_call_argument_beg"
            'in|> {"command": "ls"} <|tool_call_end|> <|tool_calls_section_end|>'
        ),
        [LS],
    ),
    (
        'I look. functions.bash:0<|tool_call_argument_begin|>{"command": "ls"}<|tool_call_end|>',
        [LS],
    ),
    (
        '<|channel|>commentary to=functions.bash<|message|>{"command": "ls"}<|call|>',
        [LS],
    ),
    (
        'assistantcommentary to=functions.bash json{"command": "ls"}',
        [LS],
    ),
    (
        ('analysisWe need to list files.assistantcommentary to=functions.bash json{"command": "ls"}'),
        [LS],
    ),
    (
        'commentary to=functions.bash code{"command": "ls"}',
        [LS],
    ),
    (
        ('<|start|>assistant<|channel|>commentary to=functions.bash json<|message|>{"command": "ls"}'),
        [LS],
    ),
    (
        '{"name": "bash", "arguments": {"command": "ls"}}',
        [LS],
    ),
    (
        '```json\n{"name": "bash", "arguments": {"command": "ls"}}\n```',
        [LS],
    ),
    (
        '<tools>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tools>',
        [LS],
    ),
    (
        (
            "<tools>{&quot;name&quot;: &quot;bash&quot;, &quot;arguments&quot;: {&quot;command&quot;: &"
            "quot;ls&quot;}}</tools>"
        ),
        [LS],
    ),
    (
        ('<tool_call>\n{"name": "bash", "arguments": {"command": "grep "a" b &gt; c"}}\n</tool_call>'),
        [("bash", {"command": 'grep "a" b &gt; c'})],  # in JSON nothing was escaped for XML
    ),
    (
        '<tool_call>{"name":": "bash", "arguments": {"command": "ls"}}</tool_call>',
        [LS],
    ),
    (
        '<tool_call>{"name: "bash", "arguments": {"command": "ls"} }</tool_call>',
        [LS],
    ),
    (
        '<tool_call>{name: "bash", arguments: {command: "ls"}}</tool_call>',
        [LS],
    ),
    (
        ("<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>"),
        [LS],
    ),
    (
        "<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
        [LS],
    ),
    (
        "<parameter=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
        [LS],
    ),
    (
        '<tool_call>bash\n<parameter name="command">ls</parameter>\n</tool_call>',
        [LS],
    ),
    (
        '<tool name="bash" command="ls"/>',
        [LS],
    ),
    (
        '<toolcall><bash>{"command":"ls"}</bash></toolcall>',
        [LS],
    ),
    (
        '<functioncall {"name": "bash", "arguments": {"command": "ls"}}>',
        [LS],
    ),
    (
        ('<tool_use>\n  <name>bash</name>\n  <arguments>{"command": "ls"}</arguments>\n</tool_use>'),
        [LS],
    ),
    (
        '<|tool_call>call:bash{command:<|"|>ls<|"|>}<tool_call|>',
        [LS],
    ),
    (
        '<|tool_call>call:bash(command="ls")',
        [LS],
    ),
    (
        'call:bash{command:<|"|>ls<|"|>}',
        [LS],
    ),
    (
        'call:default_api:bash{command: "ls"}',
        [LS],
    ),
    (
        "I look.\n\ncall:default_api:bash{command:<ctrl46>ls<ctrl46>}",
        [LS],
    ),
    (
        '```tool_code\nbash(command="ls")\n```',
        [LS],
    ),
    (
        'print(default_api.bash(command="ls"))',
        [LS],
    ),
    (
        'bash(command="ls")',
        [LS],
    ),
    (
        '[TOOL_CALLS]bash[ARGS]{"command": "ls"}',
        [LS],
    ),
    (
        'bash[ARGS]{"command": "ls"}',
        [LS],
    ),
    (
        (
            '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>bash\n```json\n{"command":"ls"}\n'
            "```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
        ),
        [LS],
    ),
    (
        '<｜tool▁call▁begin｜>bash<｜tool▁sep｜>{"command":"ls"}<｜tool▁call▁end｜>',
        [LS],
    ),
    (
        'bash<｜tool▁sep｜>{"command":"ls"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
        [LS],
    ),
    (
        (
            "Let me read that part.]<]minimax[>[<tool_call>\n"
            ']<]minimax[>[<invoke name="read_file">]<]minimax[>[<path>a.md]<]minimax[>[</path>]<]minima'
            "x[>[</invoke>\n]<]minimax[>[</tool_call>"
        ),
        [("read_file", {"path": "a.md"})],
    ),
    (
        (
            '<minimax:tool_call>\n  <invoke name="bash">\n    <parameter name="command">ls</parameter>\n'
            "  </invoke>\n</minimax:tool_call>"
        ),
        [LS],
    ),
    (
        ('TOOL_CALL_BLOCK>>>\n{"name": "bash", "arguments": {"command": "ls"}}\n<<<END_TOOL_CALL_BLOCK>>>'),
        [LS],
    ),
    (
        '<<<TOOL_CALL>>>\n{"name": "bash", "arguments": {"command": "ls"}}\n<<<END_TOOL_CALL>>>',
        [LS],
    ),
    (
        '{"arguments":{"query":"X"},"name":"web_search"}',
        [("web_search", {"query": "X"})],
    ),
    (
        '{"tool_uses": [{"recipient_name": "functions.bash", "parameters": {"command": "ls"}}]}',
        [LS],
    ),
    (
        'Action: bash\nAction Input: {"command": "ls"}',
        [LS],
    ),
    (
        '<think>I will look.</think>{"name":"bash","arguments":{"command":"ls"}}</tool_call>',
        [LS],
    ),
    (
        '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n<tool_call>',
        [LS],
    ),
    (
        '<tool_call>bash{"command": "ls"}</tool_call>',
        [LS],
    ),
    (
        '<function_calls>\n{"name": "bash", "arguments": {"command": "ls"}}\n</function_calls>',
        [LS],
    ),
    (
        "<bash>\n<command>ls</command>\n</bash>",
        [LS],
    ),
    (
        '<tool_call>\n{"function": "bash", "parameters": {"command": "ls"}}\n</tool_call>',
        [LS],
    ),
    (
        '<invoke name="bash"><command>ls</command></invoke>',
        [LS],
    ),
    (
        '<|python_tag|>{"name": "bash", "parameters": {"command": "ls"}}',
        [LS],
    ),
    (
        'to=functions.bash {"command": "ls"}',
        [LS],
    ),
    (
        'tool_use>\n  <name>bash</name>\n  <arguments>{"command": "ls"}</arguments>\n</tool_use>',
        [LS],
    ),
)
UNREAD = (
    'I will list them. commentary to=functions.bash json{"command": "ls"}',
    'Assistant [tool call] bash">\n<parameter name="command">ls</parameter>\n</invoke>',
    'I will look.bash<｜tool▁sep｜>{"command":"ls"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    'I will look. bash[ARGS]{"command": "ls"}',
)
ABOUT_CALLS = (
    ("The model wrote <tool_call>bash<arg_key>command</arg_key><arg_value>ls</arg_value></tool_call> into the chat."),
    '```xml\n<tool name="bash" command="ls"/>\n```',
    ('Use `[tool_call]{"name": "bash", "arguments": {"command": "ls"}}[/tool_call]` to call it.'),
    '> [Tool Call] bash {"command": "ls"}',
    ('Here are the tools:\n<tool name="bash" description="runs a command"/>\n<tool name="now"/>'),
    (
        "<tools>\n"
        '<tool name="bash"><parameter name="command" type="string" required="true">The command</par'
        "ameter></tool>\n</tools>"
    ),
    "{name: string, arguments: object}",
    '{name: "Bob", arguments: "none"}',
    (
        '{"name": "bash", "description": "runs", "parameters": {"type": "object", "properties": {"c'
        'ommand": {"type": "string"}}}}'
    ),
    '[Tool Call] appears at the start of such a line, and then {"command": "ls"}.',
    "[tool_call] is what the log calls it.",
    'Assistant called tool bash (c1) with arguments: {"command": "ls"} and then stopped.',
    ('Assistant called tool bash (c1) with arguments: {"command": "ls"}\nTool result: a.md\nAssistant: done.'),
    'It says that Assistant called tool bash (c1) with arguments: {"command": "ls"}',
    'The header commentary to=functions.bash json{"command": "ls"} leaked.',
    'In Harmony you write to=functions.bash {"command": "ls"} there.',
    'Say `to=functions.bash {"command": "ls"}`.',
    'call tool="bash" and then what?',
    "The tool bash[ARGS] is a form of Mistral.",
    (
        "| form | example |\n|---|---|\n"
        "| GLM | <tool_call>bash<arg_key>command</arg_key><arg_value>ls</arg_value></tool_call> |"
    ),
    '    <tool_call>{name: "bash", arguments: {command: "ls"}}</tool_call>',
    '<!-- <tool_call>{name: "bash", arguments: {command: "ls"}}</tool_call> -->',
    '1. bash(command="ls") lists files\n2. now() tells the time',
    'To list files, call bash(command="ls").',
    'const call = {name: "bash", arguments: {command: "ls"}};',
    '<tool_call>zap\n<parameter name="command">ls</parameter>\n</tool_call>',
    "<tool_call>bash\n<b>bold</b>\n</tool_call>",
    "The report:\n<tool_call> was never closed, and bash did not run.",
    'User: list\nAssistant: [Tool Call] bash {"command": "ls"}\nUser: thanks',
    "{&quot;name&quot;: &quot;Bob&quot;, &quot;age&quot;: 3}",
)


def read(text: str, size: int) -> tuple[list[tuple[str, object]], str]:
    reader = Reader(CallPolicy(Route(client="native", upstream="text"), Request(tools=TOOLS), open_calls=True))
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    events = [*(event for piece in pieces for event in reader.feed(piece)), *reader.finish(cut=False)]
    shown = "".join(event.text for event in events if isinstance(event, Text))
    return [(one.name, json.loads(one.arguments)) for one in calls_in(events)], shown


@pytest.mark.parametrize(("text", "calls"), READ)
def test_a_leaked_call_is_read(text: str, calls: list[tuple[str, object]]) -> None:
    for size in (len(text), 1, 4):
        assert read(text, size)[0] == calls, f"in pieces of {size}"


@pytest.mark.parametrize("text", [*UNREAD, *ABOUT_CALLS])
def test_what_is_no_call_for_certain_stays_text(text: str) -> None:
    for size in (len(text), 1, 4):
        assert read(text, size) == ([], text), f"in pieces of {size}"
