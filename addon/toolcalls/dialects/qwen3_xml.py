"""`qwen3_xml`: function tags in a `<tool_call>`, the form of most open coding models.

    <tool_call>
    <function=read_file>
    <parameter=path>
    src/a.ts
    </parameter>
    </function>
    </tool_call>

Written by Qwen3-Coder, Qwen3.5 and later, Nemotron-3, Step-3.5, Granite 4.2 and their fine-tunes. Source: the chat
templates of those models, vLLM's and SGLang's `qwen3_coder` parsers. What servers leak is damaged in known ways and is
read all the same: a wrapper without opener or closer (omlx PR#844, opencode #13762), a second wrapper before the
first one's closer, a name still open when the function is closed, a parameter closed twice, blanks and quotes in tags,
an older `<function_invocation>` around the function or its closer behind it (ollama #16383, QwenLM/Qwen3.8 #178).
The naked form is this dialect's also where OpenHands' prompt asked for it, and with Seed-OSS's closer behind it.
The template prints lists and objects as JSON and every other value as Python does: `True`, `None`, `3`.
"""

from functools import cached_property

from toolcalls.shapes.functiontag import FunctionTag
from toolcalls.shapes.tags import Tags

_OLDER = "function_invocation"


class _Qwen3(FunctionTag):
    """The form, and the wrapper of an older one."""

    @cached_property
    def opener(self) -> Tags:
        """Either wrapper's tag."""
        return Tags(wrapper=[("<", (self.wrapper, _OLDER), ">")])

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Also the older wrapper's."""
        return (*super().openers(names), f"<{_OLDER}>")


DIALECT = _Qwen3("qwen3_xml", wrapper="tool_call", orphans=("seed:tool_call", _OLDER), naked=True)

RESULT = "<tool_response>\n{text}\n</tool_response>"
