"""How tests are run."""

import gc
from collections import Counter
from collections.abc import Generator

import pytest

# What `support` asserts is shown with its values, as in a test.
pytest.register_assert_rewrite("support")
pytest_plugins = ["support.casehooks", "support.sampling"]

LONG = 60  # seconds; a shorter run does not say what took longest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Tests and modules stay to the end: the garbage collector need not look at them, now or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The files that took longest. Tests are for `--durations`."""
    seconds: Counter[str] = Counter()
    tests: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                file = report.nodeid.partition("::")[0]
                seconds[file] += report.duration
                tests[file] += report.when == "call"
    if seconds.total() > LONG:
        terminalreporter.section("what took longest")
        for file, took in seconds.most_common(10):
            terminalreporter.write_line(f"{took:6.1f} s  {file}, {tests[file]} tests")
