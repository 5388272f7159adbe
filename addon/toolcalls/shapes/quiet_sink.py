"""A `CallSink` that listens to nothing, for grammars whose calls are only collected: override what is asked for."""

from toolcalls.events import Reason, Repair


class QuietSink:
    """Frames and wrappers stay, and nothing is refused."""

    def expect(self, name: str) -> None: ...

    def begin(self, name: str, refused: Reason | None = None) -> str:  # noqa: ARG002 - as `CallSink`
        return name

    def piece(self, json: str) -> None: ...

    def collect(self, size: int) -> bool:  # noqa: ARG002 - as `CallSink`
        return True

    def end(self) -> None: ...

    def fail(self) -> None: ...

    def note_repair(self, name: Repair) -> None: ...

    def leave_open(self, closers: tuple[str, ...]) -> None: ...

    def may_remove_frame(self) -> bool:
        return False

    def begins_line(self) -> bool:
        return False

    def mark_frame(self) -> None: ...

    def mark_text(self) -> None: ...

    def mark_reasoning(self) -> None: ...
