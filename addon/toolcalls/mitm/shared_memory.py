"""What one worker has learnt and another one may need, by way of a store that they share.

That is: lifted calls and the tools of conversations that a server keeps (`requests.call_memory`), and which sessions a
client pattern has matched (`requests.client_memory`). Whether a request needs something that is not known here is
looked up before it is read, so that only such a request waits; for a session that is asked once.

Keys are digests. A value holds the name and the arguments of a call, or the declarations of tools, as they are: whoever
may read the store may read these.
"""

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import blake2b

import msgspec
from mitmproxy import http

from toolcalls.flows.content_codings import CodingError, decoded
from toolcalls.mitm.options import Options
from toolcalls.request import Tool
from toolcalls.requests.call_memory import CallMemory, Remembered
from toolcalls.requests.client_memory import ClientMemory, session_of
from toolcalls.requests.conversation import PastCall, request_of
from toolcalls.wires import Wire

_SESSIONS = 4096  # of which it is known that the store was asked for them


class SharedMemory:
    """The store that an option names, if it names one, beside the memories of this worker."""

    def __init__(self, options: Options) -> None:
        self.calls = CallMemory()
        self.clients = ClientMemory(self._client_recognised)
        self._options = options
        self._asked: OrderedDict[bytes, None] = OrderedDict()

    def sought(self, wire: Wire, request: http.Request, body: bytes | None, *, session: bool = True) -> dict[str, str]:
        """What the store is to be asked for before a request is read: keys, and what is found there; {} for nothing.

        body      of a message on a WebSocket, instead of the request's
        session   whether the request's session is of interest
        """
        if self._options.memory is None:
            return {}
        try:
            if body is None:
                body = decoded(request.raw_content or b"", request.headers.get("content-encoding", ""))
            calls, replies = self.calls.unknown_ids(wire, body)
            sought = {_key("call", id_): id_ for id_ in calls} | {_key("tools", id_): id_ for id_ in replies}
            if session and request.method == "POST":
                sought |= self._session_sought(wire, request, body)
        except (CodingError, LookupError, ValueError, RecursionError):
            return {}  # whoever reads the request says what is wrong with it
        return sought

    def _session_sought(self, wire: Wire, request: http.Request, body: bytes) -> dict[str, str]:
        headers = {name.lower(): value for name, value in request.headers.items()}
        session = session_of(headers, request.pretty_host, request_of(wire, body))
        if session in self._asked or self.clients.recall(session) is not None:
            return {}
        self._asked[session] = None
        if len(self._asked) > _SESSIONS:
            self._asked.popitem(last=False)
        return {_key("client", session.hex()): session.hex()}

    async def fetch(self, sought: Mapping[str, str]) -> None:
        """Ask the store, and remember what it has."""
        store = self._options.memory
        if store is None:
            return
        values = await store.fetch([*sought])
        for (key, id_), value in zip(sought.items(), values, strict=True):
            if value is not None:
                self._add(key.partition(":")[0], id_, value)

    def _add(self, kind: str, id_: str, value: bytes) -> None:
        try:
            if kind == "call":
                self.calls.add(Remembered((msgspec.convert(json.loads(value), PastCall),)))
            elif kind == "tools":
                self.calls.add(Remembered(tools={id_: msgspec.convert(json.loads(value), tuple[Tool, ...])}))
            else:
                self.clients.add(bytes.fromhex(id_), value.decode())
        except (ValueError, RecursionError, msgspec.MsgspecError):
            return  # another version has written it, or somebody else

    def keep(self, remembered: Remembered) -> None:
        """Tell the others what is remembered of a reply."""
        values = {_key("call", call.id): _written(msgspec.structs.asdict(call)) for call in remembered.calls}
        values |= {_key("tools", id_): _written([*map(asdict, tools)]) for id_, tools in remembered.tools.items()}
        if values and self._options.memory is not None:
            self._options.memory.keep(values)

    def _client_recognised(self, session: bytes, matched: str) -> None:
        if self._options.memory is not None:
            self._options.memory.keep({_key("client", session.hex()): matched.encode()})


def _written(value: object) -> bytes:
    return json.dumps(value).encode()


def _key(kind: str, id_: str) -> str:
    return f"{kind}:{blake2b(id_.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"
