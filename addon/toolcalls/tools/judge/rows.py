"""Exchanges as rows of Parquet, for whoever asks questions of millions of them.

The schema is that of the JSON lines (`insight.vocabulary.fields`, docs/exports.md), a column for each field, without
what people and models said, and in front of it `file`, `number` and `change`. A file of rows has the name of its part,
so writing it twice is writing it once; it is there as a whole or not at all, and a local one only its owner can read.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import Any

from toolcalls.flows.remote_files import MISSING, file_system
from toolcalls.insight.exports.schema import json_schema
from toolcalls.insight.vocabulary.fields import FIELDS, SCHEMA, VERSION
from toolcalls.streams import BadInput, written
from toolcalls.tools.archive.parts import Part

# By their paths: what people and models said, and what is the same in each row.
_LEFT_OUT = {"schema", "version", "verdicts[].changes[].before", "verdicts[].changes[].after"}
_LEFT_OUT |= {field.path for field in FIELDS if field.presence == "content"}
SUFFIX = ".parquet"


def pyarrow() -> Any:
    """The library. Raises BadInput where the extra is missing."""
    try:
        import pyarrow.parquet

        return pyarrow
    except ImportError as error:
        raise BadInput(MISSING) from error


def schema() -> Any:
    """The columns, as pyarrow knows them. Raises BadInput where the extra is missing."""
    arrow = pyarrow()
    own = [("file", arrow.string()), ("number", arrow.int64()), ("change", arrow.string())]
    fields = [*own, *_members(arrow, json_schema(), "")]
    return arrow.schema(fields, metadata={"toolcalls.schema": f"{SCHEMA}/{VERSION}"})


def _members(arrow: Any, described: Any, path: str) -> list[tuple[str, Any]]:
    """The fields of an object that is at a path."""
    return [
        (name, _type(arrow, one, f"{path}{name}"))
        for name, one in described["properties"].items()
        if f"{path}{name}" not in _LEFT_OUT
    ]


def _type(arrow: Any, described: Any, path: str) -> Any:
    """The type of a field, from its JSON Schema. Each may be null."""
    kinds = described.get("type", "string")
    kind = kinds if isinstance(kinds, str) else next(one for one in kinds if one != "null")
    if kind == "object":
        return arrow.struct(_members(arrow, described, f"{path}."))
    if kind == "array":
        return arrow.list_(_type(arrow, described["items"], f"{path}[]"))
    if described.get("format") == "date-time":
        return arrow.timestamp("ms")
    simple = {"string": arrow.string, "integer": arrow.int64, "number": arrow.float64, "boolean": arrow.bool_}
    return simple[kind]()


def row(data: dict[str, Any], file: str, number: int, change: str) -> dict[str, Any]:
    """An exchange (`exports.jsonl.exchange_data`) as a row. `change` is that of its flow (`judged_flow.compare`)."""
    return {
        **data,
        "file": file,
        "number": number,
        "change": change,
        "started": datetime.fromisoformat(data["started"]),
    }


def name_of(part: Part) -> str:
    """The name of the file that a part's rows are in."""
    return name_at(part.file.path, part.start)


def name_at(path: str, start: int) -> str:
    """The same for the part of a file that begins at a byte."""
    return f"{blake2b(f'{path}:{start}'.encode('utf-8', 'surrogateescape'), digest_size=12).hexdigest()}{SUFFIX}"


def write(folder: str, part: Part, rows: Sequence[dict[str, Any]]) -> None:
    """Write the rows of a part, also where there are none: an earlier run may have found some. Raises BadInput."""
    arrow = pyarrow()
    table = arrow.Table.from_pylist(list(rows), schema=schema())
    if "://" not in folder:
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        with written(str(Path(folder) / name_of(part))) as file:
            arrow.parquet.write_table(table, file, compression="zstd")
        return
    made = BytesIO()
    arrow.parquet.write_table(table, made, compression="zstd")
    system, inside = file_system(folder)
    try:
        system.makedirs(inside, exist_ok=True)
        system.pipe_file(f"{inside.rstrip('/')}/{name_of(part)}", made.getvalue())
    except Exception as error:
        raise BadInput(f"{folder}: nothing can be written there: {error}") from error


def names_in(folder: str) -> set[str]:
    """The names of the files of rows that are in a folder. Raises BadInput."""
    if "://" not in folder:
        return {one.name for one in Path(folder).glob(f"*{SUFFIX}")}
    system, inside = file_system(folder)
    try:
        found = system.ls(inside, detail=False)
    except FileNotFoundError:
        return set()
    except Exception as error:
        raise BadInput(f"{folder}: it cannot be listed: {error}") from error
    return {name for name in (str(one).rpartition("/")[2] for one in found) if name.endswith(SUFFIX)}


def remove(folder: str, name: str) -> None:
    """Remove a file of rows, if it is there."""
    with suppress(FileNotFoundError):
        if "://" not in folder:
            Path(folder, name).unlink()
        else:
            system, inside = file_system(folder)
            system.rm_file(f"{inside.rstrip('/')}/{name}")
