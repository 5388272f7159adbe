"""The arrows between the rooms of the package, and between the files of a room.

`ROOMS` is the one place that says which room may import which; read it from the bottom up. `FILES` orders the files of
each room: a file may import those to the left of a bar before it.

Strategy: every import statement of every module is read from its syntax tree, also inside functions and under
TYPE_CHECKING, so nothing is executed and nothing hides. A module that is imported by its name as a string
(`import_module("toolcalls.…")`) counts, too. What the core may not import from outside the package is ruff's job as
well (TID251 in pyproject.toml, seen while editing); here the two lists are held together.
"""

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from toolcalls.wires import SHARED

pytestmark = pytest.mark.whole

REPO = Path(__file__).parents[1]
PACKAGE = REPO / "addon" / "toolcalls"

# A room may import what comes after its arrow, and whatever those may import. The four files at the top of the
# package are the hub: everybody may know them, and they know nobody.
ROOMS = """
    __init__    <-
    events      <-
    request     <-
    ids         <-
    route       <- request

    text        <- events
    values      <- request text
    shapes      <- values
    dialects    <- shapes
    reading     <- dialects events route
    writing     <- reading
    mending     <- reading
    processors  <- writing
    wires       <- events values
    requests    <- mending processors wires
    replies     <- ids requests
    config      <- __init__ route text
    own_dialects <- config writing
    insight     <- __init__ replies
    streams     <- insight
    flows       <- own_dialects streams
    mitm        <- flows
    tools       <- flows
    cli         <- tools
    __main__    <- cli
"""

# The files of a room, those that import nothing of it first: a file may import what comes before the bar before it.
FILES = {
    "text": """
        echo_forms linear_search literals prefilled_data quoting_marks text_ends turn_ends
        | any_of patterns request_text scanner | echo lookalike markdown
    """,
    "values": """
        json_schema json_tokens lost_escapes schema usage | backslashes call_meaning json_tokenizer spans
        | conversion validation | json_strings native_arguments rawjson tool_names | toolbox | call_index transducer
        | damaged_json type_mending | value_mending | tool_values
    """,
    "shapes": """
        channels containers spaced_closers words writable | arguments | json | code headers tags
    """,
    "reading": """
        echo_watch open_text opener_tables strength | policy unknown_forms | candidate earlier_turns open_calls
        shown_text
        | consumed limits | waiting_calls | ledger | block invented_results wrappers | openers reasoning_tags
        stray_closers | place unopened_reasoning
        | attempts only_call passing | between | reader | undeclared_calls
    """,
    "mending": "error_texts markup mended reasoning_calls | defects quoted_forms reply_watch | names quoted_replies",
    "writing": "writer | behind blocks for_client prompting | roundtrip",
    "processors": """
        arguments careless_text careless_xml filters interface json_members paths reactors steering
        | access careless_tags
        | careless_words reactor_runner | careless_calls loops pending_call | careless careless_messages
        | exchange_processors | reply_state | decisions | chain | reply | screening | guarded_text
    """,
    "requests": """
        client_memory collected_calls constrained_text opened_reasoning past_calls present_openers prompt_tools
        session_ids stop_texts | declared_tools | conversation |
        spoken_dialects
        | escaped_values taught_wrappers
        | evidence | rewriting | call_memory history_mending processing
    """,
    "replies": """
        answered_errors body_encoding calls possible_losses reading_ahead unread_calls | stages | mended_frames
        | reply_mending row | short_ways | lane
        | plan waiting | frame_writing known_frames waiting_parts | lanes | exchange
    """,
    "config": "amounts ineffective mistakes | nodes | readers | keys | processors tools | routes",
    "own_dialects": "engines guesses | trial | draft examples | form_file form_text | installed | loading",
    "insight": """
        any_message exchange_record request_body secret_patterns secret_starts vocabulary
        | damage descriptions redaction | report
        | conversation own_secrets replies | agents body_redaction conformance formatting prices request_diff
        | text_diff opening passages | turn
        | attention exports model_totals | exchange_rows scorecard waterfall | plots sessions turn_sides
        | packing session_page totals | page
    """,
    "flows": """
        captures content_codings frames recorded_verdicts remote_files reply_forms request_signing timed_bodies
        | exchange_plan flow_files flow_metadata | error_replies websocket | flow_index flow_records flow_redaction
        judging | cases reports
    """,
    "mitm": """
        append_file background conditions config_file console_status declared_options exposed_listeners health
        in_progress loading log_line mitmweb requirements response_tap run_totals shared_store traces
        unknown_apis websocket_injection | banner hook_work journal live metrics recording records_in_progress
        views | services tables | options page | commands shared_memory | reporting | websocket_hooks | exchanges
        | hooks | addon
    """,
    "tools": """
        addon_path arguments check_config completion jobs line_program progress_bar server_urls
        | archive options run start | cases dialect dialects doctor export judge parse record redact report rewrite
        serve stats write
        | demo minimise
    """,
}

# Modules of these rooms never import each other: each is one file or folder that can be read, added and deleted alone.
# What the wires share is in the room's `__init__` and in the files that it names.
APART: Mapping[str, frozenset[str]] = {
    "dialects": frozenset(),
    "wires": SHARED,
}

# The core is a function of its input.
WORLD = frozenset(
    {"asyncio", "datetime", "logging", "mitmproxy", "random", "secrets", "socket", "subprocess", "threading"}
    | {"time", "uuid"}
)
# Who may import what of it.
WORLDLY = {
    "mitm": WORLD,
    "cli": WORLD - {"mitmproxy"},
    "flows": frozenset({"datetime", "logging", "mitmproxy", "time", "uuid"}),
    "tools": WORLD - {"random", "secrets"},
    "processors.reactor_runner": frozenset({"threading", "time"}),
    "text.patterns": frozenset({"time"}),  # of its own thread, and only for what no work can be counted of
}


def _reachable(table: str) -> dict[str, set[str]]:
    """Room → itself and the rooms that it may import. Raises KeyError for an arrow to a room not above it."""
    reachable: dict[str, set[str]] = {}
    for line in filter(str.strip, table.splitlines()):
        room, _, below = (part.strip() for part in line.partition("<-"))
        reachable[room] = {room}.union(*(reachable[name] for name in below.split()))
    return reachable


def _levels(files: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Room → file → how many bars come before it."""
    return {
        room: {name: level for level, names in enumerate(row.split("|")) for name in names.split()}
        for room, row in files.items()
    }


MAY_IMPORT = _reachable(ROOMS)
LEVELS = _levels(FILES)


def _module(path: Path) -> str:
    """The dotted name below the package; the package's own `__init__` keeps its name."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = {_module(path): path for path in sorted(PACKAGE.rglob("*.py"))}
TOP = {module.partition(".")[0] for module in MODULES}
_NAMED = re.compile(r"toolcalls(?:\.\w+)+")


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """The statements of a module, those inside others too, without what they are made of."""
    left = [tree]
    while left:
        node = left.pop()
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            left += getattr(node, name, ())


@cache
def _imports(source: str) -> tuple[str, ...]:
    """The absolute dotted names that are imported; `from a import b` gives `a.b`, which may be a module or not."""
    found: list[str] = []
    tree = ast.parse(source)
    for node in ast.walk(tree) if "import_module" in source else _statements(tree):
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import"
            found += (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "import_module":
            found += (
                argument.value
                for argument in node.args
                if isinstance(argument, ast.Constant) and _NAMED.fullmatch(str(argument.value))
            )
    return tuple(found)


def _inside(name: str) -> str | None:
    """Which module of ours an imported name reaches; None for what is not ours."""
    first, *rest = name.split(".")
    if first != "toolcalls":
        return None
    while len(rest) > 1 and ".".join(rest) not in MODULES:
        rest.pop()
    return ".".join(rest) if rest and rest[0] in TOP | set(MAY_IMPORT) else "__init__"


def _file(module: str) -> str:
    """The file or folder of a room that a module is or belongs to: `x` for `wires.x.y`, "" for the room itself."""
    return ".".join(module.split(".")[1:2])


def _in_order(room: str, module: str, target: str) -> str | None:
    """What is wrong with an import from one module of a room to another one; None for nothing."""
    file, other = _file(module), _file(target)
    if file in ("", other):
        return None  # a room's own `__init__` may gather its files, and a folder is in order inside by itself
    if room in APART:
        return None if other == "" or other in APART[room] else f"the modules of {room} stay apart"
    levels = LEVELS.get(room, {})
    if other and levels.get(other, -1) >= levels.get(file, 99):
        return f"{other} does not stand before {file} in FILES"
    return None


def _broken(module: str, source: str) -> list[str]:
    """One line for each import in `source`, the text of `module`, that goes against an arrow."""
    room = module.partition(".")[0]
    found = []
    for name in _imports(source):
        outside = name.partition(".")[0]
        if outside in WORLD - WORLDLY.get(room, frozenset()) - WORLDLY.get(module, frozenset()):
            found.append(f"{module} imports {outside}, which the core may not")
        target = _inside(name)
        if target is None:
            continue
        target_room = target.partition(".")[0]
        if target_room not in MAY_IMPORT[room]:
            found.append(f"{module} imports {target}: no arrow leads from {room} to {target_room}")
        elif target_room == room and (wrong := _in_order(room, module, target)):
            found.append(f"{module} imports {target}: {wrong}")
    return found


def test_every_room_has_its_place() -> None:
    """A new room is in ROOMS before it is imported."""
    assert set(MAY_IMPORT) == TOP, "write them into ROOMS, behind what they may import"


@pytest.mark.parametrize("room", FILES)
def test_every_file_has_its_place(room: str) -> None:
    """A new file is in FILES, after what it may import; one that is gone is there no more."""
    there = {_file(module) for module in MODULES if module.startswith(f"{room}.")}
    assert there == set(LEVELS[room]), f"write them into FILES[{room!r}], behind what they may import"


def test_imports_follow_the_arrows() -> None:
    modules = [name for name in MODULES if name.partition(".")[0] in MAY_IMPORT]
    assert modules
    found = {name: _broken(name, MODULES[name].read_text(encoding="utf-8")) for name in modules}
    assert {name: broken for name, broken in found.items() if broken} == {}


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
        "addon/toolcalls/flows/**",
        "addon/toolcalls/mitm/**",
        "addon/toolcalls/processors/reactor_runner.py",
        "addon/toolcalls/text/patterns.py",
        "addon/toolcalls/{cli.py,tools/**}",
        "{bench,config,recordings,scripts,tests}/**",
    }


@pytest.mark.parametrize(
    ("module", "source"),
    [
        pytest.param("events", "from toolcalls.text.scanner import Scanner", id="upwards"),
        pytest.param("text.scanner", "import toolcalls.reading.reader", id="upwards-plain"),
        pytest.param("wires.frames", "from toolcalls import replies", id="upwards-from-package"),
        pytest.param("wires.ollama", "from toolcalls.dialects import chosen", id="across"),
        pytest.param("reading.reader", "from toolcalls.wires.gemini import WIRE", id="across-into-a-folder"),
        pytest.param("dialects.tagged", "from toolcalls.dialects.invoke import DIALECT", id="dialect-to-dialect"),
        pytest.param("dialects.tagged", "from toolcalls.dialects import invoke", id="dialect-to-dialect-from-folder"),
        pytest.param("dialects.tagged", "def read():\n    import toolcalls.dialects.invoke", id="inside-a-function"),
        pytest.param("wires.gemini", "from toolcalls.wires.openai_responses.items import Message", id="others-parts"),
        pytest.param("wires.openai_responses.items", "from toolcalls.wires.gemini import WIRE", id="out-of-a-part"),
        pytest.param("replies.exchange", "import time", id="clock"),
        pytest.param("replies.exchange", "from datetime import UTC", id="clock-member"),
        pytest.param("insight.report", "if TYPE_CHECKING:\n    from mitmproxy import http", id="mitmproxy-for-types"),
        pytest.param("cli", "import mitmproxy.io", id="mitmproxy-in-cli"),
        pytest.param("mitm.hooks", "from toolcalls.tools.export import run", id="tools-in-mitm"),
        pytest.param("tools.export", "from toolcalls.mitm import journal", id="mitm-in-tools"),
        pytest.param("flows.judging", "from toolcalls.mitm.live import Live", id="upwards-from-flows"),
        pytest.param("reading.policy", "from toolcalls.reading.reader import Reader", id="backwards-in-a-room"),
        pytest.param("mitm.live", 'import_module("toolcalls.mitm.addon")', id="by-its-name"),
        pytest.param("processors.access", "import threading", id="thread-outside-its-file"),
    ],
)
def test_a_broken_arrow_is_found(module: str, source: str) -> None:
    assert len(_broken(module, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        pytest.param("dialects", "from toolcalls.dialects import invoke", id="registry-to-dialect"),
        pytest.param("dialects.invoke", "from toolcalls.shapes.tags.form import TagForm", id="downwards"),
        pytest.param("wires.ollama", "from toolcalls.wires import Wire", id="what-a-folder-shares"),
        pytest.param(
            "wires.openai_responses.stream",
            "from toolcalls.wires.openai_responses.items import Message",
            id="its-own-parts",
        ),
        pytest.param("shapes.tags.content", "from toolcalls.shapes.tags.entities import unescape", id="shape-to-shape"),
        pytest.param("config", "from toolcalls import __version__", id="version"),
        pytest.param("cli", "import time, subprocess", id="clock-in-cli"),
        pytest.param("processors.reactor_runner", "import threading", id="thread-in-its-file"),
        pytest.param("reading.reader", "from toolcalls.reading.policy import CallPolicy", id="forwards-in-a-room"),
        pytest.param("wires.ollama", "from toolcalls.wires.frames import Form", id="what-the-wires-share"),
        pytest.param("mitm.addon", "from mitmproxy import http\nimport asyncio", id="mitmproxy-in-mitm"),
        pytest.param("events", "import timeit_like, msgspec", id="a-name-that-begins-alike"),
    ],
)
def test_an_arrow_that_holds_is_let_pass(module: str, source: str) -> None:
    assert _broken(module, source) == []


MOST_LINES = 500


def test_no_file_is_long() -> None:
    lines = {path.relative_to(PACKAGE).as_posix(): path.read_text().count("\n") for path in PACKAGE.rglob("*.py")}
    longer = {file: count for file, count in lines.items() if count > MOST_LINES}
    assert longer == {}, f"divide a file of over {MOST_LINES} lines"
