"""The recordings of `recordings/` with what `library.yaml` says of each, for the tests that replay them."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import PurePath
from typing import Any

import yaml
from mitmproxy import http

from support.loopback import REPO, flows_in
from toolcalls.config import default_path, load
from toolcalls.dialects import all_dialects
from toolcalls.flows import flow_metadata
from toolcalls.flows.content_codings import decoded
from toolcalls.route import Config
from toolcalls.wires import all_wires

FOLDER = REPO / "recordings"
MENDED = FOLDER / "mended" / "toolcalls.yaml"

# How the recordings are made lies beside them, and is no package that is installed.
if str(FOLDER) not in sys.path:
    sys.path.append(str(FOLDER))


@dataclass(frozen=True)
class Entry:
    """What the library says of a recording; `verdicts` and `notes` in the short form that it explains."""

    shows: str
    sources: tuple[str, ...]
    verdicts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    kind: str = "lift"
    unchanged: bool = False


@cache
def entries() -> dict[str, Entry]:
    """What the library says, by the recordings' names. Raises TypeError for a key that it does not explain."""
    made: dict[str, Entry] = {}
    for group in yaml.safe_load((FOLDER / "library.yaml").read_text(encoding="utf-8")):
        for name, said in group["recordings"].items():
            source = said.pop("source")
            lists = {key: tuple(said.pop(key, ())) for key in ("verdicts", "notes")}
            assert name not in made, f"{name} stands twice in the library"
            made[name] = Entry(sources=tuple([source] if isinstance(source, str) else source), **lists, **said)
    return made


def names() -> list[str]:
    """The names of the files, without suffix; those in `mended/` with their folder."""
    found = (path.relative_to(FOLDER).with_suffix("") for path in FOLDER.glob("**/*.flow"))
    return sorted(path.as_posix() for path in found)


@cache
def flow_of(name: str) -> http.HTTPFlow:
    """The one flow of a recording."""
    (flow,) = flows_in(FOLDER / f"{name}.flow")
    return flow


@cache
def config_of(name: str) -> Config:
    """The configuration that a recording was made under."""
    return _config("mended" in PurePath(name).parts)


@cache
def _config(mended: bool) -> Config:
    return load(MENDED if mended else default_path(), list(all_dialects()), list(all_wires()))


def bodies_of(flow: http.HTTPFlow) -> tuple[bytes, bytes]:
    """What the upstream sent and what the client got, both without content coding."""
    assert flow.response is not None
    client = decoded(flow.response.raw_content or b"", flow.response.headers.get("content-encoding", ""))
    upstream: bytes = flow.metadata.get(flow_metadata.UPSTREAM, client)
    return upstream, client


def report_of(flow: http.HTTPFlow) -> dict[str, Any]:
    """What the addon reported when it was recorded."""
    report: dict[str, Any] = flow.metadata[flow_metadata.REPORT]
    return report


def verdict_in_short(verdict: Mapping[str, Any]) -> str:
    """As the library has it: status, (dialect), reason, +repairs."""
    dialect, repairs = verdict["dialect"], verdict["repairs"]
    parts = [verdict["status"], dialect and f"({dialect})", verdict["reason"], repairs and "+" + ",".join(repairs)]
    return " ".join(filter(None, parts))


def note_in_short(note: Mapping[str, Any]) -> str:
    """As the library has it, with a * where the reply was mended."""
    return str(note["rule"]) + "*" * bool(note.get("mended"))
