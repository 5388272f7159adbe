"""The short ways of a lane, for native and text clients alike: the one place that composes them from the stages.

Most frames of a reply hold one of three things that nothing can happen to: text outside of calls, a piece of an
argument inside a call in text, or such a piece of a native call. Each has a way of its own past the stages, which does
what they would do. It says no where anything else may happen, and then the long way through the row takes over. So a
stage that cannot be asked twice is asked last.

Two other shortcuts are not about lanes: a frame is known by its bytes (`known_frames.py`), and a frame whose text is
decided at once needs no queue (`LaneFrames.apply_at_once`).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from toolcalls.events import CallPiece, Markup
from toolcalls.reading.reader import Reader
from toolcalls.replies.calls import Calls
from toolcalls.replies.row import Row
from toolcalls.replies.stages import Item
from toolcalls.replies.stages.act import Act
from toolcalls.replies.stages.thoughts import Thoughts
from toolcalls.replies.stages.write import Write

# What becomes of a piece of a native call that takes its short way: it leaves, or the client is given its call later.
type PieceFate = Literal["leaves", "goes"]


def passing_text(reader: Reader, row: Row) -> Callable[[str], bool]:
    """Whether a piece is text that nothing can happen to. If so, all stages have seen it."""
    thoughts, act, write = row.thoughts, row.act, row.write
    if row.reread is not None or row.screen is not None:
        return lambda _: False  # they read it once more
    passes: Callable[[str], bool] = reader.passes
    if act is not None:
        passes = _with_act(act, passes)
    if thoughts is not None:
        passes = _after_thoughts(thoughts, passes)
    return passes if write is None else _with_write(write, passes)


def _with_act(act: Act, read: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda piece: act.quiet(piece) and read(piece) and act.passed(piece)


def _after_thoughts(thoughts: Thoughts, read: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda piece: thoughts.done and read(piece)


def _with_write(write: Write, read: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda piece: write.holds_nothing and read(piece) and write.passed(piece)


def passing_piece(row: Row, calls: Calls) -> Callable[[CallPiece], PieceFate | None]:
    """What becomes of a piece of a native call to which nothing can happen. If it is not None, it is written down."""
    twins, act, number, write = row.twins, row.act, row.number, row.write

    def fate(piece: CallPiece) -> PieceFate | None:
        call = calls.natives.get(piece.index)
        if call is None or not (twins is None or twins.is_idle):
            return None
        goes = write is not None and not write.leaves(call)
        if not (goes or call.index == piece.index) or not (act is None or act.passes_piece(piece)):
            return None
        number.write_down(call, piece)
        return "goes" if goes else "leaves"

    return fate


def numbered_piece(row: Row) -> Callable[[CallPiece], CallPiece] | None:
    """What becomes of such a piece inside a call in text where no stage but `number` looks at it; else None."""
    return row.number.numbered if row.act is None and row.write is None else None


def streamed_piece(
    row: Row, behind_act: Callable[[Iterable[Item]], Sequence[Item]]
) -> Callable[[Markup, CallPiece], Sequence[Item] | None]:
    """What becomes of the usual two events inside a call in text elsewhere; None where the row must be asked.

    behind_act   takes items through the stages after `act`
    """
    act, number, write, screen, reads_again = row.act, row.number, row.write, row.screen, row.reread is not None

    def streamed(markup: Markup, piece: CallPiece) -> Sequence[Item] | None:
        if (write is None or (write.streams and not reads_again)) and (act is None or act.streams(piece)):
            made = number.numbered(piece)
            if write is None:
                return markup, made
            text = write.streamed(markup, made)
            return (text,) if screen is None else tuple(screen.feed((text,)))
        left = None if act is None else act.held(markup, piece)
        if act is None or left is None:
            return None
        if not left or (len(left) == 1 and left[0] is markup):
            return (markup,) if left else ()
        return behind_act(act.leaving(left))

    return streamed
