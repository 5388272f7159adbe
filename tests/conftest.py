"""What several test modules need."""

from pathlib import Path

import pytest
from hypothesis import settings

# No test of a law fails because the machine is busy.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

REPO = Path(__file__).parents[1]


def shared_path(name: str) -> Path:
    """A file of `shared/`, which lies beside the repository; the test is skipped where it does not."""
    path = REPO.parent / "shared" / name
    if not path.exists():
        pytest.skip(f"shared/{name} does not lie beside the repository")
    return path
