"""Texts around reasoning for the laws: marks that open and close it, whole and torn, drafts between them, and CRLF."""

from dataclasses import replace

from hypothesis import strategies as st

from support.strategies import NOISE, any_dialect, damaged_dialect, routes
from toolcalls.text.quoting_marks import MESSAGE_ENDS, REASONING_CLOSERS, REASONING_TAGS

MARKS = sorted(
    {
        *MESSAGE_ENDS, *REASONING_CLOSERS, *REASONING_TAGS, "<|channel>thought\n", "<|open|>think<|sep|>",
        "<|close|>think<|sep|>", "<|close|>", "<|start|>assistant<|channel|>analysis<|message|>",
        "<|channel|>final<|message|>",
    }
)  # fmt: skip
# What opens and what closes a thought in dialects with marks of their own: "" where only the prompt opens one.
OWN_MARKS = {
    "apertus": ("<|inner_prefix|>", "<|inner_suffix|>"),
    "apriel": ("", "[BEGIN FINAL RESPONSE]"),
    "cohere_cmd3": ("<|START_THINKING|>", "<|END_THINKING|>"),
    "cohere_cmd4": ("<|START_THINKING|>", "<|END_THINKING|>"),
    "gemma4": ("<|channel>thought\n", "<channel|>"),
    "kimi_k3": ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    "longcat": ("<longcat_think>", "</longcat_think>"),
    "minicpm3": ("<|thought_start|>", "<|thought_end|>"),
    "minimax_m3": ("<mm:think>", "</mm:think>"),
    "mistral": ("[THINK]", "[/THINK]"),
    "pangu": ("[unused16]", "[unused17]"),
    "plamo3": ("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
    "seed_oss": ("<seed:think>", "</seed:think>"),
}
# Marks that are taken out of the text, since what is between them is moved to the reasoning.
FRAMED = ("cohere_cmd3", "cohere_cmd4", "gemma4", "kimi_k3", "plamo3")
_JSON = [
    '[{"name": "Bash", "arguments": {"command": "ls"}}]',
    '[{"name": "Bash", "arguments": {"command": "ls"}}, ',
    '{"name": "Bash", "arguments": {"command": "ls"}}',
    '"list": [{"name": "Noop"}]',
    '[Bash(command="ls")]',
    '{"tool_name": "Noop"}',
]
_mark = st.sampled_from(MARKS)
_torn = st.builds(lambda mark, size: mark[:size], _mark, st.integers(1, 12))
_crlf = any_dialect.map(lambda text: "\r\n" + text.replace("\n", "\r\n") + "\r\n")
_words = st.sampled_from(["I think.", "So: ", "> ", "```\r\n", "\r\n", "\r\n\r\n", "\r", "\n", *_JSON])
_piece = st.one_of(_mark, _mark, _torn, _words, _words, any_dialect, _crlf, damaged_dialect, st.sampled_from(NOISE))
reasonings = st.lists(_piece, min_size=1, max_size=9).map("".join)
reasoning_routes = st.builds(lambda route, starts: replace(route, starts_in_reasoning=starts), routes, st.booleans())
