"""The suite runs where `shared/` does not lie beside the repository: what needs it is skipped and says so."""

from pathlib import Path

import pytest

from support import repository


def test_what_is_not_there_skips_a_test_or_the_module_that_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "REPO", tmp_path / "clone")
    with pytest.raises(pytest.skip.Exception, match="shared/suites/x does not lie beside the repository") as skipped:
        repository.shared_path("suites/x")
    assert skipped.value.allow_module_level
