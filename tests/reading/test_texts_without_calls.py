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
    return [*made, *OWN]


@pytest.mark.parametrize("policy", ["standard", "strict", "lenient"])
@pytest.mark.parametrize("text", _texts())
def test_no_policy_takes_a_call_from_a_text_that_shows_one(text: str, policy: PolicyName) -> None:
    for size in (len(text), 1):
        reader = Reader(CallPolicy(Route(policy=policy), Request(tools=TOOLS)))
        events: list[Event] = [event for piece in chunks(text, size) for event in reader.feed(piece)]
        events += reader.finish(cut=False)
        assert not [event for event in events if isinstance(event, CallStart)]
        assert "".join(event.text for event in events if isinstance(event, Text)) == text
