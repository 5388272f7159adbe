"""Calls in forms that no dialect has (`reading/unknown_forms.py`): what is one, and what is none.

Forms are invented by a grammar of marks around a declared tool's name and its parameters, so that none of them is
known to the code. Documents that nobody wrote for it say what is none: those that come with the development tools.
"""

import random
import re
from pathlib import Path

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.damaged import tool
from support.growth import grows_with_its_input
from support.repository import REPO
from support.sampling import examples, some
from toolcalls.reading.unknown_forms import UnknownForms
from toolcalls.values.toolbox import Toolbox

TOOLS = Toolbox(
    [
        tool("read_file", path="string", limit="integer"),
        tool("WebFetch", url="string", prompt="string"),
        tool("mail-send", to="string", subject="string", body="string"),
        tool("Bash", command="string"),
        tool("search", query="string"),
        tool("now"),
    ]
)
FORMS = UnknownForms(TOOLS)

CALLS = [
    ("<<<CALL read_file>>>\n<<<ARG path>>>src/a.ts<<<END ARG>>>", "read_file>>> … path>>>"),
    ("@@read_file@@{path=src/a.ts; limit=5}@@end@@", "@@read_file@@{ … @@{path="),
    ('{"name": "Bash", "arguments": {"command": "ls"}, "reason": "look"}', '"Bash", … {"command":'),
    ('{"thought": "I look. Then I go.", "tool": "Bash", "args": {"x": 1}}', '"Bash", … "args": {"'),
    ('[{"Bash": {"command": "ls"}}]', '[{"Bash": … {"command":'),
    ("<bash><command>ls</command></bash>", "<bash>< … ><command>"),
    ('<web-fetch url="https://a.example"/>', '<web-fetch … url="'),
    ('Calling tool: bash({"command": "ls"})', 'bash({" … ({"command":'),
    ('I look. mail_send(to="a@b.example")', 'mail_send( … (to="'),
    ("tool: read_file\narguments:\n  path: src/a.ts\n", "read_file … path:"),
    ('```read_file\n{"path": "a"}\n```', '```read_file … {"path":'),
    ("default_api:Bash{command: ls}", "default_api:Bash{ … {command:"),
    ('mcp__shell__bash {"command": "ls"}', 'mcp__shell__bash … {"command":'),
    ("<tool: bash>\nls -la\n</tool>", "bash>"),
    ("I look.\n<my_tool_call>now</my_tool_call>", ">now</"),
    ("now()\n", "now()"),
]

NO_CALLS = [
    "I read the help of read_file: its path may be relative, its limit is a number. Nothing else is to do.",
    "Use `read_file` with a path, or `search` with a query.",
    "I called read_file with the path src/a.ts and it gave 20 lines.",
    "def read_file(path: str, limit: int = 5) -> str:\n    return path",
    "text = read_file(path='a')",
    "    print(read_file(path=name))",
    '{"name": "read_file", "description": "Reads.", "parameters": {"type": "object", "properties": {"path": {}}}}',
    "tools: {Bash: {command: string}}",
    'CALL = \'<invoke name="Bash"><parameter name="command">ls</parameter></invoke>\'',
    "self.search(query=what)",
    "// Bash{command: ls}",
    '{"name": "bash", "version": "5.2", "arguments": []}',
    "The tools are Bash, read_file and now.",
    '<unknown_tool path="a"/>',
]


@pytest.mark.parametrize(("text", "marks"), CALLS, ids=[text[:30] for text, _ in CALLS])
def test_what_a_reader_takes_for_a_call_is_one(text: str, marks: str) -> None:
    found = next(FORMS.in_text(text), None)
    assert found is not None
    assert found.marks == marks


@pytest.mark.parametrize("text", NO_CALLS, ids=[text[:30] for text in NO_CALLS])
def test_what_a_reader_takes_for_none_is_none(text: str) -> None:
    assert list(FORMS.in_text(text)) == []


WORD = st.text("bcdghjklmpqrvwxz", min_size=2, max_size=7)  # of a form: nobody's words
OPENS = st.sampled_from(["<", "<<", "<|", "[", "[[", "{{", "((", "@@", "%%", "$[", "::", "~>", "#{", "«<", "!["])
CLOSES = {
    "![": "]",
    "«<": ">»",
    "<": ">",
    "<<": ">>",
    "<|": "|>",
    "[": "]",
    "[[": "]]",
    "{{": "}}",
    "((": "))",
    "$[": "]",
    "#{": "}",
}


@st.composite
def names(draw: st.DrawFn) -> tuple[str, str]:
    """A declared tool with a parameter of its own, its name spelt as the name rule allows."""
    name, key = draw(
        st.sampled_from([("read_file", "path"), ("WebFetch", "url"), ("mail-send", "subject"), ("Bash", "command")])
    )
    spelt = draw(st.sampled_from([name, name.lower(), name.upper(), re.sub("[-_]", draw(st.sampled_from("-_")), name)]))
    return draw(st.sampled_from(["", "functions.", "default_api.", "mcp__any__"])) + spelt, key


@st.composite
def invented(draw: st.DrawFn) -> str:
    """A call in a form that is invented on the spot."""
    (name, key), value = draw(names()), " ".join(draw(st.lists(WORD, min_size=1, max_size=3)))
    opens = draw(OPENS)
    closes = CLOSES.get(opens, opens)
    said = draw(st.sampled_from(["", "CALL ", "tool=", "use:", f"{draw(WORD)} "]))
    head = f"{opens}{said}{name}{closes}"
    space = draw(st.sampled_from(["", " ", "\n"]))
    arguments = draw(
        st.sampled_from(
            [
                f'{{"{key}": "{value}"}}',
                f"{{{key}={value}}}",
                f"<{key}>{value}</{key}>",
                f'<arg name="{key}">{value}</arg>',
                f"<k>{key}</k><v>{value}</v>",
                f"({key}: {value})",
                f"\n{key}: {value}\n",
                f"<{draw(WORD)} {key}>{value}",
            ]
        )
    )
    return f"{head}{space}{arguments}{draw(st.sampled_from(['', closes, f'{opens}/{closes}', f'{opens}end{closes}']))}"


@examples(300)
@given(
    invented(),
    st.sampled_from(["", "I look at it.\n\n", "So it is.\n", "Sure: "]),
    st.sampled_from(["", "\n", "\nDone."]),
)
def test_invented_forms_are_found(form: str, before: str, after: str) -> None:
    assert list(FORMS.in_text(before + form + after)), form


SAYS = [
    "I used {}",
    "The tool {} reads",
    "Ask `{}` first",
    "See {} and {}",
    "({} is one)",
    'Its name is "{}".',
    "**{}** helps",
]


@examples(200)
@given(
    st.lists(st.tuples(st.sampled_from(SAYS), names()), min_size=1, max_size=6), st.lists(WORD, min_size=3, max_size=9)
)
def test_prose_that_names_tools_is_none(said: list[tuple[str, tuple[str, str]]], words: list[str]) -> None:
    text = ". ".join(one.format(name, key) + " " + " ".join(words) + f" the {key}" for one, (name, key) in said)
    hypothesis.assume("now" not in words)
    assert list(FORMS.in_text(text)) == []


REALISTIC = Toolbox(
    [
        tool(name, **dict.fromkeys(keys.split(), "string"))
        for name, keys in {
            "read_file": "path offset limit", "write_file": "path content", "edit_file": "path old_string new_string",
            "list_files": "path recursive", "search_files": "path regex", "execute_command": "command",
            "Bash": "command description timeout", "Read": "file_path offset limit", "Write": "file_path content",
            "Edit": "file_path old_string new_string", "Glob": "pattern path", "Grep": "pattern path glob",
            "WebFetch": "url prompt", "WebSearch": "query", "Task": "description prompt", "TodoWrite": "todos",
            "list": "path ignore", "search": "query limit", "fetch": "url max_length", "open": "files",
            "run": "command cwd",
            "view": "path view_range", "create": "path file_text", "str_replace": "path old_str new_str",
            "apply_patch": "input", "python": "code", "send_email": "to subject body", "query": "sql",
            "get_weather": "location unit", "replace": "path text", "click": "selector text", "task": "description",
        }.items()
    ]
)  # fmt: skip
KINDS = {".py", ".pyi", ".md", ".json", ".html", ".css", ".js", ".svg", ".yaml", ".txt"}


def documents() -> list[Path]:
    """Documents that nobody wrote for this: what the development tools bring along."""
    found = sorted(path for path in (REPO / ".venv" / "lib").rglob("*") if path.suffix in KINDS and path.is_file())
    random.Random(0).shuffle(found)
    return [path for kind in sorted(KINDS) for path in [one for one in found if one.suffix == kind][:60]]


@pytest.mark.whole
def test_in_documents_next_to_none_is_found() -> None:
    forms = UnknownForms(REALISTIC)
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in some(documents(), 150, "documents")]
    found = [text for text in texts if next(forms.in_text(text[: 32 * 1024]), None) is not None]
    assert len(texts) > 50
    assert len(found) <= max(2, len(texts) // 100)


def test_work_grows_with_the_text() -> None:
    tools = Toolbox([tool(f"tool_{number}", path="string") for number in range(1000)])
    forms = UnknownForms(tools)
    for unit in ("<tool_7 ", '"tool_7": ', "tool_7(", "a_b.c/d-e:", "[tool_1|", "word <b> tool_999 (path) "):
        grows_with_its_input(lambda size, unit=unit: lambda: list(forms.in_text(unit * size)), 400)  # type: ignore[misc]
