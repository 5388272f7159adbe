"""Results of `toolcalls judge` as JUnit XML, which CI systems show as tests: a file is a suite and a flow a test.

A change is a failure, and a reply that cannot be read is skipped. The schema is Jenkins' (https://github.com/testmoapp/
junitxml describes what is read in common).
"""

from collections import Counter
from collections.abc import Mapping
from shutil import copyfileobj
from typing import IO, Any
from xml.etree import ElementTree as ET

from toolcalls.insight.report import visible
from toolcalls.streams import written
from toolcalls.tools.judge.lines import differences, sentence_of

_NAME = 120
_COUNTED = ("tests", "failures", "errors", "skipped")


class JUnit:
    """The report, made flow by flow. A suite's counts come before its tests, so these wait in a file, `cases`, that
    can be read and written; what is held grows with the files alone.
    """

    def __init__(self, cases: IO[bytes]) -> None:
        self._cases = cases
        self._counts: dict[str, Counter[str]] = {}
        self._places: dict[str, list[tuple[int, int]]] = {}  # where a suite's tests stand, and how long they are
        self._latest = ""

    def add(self, result: Mapping[str, Any]) -> None:
        """Add one compared flow as a test case to the suite of its file."""
        file = visible(result["file"])
        counts, places = self._counts.setdefault(file, Counter()), self._places.setdefault(file, [])
        about = " ".join(filter(None, (result["path"], result.get("model"), result["flow"])))
        case = ET.Element("testcase", classname=file, name=visible(about)[:_NAME], file=file)
        counts["tests"] += 1
        if result["change"] == "changed":
            counts["failures"] += 1
            failure = ET.SubElement(case, "failure", message=visible(sentence_of(result)), type="changed")
            failure.text = "\n".join(differences(result))
        elif result["change"] == "unread":
            counts["skipped"] += 1
            ET.SubElement(case, "skipped", message=visible(sentence_of(result)))
        if file != self._latest or not places:
            places.append((self._cases.tell(), 0))
            self._latest = file
        start, size = places[-1]
        places[-1] = start, size + self._cases.write(_bytes(case))

    def write(self, path: str) -> None:
        """Write the file, as a whole. Raises OSError."""
        with written(path) as made:
            made.write(b"<?xml version='1.0' encoding='utf-8'?>\n")
            made.write(_opening("testsuites", "toolcalls judge", sum(self._counts.values(), Counter())))
            for file, counts in self._counts.items():
                made.write(_opening("testsuite", file, counts))
                for start, size in self._places[file]:
                    self._cases.seek(start)
                    copyfileobj(_Bounded(self._cases, size), made)
                made.write(b"</testsuite>")
            made.write(b"</testsuites>")


class _Bounded:
    """The next `size` bytes of a file, for `copyfileobj`."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self._left = size

    def read(self, size: int = -1, /) -> bytes:
        data = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        return data


def _opening(tag: str, name: str, counts: Counter[str]) -> bytes:
    """The tag that opens suites, with what they count."""
    return (
        _bytes(ET.Element(tag, {"name": name, **{key: str(counts[key]) for key in _COUNTED}})).removesuffix(b" />")
        + b">"
    )


def _bytes(element: ET.Element) -> bytes:
    return ET.tostring(element, encoding="unicode").encode("utf-8", "xmlcharrefreplace")
