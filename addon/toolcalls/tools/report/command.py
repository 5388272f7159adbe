"""`toolcalls report FILE… -o OUT.html`: sessions, their turns and the scorecard as one page that needs no network.

Reads flow files of mitmproxy, HAR, and journals of the option `toolcalls_log`, which know verdicts and nothing else.
"""

import json
from argparse import Namespace
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from toolcalls.insight import report as reports
from toolcalls.insight.exchange_record import ExchangeRecord
from toolcalls.insight.formatting import counted
from toolcalls.insight.page import report_page
from toolcalls.insight.sessions import Sessions
from toolcalls.insight.turn import turn_of
from toolcalls.insight.vocabulary.fields import LOG_FIELDS
from toolcalls.insight.vocabulary.statuses import FAILED_STATUS
from toolcalls.streams import BadInput, input_name, open_input, print_error, read_input, write_summary, written
from toolcalls.tools.archive.parts import files_of
from toolcalls.tools.archive.progress import Progress
from toolcalls.tools.options import configuration
from toolcalls.tools.report.turns import turns_of

EVERYTHING = 1 << 40  # exchanges


def run(arguments: Namespace) -> int:
    config = configuration(arguments.config)
    sessions = Sessions(EVERYTHING)
    journals = [path for path in arguments.files if _is_journal(path)]
    for path in journals:
        for one in _journal(path):
            sessions.put(turn_of(one))
    files = files_of(path for path in arguments.files if path not in journals)
    broken = 0
    with Progress([file.path for file in files], [file.size for file in files]) as progress:
        for made in turns_of(files, config, arguments.jobs):
            progress.add(made.size, made.flows)
            for turn in made.turns:
                sessions.put(turn)
            for line, torn in made.broken:
                print_error("toolcalls" if torn else "toolcalls report", line)
                broken += not torn
    if not len(sessions):
        why = "these files hold no exchange with an LLM API" + (" that could be read" if broken else "")
        print_error("toolcalls report", f"{', '.join(map(input_name, arguments.files))}: {why}, so no page was written")
        return 2 if broken else 1
    names = ", ".join(Path(path).name for path in arguments.files[:5])
    more = f" and {len(arguments.files) - 5} more files" if len(arguments.files) > 5 else ""
    with written(arguments.output, inputs=arguments.files) as file:
        file.write(report_page(sessions, names + more, config.prices).encode("utf-8", "backslashreplace"))
    counts = f"{counted(len(sessions), 'exchange')}, {counted(sessions.scorecard.total.total, 'call')}"
    write_summary(arguments.output, counts)
    return 2 if broken else 0


def _is_journal(path: str) -> bool:
    """Whether a file is a journal, and not what another program captured."""
    if not path.endswith((".jsonl", ".log")):
        return False
    with open_input(path) as source:
        try:
            first = json.loads(source.readline())
        except (ValueError, RecursionError):
            return True  # whoever reads it says what is wrong
    return not isinstance(first, dict) or "flow" in first


def _journal(path: str) -> Iterator[ExchangeRecord]:
    """The exchanges of a journal. Its lines are verdicts; those of one flow come after each other."""
    flow: dict[str, Any] | None = None
    verdicts: list[dict[str, Any]] = []
    for number, line in enumerate(read_input(path).splitlines(), 1):
        try:
            one = json.loads(line)
            if flow is not None and flow["flow"] != one["flow"]:
                yield _exchange(flow, verdicts)
                verdicts = []
            flow = {"when": datetime.fromisoformat(one["time"]).timestamp(), **one}
            listed = {key: list(one.get(key) or ()) for key in ("repairs", "defects", "nearest")}
            verdicts.append({**one, **listed})
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise BadInput(f"{path}:{number}: this is no line of a journal (toolcalls_log)") from error
    if flow is not None:
        yield _exchange(flow, verdicts)


def _exchange(flow: dict[str, Any], lines: list[dict[str, Any]]) -> ExchangeRecord:
    verdicts = [one for one in lines if one["status"] != FAILED_STATUS]
    failure = next((one["reason"] for one in lines if one["status"] == FAILED_STATUS), None)
    data = {key: flow.get(key, "") for key in LOG_FIELDS} | {"verdicts": verdicts, "failure": failure}
    return ExchangeRecord(
        id=str(flow["flow"]),
        started=flow["when"],
        started_at=str(flow["time"]),
        method="POST",
        url=f"https://{flow.get('host', '')}{flow.get('path', '')}",
        http_version="",
        request_headers=(),
        request_body=b"",
        host=str(flow.get("host", "")),
        path=str(flow.get("path", "")),
        status=200,
        report={**data, "worst": reports.worst(data), "summary": reports.summarize_verdicts(verdicts, failure)},
    )
