"""Calls of a whole reply as items of this API (`toolcalls.replacements`)."""

from collections.abc import Mapping

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires.openai_responses.calls import CallItem, kind_of, kind_of_form, name_in
from toolcalls.wires.replacement import WholeCall


class ItemCall(WholeCall):
    """A call of a whole reply."""

    def is_unchanged(self, item: Fields) -> bool:
        kind = kind_of(item)
        if kind is None or self.start.dialect is not None or kind.form != self.start.form:
            return False
        is_same = (kind.name(item), kind.arguments(item)) == (name_in(self.start), self.arguments)
        return is_same and rawjson.word(item, "call_id") in {"", self.start.id}

    def item(self, namespaces: Mapping[str, str], like: Fields | None = None) -> Fields:
        """The call as an item. `like`: the item that it replaces."""
        kind = kind_of_form(self.start.form)
        space = self.start.space or namespaces.get(self.start.name, "")
        begun = kind.new_item(self.start, space, like if kind.form else None)
        made = CallItem(kind, begun, 0)
        made.pieces.append(self.arguments)
        made.end("completed" if self.complete else "incomplete")
        return made.item
