"""`solar_open2`: Upstage's Solar Open 2, a name on its line and arguments between special tokens.

Values are taken verbatim. White space between the tokens means nothing.
"""

import re
from functools import cached_property
from typing import override

from toolcalls.shapes import About, Call, Unwritable
from toolcalls.shapes.tags.content import Verbatim
from toolcalls.shapes.tags.form import TagForm
from toolcalls.shapes.tags.opening_tag import Tag
from toolcalls.shapes.tags.tag_patterns import Parts, Tags
from toolcalls.shapes.tags.value_end import CALL, CALL_END, CLOSER, NEXT
from toolcalls.shapes.words import NAME, begun_pattern, check_name, word
from toolcalls.shapes.writable import plain_text
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="keys and values",
    written_by="Upstage's Solar Open 2",
    source="vLLM's `solar_open2` parser",
    example="""\
<|tool_call:start|>read_file
<|tool_arg:start|>path<|tool_arg:value|>src/a.ts<|tool_arg:end|>
<|tool_call:end|>""",
)

_CALL, _CALL_END = "<|tool_call:start|>", "<|tool_call:end|>"
_ARG, _VALUE, _ARG_END = "<|tool_arg:start|>", "<|tool_arg:value|>", "<|tool_arg:end|>"
_KEY = r"\s{0,8}(?P<key>[^\s<>]{1,200})\s{0,8}"
_HEAD = re.compile(re.escape(_ARG) + _KEY + re.escape(_VALUE))
_LONGEST = 320


_HEAD_ARRIVES = re.compile(
    rf"(?:{begun_pattern(_ARG)})|{re.escape(_ARG)}\s{{0,8}}(?:[^\s<>]{{0,200}}|[^\s<>]{{1,200}}\s{{0,8}}(?:{begun_pattern(_VALUE)}))"
)


class _Solar(TagForm):
    """Tokens in the place of tags."""

    @override
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return (_CALL,)

    @cached_property
    def call_end(self) -> Parts:
        return (_CALL_END,)

    @cached_property
    def closer(self) -> Tags:
        return Tags(closer=[(_ARG_END,)])

    @cached_property
    def damaged_ends(self) -> Tags:
        return Tags()

    @cached_property
    def inside(self) -> Tags:
        kinds: dict[str, list[Parts]] = {CLOSER: [(_ARG_END,)], CALL_END: [self.call_end]}
        return Tags(**kinds, **{NEXT: [(_ARG,)], CALL: [(_CALL,)]})

    @cached_property
    def behind(self) -> Tags:
        return Tags(end=[self.call_end, (_ARG_END,)], tag=[(_ARG,), (_CALL,)])

    @override
    def call_here(self, scan: Scanner, ahead: int = 0) -> Step[Tag | None]:
        if not (yield from scan.starts(_CALL, ahead)):
            return None
        start = yield from scan.space(ahead + len(_CALL))
        name = yield from word(scan, NAME, start)
        return Tag(name, start + len(name) - ahead) if name else None

    @override
    def parameter_here(self, scan: Scanner, ahead: int = 0) -> Step[Tag | None]:
        found = yield from scan.match(_HEAD, _HEAD_ARRIVES, ahead, _LONGEST)
        return None if found is None else Tag(found["key"], len(found.group()))

    @override
    def write_call(self, call: Call, tools: Toolbox) -> str:
        check_name(call.name, "in front of arguments")
        lines = [f"{_CALL}{call.name}"]
        for key, raw in members(call.arguments):
            if not key or _HEAD.fullmatch(f"{_ARG}{key}{_VALUE}") is None or key != key.strip():
                raise Unwritable(f"{call.name}: the key {key!r} does not survive between tokens")
            lines.append(f"{_ARG}{key}{_VALUE}{plain_text(call.name, key, raw, tools)}{_ARG_END}")
        return "\n".join((*lines, _CALL_END))


DIALECT = _Solar("solar_open2", wrappers=(), content=Verbatim(), json=False, place="anywhere")
