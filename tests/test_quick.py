"""Which tests `make quick` runs for a changed file (`scripts/quick.py`)."""

import sys

import pytest

from support.repository import REPO

sys.path.insert(0, str(REPO / "scripts"))
import quick


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("addon/toolcalls/dialects/hermes.py", {"tests/cases/dialects/hermes.yaml", "tests/dialects/test_about.py"}),
        ("addon/toolcalls/dialects/__init__.py", {"tests/dialects"}),
        ("addon/toolcalls/values/conversion.py", {"tests/values/test_conversion.py"}),
        ("addon/toolcalls/wires/gemini/calls.py", {"tests/wires/test_gemini.py"}),
        ("addon/toolcalls/values/json_tokens.py", {"tests/values"}),
        ("addon/toolcalls/cli.py", {"tests/test_cli.py"}),
        ("tests/cases/wires/gemini.yaml", {"tests/cases/wires/gemini.yaml"}),
        ("tests/cases/quoting_notations.yaml", {"tests/reading/test_threats.py"}),
        ("tests/support/growth.py", {"tests/reading/test_linear.py"}),
        ("tests/text/test_echo.py", {"tests/text/test_echo.py"}),
        ("tests/live/test_addon.py", set()),
        ("scripts/tables.py", {"tests/test_tables.py"}),
        ("CONTRIBUTING.md", {"tests/test_docs.py"}),
        ("docs/design.md", {"tests/test_docs.py"}),
        ("recordings/README.md", {"tests/test_recordings.py"}),
        ("addon/toolcalls/dialects/of_nobody.py", {"tests/dialects/test_about.py"}),
        ("LICENSE", set()),
    ],
)
def test_a_change_has_its_tests(path: str, found: set[str]) -> None:
    assert found <= set(quick.concerned(path))
    assert found or not quick.concerned(path)


def test_cases_are_run_by_themselves() -> None:
    cases = ["tests/cases/wires/gemini.yaml", "tests/cases/dialects/hermes.yaml"]
    files, readers = quick.runs([*cases, "tests/test_cli.py", cases[0]])
    assert files == [*quick.ALWAYS, "tests/test_cli.py"]
    assert readers == [
        "tests/dialects/test_cases.py", "tests/wires/test_cases.py", f"--case={cases[1]}", f"--case={cases[0]}",
    ]  # fmt: skip


def test_what_always_runs_is_there() -> None:
    assert all((REPO / one).exists() for one in quick.ALWAYS)
    assert quick.runs([]) == [[*quick.ALWAYS]]
