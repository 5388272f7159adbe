"""`function_elements`: `function` and `parameter` elements that carry their names in attributes.

    <tool_call>
    <function name="read_file">
    <parameter name="path">src/a.ts</parameter>
    </function>
    </tool_call>

What models write that know both Qwen's form and Claude's; the wrapper is either's, or missing. No model's template has
it. With `param` in the place of `parameter` it is `minicpm5`.
"""

from toolcalls.shapes.attributed import Attributed


class _Elements(Attributed):
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        """The wrappers' tags, and a call's up to its name."""
        return (*(f"<{wrapper}>" for wrapper in self.wrappers), f"<{self.call} name=")

    def speaks(self, text: str) -> bool:
        """Whether `text` shows a call of this form with a parameter."""
        return super().speaks(text) and f"<{self.parameter} name=" in text


DIALECT = _Elements("function_elements", wrappers=("tool_call", "tool_calls", "function_calls"), call="function")
