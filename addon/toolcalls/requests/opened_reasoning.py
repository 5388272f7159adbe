"""Whether a reply may start inside reasoning that the chat template has opened: by the model's name, by the history.

Neither is certain: a server may split the reasoning off, or a template may be another. So this only makes candidates
wait for a closer (`reading/unopened_reasoning.py`); that a reply does start inside, the route says.
"""

import re
from dataclasses import dataclass

from toolcalls.request import Request
from toolcalls.route import Route
from toolcalls.text.markdown import Position
from toolcalls.text.quoting_marks import REASONING_CLOSERS, REASONING_TAGS

_TURNS = 8  # of the model, the latest
_TEXT = 1 << 18  # characters of one turn that are looked at
_CLOSER = re.compile("|".join(map(re.escape, REASONING_CLOSERS)))
_OPENER = re.compile("|".join(map(re.escape, REASONING_TAGS)))


@dataclass(frozen=True, slots=True)
class OpeningModel:
    """Models whose template ends with an opened reasoning tag, unless it is asked for another.

    names   a regular expression, found in the model's name in lower case, with "-" for ":", "_" and blanks
    source  where that can be read
    """

    names: str
    source: str


_TEMPLATES = "https://github.com/ggml-org/llama.cpp/blob/master/models/templates/"
OPENING_MODELS = (
    # The template of DeepSeek-R1-0528 opens nothing.
    OpeningModel(r"\bdeepseek-r1(?!-0528)\b", f"{_TEMPLATES}deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja"),
    OpeningModel(r"\bqwq-32b(?!-preview)\b", "https://github.com/vllm-project/vllm/issues/17144"),
    OpeningModel(r"\bqwen3-[a-z0-9.-]*thinking-2507\b", "https://github.com/QwenLM/Qwen3#qwen3-thinking-2507"),
    OpeningModel(r"\bqwen3-?vl-[a-z0-9.-]*thinking\b", "https://github.com/a-ghorbani/pocketpal-ai/issues/484"),
    OpeningModel(r"\bminimax-m2(?![.\d])\b", f"{_TEMPLATES}unsloth-MiniMax-M2.jinja"),
    OpeningModel(r"\bstep-?3\.5-flash\b", "https://github.com/ggml-org/llama.cpp/pull/19283"),
    OpeningModel(r"\bstep-?3\.7-flash\b", f"{_TEMPLATES}StepFun3.7-Flash.jinja"),
    OpeningModel(r"\bkimi-k2\.5\b", "https://huggingface.co/moonshotai/Kimi-K2.5/discussions/27"),
    OpeningModel(r"\bapriel-1\.6-15b-thinker\b", f"{_TEMPLATES}Apriel-1.6-15b-Thinker-fixed.jinja"),
)
# Dialects whose models all begin so.
OPENING_DIALECTS = frozenset({"apriel", "cohere_cmd4"})
_SEPARATORS = re.compile(r"[:_\s]")


def may_start_in_reasoning(route: Route, request: Request) -> bool:
    """Whether the reply to this request may start inside reasoning. After a prefill no template opens any."""
    if request.prefill:
        return False
    if route.dialects is not None and OPENING_DIALECTS.issuperset(route.dialects):
        return True
    return opening_model(request.model) is not None or any(map(_starts_inside, request.assistant[-_TURNS:]))


def opening_model(name: str) -> OpeningModel | None:
    """The row of the table that a model's name belongs to."""
    spelt = _SEPARATORS.sub("-", name.lower())
    return next((model for model in OPENING_MODELS if re.search(model.names, spelt)), None)


def _starts_inside(said: str) -> bool:
    """Whether an earlier reply has a closer of reasoning that nothing opens and nothing quotes."""
    found = _CLOSER.search(said, 0, _TEXT)
    if found is None or _OPENER.search(said, 0, found.start()) is not None:
        return False
    place = Position()
    place.advance(said[: found.start()])
    return place.reason() is None
