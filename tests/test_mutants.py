"""The changes that `make mutate` makes (`scripts/mutations.py`), and its list (`tests/mutants.toml`)."""

import shlex
import sys
import tomllib
from pathlib import Path

import pytest

from support.repository import REPO

sys.path.insert(0, str(REPO / "scripts"))
import mutations

LIST = tomllib.loads((REPO / "tests" / "mutants.toml").read_text(encoding="utf-8"))


def changes(source: str) -> set[tuple[str, str]]:
    made = (mutations.mutant(source, site) for site in mutations.sites("x.py", source))
    return {(mutant.was, mutant.becomes) for mutant in made if mutant is not None}


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("x = a < b", ["x = a <= b"]),
        ("x = a == b", ["x = a != b"]),
        ("x = a in b", ["x = a not in b"]),
        ("x = a not in b", ["x = a in b"]),
        ("x = a is not None", ["x = a is None"]),
        ("x = a and b", ["x = a or b"]),
        ("x = not a", ["x =  a"]),
        ("x = True", ["x = False"]),
        ("x = a[1]", ["x = a[ 2]", "x = a[ 0]"]),
        ("x = a[-1]", ["x = a[1]", "x = a[- 2]", "x = a[- 0]"]),
        ("x = -1", ["x = 1", "x = - 0"]),
        ("x = any(a)", ["x = all(a)"]),
        ("x = a.any", []),
        ('x = "blocked"', ['x = "other"']),
        ("a.append(b)", ["pass"]),
        ("a.b = c", ["pass"]),
        ("a += b", ["pass"]),
        ("x = a if b else c", ["x = a if not (b) else c"]),
        ("x = [a for a in b if a < c]", ["x = [a for a in b if not (a < c)]", "x = [a for a in b if a <= c]"]),
    ],
)
def test_a_line_is_changed_in_one_way_at_a_time(was: str, becomes: list[str]) -> None:
    assert changes(f"{was}\n") == {(was, changed) for changed in becomes}


def test_a_function_loses_its_body_and_its_result() -> None:
    source = 'def f(a):\n    """What it does."""\n    if a:\n        return b(a)\n    return None\n'
    assert changes(source) == {
        ('"""What it does."""', "return None"),
        ("if a:", "if not (a):"),
        ("return b(a)", "return None"),
    }


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("except a:", ["except _NotRaised:"]),
        ("except a.b as c:", ["except _NotRaised as c:"]),
        ("except (a, b.c) as d:", ["except (_NotRaised, b.c) as d:", "except (a, _NotRaised) as d:"]),
        ("except:", []),
    ],
)
def test_an_exception_is_not_caught(was: str, becomes: list[str]) -> None:
    assert changes(f"try:\n    pass\n{was}\n    pass\n") == {(was, changed) for changed in becomes}


def test_a_generator_without_its_body_yields_nothing() -> None:
    (site,) = (
        site
        for site in mutations.sites("x.py", "def f(a):\n    yield a\n")
        if mutations.mutant("def f(a):\n    yield a\n", site) == mutations.Mutant(site, 2, "yield a", "return None")
    )
    assert mutations.mutate_code("def f(a):\n    yield a\n", site.operator, 0) == (
        "def f(a):\n    return None\n    yield\n"
    )


@pytest.mark.parametrize(
    "source",
    [
        "import a",
        "from a import b",
        "type A = B | C",
        'A = Literal["b", "c"]',
        "x: A | None",
        "def f(a: A | B) -> A | None: ...",
        'def f(a: "A"): pass',
        'class C:\n    """Text."""\n    __slots__ = ("a", "b")',
        "@dataclass(frozen=True)\nclass C: pass",
        "assert a is not None",
        'x = "two words"',
        'x = f"{a} of {1 if b else 2}"',
        "x = 10",
        "x = isinstance(a, B | C)",
        "x = zip(a, b, strict=True)",
        "x = a",
        "def f():\n    return None",
        "def __init__(self):\n    x = a",
    ],
)
def test_what_decides_nothing_is_left_out(source: str) -> None:
    assert changes(source) == set()


@pytest.mark.parametrize("entry", LIST["decides"], ids=lambda entry: entry["code"][0])
def test_the_code_and_the_tests_of_the_list_are_here(entry: dict[str, list[str]]) -> None:
    """A pattern may find nothing yet."""
    names = [name for name in entry["code"] if "*" not in name]
    if any(REPO.glob(entry["code"][0])):
        words = [word for run in entry["tests"] for word in shlex.split(run)]
        names += [word.partition("::")[0] for word in words if word.startswith("tests/")]
    assert [name for name in names if not Path(REPO, name).exists()] == []


@pytest.mark.whole
@pytest.mark.parametrize("entry", LIST.get("equivalent", []), ids=lambda entry: f"{entry['file']}: {entry['becomes']}")
def test_what_is_known_to_survive_is_still_in_the_code(entry: dict[str, str]) -> None:
    lines = (REPO / entry["file"]).read_text(encoding="utf-8").splitlines()
    assert entry["was"] in {line.strip() for line in lines}
    assert entry["was"] != entry["becomes"]
    assert entry["why"]
