"""What the pages say, held against what is there: links, paths, commands, examples, the table of modules.

Nothing is started: commands are only taken apart, configurations only read. The Python of the pages is run.
"""

import ast
import re
import shlex
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolcalls import cli, dialects, shapes
from toolcalls.events import Text
from toolcalls.processors import Call as Made
from toolcalls.processors import Drop, Keep
from toolcalls.reading.policy import CallPolicy
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.shapes import Call
from toolcalls.tools.parse.command import parsed
from toolcalls.values.toolbox import Toolbox

pytestmark = pytest.mark.whole

REPO = Path(__file__).parents[1]
PACKAGE = REPO / "addon" / "toolcalls"
PAGES = (
    *(REPO / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
    *sorted((REPO / "docs").rglob("*.md")),
    REPO / "recordings" / "README.md",
    REPO / "tests" / "cases" / "README.md",
)
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPO)))
FOLDERS = ("addon", "bench", "config", "docs", "recordings", "scripts", "tests")


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of one language ("" for none)."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [body for marked, body in fenced if marked == language]


def anchors(page: Path) -> set[str]:
    """What GitHub calls the headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?://)([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        there = page.parent / path if path else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


@every_page
def test_paths_are_there(page: Path) -> None:
    named = rf"`((?:{'|'.join(FOLDERS)})/[\w./-]+)`"
    for path in re.findall(named, page.read_text(encoding="utf-8")):
        assert "NAME" in path or (REPO / path).exists(), path


# Commands


def commands(text: str) -> Iterator[list[str]]:
    """Each `toolcalls COMMAND …` in a block, word by word, without comments and what the shell does with it."""
    for block in blocks(text, ""):
        for line in block.replace("\\\n", " ").splitlines():
            found = re.match(r"(?:\.venv/bin/)?toolcalls (?=[a-z])(.*)", line)
            if found:
                words = shlex.split(found[1], comments=True)
                yield words[: next((at for at, word in enumerate(words) if word in "<>|"), len(words))]


def subcommands() -> dict[str, ArgumentParser]:
    (action,) = (one for one in cli._parser()._actions if isinstance(one, _SubParsersAction))
    return dict(action.choices)


@every_page
def test_commands_can_be_typed(page: Path) -> None:
    for words in commands(page.read_text(encoding="utf-8")):
        cli._parser().parse_args(words)  # leaves with a SystemExit what it does not know


@every_page
def test_commands_and_options_in_sentences_are_known(page: Path) -> None:
    for command, rest in re.findall(r"`toolcalls ([a-z][\w-]*)([^`]*)`", page.read_text(encoding="utf-8")):
        known = subcommands()[command]._option_string_actions
        assert set(re.findall(r"(?<!\w)--[\w-]+", rest)) <= set(known), command


def test_there_are_commands_to_look_at() -> None:
    words = [command[0] for page in PAGES for command in commands(page.read_text(encoding="utf-8"))]
    assert {"parse", "write", "rewrite", "export", "redact"} <= set(words)


@every_page
def test_make_has_the_targets(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (REPO / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE)) <= targets


# Examples


@every_page
def test_configurations_are_good(page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "toolcalls.yaml"
    for block in blocks(page.read_text(encoding="utf-8"), "yaml"):
        if re.search(r"^(routes|defaults):", block, re.MULTILINE):
            path.write_text(block, encoding="utf-8")
            assert cli.main(["check-config", str(path)]) == 0, capsys.readouterr().err


def test_the_dialect_of_the_page_reads_and_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    source, _ = blocks((REPO / "CONTRIBUTING.md").read_text(encoding="utf-8"), "python")
    names: dict[str, object] = {}
    exec(compile(source, "CONTRIBUTING.md", "exec"), names)
    dialect = names["DIALECT"]
    monkeypatch.setattr(dialects, "all_dialects", lambda: {"example": dialect})
    written = dialect.write([Call("look", '{"path":"a b"}')], Toolbox(()))
    assert written == '<calls>\n<call name="look">\n<arg name="path">a b</arg>\n</call>\n</calls>'
    call_policy = CallPolicy(Route(dialects=("example",)), Request(tools=(Tool("look"),)))
    read = parsed([written], call_policy, cut=False)
    assert read["calls"] == [{"name": "look", "arguments": '{"path":"a b"}', "dialect": "example"}]
    about = names["ABOUT"]
    call_policy = CallPolicy(Route(dialects=("example",)), Request(tools=(Tool(about.call.name),)))
    assert [call["name"] for call in parsed([about.example], call_policy, cut=False)["calls"]] == [about.call.name]


def test_the_wire_of_the_page_reads() -> None:
    _, source = blocks((REPO / "CONTRIBUTING.md").read_text(encoding="utf-8"), "python")
    names: dict[str, object] = {}
    exec(compile(source, "CONTRIBUTING.md", "exec"), names)
    wire = names["WIRE"]
    assert wire.matches("/v1/fill?x=y")
    reply = b'{"choices": [{"index": 0, "message": {"content": "1"}, "finish_reason": "stop"}]}'
    assert wire.codec(streamed=False).decode(reply)[0] == (0, Text("1"))


def test_the_reactor_of_the_page_reacts() -> None:
    source, *_ = blocks((REPO / "docs" / "reactors.md").read_text(encoding="utf-8"), "python")
    names: dict[str, object] = {}
    exec(compile(source, "reactors.md", "exec"), names)
    react = names["no_force_push"]
    assert isinstance(react(Made("bash", {"command": "git push --force"}, "", None)), Drop)
    assert isinstance(react(Made("bash", {"command": "git push"}, "", None)), Keep)


# Tables


def test_every_module_has_its_row() -> None:
    """The table of `docs/design.md`: a file or a folder of the package."""
    rows = re.findall(r"^\| (`[^|]+`) \|", (REPO / "docs" / "design.md").read_text(encoding="utf-8"), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+(?:\.py|/))`", row)}
    there = {path.name for path in PACKAGE.glob("*.py")} | {f"{path.parent.name}/" for path in PACKAGE.glob("*/*.py")}
    assert named == there - {"__init__.py"}


@pytest.mark.parametrize("wire", sorted((PACKAGE / "wires").glob("*/__init__.py")), ids=lambda path: path.parent.name)
def test_a_wire_that_is_a_folder_lists_its_files(wire: Path) -> None:
    about = ast.get_docstring(ast.parse(wire.read_text("utf-8"))) or ""
    listed = set(re.findall(r"^    ([a-z_]+)  ", about, re.MULTILINE))
    assert listed == {path.stem for path in wire.parent.glob("*.py")} - {"__init__"}


def test_every_shape_is_listed() -> None:
    listed = re.findall(r"`([a-z_/]+)`", (shapes.__doc__ or "").partition("What is where")[2])
    there = [path for path in (PACKAGE / "shapes").iterdir() if not path.name.startswith("_")]
    assert sorted(listed) == sorted(path.stem if path.is_file() else f"{path.name}/" for path in there)
