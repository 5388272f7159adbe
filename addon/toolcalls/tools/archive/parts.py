"""The files of an archive, and the parts that they are cut into, which are what processes and machines share.

A part is a run of whole flows in one file, some 16 MiB of them. To cut a file only the lengths of its flows are read.
Paths with a scheme are read through fsspec (`flows/remote_files`).
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from toolcalls.flows.frames import skip_frame
from toolcalls.flows.remote_files import file_system, first_line, opened_file
from toolcalls.streams import BadInput, open_input

SUFFIXES = (".flow", ".flows", ".mitm", ".har")  # of what is read in a folder
PART = 16 * 1024 * 1024  # bytes
MISSING = "paths with a scheme, Dask and Parquet need the extra `dask`: pip install 'mitmproxy-toolcalls[dask]'"


@dataclass(frozen=True, slots=True)
class File:
    """A file of the archive. `size` is in bytes, None for standard input. `version` changes when the file does."""

    path: str
    size: int | None
    version: str


@dataclass(frozen=True, slots=True)
class Part:
    """The flows of a file from byte `start` to byte `end` (None: its end). The first is the `first` one of the file."""

    file: File
    start: int = 0
    end: int | None = None
    first: int = 1

    @property
    def size(self) -> int:
        """Bytes, 0 where they are not known."""
        return max(0, (self.file.size or 0 if self.end is None else self.end) - self.start)


def files_of(paths: Iterable[str]) -> list[File]:
    """The files that are named, and those in folders that are, in the order of their names. Raises BadInput."""
    found: dict[str, File] = {}
    for path in paths:
        for one in _remote(path) if "://" in path else _local(path):
            found.setdefault(one.path, one)
    return list(found.values())


def _local(path: str) -> Iterator[File]:
    if path == "-":
        yield File("-", None, "")
        return
    try:
        folder = Path(path).is_dir()
    except ValueError:  # a NUL in the path
        folder = False
    if not folder:
        open_input(path).close()  # raises BadInput for what is not there
        yield _file(path)
        return
    inside = sorted(one for one in Path(path).rglob("*") if one.suffix.lower() in SUFFIXES and one.is_file())
    if not inside:
        raise BadInput(f"{path}: no file in this folder ends in {', '.join(SUFFIXES)}")
    for one in inside:
        yield _file(str(one))


def _file(path: str) -> File:
    stat = os.stat(path)  # noqa: PTH116 - the path as it was named
    return File(path, stat.st_size, f"{stat.st_size}-{stat.st_mtime_ns}")


def _remote(path: str) -> Iterator[File]:
    system, inside = file_system(path)
    try:
        system.invalidate_cache()
        if "*" in inside:
            names = sorted(system.glob(inside))
        elif system.isdir(inside):
            names = sorted(one for one in system.find(inside) if one.lower().endswith(SUFFIXES))
        else:
            names = [inside]
        infos = [system.info(name) for name in names]
    except Exception as error:
        raise BadInput(f"{path}: it cannot be listed: {first_line(error)}") from error
    if not infos:
        raise BadInput(f"{path}: nothing there ends in {', '.join(SUFFIXES)}")
    for name, info in zip(names, infos, strict=True):
        marks = (info.get(key) for key in ("ETag", "etag", "md5Hash", "LastModified", "mtime", "updated"))
        mark = next((str(one) for one in marks if one), "")
        yield File(str(system.unstrip_protocol(name)), int(info["size"]), f"{info['size']}-{mark}")


def opened(part: Part) -> BinaryIO:
    """The bytes of a part, from its first one on. Raises BadInput."""
    if "://" not in part.file.path:
        source = open_input(part.file.path)
        if part.start:
            source.seek(part.start)
        return source
    system, inside = file_system(part.file.path)
    try:
        return BytesIO(system.cat_file(inside, start=part.start, end=part.end))
    except Exception as error:
        raise BadInput(f"{part.file.path}: the file cannot be read: {first_line(error)}") from error


def parts_of(file: File, size: int = PART) -> list[Part]:
    """A file in parts of at least `size` bytes. HAR, small files and standard input are one. Raises BadInput."""
    if file.size is None or file.size <= size:
        return [Part(file)]
    with opened_file(file.path) as source:
        return [*_cut(file, source, size)]


def _cut(file: File, source: BinaryIO, size: int) -> Iterator[Part]:
    """Up to where no flow begins any more: that, and all after it, is in the last part."""
    start, first, at, number = 0, 1, 0, 1
    end = file.size or 0
    while (after := skip_frame(source, at)) is not None and after <= end:
        if at - start >= size:
            yield Part(file, start, at, first)
            start, first = at, number
        at, number = after, number + 1
    yield Part(file, start, None, first)
