"""`mixed_marks`: one form's special tokens, or its wrapper, around a call in another form.

`[TOOL_CALLS]<tool_call>{…}</tool_call>`, `<|tool_call_begin|>{"name": …}<|tool_call_end|>`: models that have seen
several forms mix them. It is asked before the forms whose marks these are, and takes only what is none of them: a mark
with another form's tag, or with an object that names a call, directly after it.
"""

from toolcalls.shapes import About, Call, CallSink, Grammar, OpenerPlace
from toolcalls.shapes.json.call_keys import ARGUMENTS, NAMES
from toolcalls.shapes.json.json_arguments import OBJECT_STARTS
from toolcalls.shapes.json.marked_json import MarkedJson
from toolcalls.shapes.tags.form import FunctionTags, TagForm
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="JSON in tags",
    written_by="models that mix the forms they have seen",
    source="no model's template; public reports",
    example="""\
[TOOL_CALLS]<tool_call>
{"name": "read_file", "arguments": {"path": "src/a.ts"}}
</tool_call>""",
)

# Marks that may be around another form's call, each with those that close it.
_MARKS = {
    "[TOOL_CALLS]": ("[/TOOL_CALLS]",),
    "<|tool_calls_section_begin|>": ("<|tool_calls_section_end|>",),
    "<|tool_call_begin|>": ("<|tool_call_end|>",),
    "<｜tool▁calls▁begin｜>": ("<｜tool▁calls▁end｜>",),
    "<｜tool▁call▁begin｜>": ("<｜tool▁call▁end｜>",),
    "<|tool_call>": ("<tool_call|>",),
}
# Wrappers of forms without JSON. They are no special tokens, so they count at the start of a line only.
_WRAPPERS = {f"<{tag}>": (f"</{tag}>",) for tag in ("minimax:tool_call", "seed:tool_call")}
_CLOSERS = _MARKS | _WRAPPERS
_OPENED = tuple(_CLOSERS)
_JSON_TAGS = ("<tool_call>", "<toolcall>")
_OWN_OBJECT = ("[TOOL_CALLS]",)  # whose own form has an object there
_MOST_MARKS = 3
_FIRST_KEYS = tuple(f"{mark}{key}{mark}" for key in (*NAMES, *ARGUMENTS) for mark in "\"'")


class _Mixed(Grammar):
    name = "mixed_marks"
    place: OpenerPlace = "anywhere"
    opening = _OPENED

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One mark or several, and the calls inside."""
        marks: list[str] = []
        space = 0
        while len(marks) < _MOST_MARKS and (mark := (yield from scan.among(_OPENED, space))) is not None:
            marks.append(mark)
            space = yield from scan.space(space + len(mark))
        if not marks:
            return False
        if marks[0] in _WRAPPERS and (not sink.begins_line() or not (yield from self._named(scan, space))):
            return False
        reader = yield from self._inner(scan, space, bare=marks[-1] not in _OWN_OBJECT)
        if reader is None:
            return False
        scan.take(space)
        closers = tuple(closer for mark in marks for closer in _CLOSERS[mark])
        while True:
            own = yield from reader.read(scan, sink, tools)
            # After a call that broke, another mark is another block's.
            follow = (*closers, *_OPENED) if own else closers
            space = yield from scan.space()
            while (mark := (yield from scan.among(follow, space))) is not None:
                own = True
                scan.take(space + len(mark))
                space = yield from scan.space()
            reader = yield from self._inner(scan, space, bare=True)
            if reader is None or not own:
                return own
            scan.take(space)

    def _inner(self, scan: Scanner, ahead: int, *, bare: bool) -> Step[MarkedJson | TagForm | None]:
        """What reads the call that is here, None for no call."""
        if bare and (yield from self._named(scan, ahead)):
            return _BARE
        tag = yield from scan.among((*_JSON_TAGS, "<function=", "<invoke "), ahead)
        if tag == "<function=":
            return _FUNCTION
        if tag == "<invoke ":
            return _INVOKE
        if tag is None:
            return None
        space = yield from scan.space(ahead + len(tag))
        if (yield from self._named(scan, space)):
            return _JSON
        inner = yield from scan.among(("<function=", "<invoke "), space)
        return _FUNCTION if inner == "<function=" else None

    def _named(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether an object is here that begins with a call's name, or with its arguments as an object."""
        if not (yield from scan.starts("{", ahead)):
            return False
        space = yield from scan.space(ahead + 1)
        key = yield from scan.among(_FIRST_KEYS, space)
        if key is None or key[1:-1] in NAMES:
            return key is not None
        colon = yield from scan.space(space + len(key))
        if not (yield from scan.starts(":", colon)):
            return False
        return (yield from scan.among(OBJECT_STARTS, (yield from scan.space(colon + 1)))) is not None

    def write_call(self, call: Call, tools: Toolbox) -> str:
        return f"{_OPENED[0]}{_JSON.write([call], tools)}"


_CLOSED = tuple(closer for closers in _CLOSERS.values() for closer in closers)
_JSON = MarkedJson("mixed_marks", opening=_JSON_TAGS, closing=("</tool_call>", "</toolcall>"), line="\n")
_BARE = MarkedJson("mixed_marks", opening=(), closing=(*_CLOSED, "</tool_call>"))
_FUNCTION = FunctionTags("mixed_marks", wrappers=("tool_call",))
_INVOKE = TagForm("mixed_marks", wrappers=("function_calls",))

DIALECT = _Mixed()
