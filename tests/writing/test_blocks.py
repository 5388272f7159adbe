"""Blocks of calls that are written call by call (`writing/blocks.py`), compared with blocks that are written whole."""

from collections.abc import Sequence

import pytest

from toolcalls.dialects import all_dialects
from toolcalls.request import Tool
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.blocks import Block, Layout, alike, begun, common_length, layout_of, parts_a_block
from toolcalls.writing.writer import write

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
BOX = Toolbox((Tool("read_file", SCHEMA), Tool("list_files", SCHEMA)))
CALLS = [
    Call(name, f'{{"path":"{path}"}}') for name, path in (("read_file", "a"), ("list_files", "b c"), ("read_file", "d"))
]


def written(dialect: str, count: int) -> str:
    try:
        return write(dialect, CALLS[:count], BOX)
    except Unwritable:
        return ""


DIALECTS = [name for name in all_dialects() if written(name, 3)]
LAYOUTS = {
    "hermes": Layout("", ""),
    "invoke": Layout("", "\n</function_calls>", opener="<function_calls>"),
    "tagged": Layout("", ""),
    "lfm2": Layout(",", "]<|tool_call_end|>", opener="<|tool_call_start|>["),
    "deepseek_dsml": Layout("", "\n</｜DSML｜tool_calls>", opener="<｜DSML｜tool_calls>"),
    "kimi_k2": Layout("", "<|tool_calls_section_end|>", numbered=True, opener="<|tool_calls_section_begin|>"),
}


@pytest.mark.parametrize("dialect", LAYOUTS)
def test_what_stands_around_calls(dialect: str) -> None:
    layout = layout_of(dialect, CALLS[0], BOX)
    assert layout == LAYOUTS[dialect]
    assert layout.joins == bool(layout.separator or layout.closer)


@pytest.mark.parametrize("dialect", ["invoke", "lfm2"])
def test_a_dialect_of_one_call_has_no_blocks(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """None is known today, so one is made that refuses the second call."""

    def refuses(name: str, calls: Sequence[Call], tools: Toolbox) -> str:
        if len(calls) > 1:
            raise Unwritable("one call a message")
        return all_dialects()[name].write(calls, tools)

    monkeypatch.setattr("toolcalls.writing.blocks._written", refuses)
    assert layout_of(dialect, CALLS[0], BOX) == Layout("", "")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_calls_one_by_one_are_the_block_that_is_written_whole(dialect: str) -> None:
    block, text = Block(dialect, BOX), ""
    for count, call in enumerate(CALLS, 1):
        more, layout = block.next(call)
        text += more
        block.took(layout)
        assert alike(text + block.closer) == alike(written(dialect, count))
        assert block.joins == layout.joins


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("count", [1, 2])
def test_a_block_that_the_model_began_goes_on(dialect: str, count: int) -> None:
    """Wherever in what closes its latest call, or the block, the model's text ends."""
    whole = written(dialect, count)
    layout = layout_of(dialect, CALLS[0], BOX)
    if not layout.joins:
        assert not parts_a_block(dialect, whole, CALLS[:count], BOX)
        return
    open_ = whole.removesuffix(layout.closer)
    for text in (open_, open_.rstrip(), alike(open_) if " " not in open_.strip() else open_):
        assert parts_a_block(dialect, text, CALLS[:count], BOX) == layout.joins
        block, lacks = begun(dialect, text, CALLS[:count], BOX)
        if block is None:
            continue
        assert (block.closer, block.joins, lacks.strip()) == (layout.closer, layout.joins, "")
        more, after = block.next(CALLS[count])
        assert alike(text + lacks + more + after.closer) == alike(written(dialect, count + 1))
    if layout.closer:
        assert not parts_a_block(dialect, whole, CALLS[:count], BOX)
        assert begun(dialect, whole, CALLS[:count], BOX) == (None, "")


@pytest.mark.parametrize("dialect", ["invoke", "lfm2", "kimi_k2"])
def test_a_text_without_a_call_is_no_block(dialect: str) -> None:
    assert begun(dialect, "No call of theirs.", CALLS[:1], BOX) == (None, "")


def test_a_block_without_calls_is_none() -> None:
    assert begun("invoke", "<function_calls>", [], BOX) == (None, "")
    assert not parts_a_block("invoke", "<function_calls>", [], BOX)


@pytest.mark.parametrize("dialect", ["invoke", "deepseek_dsml", "kimi_k2"])
def test_what_the_latest_call_lacks_is_added(dialect: str) -> None:
    layout = layout_of(dialect, CALLS[0], BOX)
    open_ = written(dialect, 1).removesuffix(layout.closer).rstrip()
    for missing in range(1, 6):
        block, lacks = begun(dialect, open_[:-missing], CALLS[:1], BOX)
        assert block is not None
        assert alike(open_[:-missing] + lacks) == alike(open_)


def test_calls_that_stand_without_what_opens_a_block_are_none() -> None:
    """Nothing closes what nothing opened."""
    whole = write("invoke", CALLS, BOX)
    bare = whole.removeprefix("<function_calls>").removesuffix("</function_calls>").strip()
    assert begun("invoke", bare, CALLS, BOX) == (None, "")
    block, lacks = begun("invoke", f"<function_calls>\n{bare}", CALLS, BOX)
    assert block is not None
    assert (block.closer, lacks) == ("\n</function_calls>", "")


def test_texts_are_alike_without_their_white_space() -> None:
    assert alike(" a\n b\t") == "ab"
    assert alike("") == ""
    assert [common_length(*two) for two in (("", ""), ("ab", "ab"), ("ab", "ac"), ("ab", "abc"), ("b", "a"))] == [
        0,
        2,
        1,
        2,
        0,
    ]
