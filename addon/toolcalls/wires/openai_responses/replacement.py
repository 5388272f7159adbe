"""Calls that only a whole response holds, as items of this API (`wires.replacement`)."""

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires.openai_responses.calls import kind_of, name_in
from toolcalls.wires.replacement import WholeCall


class ItemCall(WholeCall):
    """A call of a whole reply."""

    def is_unchanged(self, item: Fields) -> bool:
        kind = kind_of(item)
        if kind is None or self.start.dialect is not None or kind.form != self.start.form:
            return False
        is_same = (kind.name(item), kind.arguments(item)) == (name_in(self.start), self.arguments)
        return is_same and rawjson.word(item, "call_id") in {"", self.start.id}
