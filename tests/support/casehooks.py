"""What pytest does for cases: the options `--case` and `--update-cases`, and what it prints below one that fails."""

from collections.abc import Generator, Mapping
from typing import Any

import pytest

from support.caseedits import NotUpdated
from support.casefiles import Place
from support.casereports import command, file_of, named, place_of

PASTED = 10  # that many failing cases of a run are printed as they come out: it takes as long as a few tests


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--case",
        action="append",
        default=[],
        metavar="FILE[:LINE]",
        help="run only this case, or all cases of this file (tests/cases/dialects/hermes.yaml:23)",
    )
    parser.addoption(
        "--update-cases",
        action="store_true",
        help="write what comes out of the selected cases into their files, where the laws hold; review with git diff",
    )


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("update_cases"):
        return
    if getattr(config, "workerinput", None) is not None or config.getoption("numprocesses", None):
        raise pytest.UsageError("--update-cases writes files, so it runs in one process: leave out -n")
    config.pluginmanager.register(_Updating(config), "update-cases")


def params_of(item: pytest.Item) -> Mapping[str, Any]:
    """What a test is called with, as its parameters say."""
    callspec = getattr(item, "callspec", None)
    return callspec.params if callspec else {}


def _keep(config: pytest.Config, items: list[pytest.Item], chosen: list[pytest.Item]) -> None:
    kept = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = chosen


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = config.getoption("case")
    if not wanted:
        return
    places = {item: place for item in items if (place := place_of(params_of(item)))}
    files = {one.rpartition(":")[0] or one for one in wanted}
    _keep(
        config,
        items,
        [
            item
            for item in items
            if file_of(params_of(item)) in files or (item in places and named(places[item], wanted, places.values()))
        ],
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if not (report.failed and call.when == "call") or item.config.getoption("update_cases"):
        return report
    place = place_of(params_of(item))
    if place is not None:
        printed = item.config.stash.setdefault(_PRINTED, set())
        lines = ["Run it alone:", f"  {command(place, item.nodeid.partition('::')[0])}"]
        if place not in printed and len(printed) < PASTED:
            printed.add(place)
            lines += [_came_out(place)]
        report.sections.append((f"case {place}", "\n".join(lines)))
    return report


_PRINTED = pytest.StashKey[set[Place]]()


def _caseupdates() -> Any:
    # Reading all case files takes a second, which only a failure or an update needs.
    from support import caseupdates  # noqa: PLC0415

    return caseupdates


def _came_out(place: Place) -> str:
    try:
        text = _caseupdates().pasteable(place)
    except NotUpdated as error:
        return f"What comes out is not for pasting: {error}."
    except Exception as error:  # noqa: BLE001 - the code under test is broken, and may raise anything
        return f"Nothing comes out: {error!r}"
    if not text:
        return "The whole text comes out as the case says."
    return f"What comes out, to paste over the case (--update-cases does it):\n{text}"


class _Updating:
    """A run that updates cases: one test a case is called, and does nothing but that."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._updates = _caseupdates().Updates()
        self._done: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        first: dict[Place, pytest.Item] = {}
        for item in items:
            place = place_of(params_of(item))
            if place is not None:
                first.setdefault(place, item)
        chosen = set(first.values())
        _keep(config, items, [item for item in items if item in chosen or file_of(params_of(item))])

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        place = place_of(params_of(pyfuncitem))
        if place is None:
            return None
        try:
            self._updates.add(place)
        except NotUpdated as error:
            pytest.fail(f"{place}: not updated: {error}", pytrace=False)
        return True

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        try:
            self._done = self._updates.write() or ["nothing to update"]
        except NotUpdated as error:
            self._done = [f"not updated: {error}"]
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("cases")
        for line in self._done:
            terminalreporter.write_line(line)
