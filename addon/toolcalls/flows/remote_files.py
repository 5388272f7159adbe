"""Files by their paths; those with a scheme (`s3://bucket/folder`, `gs://…`) are read through fsspec.

fsspec has its settings from its own files and from the environment (`AWS_ENDPOINT_URL`,
`GOOGLE_APPLICATION_CREDENTIALS`); other paths need nothing but Python.
"""

from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, cast

from toolcalls.streams import BadInput, open_input

MISSING = "paths with a scheme, Dask and Parquet need the extra `dask`: pip install 'mitmproxy-toolcalls[dask]'"


def file_system(path: str) -> tuple[Any, str]:
    """fsspec's file system of a URL, and the path in it. Raises BadInput."""
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415 - only for those who have the extra
    except ImportError as error:
        raise BadInput(f"{path}: {MISSING}") from error
    try:
        return url_to_fs(path)  # type: ignore[no-any-return]
    except (ImportError, ValueError) as error:
        raise BadInput(f"{path}: {error}") from error


def path_of(name: str) -> Path:
    """A path; of a URL, what universal-pathlib has in its place. Raises BadInput."""
    if "://" not in name:
        return Path(name)
    try:
        from upath import UPath  # noqa: PLC0415 - only for those who have the extra
    except ImportError as error:
        raise BadInput(f"{name}: {MISSING}") from error
    try:
        return cast(Path, UPath(name))
    except (ImportError, ValueError) as error:
        raise BadInput(f"{name}: {error}") from error


def opened_file(path: str) -> BinaryIO:
    """A whole file, which is read as far as somebody asks. Raises BadInput."""
    if "://" not in path:
        return open_input(path)
    system, inside = file_system(path)
    try:
        return BufferedReader(system.open(inside, "rb"))
    except Exception as error:
        raise BadInput(f"{path}: the file cannot be read: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    """What an error says first; stores say much."""
    return (str(error).splitlines() or [type(error).__name__])[0]
