"""What dialects say of themselves (`ABOUT`): each file says all of it, and the example is what it claims to be.

Whether a field is there is read from the file's syntax tree: a dialect without one cannot be imported.
"""

import ast
import json
import re
from typing import Any, get_args

import pytest

from support.repository import REPO
from toolcalls.dialects import about, summary
from toolcalls.reading.policy import CallPolicy
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.shapes import About, Form
from toolcalls.tools.parse.command import parsed

pytestmark = pytest.mark.whole

FOLDER = REPO / "addon" / "toolcalls" / "dialects"
every_dialect = pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("[!_]*.py")))

# Field → what to write for it.
FIELDS = {
    "form": f"one of {', '.join(map(repr, get_args(Form)))}",
    "written_by": 'the models, agents or servers that write it, as in "Meituan\'s LongCat-Flash"',
    "source": "a URL, a public template or parser, or issues by number; 'public reports' where nobody documents it",
    "example": "a text that the dialect reads as the call in `call` (default: read_file with the path src/a.ts)",
}


def missing(name: str, source: str) -> list[str]:
    """One line for each field that a dialect's file does not declare, with what to write there."""
    given = {
        keyword.arg: ast.unparse(keyword.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ABOUT" and isinstance(node.value, ast.Call)
        for keyword in node.value.keywords
    }
    place = f"addon/toolcalls/dialects/{name}.py"
    return [
        f"{place}: write `ABOUT = About({field}=…)`: {what}"
        for field, what in FIELDS.items()
        if given.get(field, "''") == "''"
    ]


def test_every_field_has_a_word_on_what_to_write() -> None:
    optional = {"call", "one_call", "sign", "since"}
    assert set(About.__dataclass_fields__) - optional == set(FIELDS)


@every_dialect
def test_a_dialect_says_what_it_is(name: str) -> None:
    found = missing(name, (FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    assert not found, "\n".join(found)


def test_a_missing_field_is_found() -> None:
    assert len(missing("x", "DIALECT = X()")) == len(FIELDS)
    (line,) = missing("x", 'ABOUT = About(form="invoke", written_by="A", source="", example="<a>")')
    assert line.startswith("addon/toolcalls/dialects/x.py: write `ABOUT = About(source=…)`: a URL")


@every_dialect
def test_its_docstring_begins_with_what_the_form_is(name: str) -> None:
    begins = (FOLDER / f"{name}.py").read_text(encoding="utf-8")[:200]
    assert begins.startswith(f'"""`{name}`: '), f'dialects/{name}.py: begin the docstring with "`{name}`: what it is."'
    assert summary(name).endswith("."), f"dialects/{name}.py: the docstring's first paragraph is one sentence"


@every_dialect
def test_its_form_and_version_are_known(name: str) -> None:
    known = about(name)
    assert known.form in get_args(Form), f"dialects/{name}.py: form is {FIELDS['form']}"
    versions = re.findall(r"^## \[([\d.]+)\]", (REPO / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert known.since in versions, f"dialects/{name}.py: since is a version of CHANGELOG.md"


@every_dialect
def test_its_example_is_read_as_the_call_it_claims(name: str) -> None:
    known = about(name)
    claimed: dict[str, Any] = json.loads(known.call.arguments)
    properties = {key: {"type": "array" if isinstance(value, list) else "string"} for key, value in claimed.items()}
    tools = (Tool(known.call.name, {"type": "object", "properties": properties}),)
    request = Request(tools=tools, model=known.sign.models[0] if known.sign.models else "")
    for dialects in ((name,), None):  # by its name, and among all others
        found = parsed([known.example], CallPolicy(Route(dialects=dialects), request), cut=False)["calls"]
        read = [(call["name"], json.loads(call["arguments"])) for call in found]
        assert read == [(known.call.name, claimed)], f"dialects/{name}.py: the example is read as {read}, not as `call`"
        assert dialects is None or found[0]["dialect"] == name
