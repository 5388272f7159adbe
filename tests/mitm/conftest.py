"""The addon, as most tests of this folder want it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.addons import addon_with
from toolcalls.mitm.hooks import ToolCalls


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Where the addon writes its log of exchanges."""
    return tmp_path / "log.jsonl"


@pytest.fixture
def addon(journal: Path) -> Iterator[ToolCalls]:
    """An addon that writes a journal."""
    with addon_with(toolcalls_log=str(journal)) as made:
        yield made
