"""Calls as JSON after a mark: `MARK [{"name": N, "arguments": J}, ...] [CLOSE]`, or one object a line.

The form of `jsontags` but for the body. An array's calls are each complete where a comma or its bracket follows; what
comes after a broken one is given back.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from toolcalls.shapes import Call
from toolcalls.shapes.json.call_reader import CallReader
from toolcalls.shapes.json.jsontags import JsonTags
from toolcalls.text.scanner import Step
from toolcalls.values.toolbox import Toolbox


@dataclass(frozen=True)
class JsonList(JsonTags):
    """The form with its marks filled in.

    first     the brackets that the body may begin with; where it is "{" first, objects are written
    between   what is between two objects that are written without an array
    """

    first: tuple[str, ...] = ("[",)
    between: str = "\n"
    line: str = ""

    def _body(self, block: CallReader) -> Step[bool]:
        if (yield from block.scan.among(self.first)) is None:
            return False
        return (yield from block.body())

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        """One block for all calls; "" for none."""
        if not calls:
            return ""
        items = [self._item(call) for call in calls]
        return self._block(self.between.join(items) if self.first[0] == "{" else f"[{', '.join(items)}]")
