"""What several test modules need."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from addons import addon_with
from toolcalls.mitm.addon import ToolCalls

# No test of a law fails because the machine is busy, and in CI none because it was the first to draw an input.
settings.register_profile(
    "patient", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("patient")

REPO = Path(__file__).parents[1]


def shared_path(name: str) -> Path:
    """A file of `shared/`, which lies beside the repository; the test is skipped where it does not."""
    path = REPO.parent / "shared" / name
    if not path.exists():
        pytest.skip(f"shared/{name} does not lie beside the repository")
    return path


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """The file of `toolcalls_log`."""
    return tmp_path / "log.jsonl"


@pytest.fixture
def addon(journal: Path) -> Iterator[ToolCalls]:
    """An addon that writes that file."""
    with addon_with(toolcalls_log=str(journal)) as made:
        yield made
