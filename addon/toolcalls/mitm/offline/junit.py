"""Results of `toolcalls judge` as JUnit XML, which CI systems show as tests: a file is a suite and a flow a test.

A change is a failure, and a reply that cannot be read is skipped. The schema is Jenkins' (https://github.com/testmoapp/
junitxml describes what is read in common).
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as ET

from toolcalls.insight.report import visible
from toolcalls.mitm.offline.files import written
from toolcalls.mitm.offline.judge_lines import differences, sentence_of

_NAME = 120


class JUnit:
    """The report, made flow by flow."""

    def __init__(self) -> None:
        self._suites: dict[str, ET.Element] = {}
        self._counts: dict[str, Counter[str]] = {}

    def add(self, result: Mapping[str, Any]) -> None:
        """One compared flow."""
        file = visible(result["file"])
        if file not in self._suites:
            self._suites[file] = ET.Element("testsuite", name=file)
            self._counts[file] = Counter()
        suite, counts = self._suites[file], self._counts[file]
        about = " ".join(filter(None, (result["path"], result.get("model"), result["flow"])))
        case = ET.SubElement(suite, "testcase", classname=file, name=visible(about)[:_NAME], file=file)
        counts["tests"] += 1
        if result["change"] == "changed":
            counts["failures"] += 1
            failure = ET.SubElement(case, "failure", message=visible(sentence_of(result)), type="changed")
            failure.text = "\n".join(differences(result))
        elif result["change"] == "unread":
            counts["skipped"] += 1
            ET.SubElement(case, "skipped", message=visible(sentence_of(result)))

    def write(self, path: str) -> None:
        """Write the file, as a whole. Raises OSError."""
        root = ET.Element("testsuites", name="toolcalls judge")
        for file, suite in self._suites.items():
            counts = self._counts[file]
            for key in ("tests", "failures", "errors", "skipped"):
                suite.set(key, str(counts[key]))
            root.append(suite)
        for key in ("tests", "failures", "errors", "skipped"):
            root.set(key, str(sum(counts[key] for counts in self._counts.values())))
        with written(path) as file_:
            ET.ElementTree(root).write(file_, encoding="utf-8", xml_declaration=True)
