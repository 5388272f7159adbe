"""The arrows between the modules. `ARROWS` is the one place that says who may import whom; read it from the bottom up.

Strategy: every import statement of every module is read from its syntax tree, also inside functions and under
TYPE_CHECKING, so nothing is executed and nothing hides. What the core may not import from outside the package is
ruff's job as well (TID251 in pyproject.toml, seen while editing); here the two lists are held together.
"""

import ast
import tomllib
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

REPO = Path(__file__).parents[1]
PACKAGE = REPO / "addon" / "toolcalls"

# A module may import what stands behind its arrow, and whatever those may import. A folder is one entry, for all its
# modules. `__init__` is the package's own.
ARROWS = """
    __init__    <-
    events      <-
    request     <-
    ids         <-
    invented    <-
    wrappers    <-
    redaction   <-

    scanner     <- events
    literals    <-
    markdown    <- literals scanner
    lookalike   <- scanner
    schema      <-
    values      <- scanner schema
    transducer  <- values
    rawjson     <- values
    standing    <- events
    tools       <- request values
    shapes      <- events scanner tools transducer
    dialects    <- shapes

    route       <- request
    alike       <- values
    echo        <-
    patterns    <-
    policy      <- echo patterns route tools
    openers     <- dialects invented lookalike markdown
    nesting     <-
    ledger      <- alike echo events markdown nesting policy scanner tools
    reader      <- dialects invented ledger openers wrappers
    rereading   <- reader
    roundtrip   <- events shapes
    writing     <- reader
    prompts     <- request
    telling     <- prompts writing
    evidence    <- dialects policy prompts
    processors  <- events ids lookalike policy tools
    screening   <- processors reader roundtrip
    reacting    <- processors

    frames      <- events
    wires       <- frames ids nesting rawjson request standing values
    turns       <- wires
    rewriting   <- evidence telling turns
    asking      <- processors rewriting
    recalled    <- rewriting

    envelope    <-
    twins       <- ledger
    lane        <- evidence processors rereading roundtrip screening twins writing
    exchange    <- envelope lane wires
    report      <- __init__ exchange
    idle        <- patterns route
    config      <- __init__ ids idle patterns
    insight     <- redaction report turns
    exports     <- insight
    commands    <- asking config reacting report
    mitm        <- commands asking config exports recalled report rewriting
    demo        <- config report
    cli         <- commands demo mitm
    __main__    <- cli
"""

# Modules of these folders never import each other: each is one file that can be read, added and deleted alone. What
# they share stands in the folder's `__init__`, or below.
APART = ("dialects", "wires")

# The core is a function of its input.
WORLD = frozenset(
    {"asyncio", "datetime", "logging", "mitmproxy", "random", "secrets", "socket", "subprocess", "threading"}
    | {"time", "uuid"}
)
# Who may import what of it.
WORLDLY = {
    "mitm": WORLD,
    "cli": WORLD - {"mitmproxy"},
    "demo": WORLD - {"mitmproxy"},
    "reacting": {"threading", "time"},
}


def _reachable(table: str) -> dict[str, set[str]]:
    """Layer → itself and the layers that it may import. Raises KeyError for an arrow to a layer not above it."""
    reachable: dict[str, set[str]] = {}
    for line in filter(str.strip, table.splitlines()):
        layer, _, below = (part.strip() for part in line.partition("<-"))
        reachable[layer] = {layer}.union(*(reachable[name] for name in below.split()))
    return reachable


MAY_IMPORT = _reachable(ARROWS)


def _module(path: Path) -> str:
    """The dotted name below the package; the package's own `__init__` keeps its name."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = {_module(path): path for path in sorted(PACKAGE.rglob("*.py"))}
LAYERS = {module.partition(".")[0] for module in MODULES}


def _imports(source: str) -> Iterator[str]:
    """The absolute dotted names that are imported; `from a import b` gives `a.b`, which may be a module or not."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _inside(name: str) -> str | None:
    """Which module of ours an imported name reaches; None for what is not ours."""
    first, *rest = name.split(".")
    if first != "toolcalls":
        return None
    while len(rest) > 1 and ".".join(rest) not in MODULES:
        rest.pop()
    return ".".join(rest) if rest and rest[0] in LAYERS | set(MAY_IMPORT) else "__init__"


def _apart(module: str) -> str:
    """The file of a folder that a module is or, where that file is a folder, belongs to: `wires.x` for `wires.x.y`."""
    return ".".join(module.split(".")[:2])


def _broken(module: str, source: str) -> list[str]:
    """One line for each import in `source`, the text of `module`, that goes against an arrow."""
    layer = module.partition(".")[0]
    found = []
    for name in _imports(source):
        outside = name.partition(".")[0]
        if outside in WORLD - WORLDLY.get(layer, frozenset()):
            found.append(f"{module} imports {outside}, which the core may not")
        target = _inside(name)
        if target is None:
            continue
        target_layer = target.partition(".")[0]
        if target_layer not in MAY_IMPORT[layer]:
            found.append(f"{module} imports {target}: no arrow leads from {layer} to {target_layer}")
        elif layer in APART and module != layer and target_layer == layer and _apart(module) != _apart(target) != layer:
            found.append(f"{module} imports {target}: the modules of {layer} stay apart")
    return found


def test_every_module_has_its_place() -> None:
    """A new module stands in ARROWS before it is imported."""
    assert LAYERS - set(MAY_IMPORT) == set(), "write them into ARROWS, behind what they may import"


@pytest.mark.parametrize("module", [name for name in MODULES if name.partition(".")[0] in MAY_IMPORT])
def test_imports_follow_the_arrows(module: str) -> None:
    assert _broken(module, MODULES[module].read_text(encoding="utf-8")) == []


def _circle(sources: Mapping[str, str]) -> list[str]:
    """Modules that import each other round and round, the first one again at the end; [] where none do."""
    imports = {module: {_inside(name) for name in _imports(source)} - {module} for module, source in sources.items()}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(map(str, error.args[1]))
    return []


def test_imports_inside_a_folder_go_one_way() -> None:
    """The arrows are those of folders; inside one, too, no two modules need each other."""
    assert _circle({module: path.read_text(encoding="utf-8") for module, path in MODULES.items()}) == []


def test_a_circle_is_found() -> None:
    forth = "from toolcalls.wires.openai_responses.items import Message"
    back = "from toolcalls.wires.openai_responses import stream"
    circle = _circle({"wires.openai_responses.stream": forth, "wires.openai_responses.items": back})
    assert set(circle) == {"wires.openai_responses.stream", "wires.openai_responses.items"}


def test_ruff_knows_the_same_world() -> None:
    """What TID251 bans, and where it does not, is what is checked here."""
    ruff = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["lint"]
    assert set(ruff["flake8-tidy-imports"]["banned-api"]) == WORLD
    exempt = {place for place, rules in ruff["per-file-ignores"].items() if "TID251" in rules}
    assert exempt == {
        "addon/toolcalls/mitm/**",
        "addon/toolcalls/reacting.py",
        "addon/toolcalls/{cli.py,demo/**}",
        "{bench,recordings,scripts,tests}/**",
    }


@pytest.mark.parametrize(
    ("module", "source"),
    [
        pytest.param("events", "from toolcalls.scanner import Scanner", id="upwards"),
        pytest.param("scanner", "import toolcalls.reader", id="upwards-plain"),
        pytest.param("frames", "from toolcalls import exchange", id="upwards-from-package"),
        pytest.param("wires.ollama", "from toolcalls.dialects import chosen", id="across"),
        pytest.param("reader", "from toolcalls.wires.gemini import GEMINI", id="across-into-a-folder"),
        pytest.param("dialects.tagged", "from toolcalls.dialects.invoke import DIALECT", id="dialect-to-dialect"),
        pytest.param("dialects.tagged", "from toolcalls.dialects import invoke", id="dialect-to-dialect-from-folder"),
        pytest.param("dialects.tagged", "def read():\n    import toolcalls.dialects.invoke", id="inside-a-function"),
        pytest.param("wires.gemini", "from toolcalls.wires.openai_responses.items import Message", id="others-parts"),
        pytest.param("wires.openai_responses.items", "from toolcalls.wires.gemini import WIRE", id="out-of-a-part"),
        pytest.param("exchange", "import time", id="clock"),
        pytest.param("exchange", "from datetime import UTC", id="clock-member"),
        pytest.param("report", "if TYPE_CHECKING:\n    from mitmproxy import http", id="mitmproxy-for-types"),
        pytest.param("cli", "import mitmproxy.io", id="mitmproxy-in-cli"),
    ],
)
def test_a_broken_arrow_is_found(module: str, source: str) -> None:
    assert len(_broken(module, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        pytest.param("dialects", "from toolcalls.dialects import invoke", id="registry-to-dialect"),
        pytest.param("dialects.invoke", "from toolcalls.shapes.attributed import Attributed", id="downwards"),
        pytest.param("wires.ollama", "from toolcalls.wires import Wire", id="what-a-folder-shares"),
        pytest.param(
            "wires.openai_responses.stream",
            "from toolcalls.wires.openai_responses.items import Message",
            id="its-own-parts",
        ),
        pytest.param("shapes.attributed", "from toolcalls.shapes.entities import unescape", id="shape-to-shape"),
        pytest.param("config", "from toolcalls import __version__", id="version"),
        pytest.param("cli", "import time, subprocess", id="clock-in-cli"),
        pytest.param("mitm.addon", "from mitmproxy import http\nimport asyncio", id="mitmproxy-in-mitm"),
        pytest.param("events", "import timeit_like, msgspec", id="a-name-that-begins-alike"),
    ],
)
def test_an_arrow_that_holds_is_let_pass(module: str, source: str) -> None:
    assert _broken(module, source) == []
