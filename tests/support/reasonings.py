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
