"""`toolcalls record ls` and `toolcalls record show`: which recordings there are, what is in them, and one exchange."""

import json
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mitmproxy import http
from mitmproxy.utils.human import pretty_size

from toolcalls.config.mistakes import did_you_mean, quote
from toolcalls.flows.flow_files import flow_of_record
from toolcalls.flows.flow_index import Index
from toolcalls.flows.flow_records import records_of
from toolcalls.flows.flow_redaction import redacted
from toolcalls.insight.formatting import counted, duration
from toolcalls.insight.report import visible
from toolcalls.insight.vocabulary.words import REASONS, STATUSES
from toolcalls.streams import BadInput, as_json, encode, write_line, write_output, written
from toolcalls.tools.record.sources import Found, files_of, filtered, found_in, wanted

_SHOWN = 4000  # characters of a body
_VERDICT_WORDS = (*STATUSES, *REASONS)


def ls(arguments: Namespace) -> int:
    """The files of recordings, or their exchanges. Exit status 1 where no exchange is found. Raises BadInput."""
    files = files_of(arguments.paths)
    if arguments.exchanges or filtered(arguments):
        count = 0
        for path in files:
            for found in found_in(path):
                for entry in found.entries:
                    if wanted(entry, arguments):
                        count += 1
                        _write(_exchange_line(entry), {"file": str(path), **entry}, arguments)
        if not count and not arguments.json:
            write_output(encode(f"no exchange{_not_a_verdict(arguments.verdict)}\n"))
        return 0 if count else 1
    total: Counter[str] = Counter()
    for path in files:
        data = _file_data(path)
        total.update({key: data[key] for key in ("exchanges", "missing", "size")})
        _write(_file_line(data), data, arguments)
    if not arguments.json:
        write_output(encode(f"{counted(len(files), 'file')}: {_sum(total)}\n"))
    return 0


def _not_a_verdict(word: str | None) -> str:
    """What is said of a status or reason that this version does not write; a recording of another one may have it."""
    if word is None or word in _VERDICT_WORDS:
        return ""
    return f": no verdict has the status or reason {quote(word)}{did_you_mean(word, _VERDICT_WORDS)}"


def _sum(total: Counter[str]) -> str:
    missing = f", {counted(total['missing'], 'record')} missing" if total["missing"] else ""
    return f"{counted(total['exchanges'], 'exchange')}, {pretty_size(total['size'])}{missing}"


def _write(line: str, data: dict[str, Any], arguments: Namespace) -> None:
    if arguments.json:
        write_line(as_json(data, pretty=False))
    else:
        write_output(encode(f"{visible(line)}\n"))


def _file_data(path: Path) -> dict[str, Any]:
    index = Index(path)
    first = last = ""
    sessions: set[str] = set()
    count = 0
    for found in found_in(path, index):
        for entry in found.entries:
            count += 1
            first, last = first or str(entry["time"]), max(last, str(entry["time"]))
            sessions.add(str(entry["session"]))
    end = index.end or {}
    return {
        "file": str(path),
        "first": first,
        "last": last,
        "exchanges": count,
        "sessions": len(sessions),
        "size": path.stat().st_size,
        "ended": end.get("ended"),
        "why": end.get("why"),
        "missing": int(end.get("missing") or 0),
        "reasons": end.get("reasons") or {},
        "without_index": index.made,
    }


def _file_line(data: dict[str, Any]) -> str:
    missing = f"; {counted(data['missing'], 'record')} missing: {', '.join(data['reasons'])}" if data["missing"] else ""
    if data["ended"]:
        state = str(data["why"]) + missing
    elif data["without_index"] == data["exchanges"]:
        state = "no index"
    else:
        state = "not closed: it is being written, or its writer was killed"
    begun = str(data["first"])[:19].replace("T", " ") or "-"
    sums = f"{counted(data['exchanges'], 'exchange'):>15}  {counted(data['sessions'], 'session'):>12}"
    return f"{begun:19}  {sums}  {pretty_size(data['size']):>6}  {data['file']}  ({state})"


def _exchange_line(entry: dict[str, Any]) -> str:
    status = entry.get("status") or "-"
    names = Counter(f"{one.get('status')} {one.get('name') or 'a call'}" for one in entry.get("verdicts") or ())
    said = ", ".join(name if count == 1 else f"{count} × {name}" for name, count in names.items()) or "no calls"
    who = entry.get("agent") or "-"
    time = str(entry.get("time"))[:19].replace("T", " ")
    return (
        f"{time}  {entry.get('id')}  {status:>3}  {entry.get('model') or '-'}  {entry.get('wire') or '-'}  {who}  "
        f"{entry.get('session')}  {said}"
    )


def show(arguments: Namespace) -> int:
    """Show one exchange, or write its flow to a file. Raises BadInput."""
    place, found = _one(arguments)
    if arguments.output:
        with written(arguments.output) as file:
            file.write(found.read())
        write_output(encode(f"{arguments.output}: 1 flow\n"))
        return 0
    flow = flow_of_record(found.read())
    if not isinstance(flow, http.HTTPFlow):
        raise BadInput(f"{found.path}: flow {found.id} is no HTTP")
    entry = found.entries[place]
    records = {one.id: one for one in records_of(redacted(flow))}
    record = records.get(str(entry["id"])) or next(iter(records.values()))
    bodies = {"request": record.request_body, "upstream": record.upstream_body, "client": record.client_body}
    if arguments.body:
        write_output(bodies[arguments.body] or b"")
        return 0
    lines = [*_head(found, entry), *_bodies(bodies)]
    write_output(encode("".join(f"{line}\n" for line in lines)))
    return 0


def _one(arguments: Namespace) -> tuple[int, Found]:
    """The exchange whose id begins as asked: its place in its flow, and that."""
    matches = [
        (place, found)
        for path in files_of(arguments.paths)
        for found in found_in(path)
        for place, entry in enumerate(found.entries)
        if str(entry["id"]).startswith(arguments.id)
    ]
    exact = [one for one in matches if one[1].entries[one[0]]["id"] == arguments.id]
    matches = exact or matches
    if not matches:
        raise BadInput(
            f"no exchange has an id that begins with {arguments.id}; toolcalls record ls --exchanges lists them"
        )
    if len({found.id for _, found in matches}) > 1:
        ids = ", ".join(str(found.entries[place]["id"]) for place, found in matches[:5])
        raise BadInput(f"{len(matches)} exchanges have an id that begins with {arguments.id}: {ids}")
    return matches[0]


def _head(found: Found, entry: dict[str, Any]) -> Iterator[str]:
    place = f" at byte {entry['offset']:,}" if "offset" in entry else ""
    yield visible(f"exchange  {entry['id']}, {found.path}{place}")
    seconds = "" if entry.get("seconds") is None else f", {duration(entry['seconds'])}"
    yield visible(f"began     {entry['time']}{seconds}")
    broke = f", {entry['error']}" if entry.get("error") else ""
    yield visible(f"asked     {entry['host']}{entry['path']}, status {entry.get('status') or 'none'}{broke}")
    yield visible(f"model     {entry['model'] or '-'}, {entry['wire'] or 'no API that is known'}")
    yield visible(f"agent     {entry['agent'] or '-'}, session {entry['session']}")
    for one in entry.get("verdicts") or ():
        why = f": {one['reason']}" if one.get("reason") else ""
        yield visible(
            f"verdict   {one['status']} {one.get('name') or 'a call'} ({one.get('dialect') or 'native'}){why}"
        )


def _bodies(bodies: dict[str, bytes | None]) -> Iterator[str]:
    for name, body in bodies.items():
        if name == "client" and body == bodies["upstream"]:
            continue
        title = "reply, as the upstream sent it" if name == "upstream" else "reply, as the client got it"
        yield ""
        yield f"--- {'request' if name == 'request' else title} ({pretty_size(len(body or b''))})"
        text = (body or b"").decode("utf-8", "backslashreplace")
        if name == "request":
            text = _indented(text)
        yield from map(visible, text[:_SHOWN].splitlines())
        if len(text) > _SHOWN:
            yield f"… (--body {name} shows all of it)"


def _indented(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
