"""Native calls in a whole reply, as items of this API (`toolcalls.standing`)."""

from collections.abc import Iterable, Mapping, Sequence

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part
from toolcalls.wires import replacement as shared
from toolcalls.wires.openai_responses.calls import Made, kind_of, of_form


class Told(shared.Told):
    """A call in a whole reply."""

    def stands_in(self, item: Fields) -> bool:
        """Whether it is the native call of this item, as it came."""
        kind = kind_of(item)
        if kind is None or self.start.dialect is not None or kind.form != self.start.form:
            return False
        is_same = (kind.name(item), kind.arguments(item)) == (self.start.name, self.written)
        return is_same and rawjson.word(item, "call_id") in {"", self.start.id}

    def item(self, namespaces: Mapping[str, str], like: Fields | None = None) -> Fields:
        """It as an item of ours. `like` is the item in whose place it stands."""
        kind = of_form(self.start.form)
        space = self.start.space or namespaces.get(self.start.name, "")
        begun = kind.begun(self.start, space, like if kind.form else None)
        made = Made(kind, begun, 0)
        made.pieces.append(self.written)
        made.end("completed" if self.complete else "incomplete")
        return made.item


class Standing(shared.Standing[Told, Fields]):
    """What stands in the places of the native calls of some items."""

    def __init__(self, items: Sequence[Fields], parts: Iterable[Part]) -> None:
        super().__init__(items, parts, Told, Told.stands_in)
