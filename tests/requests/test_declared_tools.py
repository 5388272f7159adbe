"""Requests whose tools are read once: what comes out is what a plain reading gives, whatever the bytes are."""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from toolcalls.request import Tool
from toolcalls.requests.conversation import request_of
from toolcalls.requests.declared_tools import RequestReader
from toolcalls.wires import all_wires

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


def counting() -> tuple[RequestReader, list[object]]:
    """A reader, and what it was given to make tools of."""
    made: list[object] = []

    def tools(listed: object) -> Iterator[Tool]:
        made.append(listed)
        yield from (Tool(name) for name in listed if isinstance(name, str)) if isinstance(listed, list) else ()

    return RequestReader(("model", "other"), tools), made


def test_the_same_bytes_are_read_once() -> None:
    reader, made = counting()
    for number in range(5):
        fields, tools = reader.read(json.dumps({"model": number, "tools": ["a", "b"], "more": 1}).encode())
        assert (fields, tools) == ({"model": number}, (Tool("a"), Tool("b")))
    assert made == [["a", "b"]]
    assert reader.read(b'{"tools": ["a","b"]}') == ({}, (Tool("a"), Tool("b")))
    assert len(made) == 2


def test_what_is_kept_is_bounded() -> None:
    """In sets, and in the bytes of each: a large one is read each time."""
    reader, made = counting()
    for number in [*range(12), 11, 0]:
        assert reader.read(json.dumps({"tools": [f"{number}"]}).encode())[1] == (Tool(f"{number}"),)
    assert made == [[f"{number}"] for number in (*range(12), 0)]
    large = json.dumps({"tools": ["x" * 300_000]}).encode()
    assert reader.read(large) == reader.read(large) == ({}, (Tool("x" * 300_000),))
    assert len(made) == 15


@pytest.mark.parametrize(
    ("body", "fields", "names"),
    [
        (b"{}", {}, ()),
        (b'{"tools": null, "model": null}', {"model": None}, ()),
        (b'{"tools": "a"}', {}, ()),
        (b'{"tools": ["a"], "tools": ["b"]}', {}, ("b",)),
        (b'{"tools": ["\\ud800"], "model": "m"}', {"model": "m", "tools": ["\ud800"]}, ("\ud800",)),
        (b'{"tools": ["a"], "model": "\\ud800"}', {"model": "\ud800", "tools": ["a"]}, ("a",)),
        (b'["tools"]', ["tools"], ()),
    ],
)
def test_any_json_is_read(body: bytes, fields: Any, names: tuple[str, ...]) -> None:
    reader, _ = counting()
    for _ in range(2):
        assert reader.read(body) == (fields, tuple(map(Tool, names)))


@pytest.mark.parametrize("body", [b"", b"{", b'{"tools": [1,]}', b'{"tools": ["\xff"]}', b'{"tools": [}', b"nothing"])
def test_what_is_no_json_is_refused(body: bytes) -> None:
    reader, _ = counting()
    with pytest.raises(ValueError, match="JSON"):
        reader.read(body)


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        (
            "openai_chat",
            {"messages": [], "tools": [{"type": "function", "function": {"name": "a", "parameters": SCHEMA}}]},
        ),
        ("anthropic", {"messages": [], "tools": [{"name": "a", "input_schema": SCHEMA}]}),
    ],
)
def test_requests_that_declare_the_same_share_their_tools(wire: str, body: dict[str, Any]) -> None:
    """And one that declares others, with the same names, has its own."""
    read = partial(request_of, all_wires()[wire])
    first, second = (read(json.dumps(body | {"model": model}).encode()) for model in "mn")
    assert [(tool.name, tool.schema) for tool in first.tools] == [("a", SCHEMA)]
    assert first.tools[0] is second.tools[0]
    other = read(json.dumps(body).replace("path", "file").encode())
    assert "file" in other.tools[0].schema["properties"]
