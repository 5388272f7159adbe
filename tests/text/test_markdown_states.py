"""The parts of the Markdown position, each put into a state by name, and what a step makes of it."""

import pytest

from toolcalls.text.markdown import states
from toolcalls.text.markdown.blocks import FENCE, MAX_DEPTH, NO_LEAF, PARAGRAPH, QUOTE, Blocks
from toolcalls.text.markdown.closers import COMMENT, RAW, Awaited
from toolcalls.text.markdown.inline import Inline
from toolcalls.text.markdown.line import Line
from toolcalls.text.markdown.lines import read


def in_paragraph(**inline: int | str | bool) -> Line:
    """A line of a paragraph in which these inline constructs are open."""
    made = Line(blocks=Blocks(leaf=PARAGRAPH, inline=Inline(**inline)), first="x", line_start=False)
    made.state = made.inside()
    return made


@pytest.mark.parametrize(
    ("inline", "state"),
    [
        (Inline(), states.TEXT),
        (Inline(span=2), states.SPAN),
        (Inline(tag=">"), states.TAG),
        (Inline(tag='"'), states.QUOTED),
        (Inline(tag=">", unsure=True), states.REST),
        (Inline(span=1, tag=">"), states.SPAN),
    ],
)
def test_what_is_open_says_how_the_line_is_read_on(inline: Inline, state: int) -> None:
    assert inline.state() == state


@pytest.mark.parametrize(
    ("line", "text", "span"),
    [
        (in_paragraph(), "a `` b", 2),
        (in_paragraph(span=2), "a ` b", 2),
        (in_paragraph(span=2), "a `` b", 0),
        (in_paragraph(), "a \\` b", 0),
    ],
)
def test_a_run_of_backticks_closes_the_span_of_its_own_length(line: Line, text: str, span: int) -> None:
    read(line, text, 0, len(text))
    assert line.blocks.inline.span == span


def test_a_backtick_in_what_may_be_a_tag_leaves_its_paragraph_unsure() -> None:
    line = in_paragraph(tag=">")
    read(line, "`x", 0, 2)
    assert line.blocks.inline.unsure
    assert line.quotation() == "inline_code"


def test_a_blank_line_ends_quotes_and_paragraphs_and_keeps_list_items() -> None:
    blocks = Blocks(stack=[2, QUOTE, 3], leaf=PARAGRAPH, inline=Inline(span=1), depth=1)
    blocks.end_blank()
    assert (blocks.stack, blocks.leaf, blocks.inline) == ([2], NO_LEAF, Inline())


def test_an_item_that_is_still_empty_ends_with_a_blank_line() -> None:
    blocks = Blocks(stack=[2], empty_item=True, depth=1)
    blocks.end_blank()
    assert (blocks.stack, blocks.empty_item) == ([], False)


def test_a_fence_outlives_a_blank_line() -> None:
    blocks = Blocks(leaf=FENCE, fence="`", fence_length=3)
    blocks.end_blank()
    assert blocks.leaf == FENCE


def test_blanks_reach_the_content_of_list_items() -> None:
    blocks = Blocks(stack=[2, 3])
    blocks.indent_by(4)
    assert (blocks.depth, blocks.base, blocks.indent) == (1, 2, 2)
    blocks.indent_by(1)
    assert (blocks.depth, blocks.base, blocks.indent) == (2, 5, 0)


def test_the_blank_behind_a_quotes_marker_belongs_to_it() -> None:
    blocks = Blocks()
    blocks.enter(QUOTE)
    blocks.quote_marker()
    blocks.indent_by(4)
    assert blocks.indent == 3


def test_containers_past_the_bound_are_noted_and_not_tracked() -> None:
    blocks = Blocks(stack=[QUOTE] * MAX_DEPTH, depth=MAX_DEPTH)
    blocks.enter(QUOTE)
    assert blocks.deep
    assert len(blocks.stack) == MAX_DEPTH


@pytest.mark.parametrize(("column", "content"), [(3, 3), (6, 6), (7, 3)])
def test_five_blanks_behind_a_marker_begin_code(column: int, content: int) -> None:
    assert Blocks(column=column, marker_end=2).item_content == content


@pytest.mark.parametrize(
    ("pieces", "end"), [(["a --> b"], 5), (["a -", "-> b"], 2), (["a --", "x-->"], 4), (["a --", "x"], None)]
)
def test_a_closer_is_found_across_pieces(pieces: list[str], end: int | None) -> None:
    awaited = Awaited(COMMENT)
    *before, last = pieces
    for piece in before:
        assert awaited.find(COMMENT, piece, 0) == (len(piece), False)
    assert awaited.find(COMMENT, last, 0) == ((len(last), False) if end is None else (end, True))


def test_a_line_in_an_open_fence_is_read_for_the_closing_one_alone() -> None:
    line = Line(blocks=Blocks(leaf=FENCE, fence="~", fence_length=4))
    for text, open_ in (("```\n", True), ("~~~\n", True), ("<think>\n", True), ("~~~~~ \n", False)):
        read(line, text, 0, len(text))
        assert (line.quotation() == "fenced") is open_


def test_a_tag_of_raw_text_waits_for_its_closer_where_it_may_start_a_block() -> None:
    line = Line()
    read(line, "<pre>", 0, 5)
    assert line.awaited.closer is RAW["<pre>"]
    inside = in_paragraph()
    read(inside, "<pre>", 0, 5)
    assert inside.awaited.closer is None
    assert inside.blocks.inline.element == "</pre>"


def test_a_line_of_dashes_undoes_the_list_that_it_began_as() -> None:
    line = Line()
    read(line, "- - -", 0, 5)
    assert line.blocks.stack == [2, 2]
    read(line, "\n", 0, 1)
    assert line.blocks.stack == []
