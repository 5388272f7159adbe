"""Documents that nobody wrote for these tests hold no call, and pass byte for byte.

They are the repository's own, and those that its development dependencies bring along. Fifty tools are declared, many
of them words of HTML, CSS, Python and prose.

None of them is an exception. One that holds a whole call which nothing marks as an example would be listed here by its
name, with the reason.
"""

import sysconfig
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from support.repository import REPO
from support.sampling import some
from toolcalls.events import Text, Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import PolicyName, Route

# Name: parameters, those that are required with a mark.
TOOLS = """
    read_file: path! offset limit           write_file: path! content!          edit: path! old! new!
    bash: command! timeout                  shell: command!                     grep: pattern! path
    glob: pattern! path                     ls: path                            list_files: path recursive
    search: query! limit                    web_search: query!                  fetch: url! format
    open: path!                             find: name! path                    replace: text! with!
    plan: text!                             think: thought!                     task: description! prompt!
    todo: items!                            ask: question!                      answer: text!
    title: text!                            summary: text!                      nav: target!
    button: label!                          form: action! method                table: name! rows
    link: url! text                         image: url! alt                     style: name! value
    script: code!                           code: language! source!             print: text!
    map: function! items                    filter: pattern!                    time: zone
    date: format                            get_weather: city! unit             calculator: expression!
    run: command! args                      test: path verbose                  build: target!
    select: query! table                    input: name! type value             output: name! value
    query: sql!                             insert: table! values!              notify: message! level
    now:                                    help: topic
"""
POLICIES: tuple[PolicyName, ...] = ("standard", "strict")
LONGEST = 40_000  # characters of a document that are read
# How many files of a kind are read; of the others all.
MOST = {".py": 800, ".svg": 500, ".json": 450}
KINDS = frozenset({".css", ".html", ".js", ".json", ".md", ".py", ".rst", ".svg", ".txt", ".yaml", ".yml"})
OWN = ("addon", "config", "docs", "scripts", "bench")


def tools() -> tuple[Tool, ...]:
    declared = []
    for entry in TOOLS.replace("\n", "  ").split("  "):
        name, _, keys = entry.strip().partition(":")
        if name:
            properties: dict[str, Any] = {key.rstrip("!"): {"type": "string"} for key in keys.split()}
            required = [key.rstrip("!") for key in keys.split() if key.endswith("!")]
            declared.append(Tool(name, {"type": "object", "properties": properties, "required": required}))
    return tuple(declared)


REQUEST = Request(tools=tools())


@cache
def documents() -> Sequence[Path]:
    """All of them, each in a place that depends on its name alone."""
    found = [path for folder in OWN for path in (REPO / folder).rglob("*")]
    found += REPO.glob("*.*")
    chosen = [path for path in found if path.is_file() and path.suffix in KINDS]
    brought: dict[str, list[Path]] = {}
    for path in Path(sysconfig.get_path("purelib")).rglob("*"):
        kind = ".txt" if path.name.startswith(("LICENSE", "COPYING", "NOTICE")) else path.suffix
        if kind in KINDS and path.is_file():
            brought.setdefault(kind, []).append(path)
    for kind, paths in sorted(brought.items()):
        chosen += sorted(paths, key=_place)[: MOST.get(kind, len(paths))]
    return sorted(chosen, key=_place)


def _place(path: Path) -> bytes:
    return blake2b(_name(path).encode()).digest()


def _name(path: Path) -> str:
    packages = Path(sysconfig.get_path("purelib"))
    return str(path.relative_to(packages if packages in path.parents else REPO))


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")[:LONGEST]


def wrong(text: str, policy: PolicyName) -> Iterator[str]:
    """What a document has become that is no text any more."""
    reader = Reader(CallPolicy(Route(policy=policy), REQUEST))
    events = [*reader.feed(text), *reader.finish(cut=False)]
    verdicts = [event for event in events if isinstance(event, Verdict) and event.index is not None]
    yield from (f"{policy}: {one.dialect} calls {one.name} at {text[one.start :][:80]!r}" for one in verdicts)
    if "".join(event.text for event in events if isinstance(event, Text)) != text and not verdicts:
        yield f"{policy}: some text is gone"


def test_there_are_many_documents_of_each_kind() -> None:
    kinds = [path.suffix for path in documents()]
    assert len(kinds) >= 2000
    assert {kind for kind in KINDS if kinds.count(kind) >= 5} >= {".css", ".html", ".js", ".json", ".md", ".py", ".svg"}
    assert len(REQUEST.tools) == 50


def test_documents_hold_no_calls() -> None:
    found = {}
    for path in some(documents(), 150, "documents"):
        made = [line for policy in POLICIES for line in wrong(text_of(path), policy)]
        if made:
            found[_name(path)] = made
    assert not found, "\n".join(f"{name}: {line}" for name, lines in found.items() for line in lines)
