"""What a text client would make of text that processors changed: a call must not come of what was none.

A client that reads its calls out of text reads what it is given, not what the model wrote. Where a filter takes a word
away, or puts one there, the text around it may become a call that no rule has seen. So where a route has filters, what
such a client is given is read once more, as it leaves.
"""

from dataclasses import replace

from toolcalls.events import CallStart, Event, Markup, Note, Removed, Text
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.values.toolbox import Toolbox

NOTE = Note("filters", "a replacement made a call of the text around it, so no text is shown from there on", True)


class Rereading:
    """Reads one lane's text as it is shown. Calls, which rules have seen, stand in it as the model wrote them.

    `found`: a call came of a replacement.
    """

    def __init__(self, call_policy: CallPolicy, tools: Toolbox) -> None:
        self._reader = Reader(replace(call_policy, lift=True), tools=tools)  # the client does, whatever the route says
        self._changed = False
        self.found = False

    def add_native(self, name: str, arguments: str) -> None:
        """The reply holds this native call, which text may repeat."""
        self._reader.add_native(name, arguments)

    def shows(self, event: Event | str) -> bool:
        """Whether the next text may be shown: not where it makes a call of what was none, nor behind that."""
        if isinstance(event, Markup):
            self._reader.feed(event.text)
        elif isinstance(event, Removed):
            self._changed = True
        elif isinstance(event, str | Text):
            if self.found:
                return False
            self._changed = self._changed or isinstance(event, str)
            events = self._reader.feed(event if isinstance(event, str) else event.text)
            self.found = self._changed and any(isinstance(one, CallStart) for one in events)
            return not self.found
        return True
