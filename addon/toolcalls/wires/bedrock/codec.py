"""Codec and answer: those of the API that the model's bodies belong to, chosen by the first payload."""

from collections.abc import Sequence

from toolcalls.events import Finish
from toolcalls.values import rawjson
from toolcalls.wires import Codec as AnyCodec
from toolcalls.wires import ObservedCodec, Part, Undivided, all_wires, answers
from toolcalls.wires.answers import Answer
from toolcalls.wires.bedrock.bodies import Api, api_of_reply, is_exception
from toolcalls.wires.bedrock.completions import Completions
from toolcalls.wires.mending import Mending

_MESSAGES: Api = "anthropic"
_CONVERSE: Api = "bedrock_converse"
WITH_CALLS = frozenset({_MESSAGES, _CONVERSE})  # replies of all others are only read
_ERROR = b'{"type":"error"}'  # how Messages ends a stream that has failed


class Codec(Undivided):
    """The codec of a reply, streamed or whole."""

    def __init__(self, *, streamed: bool) -> None:
        self._streamed = streamed
        self._api: Api | None = None
        self._inner: AnyCodec | None = None
        self._mending: Mending | None = None

    def mends(self, mending: Mending) -> None:
        self._mending = mending

    @property
    def can_omit(self) -> bool:
        return self._inner is not None and self._inner.can_omit

    @property
    def must_encode(self) -> bool:
        return self._inner is not None and self._inner.must_encode

    @property
    def reply_id(self) -> str:
        return "" if self._inner is None else self._inner.reply_id

    def decode(self, payload: bytes) -> list[Part]:
        if self._inner is None and (api := api_of_reply(payload)) is not None:
            self._api, self._inner = api, self._made(api)
            if self._mending is not None:
                self._inner.mends(self._mending)
        if self._inner is None:
            return [(0, Finish("failed"))] if is_exception(rawjson.fields(payload)) else []
        return self._inner.decode(self._asked(payload))

    def encode(self, payload: bytes, parts: Sequence[Part], *, can_omit: bool) -> list[bytes]:
        if self._inner is None:
            return [payload]
        asked = self._asked(payload)
        made = self._inner.encode(asked, parts, can_omit=can_omit)
        return made if asked is payload else [payload if one == asked else one for one in made]

    def _made(self, api: Api) -> AnyCodec:
        if api == "completions":
            return Completions(streamed=self._streamed)
        wire = all_wires()[api]
        if api in WITH_CALLS:
            return wire.codec(streamed=self._streamed)
        return ObservedCodec(wire.decoder(streamed=self._streamed))

    def _asked(self, payload: bytes) -> bytes:
        """The payload in the API's words: an exception of the service becomes its error."""
        failed = self._api == _MESSAGES and b"Exception" in payload and is_exception(rawjson.fields(payload))
        return _ERROR if failed else payload


# --- a reply of our own making ----------------------------------------------------------------------------------------


def _api_for(answer: Answer) -> Api:
    """Which API answers where no payload has come: only the model's name tells."""
    return _CONVERSE if ".nova" in answer.model else _MESSAGES


def answer(answer: Answer) -> bytes:
    make = all_wires()[_api_for(answer)].answer
    assert make is not None
    return make(answer)


class Answering(answers.Answering):
    """Goes on with a stream."""

    def __init__(self) -> None:
        super().__init__()
        self._inner: answers.Answering | None = None

    def saw(self, payload: bytes) -> None:
        api = api_of_reply(payload) if self._inner is None else None
        if api in WITH_CALLS:
            self._inner = _answering(api)
        elif api is not None:
            self.answered = True  # it has no place for calls
        if self._inner is not None:
            self._inner.saw(payload)
            self.answered = self._inner.answered

    def rest(self, answer: Answer) -> Sequence[bytes] | None:
        if self.answered:
            return None
        self._inner = self._inner or _answering(_api_for(answer))
        return self._inner.rest(answer)


def _answering(api: Api) -> answers.Answering:
    make = all_wires()[api].answering
    assert make is not None
    return make()
