"""`bare_calls`: a call as code in the open that is the whole message: `N(k="v")`, `N({"k": "v"})`, `N{"k": "v"}`.

Any prose about code looks like it, so only a declared name with declared parameters counts, and nothing but calls may
be in the message.
"""

from dataclasses import dataclass

from toolcalls.shapes import About, Sign
from toolcalls.shapes.code.codecalls import CodeCalls

ABOUT = About(
    form="Python",
    sign=Sign(strength="form", empty=True),
    written_by="GLM and small models, where nothing marks their calls",
    source="mrwogu/factory-droid-openai PR#36, bolna-ai/bolna PR#826",
    example="""\
read_file({"path": "src/a.ts"})""",
)


@dataclass(frozen=True)
class _Bare(CodeCalls):
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Each declared name up to its bracket."""
        return tuple(f"{name}{bracket}" for name in names for bracket in "({")


DIALECT = _Bare("bare_calls", place="message")
