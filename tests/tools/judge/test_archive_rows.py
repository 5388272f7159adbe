"""Rows of Parquet: what is in them, and the queries of docs/archives.md."""

import re
import stat
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet
import pytest

from support import manyflows
from support.repository import REPO
from toolcalls import cli
from toolcalls.flows.flow_records import record_of
from toolcalls.insight.exports.jsonl import exchange_data

PAGE = (REPO / "docs" / "archives.md").read_text("utf-8")
QUERIES = re.findall(r"^```sql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
WEEK = 7 * 24 * 3600.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A leak a week later beside flows that show each question."""
    path = tmp_path_factory.mktemp("rows")
    leak = f"I do. {manyflows.written('Bash', command='ls')}"
    later = manyflows.flow_of("later", [manyflows.user("go")], manyflows.streamed(leak), at=WEEK, model="glm")
    failed = manyflows.flow_of("failed", [manyflows.user("go")], [b"{}"], told=False, model="glm")
    assert failed.response is not None
    failed.response.status_code = 503
    flows = [*manyflows.session(), *manyflows.others(), later, failed]
    manyflows.write(path / "all.flow", flows)
    assert cli.main(["judge", "--parquet", str(path / "verdicts"), str(path / "all.flow")]) == 0
    return path


def _asked(query: str, folder: Path) -> list[tuple[Any, ...]]:
    return duckdb.sql(query.replace("verdicts/", f"{folder}/verdicts/")).fetchall()


def test_a_row_is_what_a_json_line_is(folder: Path) -> None:
    (path,) = (folder / "verdicts").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    table = pyarrow.parquet.read_table(path)
    assert table.schema.metadata == {b"toolcalls.schema": b"toolcalls.exchange/1"}
    rows = table.to_pylist()
    assert [row["number"] for row in rows] == [*range(1, 12)]
    assert [row["status"] for row in rows][-1] == 503
    expected = exchange_data(record_of(manyflows.session()[0]))
    first = rows[0]
    assert (first["file"], first["change"]) == (str(folder / "all.flow"), "same")
    assert first["started"].isoformat(timespec="milliseconds") + "+00:00" == expected["started"]
    for key in ("flow", "session", "agent", "server", "model", "wire", "evidence", "summary", "tokens", "seconds"):
        assert first[key] == expected[key], key
    assert first["request"] == expected["request"]
    assert {key: first["verdicts"][0][key] for key in expected["verdicts"][0]} == expected["verdicts"][0]
    assert set(expected) - set(first) == {"schema", "version"}
    assert manyflows.SECRET.encode() not in path.read_bytes()


def test_leaks_by_model_and_week(folder: Path) -> None:
    rows = _asked(QUERIES[0], folder)
    found = {(model, week): (replies, percent) for model, week, replies, percent in rows}
    first, second = sorted({week for _, week in found})
    assert isinstance(first, date)
    assert (second - first).days == 7
    assert found["glm", second] == (1, 100.0)
    assert found["qwen3-coder", first] == (7, 14.3)
    assert found["gpt-oss-120b", first] == (1, 0.0)
    assert ("glm", first) not in found  # a request that failed is no reply


def test_defects_by_provider(folder: Path) -> None:
    rows = {(server, defect): counts for server, defect, *counts in _asked(QUERIES[1], folder)}
    assert rows["gpu-box:8000", "call_in_text"] == [5, 5, 3]  # two leaks, and three that were lifted
    assert {server for server, _ in rows} == {"gpu-box:8000"}


def test_latency_of_the_first_argument_byte(folder: Path) -> None:
    rows = {model: counts for model, *counts in _asked(QUERIES[2], folder)}
    native = exchange_data(record_of(manyflows.session()[1]))
    took = round(native["seconds"]["first_argument"], 2)
    assert rows["gpt-oss-120b"] == [1, took, took]
    assert "glm" not in rows  # it made no call


def test_nothing_but_three_queries_stands_in_the_page() -> None:
    assert len(QUERIES) == 3
