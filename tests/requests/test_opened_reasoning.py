"""Whether a reply may start inside reasoning: by the model's name, a dialect that the route names, the history."""

import re

import pytest

from toolcalls.request import Request
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.requests.opened_reasoning import OPENING_MODELS, may_start_in_reasoning, opening_model
from toolcalls.route import Route

OPENING = [
    "deepseek-ai/DeepSeek-R1", "deepseek-r1:32b", "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "Qwen/QwQ-32B",
    "qwen/qwq-32b:free", "Qwen/Qwen3-235B-A22B-Thinking-2507", "qwen3-4b-thinking-2507-mlx",
    "Qwen/Qwen3-VL-30B-A3B-Thinking", "MiniMaxAI/MiniMax-M2", "stepfun-ai/Step-3.5-Flash", "step3.7-flash",
    "moonshotai/Kimi-K2.5", "ServiceNow-AI/Apriel-1.6-15b-Thinker",
]  # fmt: skip
OTHERS = [
    "", "gpt-4o", "claude-sonnet-4-5", "deepseek-chat", "deepseek-ai/DeepSeek-R1-0528", "deepseek-r10",
    "QwQ-32B-Preview", "Qwen/Qwen3-235B-A22B-Instruct-2507", "Qwen/Qwen3-VL-30B-A3B-Instruct",
    "MiniMax-M2.1", "Kimi-K2-Instruct", "qwen3-coder",
]  # fmt: skip


def test_a_models_name_is_found_however_it_is_spelt() -> None:
    assert {name for name in OPENING if opening_model(name) is None} == set()
    assert {name for name in OTHERS if opening_model(name) is not None} == set()


def test_each_row_of_the_table_has_its_source_and_a_name() -> None:
    assert {opening_model(name) for name in OPENING} == set(OPENING_MODELS)
    for model in OPENING_MODELS:
        assert re.fullmatch(r"https://(github\.com|huggingface\.co)/\S+", model.source)


@pytest.mark.parametrize(
    ("said", "may"),
    [
        ("Hm, a list.\n</think>\n\nHere it is.", True),
        ("Hm.[/THINK]Here.", True),
        ("My steps\n[BEGIN FINAL RESPONSE]\nHere", True),
        ("<think>\nHm.\n</think>\nHere.", False),
        ("Close it with `</think>`.", False),
        ("```\n</think>\n```", False),
        ("Here.", False),
        ("", False),
    ],
)
def test_what_earlier_replies_show(said: str, may: bool) -> None:
    for others in ((), ("Hi.",), tuple("abc")):
        assert may_start_in_reasoning(Route(), Request(assistant=(said, *others))) == may
    assert not may_start_in_reasoning(Route(), Request(assistant=(said, *"abcdefgh")))


def test_a_dialect_whose_models_all_begin_so() -> None:
    assert may_start_in_reasoning(Route(dialects=("apriel",)), Request())
    assert not may_start_in_reasoning(Route(dialects=("apriel", "hermes")), Request())
    assert not may_start_in_reasoning(Route(), Request())


def test_behind_a_prefill_no_template_opens_any() -> None:
    assert not may_start_in_reasoning(Route(), Request(model="QwQ-32B", prefill=("I",)))


@pytest.mark.parametrize(("upstream", "may"), [("text", True), ("native", False)])
def test_only_where_calls_are_lifted_anything_waits(upstream: str, may: bool) -> None:
    route, request = Route(client="native", upstream=upstream), Request(model="QwQ-32B")  # type: ignore[arg-type]
    policy, _ = call_policy_of(route, request, decide(route, request, {}, ()))
    assert policy.may_start_in_reasoning == may
