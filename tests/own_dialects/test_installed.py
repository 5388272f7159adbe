"""Dialects of installed packages: `acme_package/` is one, and its entry points are what its pyproject.toml says."""

import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolcalls import config
from toolcalls.dialects import all_dialects, grammar
from toolcalls.own_dialects.loading import Loading
from toolcalls.reading.policy import CallPolicy
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.tools.parse.command import parsed
from toolcalls.wires import all_wires
from toolcalls.writing import prompting

PACKAGE = Path(__file__).parent / "acme_package"
CALL = '@call\n{"name": "ls", "arguments": {"path": "."}}\n@end'


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Put the package where Python looks for some, as pip does, with its module changed."""
    known = set(sys.modules)

    def installed(*changes: tuple[str, str], name: str = "acme_lines", twice: bool = False) -> None:
        about = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
        source = (PACKAGE / "acme_dialect.py").read_text()
        for old, new in changes:
            assert old in source
            source = source.replace(old, new)
        (tmp_path / "acme_dialect.py").write_text(source)
        points = dict.fromkeys([name], about["entry-points"]["toolcalls.dialects"]["acme_lines"])
        for project in (about["name"], *(["other"] if twice else [])):
            folder = tmp_path / f"{project.replace('-', '_')}-{about['version']}.dist-info"
            folder.mkdir()
            (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project}\nVersion: {about['version']}\n")
            lines = "".join(f"{one} = {value}\n" for one, value in points.items())
            (folder / "entry_points.txt").write_text(f"[toolcalls.dialects]\n{lines}")
        monkeypatch.syspath_prepend(str(tmp_path))

    yield installed
    for name in set(sys.modules) - known:
        if name == "acme_dialect":
            del sys.modules[name]
    shutil.rmtree(tmp_path)


def loaded(says: str) -> config.Config:
    return config.parse(f"routes: [{{{says}}}]", "c.yaml", all_dialects(), all_wires(), Loading())


def test_a_route_names_it(install: Callable[..., None]) -> None:
    install()
    (route,) = loaded("client: native, upstream: text, dialects: [auto, acme_lines]").routes
    (name,) = route.own
    assert prompting.template(name) == "@result {name}\n{text}\n@end"
    assert grammar(name).name == "acme_lines"
    tools = (Tool("ls", {"properties": {"path": {"type": "string"}}}),)
    for read, calls in ((route, ["ls"]), (Route(client="native", upstream="text"), [])):
        found = parsed([CALL], CallPolicy(read, Request(tools=tools)), cut=False)
        assert [call["name"] for call in found["calls"]] == calls, "installed is not read: a route must name it"


def test_its_client_is_written_to(install: Callable[..., None]) -> None:
    install()
    (route,) = loaded("client: acme_lines, upstream: native").routes
    assert (route.client_dialect, route.own) == ("acme_lines", ("acme_lines",))


@pytest.mark.parametrize(
    ("changes", "how", "line"),
    [
        ([("from toolcalls.shapes import About", "import nothing_of_the_kind")], {}, "it cannot be loaded: ModuleNot"),
        ([('"acme_lines", open', '"other", open')], {}, "its DIALECT is named 'other'; expected the entry point's"),
        ([("ABOUT = About(", "_ABOUT = About(")], {}, "it cannot be loaded: AttributeError"),
        ([("ABOUT = About(", "ABOUT = dict(")], {}, "expected DIALECT and ABOUT, as a file of toolcalls/dialects has"),
        ([('opening=("@call",)', 'opening=("",)')], {}, "expected DIALECT and ABOUT"),
        ([], {"twice": True}, "2 packages bring one of this name; expected one"),
    ],
)  # fmt: skip
def test_one_that_cannot_be_used_is_one_line(
    install: Callable[..., None], changes: list[tuple[str, str]], how: dict[str, bool], line: str
) -> None:
    install(*changes, **how)
    with pytest.raises(config.ConfigError) as wrong:
        loaded("client_dialect: acme_lines")
    (said,) = wrong.value.errors
    assert said.startswith("c.yaml:1: routes[0].client_dialect: the installed dialect acme_lines (")
    assert line in said


def test_one_that_is_named_as_one_of_the_package_is_never_asked_for(install: Callable[..., None]) -> None:
    install(name="hermes")
    (route,) = loaded("dialects: [hermes]").routes
    assert grammar(route.dialects[0] if route.dialects else "") is all_dialects()["hermes"]


def test_one_that_is_not_installed_is_an_unknown_name() -> None:
    with pytest.raises(
        config.ConfigError, match=r"routes\[0\].client_dialect: expected auto or the name or file of a dialect"
    ):
        loaded("client_dialect: acme_lines")
