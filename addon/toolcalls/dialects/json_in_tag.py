"""`json_in_tag`: a call's JSON object inside the tag itself, `<functioncall {…}>`.

The object ends where its braces say. Its tag's bracket, or a closing tag, may be missing after it.
"""

from dataclasses import dataclass

from toolcalls.shapes import About
from toolcalls.shapes.json.marked_json import MarkedJson

ABOUT = About(
    form="JSON in tags",
    written_by="models that were tuned on Glaive's function calls",
    source="no model's template; public reports",
    example="""\
<functioncall {"name": "read_file", "arguments": {"path": "src/a.ts"}}>""",
)

_TAGS = ("functioncall", "function_call", "tool_call", "toolcall", "tool_use", "tool-use")


@dataclass(frozen=True)
class _InTag(MarkedJson):
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        """The beginning of the tag, with the object's brace."""
        return tuple(f"{tag}{brace}" for tag in self.opening for brace in ("{", " {"))


DIALECT = _InTag(
    "json_in_tag",
    opening=tuple(f"<{tag} " for tag in _TAGS),
    closing=(">", "/>", *(f"></{tag}>" for tag in _TAGS), *(f"</{tag}>" for tag in _TAGS)),
)
