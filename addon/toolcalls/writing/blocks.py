"""A block of calls that is written call by call: `[a]` with one more is `[a, b]`, `<f>a</f>` is `<f>ab</f>`.

The writers of dialects know whole blocks only. What separates two calls and what closes a block is found by comparing
the block of one call with that of two.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from toolcalls.dialects import grammar
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import stands, write

_DIGIT = re.compile(r"\d")
_TAGS = 2  # of a call without arguments
TAIL = 32  # characters by which it is found where in a block a text ends
_SHORT = 3  # calls that are longer than that together
_LONGEST = 200  # characters that what closes a call and its block may have


@dataclass(frozen=True, slots=True)
class Layout:
    """What is around calls in a block, without white space at its edges.

    opener      what opens the block; "" where nothing does
    separator   what is between two calls and belongs to neither, as the comma of a list; "" where nothing does
    closer      what closes the block; "" where nothing does, as each call stands for itself
    numbered    each call bears its number in the block
    """

    separator: str
    closer: str
    numbered: bool = False
    opener: str = ""

    @property
    def joins(self) -> bool:
        """Whether calls side by side are one block, so that a text between them would part what belongs together."""
        return bool(self.separator or self.closer)


class Block:
    """A block that the client has the beginning of.

    closer   what closes it as it stands now; "" where nothing need
    joins    no text may be in it
    """

    def __init__(self, dialect: str, tools: Toolbox, count: int = 0, closer: str = "", *, joins: bool = False) -> None:
        self.dialect = dialect
        self.closer = closer
        self.joins = joins
        self._tools = tools
        self._count = count  # calls that are in it

    def next(self, call: Call) -> tuple[str, Layout]:
        """The text of one more call, and its layout: the text does not hold what closes the block.

        Raises `Unwritable` for what the dialect cannot hold, alone or after the others.
        """
        alone = write(self.dialect, [call], self._tools)
        layout = layout_of(self.dialect, call, self._tools)
        if not self._count:
            return alone.removesuffix(layout.closer), layout
        others = [_short(self.dialect, call, self._tools)] * (self._count if layout.numbered else 1)
        head = _written(self.dialect, others, self._tools).removesuffix(layout.closer)
        both = _written(self.dialect, [*others, call], self._tools).removesuffix(layout.closer)
        if not both.startswith(head):
            raise Unwritable(f"{self.dialect} writes {call.name} as no part of a block")
        return both[len(head) :], layout

    def took(self, layout: Layout) -> None:
        """Note that the client has one more call of the block, and not yet what closes it."""
        self._count += 1
        self.closer = layout.closer
        self.joins = layout.joins


def begun(dialect: str, text: str, calls: Sequence[Call], tools: Toolbox) -> tuple[Block | None, str]:
    """The block whose beginning the model wrote, and what the latest call in it still lacks.

    text, calls   what the client has of it, and the calls in that
    None          where it is closed, or is none that more could be written into
    """
    found = _open_at(dialect, text, calls, tools)
    if found is None:
        return None, ""
    layout, lacks = found
    of_call = lacks.removesuffix(layout.closer)
    if alike(layout.opener) not in alike(text) and stands(dialect, text + of_call, calls, tools):
        return None, of_call  # the model wrote the calls without what opens a block: each stands for itself
    if lacks and not stands(dialect, text + lacks, calls, tools):
        return None, ""
    return Block(dialect, tools, len(calls), layout.closer, joins=layout.joins), of_call


def parts_a_block(dialect: str, end: str, calls: Sequence[Call], tools: Toolbox) -> bool:
    """Whether a text here would part what belongs together. `end`: the end of what the client has, after `calls`."""
    found = _open_at(dialect, end, calls, tools)
    return found is not None and found[0].joins


def _open_at(dialect: str, text: str, calls: Sequence[Call], tools: Toolbox) -> tuple[Layout, str] | None:
    """The layout of the block that a text ends in, and what would close it; None where it is closed."""
    try:
        layout = layout_of(dialect, calls[-1], tools)
        written = _written(dialect, calls[-_SHORT:], tools)
    except (IndexError, Unwritable):
        return None
    lacks = _behind(text, written, layout)
    return (layout, lacks) if lacks.endswith(layout.closer) else None


def _behind(text: str, written: str, layout: Layout) -> str:
    """What follows in `written` where `text` ends: the same calls as the model spells them."""
    tail = alike(text[-2 * TAIL :])[-TAIL:]
    for at in range(len(written), max(0, len(written) - _LONGEST), -1):
        if alike(written[max(0, at - 2 * TAIL) : at]).endswith(tail):
            return written[len(written[:at].rstrip()) :]
    return "" if tail.endswith(alike(layout.closer)) else layout.closer


def layout_of(dialect: str, call: Call, tools: Toolbox) -> Layout:
    """The layout of a dialect's blocks, as it writes calls of this tool. Raises `Unwritable`."""
    short = _short(dialect, call, tools)
    one = _written(dialect, [short], tools)
    try:
        two = _written(dialect, [short, short], tools)
    except Unwritable:  # it holds one call
        return Layout("", "")
    at = common_length(one, two)
    if at < len(one):
        tag = one.rfind("<", 0, at)
        at = tag if tag >= 0 and ">" not in one[tag:at] else at
        mark = one[:at].split()[-1:]  # what all tags of a dialect begin with
        if one[at - 1 : at].strip() and mark and one.startswith(mark[0]) and one.count(mark[0]) > _TAGS:
            at -= len(mark[0])
        at = len(one[:at].rstrip())
    closer = one[at:]
    if not two.endswith(closer):
        return Layout("", "")
    head, more = one[:at], two[at : len(two) - len(closer)]
    three = _written(dialect, [short, short, short], tools).removesuffix(closer)
    common = common_length(_DIGIT.sub("0", head)[::-1], _DIGIT.sub("0", more)[::-1])
    opener, separator = (part[: len(part) - common].strip() for part in (head, more))
    return Layout(separator, closer, numbered=not three.endswith(more), opener=opener)


def common_length(left: str, right: str) -> int:
    """How many characters two short texts begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))


def alike(text: str) -> str:
    return "".join(text.split())


def _written(dialect: str, calls: Sequence[Call], tools: Toolbox) -> str:
    try:
        return grammar(dialect).write(calls, tools)
    except Unwritable:
        raise
    except ValueError as error:
        raise Unwritable(f"the arguments are not a JSON object: {error}") from error


def _short(dialect: str, call: Call, tools: Toolbox) -> Call:
    """A call of the same tool without arguments, which is quick to write; the call itself if the dialect holds none."""
    empty = Call(call.name, "{}")
    try:
        _written(dialect, [empty, empty], tools)
    except Unwritable:
        return call
    return empty
