"""Damaged calls in a request's history, mended as they would have been in the reply, so that damage does not breed.

A model that reads its own broken calls writes more of them. What is mended is what the route's `mend` names: `protocol`
(ids, arguments that are empty, encoded twice, or an object where the API has a string, names that came several times),
`names`, `json` and `types`. A call and its result get the same new id, and the same name.

New ids are digests of the call, so the same history is mended to the same bytes, also when it has grown. A sound one
stays byte for byte.
"""

from collections import Counter, defaultdict, deque
from hashlib import blake2b

import msgspec

from toolcalls.mending.defects import is_repeated
from toolcalls.mending.names import Names
from toolcalls.reading.policy import CallPolicy
from toolcalls.requests.conversation import Conversation
from toolcalls.requests.past_calls import CallForm, ResultForm
from toolcalls.requests.rewriting.notes import counted
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.values.tool_values import ToolValues
from toolcalls.values.toolbox import Named, Toolbox
from toolcalls.values.value_mending import Held
from toolcalls.wires import Wire
from toolcalls.wires.mending import Mended, Mending, as_object

_KINDS = frozenset({"protocol", "json", "types", "names"})


def mended_history(
    wire: Wire, conversation: Conversation, call_policy: CallPolicy, tools: Toolbox
) -> tuple[bytes, tuple[str, ...]]:
    """A request's body with the calls of its history as they should have come, and notes of what was mended; the body
    as it is, and (), where nothing was.
    """
    if not _KINDS & set(call_policy.route.mend):
        return conversation.body, ()
    history = _History(wire, call_policy, tools)
    made = conversation.with_changes(history)
    if made is None:
        return conversation.body, ()
    what = ", ".join(dict.fromkeys(history.repairs))
    return made, (f"{counted(history.mended, 'past call')} mended ({what})",)


class _History:
    """The calls and results of one request, in order. `mended` calls had something to mend, `repairs` say what."""

    def __init__(self, wire: Wire, call_policy: CallPolicy, tools: Toolbox) -> None:
        kinds = call_policy.route.mend
        self.mended = 0
        self.repairs: list[str] = []
        self._tools = tools
        self._names = Names(tools, call_policy) if "names" in kinds else None
        self._prefix = wire.call_id_prefix
        self._taken: set[str] = set()
        self._alike: Counter[bytes] = Counter()
        # By the id that came: the ids, the old and the new names of the calls that no result has answered yet.
        self._waiting: defaultdict[str, deque[tuple[str, str, str]]] = defaultdict(deque)
        self._answered: dict[str, tuple[str, str, str]] = {}  # the latest one that was answered
        values = {"types", "json", "names"} & set(kinds)
        held = Held()
        self._mending = Mending(
            lambda *_: "",
            tools.takes_nothing,
            tools.__contains__,
            protocol="protocol" in kinds,
            named=self._named,
            values=ToolValues(tools, held, types="types" in kinds, json="json" in kinds).of_call if values else None,
            held=held,
        )

    def call(self, members: Fields, form: CallForm) -> Fields:
        """A call as it should have come; the same object for a sound one."""
        inner = rawjson.fields(members[form.inside]) if form.inside else members
        came = rawjson.word(inner, "name")
        call, edits = Mended(self._mending), dict[str, object]()
        call.came_name = call.name = came
        if form.arguments and came:
            call = self._mending.begun(came)
            edits = self._arguments(inner.get(form.arguments), form, call)
            if call.name != came:
                edits["name"] = rawjson.string(call.name)
        made = inner if not edits else {**inner, **edits}
        changed = members if made is inner else {**members, form.inside: made} if form.inside else made
        id_ = self._id(members, inner, form, call)
        if id_ != rawjson.word(members, form.id):
            changed = {**changed, form.id: rawjson.string(id_)}
        self._waiting[rawjson.word(members, form.id)].append((id_, came, call.name))
        if changed is not members:
            self.mended += 1
            self.repairs.extend(call.all_repairs)
        return changed

    def result(self, members: Fields, form: ResultForm) -> Fields:
        """A result with the id and the name that its call has now."""
        given, name = rawjson.word(members, form.id), rawjson.word(members, form.name)
        waiting = self._waiting.get(given)
        if waiting:  # of several calls with one id the one that it names, else the first
            place = next((at for at, one in enumerate(waiting) if name and name in one[1:]), 0)
            self._answered[given] = waiting[place]
            del waiting[place]
        if given not in self._answered:
            return members
        id_, was, now = self._answered[given]
        made = members
        if id_ != given:
            made = {**made, form.id: rawjson.string(id_)}
        if name and name == was != now:
            made = {**made, form.name: rawjson.string(now)}
        return made

    def _named(self, name: str) -> Named | None:
        """The tool that a name means which is none."""
        if self._mending.protocol and is_repeated(name, self._tools):
            tool = next(tool for tool in self._tools.names if tool and name == tool * (len(name) // len(tool)))
            return Named(tool, "repeated_name")
        return self._names.meant(name) if self._names is not None else None

    def _arguments(self, given: object, form: CallForm, call: Mended) -> Fields:
        """The member with the arguments, where it should be another."""
        if not form.as_text:
            raw = as_object(given, call, self._mending, cut=False)
            return {} if raw is None else {form.arguments: raw}
        is_object = rawjson.is_object(given)
        text = rawjson.text_of(given) if is_object else rawjson.value(given)
        if (text is not None and not isinstance(text, str)) or (is_object and not self._mending.protocol):
            return {}
        left, call.arguments = self._mending.whole(call, text or "", cut=False)
        if is_object:
            call.repaired("object_arguments")
        return {form.arguments: rawjson.string(left)} if is_object or left != (text or "") else {}

    def _id(self, members: Fields, inner: Fields, form: CallForm, call: Mended) -> str:
        """A call's id: its own, unless that is empty or an earlier call's. "" where it needs none."""
        given = rawjson.word(members, form.id)
        id_ = given
        if self._mending.protocol and (form.asks_id or form.id in members) and (not given or given in self._taken):
            call.repaired("repeated_id" if given else "no_id")
            id_ = self._new_id(rawjson.word(inner, "name"), rawjson.text_of(inner.get(form.arguments or "input")))
        if id_:
            self._taken.add(id_)
        return id_

    def _new_id(self, name: str, arguments: str) -> str:
        """A digest of the call as it came, and of how many like it came before."""
        written = msgspec.json.encode((name, arguments))
        self._alike[written] += 1
        seed = f"{self._alike[written]}:".encode() + written
        id_ = f"{self._prefix}{blake2b(seed, digest_size=12, person=b'history').hexdigest()}"
        return id_ if id_ not in self._taken else self._new_id(name, arguments)
