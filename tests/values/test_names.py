"""A written name means the one declared tool from which it differs by case, by a prefix or by `-`, `_` and blanks."""

import pytest

from support.readings import read, verdicts
from support.strategies import DIALECTS
from toolcalls.dialects import all_dialects
from toolcalls.insight.report import verdict_data
from toolcalls.mitm.log_line import causes
from toolcalls.request import Tool
from toolcalls.route import Route
from toolcalls.shapes import Call
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import calls_in

DECLARED = ("Bash", "read_file", "fs.list", "mcp__github__search", "Edit", "edit")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Bash", "Bash"),
        (" Bash\n", "Bash"),
        ("bash", "Bash"),
        ("functions.Bash", "Bash"),
        ("default_api.bash", "Bash"),
        ("antml:tool:Bash", "Bash"),
        ("tools/read_file", "read_file"),
        ("mcp__files__read_file", "read_file"),
        ("readFile", "read_file"),
        ("read-file", "read_file"),
        ("Read File", "read_file"),
        ("functions.fs.list", "fs.list"),
        ("mcp_github_search", "mcp__github__search"),
        ("functions.edit", "edit"),
        # nothing fuzzier, and nothing where two tools are as close
        ("EDIT", "EDIT"),
        ("read_files", "read_files"),
        ("readfile2", "readfile2"),
        ("list", "list"),
        ("search", "search"),
        ("my_Bash", "my_Bash"),
        ("read\rfile", "read\rfile"),
        ("read\u00a0file", "read\u00a0file"),
        ("Ba\u017fh", "Ba\u017fh"),
        ("ns:unknown", "unknown"),
        ("", ""),
        ("_", "_"),
    ],
)
def test_a_name_means_a_tool(written: str, meant: str) -> None:
    assert Toolbox(map(Tool, DECLARED)).resolve(written) == meant


@pytest.mark.parametrize(
    ("server", "tool", "meant"),
    [
        ("local", "Bash", "Bash"),
        ("", "Bash", "Bash"),
        ("github", "search", "mcp__github__search"),
        ("fs", "list", "fs.list"),
        ("jira", "search", "jira.search"),
    ],
)
def test_a_servers_tool(server: str, tool: str, meant: str) -> None:
    assert Toolbox(map(Tool, DECLARED)).served(server, tool) == meant


# The name is no word of its own there, but the tag, or what is in front of a mark: names are those declared.
OF_DECLARED_NAMES = {
    "bare_calls", "module_calls",
    "damaged_tags", "function_elements", "function_tags_stripped", "gemma4_stripped", "glm_naked", "harmony_stripped",
    "header_stripped", "invoke_elements", "kimi_k2_stripped", "morph_xml", "tagged", "tool_element",
    "yaml_xml",
}  # fmt: skip


@pytest.mark.parametrize("dialect", sorted(set(DIALECTS) - OF_DECLARED_NAMES))
def test_every_dialect_notes_a_name_that_it_respelt(dialect: str) -> None:
    text = all_dialects()[dialect].write([Call("NOOP", "{}")], Toolbox((Tool("NOOP"),)))
    events = read(Route(client="native", upstream="text", policy="lenient", dialects=(dialect,)), [text])
    assert [call.name for call in calls_in(events)] == ["Noop"]
    assert ["name" in verdict.repairs for verdict in verdicts(events)] == [True]


@pytest.mark.parametrize(
    ("written", "nearest"),
    [
        ("read_files", ("read_file",)),
        ("functions.bashh", ("Bash",)),
        ("eddit", ("edit",)),
        ("completely_other", ()),
    ],
)
def test_the_nearest_tools_of_an_undeclared_name(written: str, nearest: tuple[str, ...]) -> None:
    assert Toolbox(map(Tool, ("Bash", "read_file", "edit"))).nearest(written) == nearest


def test_close_names_are_not_looked_for_without_end() -> None:
    tools = Toolbox((Tool("read_file"),))
    answers = [tools.nearest(f"read_file{n}") for n in range(100)]
    assert answers[0] == ("read_file",)
    assert answers[-1] == ()


def test_an_undeclared_call_names_the_nearest_tool() -> None:
    text = '<invoke name="Basch">\n<parameter name="command">ls</parameter>\n</invoke>'
    (verdict,) = verdicts(read(Route(client="native", upstream="text"), [text]))
    assert (verdict.reason, verdict.nearest) == ("undeclared", ("Bash",))
    (line,) = causes({"verdicts": [verdict_data(verdict)], "notes": ()})
    assert "undeclared: the request does not declare a tool of this name; it is accepted if " in line
    assert line.endswith("; did you mean `Bash`?")
