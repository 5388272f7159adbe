"""`damaged_tags`: tags that have lost every `<` and `</`, or whose call and parameters are of two forms.

`invoke name="N">`, `parameter name="K">V/parameter>`, `/invoke>`; the same of function tags and of elements named
after the tool; parameters of another form than their call's, or after nothing but the tool's name in `<tool_call>`;
closers with an escaped slash (`<\\/parameter>`), without it (`<parameter>`), or with neither bracket nor slash
(`Vparameter>`). All of it could be prose, so it counts only at the start of a line, with the name of a declared tool,
and directly in front of a parameter. The forms without damage are asked first.
"""

from toolcalls.shapes import About, Call, CallSink, Grammar, Sign
from toolcalls.shapes.headers.name_in_words import CALL_WORDS
from toolcalls.shapes.tags.lost_tags import LostTags
from toolcalls.shapes.tags.opening_tag import Head
from toolcalls.shapes.words import check_name
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members, to_text
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="invoke",
    sign=Sign(strength="rest", alone=True),
    written_by="servers and models that lose parts of tags",
    source="public reports (QwenLM/qwen-code #10700, kdeps/kdeps #872)",
    example="""\
invoke name="read_file">
parameter name="path">src/a.ts/parameter>
/invoke>""",
)

_WRAPPERS = ("function_calls", "tool_calls", "tool_call", "tools")
_BARE = ("<tool_call>", "<tool_use>", "<function_call>")  # in which a name may be alone
_PARAMETERS = ("param", "argument", "arg")
_PREFIX = (("antml:", "tml:", ""),)
_SHARED = tuple(f"{prefix}:invoke name=" for prefix in ("antml", "tml"))  # `invoke_angleless` is asked first

# A name in an element of its own, or in words in brackets, in front of parameters in tags.
_ELEMENTS = ("name", "tool_name", "tool")
_OUTER = ("function", "call", "tool_call", "tool_use", "function_call", "invoke", "tool")
_APART = (
    *(
        Head(f"<{outer}>{gap}<{element}>", f"</{element}>", "damaged_tag")
        for outer in _OUTER
        for gap in ("", "\n", "\r\n")
        for element in _ELEMENTS
    ),
    *(Head(f"[{words}:{gap}", "]", "damaged_tag") for words in CALL_WORDS for gap in (" ", "")),
)

_NAMED = LostTags(
    "damaged_tags",
    wrappers=_WRAPPERS,
    misspelt=("function", "tool_call", "tool_use", "tool-use", "function_call", "tool", "call"),
    respelt=_PARAMETERS,
    prefix=_PREFIX,
    heads=(
        Head('name="', '">', "damaged_tag"),
        Head("name='", "'>", "damaged_tag"),
        Head("", ">", "damaged_tag"),
        *_APART,
    ),
)
_ALONE = LostTags(
    "damaged_tags",
    wrappers=(),
    call="tool_call",
    misspelt=("tool_use", "function_call"),
    respelt=_PARAMETERS,
    prefix=_PREFIX,
    heads=tuple(Head(tag, "") for tag in _BARE),
)


class _Damaged(Grammar):
    name = "damaged_tags"
    place = "start"

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """What is left of the tags of each declared tool, the tags that may hold parameters of another form."""
        heads = ('invoke name="', "invoke name='", 'name="', "function=")
        left = [f"{before}{name}" for name in names for before in heads]
        left += [f'<parameter name="{name}"' for name in names]
        elements = [f"{name}>{end}" for name in names for end in ("\n", "\r\n")]
        wrappers = [f"{wrapper}>{end}" for wrapper in _WRAPPERS for end in ("\n", "\r\n")]
        left += [f"{head.before}{name}" for head in _APART for name in names]
        return (*left, *elements, *wrappers, *_BARE, "<invoke ", "<function=", *_SHARED)

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        form = _NAMED
        if (yield from scan.among(_BARE)) and (yield from _ALONE.next_tag(scan, tools, compact=False)):
            form = _ALONE
        return (yield from form.read(scan, sink, tools))

    def write_call(self, call: Call, tools: Toolbox) -> str:  # noqa: ARG002 - the schema types what is read
        check_name(call.name, "in a tag")
        lines = [f'invoke name="{call.name}">']
        for key, raw in members(call.arguments):
            text, _ = to_text(raw)
            inner = f"\n{text}\n" if "\n" in text or "\r" in text else text
            lines.append(f'parameter name="{key}">{inner}/parameter>')
        return "\n".join((*lines, "/invoke>"))


DIALECT = _Damaged()
