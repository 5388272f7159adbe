"""Requests of APIs that have a prompt and no conversation. Replies are only observed, and nothing is rewritten."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from toolcalls.requests.conversation import Conversation, Text, Turn
from toolcalls.requests.declared_tools import RequestReader
from toolcalls.values import rawjson


class Prompt(Conversation):
    """A request that has a prompt, in these members: texts, or lists of them. Token ids are no text."""

    carries_calls = False
    api: ClassVar[str] = ""
    texts: ClassVar[tuple[str, ...]] = ("prompt",)
    reader = RequestReader(("model", "system", "format", "prompt", "suffix", "inputText"), lambda _: ())

    def read_turns(self, members: Mapping[str, Any]) -> Iterator[Turn]:
        for key in self.texts:
            given = rawjson.value(members.get(key))
            for text in given if isinstance(given, list) else [given]:
                if isinstance(text, str) and text:
                    yield Turn("user", (Text(text),))

    def written(self) -> bytes:
        """Nothing is: raises ValueError."""
        raise ValueError(f"requests of {self.api} are not rewritten")


class _OpenAI(Prompt):
    api = "openai_completions"


class _Mistral(Prompt):
    """The texts before and after the gap."""

    api, texts = "mistral_fim", ("prompt", "suffix")


class _Ollama(Prompt):
    api = "ollama_generate"

    def read_turns(self, members: Mapping[str, Any]) -> Iterator[Turn]:
        if system := rawjson.word(members, "system"):
            yield Turn("system", (Text(system),))
        yield from super().read_turns(members)

    @property
    def is_structured(self) -> bool:
        return bool(self.given.get("format"))


CONVERSATIONS = {one.api: one for one in (_OpenAI, _Mistral, _Ollama)}
