"""Texts that quote, document or show calls, and data that looks like some: no policy takes a call from them.

Strategy: one call in each of five common forms is put into each text, and texts of their own show what is left of
damaged forms. Every tool is declared, and each text is read whole and character by character.
"""

import pytest

from support.dialectcases import chunks
from toolcalls.events import CallStart, Event, Text
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import PolicyName, Route


def _tool(name: str, *keys: str) -> Tool:
    return Tool(name, {"type": "object", "properties": {key: {"type": "string"} for key in keys}})


TOOLS = (
    _tool("Bash", "command"),
    _tool("read_file", "path"),
    _tool("search", "query"),
    _tool("execute_bash", "command"),
    _tool("terminal", "cmd"),
)
CALLS = (
    '<invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke>',
    '<tool_call>\n{"name": "Bash", "arguments": {"command": "ls"}}\n</tool_call>',
    "<tool_call>\n<function=Bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
    '{"name": "Bash", "arguments": {"command": "ls"}}',
    "<read_file>\n<path>a</path>\n</read_file>",
)
SHOWN = (
    "Write `{line}` to call it.",
    "They wrote:\n\n{quoted}\n\nIs it right?",
    "First form:\n\n```\n{call}\n```\n\nSecond form:\n\n```\n{call}\n```\n\nPick one.",
    "<!--\n{call}\n-->\nDone.",
    "<example>\n{call}\n</example>\nThat is it.",
    "<think>\nMaybe I write\n{call}\nbut no.\n</think>\nThere is nothing to do.",
    "Human: list the files\n\nAssistant: {call}\n\nHuman: thanks\n\nAssistant: You're welcome.",
    "### User\nlist the files\n\n### Assistant\n{call}\n\n### User\nok\n",
    "prompt: |\n{indented}\nother: 1\n",
    "First form:\n\n```\n{call}\n```\n\nSecond form:\n\n```\n{other}\n```\n\nPick one.",
    "Human: list the files\n\nAssistant: {spaced}\n\nHuman: thanks\n\nAssistant: You're welcome.",
    "User: list the files\n\nAssistant:\n{call}\n\nUser: thanks\n\nAssistant: Done.",
    "<|im_start|>user\nlist the files<|im_end|>\n<|im_start|>assistant\n{call}<|im_end|>\n"
    "<|im_start|>user\nthanks<|im_end|>",
    "The model writes:\n\n```xml\n{call}\n```\n\nand the server answers with a result.",
    'const x = "{escaped}";',
)
OWN = (
    'The opener is `invoke name="Bash">` and the parameter is `parameter name="command">`.',
    'A leaked call looks like this: invoke name="Bash"> parameter name="command">ls/parameter> /invoke>',
    '```\nBash[ARGS]{"command": "ls"}\n```\nis one.\n\n```\ncall:default_api:Bash{command:"ls"}\n```\nanother.',
    'Write `<invoke name="Bash" command="ls" />` for it.\n\n> <invoke name="Bash" command="ls"/>\n',
    'It sent:\n\n```\n{"name": "Bash", "arguments": {"command": "echo "hi""}}\n```\n\nwhich is no JSON.',
    'Such as `<tool_call>{\\"name\\": \\"Bash\\", \\"arguments\\": {\\"command\\": \\"ls\\"}}</tool_call>`.',
    "```diff\n-<parameter=Bash>\n+<function=Bash>\n```",
    'Here is the record:\n{"recipient_name": "Bob", "parameters": {"a": 1}}\n',
    '{"tool_uses": [{"recipient_name": "Bob", "parameters": {}}], "total": 1}',
    '{"role": "assistant", "content": "hello", "name": "Bash"}',
    '{"name": "Bash", "description": "runs", "parameters": {"type": "object", "properties": {"command": {}}}}',
    "Usage:\n  Bash -c command\n  terminal [options]\n",
    "read_file(path) reads a file\nlist_directory(path) lists one\n",
    "Bash\n<parameter=command> is what I would write.",
    "Bash>\n<parameter=command> comes next.",
    "<parameter=Bash>\n<parameter=command> is the damaged form.",
    'invoke name="Bash">\nparameter name="command"> and so on.',
    'Tools:\n- Bash: runs a command\n\nEach is called with <invoke name="TOOL">.',
    '<tool_call>\n{"name": "read_fil", "arguments": {"path": "a"}}\n</tool_call>',
    'In JSON one writes {"command": "a &amp;&amp; b"}.',
    "The header is `commentary to=functions.Bash json` and JSON follows.",
    'commentary to=functions.Bash is the header of a call.\n{"command": "ls"} is its body.',
    '```\nBash[ARGS]{"command": "ls"}\n```\nis what Mistral writes.\n\n'
    '```\ncall:default_api:Bash{command:"ls"}\n```\nis Gemini\'s.',
    '{"name": "Bash", "description": "runs", "parameters": '
    '{"type": "object", "properties": {"command": {"type": "string"}}}}',
    "<summary>\nText\n</summary>\n<details><p>x</p></details>",
    'Tools:\n- Bash: runs a command\n- Read: reads\n\nEach is called with <invoke name="TOOL">.',
    '<invoke name="example_function">\n<parameter name="param">value</parameter>\n</invoke>\n'
    "is the form in which functions are called.",
    '<tool_call>\n{"name": "Bashh", "arguments": {"command": "rm -rf /"}}\n</tool_call>',
    "Put it between <execute_bash> and </execute_bash> tags.",
    'Write `<tool name="Bash" command="ls"/>` for it.\n\n> <tool name="Bash" command="ls"/>\n',
    'These are the tools:\n\n<tool name="Bash" description="runs a command"/>\n<tool name="read_file"/>\n',
    'The log says `[tool_call]{"name": "Bash", "arguments": {"command": "ls"}}[/tool_call]` there.',
    '```\n[Tool Call] Bash {"command": "ls"}\n```\nand\n```\n[tool_call] name=Bash args={"command": "ls"}\n```\n',
    '> [Tool Call] Bash {"command": "ls"}\n\nwas logged.',
    'User: list the files\n\nAssistant: [Tool Call] Bash {"command": "ls"}\n\nUser: thanks\n\nAssistant: Done.',
    "[Tool Call] is how such a line begins, and the tool Bash follows.",
    'Assistant called tool Bash (c1) with arguments: {"command": "ls"}\nThe result was a.txt.\n',
    '```\nAssistant called tool Bash (c1) with arguments: {"command": "ls"}\n```\nis such a sentence.',
    '```\n<tool_call>{name: "Bash", arguments: {command: "ls"}}</tool_call>\n```\nis no JSON, nor is\n'
    "```\n<tool_call>{&quot;name&quot;: &quot;Bash&quot;}</tool_call>\n```\n",
    'const call = {name: "Bash", arguments: {command: "ls"}};',
    "{name: string, arguments: object}",
    '> <tool_call>Bash\n> <parameter name="command">ls</parameter>\n> </tool_call>\n',
    "call:read_file is how it begins, declaration:read_file how the tool does.",
)
# Documents, transcripts, code, logs and data about the tools that are declared.
ABOUT_TOOLS = (
    ('Tool calls in Hermes form are written as <tool_call>{"name": ..., "arguments": ...}</tool_call> on one line.'),
    ('The config has\n\n```json\n{"name": "read_file", "arguments": {"path": "a"}}\n```\n\nand nothing else matters.'),
    '{"name": "my-app", "version": "1.0.0", "arguments": {"path": "a"}}',
    (
        '{"name": "read_file", "description": "Reads a file", "parameters": {"type": "object", "properties": '
        '{"path": {"type": "string"}}}}'
    ),
    (
        '[{"type": "function", "function": {"name": "read_file", "parameters": {"type": "object", "properties'
        '": {"path": {"type": "string"}}, "required": ["path"]}}}]'
    ),
    "name: read_file\narguments:\n  path: a\n",
    '2026-01-01 12:00:00 INFO tool read_file called with {"path": "a"}',
    '[12:00:01] read_file(path="a") -> 120 bytes in 3 ms',
    "DEBUG agent.tools: dispatch name='read_file' arguments={'path': 'a'}",
    "I used read_file to look at the file, then search for the word.",
    'First I call read_file(path="src/a.ts"). Then I call search(query="x").',
    '`read_file(path="a")` reads a file.',
    'def test():\n    assert read_file(path="a") == \'x\'\n    return search(query="b")\n',
    'from tools import read_file\n\nresult = read_file(path="a")\nprint(result)\n',
    'import { read_file } from \'./tools\'\n\nawait read_file({"path": "a"})\n',
    "const call = {name: 'read_file', arguments: {path: 'a'}};\nsend(call);",
    (
        'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n-<invoke name="read_file">\n+<invoke name="search"'
        '>\n <parameter name="path">a</parameter>\n </invoke>'
    ),
    (
        '--- a/p.md\n+++ b/p.md\n@@ -1 +1,3 @@\n+<tool_call>\n+{"name": "read_file", "arguments": {"path": "a"}}\n'
        "+</tool_call>"
    ),
    '1\t<tool_call>\n2\t{"name": "read_file", "arguments": {"path": "a"}}\n3\t</tool_call>',
    ('> <invoke name="read_file">\n> <parameter name="path">a</parameter>\n> </invoke>\n\nThat is what it sent.'),
    (
        'User: read the file\nAssistant: <tool_call>{"name": "read_file", "arguments": {"path": "a"}}</tool_ca'
        "ll>\nUser: thanks\nAssistant: ok"
    ),
    (
        '**User:** read it\n\n**Assistant:** <invoke name="read_file"><parameter name="path">a</parameter></inv'
        "oke>\n\n**User:** thanks"
    ),
    "<!-- <read_file><path>a</path></read_file> -->\nDone.",
    '<pre>\n<code>\n&lt;tool_call&gt;{"name": "read_file"}&lt;/tool_call&gt;\n</code>\n</pre>',
    '<search>\n<input type="text" name="query">\n</search>',
    "<html>\n<body>\n<search>find</search>\n</body>\n</html>",
    "The <search> element of HTML is new.",
    "<search> is an element, and </search> closes it.",
    "<function=...> begins the form and </function> ends it.",
    "<parameter=path> is how parameters begin.",
    "<tool_call> begins a call; </tool_call> ends it.",
    "In GLM's form: <tool_call>NAME<arg_key>K</arg_key><arg_value>V</arg_value></tool_call>.",
    "The tokens are <|tool_call_begin|>, <|tool_call_argument_begin|> and <|tool_call_end|>.",
    "[TOOL_CALLS] is Mistral's token.",
    "Mistral writes [TOOL_CALLS] and then the name and [ARGS] and then JSON.",
    "<|channel|> marks a channel, and <|message|> what follows it.",
    "Harmony: commentary to=functions.NAME json{...}",
    "The header is `commentary to=functions.read_file` and then the JSON.",
    "to=functions.read_file is the recipient.",
    "Action: none\nThought: I know the answer.",
    "Thought: I should use read_file.\nFinal Answer: 42",
    "Action items:\n- read_file: done\n- search: open",
    '| tool | arguments |\n| --- | --- |\n| read_file | {"path": "a"} |',
    '- read_file: {"path": "a"}\n- search: {"query": "b"}',
    '1. read_file {"path": "a"}\n2. search {"query": "b"}',
    'curl -d \'{"name": "read_file", "arguments": {"path": "a"}}\' http://localhost/call',
    (
        '{"id": 1, "method": "tools/call", "jsonrpc": "2.0", "params": {"name": "read_file", "arguments": {"p'
        'ath": "a"}}}'
    ),
    ('{"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "read_file", "arguments": "{}"}}]}]}'),
    '{"mcpServers": {"fs": {"command": "npx", "args": ["read_file"]}}}',
    '["read_file", "search"]',
    "[read_file, search]",
    "[1](read_file) and [2](search)",
    "read_file",
    "search",
    "`search`",
    "search:\n  query: a\n",
    "~~~xml\n<read_file>\n<path>a</path>\n</read_file>\n~~~\nis an example.",
    "````md\n```\n<read_file><path>a</path></read_file>\n```\n````\n\nThat shows a fence in a fence.",
    '"<tool_call>{\\"name\\": \\"read_file\\", \\"arguments\\": {}}</tool_call>" is a string.',
    'let s = \'<invoke name="read_file"><parameter name="path">a</parameter></invoke>\';',
    's = """\n<tool_call>\n{"name": "read_file", "arguments": {"path": "a"}}\n</tool_call>\n"""\nprint(s)',
    "x = '''<read_file>\n<path>a</path>\n</read_file>'''",
    "const t = `\n<read_file>\n<path>a</path>\n</read_file>\n`;",
    '// <tool_call>{"name": "read_file", "arguments": {"path": "a"}}</tool_call>\nint x;',
    '# <invoke name="read_file"><parameter name="path">a</parameter></invoke>\nx = 1',
    "/*\n<read_file>\n<path>a</path>\n</read_file>\n*/\nint y;",
    "<details>\n<summary>Call</summary>\n\n```\n<read_file><path>a</path></read_file>\n```\n</details>",
    "<example>\n<read_file>\n<path>a</path>\n</read_file>\n</example>",
    (
        '<tools>\n{"type": "function", "function": {"name": "read_file", "parameters": {"type": "object", "pro'
        'perties": {}}}}\n</tools>'
    ),
    '<tool_response>\n{"name": "read_file", "content": "x"}\n</tool_response>',
    (
        "<function_results>\n<result>\n<tool_name>read_file</tool_name>\n<stdout>x</stdout>\n</result>\n</function"
        "_results>"
    ),
    "[read_file for 'a'] Result:\nabc",
    "Tool 'read_file' result:\nabc",
    "EXECUTION RESULT of [read_file]:\nabc",
    "TypeError: read_file() got an unexpected keyword argument 'path'",
    "functions.read_file is declared, functions.search as well.",
    "See default_api.read_file and default_api.search for more.",
    "call: read_file, with a path",
    "Call: the one to read_file",
    "call read_file(path) when you need it",
    "print(read_file.__doc__)\nhelp(search)",
    "search?q=a&read_file=1",
    "GET /search?query=a HTTP/1.1\nHost: x",
    "SELECT name, arguments FROM calls WHERE name = 'read_file';",
    'name,arguments\nread_file,"{""path"": ""a""}"',
    '[tool_calls]\nname = "read_file"\narguments = { path = "a" }',
    '<xs:element name="read_file"><xs:complexType/></xs:element>',
    '<function name="read_file" file="a.c" line="3"/>\n<function name="search" file="b.c" line="9"/>',
    '<target name="search"><param name="query" value="x"/></target>',
    '<bean id="search" class="x.Search"><property name="query" value="a"/></bean>',
    '<method name="search"><parameter name="query" type="string"/></method>',
    '<param name="path">The path of the file.</param>\n<returns>The text.</returns>',
    ('/// <summary>Reads.</summary>\n/// <param name="path">The path.</param>\npublic void read_file(string path) {}'),
    "@param path the path\n@see read_file",
    "● read_file is a tool\n● search is another",
    "Tool call: none was needed.",
    "Calling read_file was not needed.",
    "Tool: read_file\nStatus: deprecated\n",
    "Assistant called no tool.",
    "[Tool Call: none]",
    "[Tool Use: read_file is not allowed here]",
    '{{"name": "read_file"}}',
    "${read_file(path)}",
    '{% call read_file(path="a") %}x{% endcall %}',
    '<%= read_file("a") %>',
    "\\begin{verbatim}\n<read_file><path>a</path></read_file>\n\\end{verbatim}",
    ".. code-block:: xml\n\n   <read_file><path>a</path></read_file>\n",
    "If a < tool_call > b then c.",
    "< read_file > is my name for it.",
    "a < search > b < query > c",
)


def _texts() -> list[str]:
    made = []
    for call in CALLS:
        lines = call.split("\n")
        quoted, indented = ("\n".join(lead + line for line in lines) for lead in ("> ", "  "))
        for shown in SHOWN:
            text = shown.replace("{line}", "".join(lines)).replace("{quoted}", quoted).replace("{indented}", indented)
            text = text.replace("{spaced}", " ".join(lines)).replace(
                "{other}", CALLS[0] if call is CALLS[4] else CALLS[4]
            )
            text = text.replace("{escaped}", call.replace("\n", "\\n").replace('"', '\\"'))
            made.append(text.replace("{call}", call))
    return [*made, *OWN, *ABOUT_TOOLS]


@pytest.mark.parametrize("policy", ["standard", "strict", "lenient"])
@pytest.mark.parametrize("text", _texts())
def test_no_policy_takes_a_call_from_a_text_that_shows_one(text: str, policy: PolicyName) -> None:
    for size in (len(text), 1):
        reader = Reader(CallPolicy(Route(policy=policy), Request(tools=TOOLS)))
        events: list[Event] = [event for piece in chunks(text, size) for event in reader.feed(piece)]
        events += reader.finish(cut=False)
        assert not [event for event in events if isinstance(event, CallStart)]
        assert "".join(event.text for event in events if isinstance(event, Text)) == text
