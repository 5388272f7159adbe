"""vLLM's tool parsers on the cases: `toolcalls cases --run 'PYTHON bench/peers/vllm_parsers.py'`.

PYTHON is one in which vLLM is installed; no model and no GPU is needed. Its parsers ask a tokenizer for the ids of
their special tokens only, so one that has an id for whatever it is asked is in. Whole replies are parsed
(`extract_tool_calls`); its streaming takes token ids, which a text alone does not have, so `--stream` fails.
"""

from collections.abc import Mapping
from typing import Any

from answering import answer_lines
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.tool_parsers import ToolParserManager

# Our dialect → its parser, by the name that `--tool-call-parser` takes.
PARSERS = {
    "apertus": "apertus",
    "cohere_cmd4": "cohere_command4",
    "deepseek_dsml": "deepseek_v32",
    "deepseek_v3": "deepseek_v3",
    "deepseek_v31": "deepseek_v31",
    "dots": "dots",
    "functiongemma": "functiongemma",
    "gemma4": "gemma4",
    "gigachat3": "gigachat3",
    "glm_xml": "glm45",
    "granite3": "granite",
    "granite_20b_fc": "granite-20b-fc",
    "hermes": "hermes",
    "hunyuan_a13b": "hunyuan_a13b",
    "hy_v3": "hy_v3",
    "hy_v4": "hy_v4",
    "inkling": "inkling",
    "internlm2": "internlm",
    "jamba": "jamba",
    "k2_horizon": "k2_horizon",
    "kimi_k2": "kimi_k2",
    "kimi_k3": "kimi_k3",
    "lfm2": "lfm2",
    "llama3_json": "llama3_json",
    "llama4_pythonic": "llama4_pythonic",
    "longcat": "longcat",
    "mimo_xml": "mimo",
    "minicpm5": "minicpm5",
    "minimax_m2": "minimax_m2",
    "minimax_m3": "minimax_m3",
    "mistral": "mistral",
    "olmo3": "olmo3",
    "phi4_mini": "phi4_mini_json",
    "plamo3": "plamo3",
    "pythonic": "pythonic",
    "qwen3_xml": "qwen3_coder",
    "seed_oss": "seed_oss",
    "step3": "step3",
    "xlam": "xlam",
}


class Vocabulary(dict[str, int]):
    """Each token that is asked for has an id."""

    def __missing__(self, token: str) -> int:
        return self.setdefault(token, 1_000_000 + len(self))

    def __contains__(self, token: object) -> bool:
        return True

    def get(self, token: str, _: Any = None) -> int:
        return self[token]


class StandIn:
    """A tokenizer: one token for each character, and for each special token that a parser names."""

    def __init__(self) -> None:
        self.vocab = Vocabulary()
        self.all_special_tokens: list[str] = []
        self.all_special_ids: list[int] = []

    def get_vocab(self) -> Vocabulary:
        return self.vocab

    def encode(self, text: str, **_: Any) -> list[int]:
        return [ord(character) for character in text]

    def decode(self, ids: list[int], **_: Any) -> str:
        return "".join(chr(one) for one in ids if one < 1_000_000)

    def convert_tokens_to_ids(self, token: str) -> int:
        return self.vocab[token]


def parse(name: str, case: Mapping[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """What a parser of vLLM makes of a whole reply."""
    if "text" not in case:
        raise NotImplementedError("vLLM streams token ids, which the text alone does not have")
    messages = (case.get("request") or {}).get("messages") or [{"role": "user", "content": "go"}]
    request = ChatCompletionRequest(model="any", messages=messages, tools=case["tools"] or None)
    parser = ToolParserManager.get_tool_parser(name)(StandIn(), request.tools)
    found = parser.extract_tool_calls(case["text"], request)
    calls = [(call.function.name, call.function.arguments) for call in found.tool_calls]
    return (found.content or "" if found.tools_called else case["text"]), calls


if __name__ == "__main__":
    answer_lines(PARSERS, parse)
