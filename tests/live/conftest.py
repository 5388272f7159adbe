"""A mitmdump with the addon in front of a scripted upstream, one for all tests of a module."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.loopback import Host, configured
from support.sampling import some


@pytest.fixture(scope="module")
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """With the module's `CONFIG`; in the end its log speaks of no fault."""
    with configured(tmp_path_factory.mktemp("running"), request.module.CONFIG) as made:
        yield made


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A sampled run plays one of the exchanges that a test lists, in half of the modules with one proxy for all tests.

    Tests that start processes of their own are for a run of everything.
    """
    here = Path(__file__).parent
    live = [item for item in items if item.path.parent == here]
    shared = {item: item.path.name for item in live if {"running", "proxy"} & set(getattr(item, "fixturenames", ()))}
    modules = sorted(set(shared.values()))
    played = {*some(modules, (len(modules) + 1) // 2, "modules of tests/live")}
    for item in live:
        item.add_marker(pytest.mark.sampled(1 if shared.get(item) in played else 0))
