"""SGLang's tool parsers on the cases: `toolcalls cases --run 'PYTHON bench/peers/sglang_parsers.py'`.

PYTHON is one in which SGLang is installed; no model and no GPU is needed. With `--stream` the text goes through
`parse_stream_chunk` piece by piece. `make bench ONLY=peers` times them (`--time`).
"""

import sys
from collections.abc import Callable, Mapping
from typing import Any

from answering import answer_lines
from sglang.srt.entrypoints.openai.protocol import Tool
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from timing import time_lines

# Our dialect → its parser, by the name that `--tool-call-parser` takes.
PARSERS = {
    "apertus": "apertus2509",
    "cohere_cmd4": "cohere_command4",
    "deepseek_dsml": "deepseekv32",
    "deepseek_v3": "deepseekv3",
    "deepseek_v31": "deepseekv31",
    "dots": "dots",
    "gemma4": "gemma4",
    "gigachat3": "gigachat3",
    "gigachat35": "gigachat35",
    "glm_xml": "glm45",
    "harmony": "gpt-oss",
    "hermes": "hermes",
    "hunyuan_a13b": "hunyuan",
    "inkling": "inkling",
    "internlm2": "interns1",
    "iquest": "iquest_q1",
    "k2_horizon": "k2_horizon",
    "kimi_k2": "kimi_k2",
    "kimi_k3": "kimi_k3",
    "lfm2": "lfm2",
    "llama3_json": "llama3",
    "mimo_xml": "mimo",
    "minicpm5": "minicpm5",
    "minimax_m2": "minimax-m2",
    "minimax_m3": "minimax-m3",
    "mistral": "mistral",
    "pythonic": "pythonic",
    "qwen3_xml": "qwen3_coder",
    "step3": "step3",
}


def parse(name: str, case: Mapping[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """What a parser of SGLang makes of a reply, whole or in pieces."""
    parser = FunctionCallParser([Tool(**tool) for tool in case["tools"]], name)
    if "text" in case:
        if not parser.has_tool_call(case["text"]):
            return case["text"], []
        text, found = parser.parse_non_stream(case["text"])
        return text, [(call.name, call.parameters) for call in found]
    texts: list[str] = []
    names: dict[int, str] = {}
    arguments: dict[int, str] = {}
    results = [parser.parse_stream_chunk(piece) for piece in case["chunks"]]
    if hasattr(parser, "parse_stream_end"):
        results.append(parser.parse_stream_end())
    for text, calls in results:
        texts.append(text)
        for call in calls:
            names[call.tool_index] = call.name or names.get(call.tool_index, "")
            arguments[call.tool_index] = arguments.get(call.tool_index, "") + call.parameters
    return "".join(texts), [(names[index], arguments[index] or "{}") for index in sorted(names)]


def begin(name: str, job: Mapping[str, Any]) -> Callable[[str], object]:
    """A parser of SGLang at the beginning of a reply."""
    return FunctionCallParser([Tool(**tool) for tool in job["tools"]], name).parse_stream_chunk


if __name__ == "__main__":
    if "--time" in sys.argv:
        time_lines(PARSERS, begin)
    else:
        answer_lines(PARSERS, parse)
