"""Where things lie: the repository, and the data beside it."""

from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]


def shared_path(name: str) -> Path:
    """A file of `shared/`, which lies beside the repository.

    Where it does not, the test that asks is skipped, or the module that asks while it is imported.
    """
    path = REPO.parent / "shared" / name
    if not path.exists():
        pytest.skip(f"shared/{name} does not lie beside the repository", allow_module_level=True)
    return path
