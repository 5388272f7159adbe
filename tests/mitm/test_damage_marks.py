"""A user finds flows with damage in the list: by mark, by what is in `worst`, and with a filter."""

import pytest
from mitmproxy import flowfilter, http

from support import manyflows
from support.loopback import chunk, streamed
from toolcalls.flows import flow_metadata
from toolcalls.insight.vocabulary.statuses import MARKS, SEVERITY
from toolcalls.insight.vocabulary.words import REPLY_STATUSES, STATUSES

END = b"data: [DONE]\n\n"
BEGIN = chunk({"role": "assistant", "content": None})
LIFTED = manyflows.written("read_file", path="a")


def _call(arguments: str, id_: str = "call_1") -> bytes:
    function = {"name": "read_file", "arguments": arguments}
    return chunk({"tool_calls": [{"index": 0, "id": id_, "type": "function", "function": function}]})


GOOD = '{"path": "a"}'
REPLIES = {
    "sound": ("native", "", [BEGIN, _call(GOOD), chunk({}, "tool_calls"), END]),
    "text": (None, "", streamed("Done.")),
    "empty": ("damaged", ":warning:", [BEGIN, chunk({}, "stop"), END]),
    "wrong_type": ("damaged", ":warning:", [BEGIN, _call('{"path": 1}'), chunk({}, "tool_calls"), END]),
    "no_id": ("mended", ":wrench:", [BEGIN, _call(GOOD, ""), chunk({}, "tool_calls"), END]),
    "finish_denies_calls": ("mended", ":wrench:", [BEGIN, _call(GOOD), chunk({}, "stop"), END]),
    "missing_argument": ("damaged", ":warning:", [BEGIN, _call("{}", ""), chunk({}, "stop"), END]),
    "call_in_text": ("lifted", ":wrench:", streamed(LIFTED)),
    "example": ("declined", ":eyes:", streamed(f"```\n{LIFTED}\n```\nSo it is done.")),
    "fenced": ("possibly lost", ":warning:", streamed(f"```\n{LIFTED}\n```\n")),
}


def _flow(name: str) -> http.HTTPFlow:
    return manyflows.flow_of(name, [manyflows.user("go")], REPLIES[name][2])


@pytest.mark.parametrize("name", REPLIES)
def test_the_mark_says_that_a_reply_came_damaged(name: str) -> None:
    flow = _flow(name)
    assert (flow.metadata[flow_metadata.REPORT]["worst"], flow.marked) == REPLIES[name][:2]


@pytest.mark.parametrize("name", REPLIES)
def test_a_filter_finds_each_kind(name: str) -> None:
    found = {one for one in REPLIES if flowfilter.match(rf"~meta damage:{name}\b", _flow(one))}
    kinds = {"missing_argument"} if name in {"no_id", "finish_denies_calls"} else set()
    assert found == ({name} | kinds if name not in {"sound", "text", "example", "fenced"} else set())


def test_each_status_of_a_reply_has_a_severity_of_its_own_and_a_mark() -> None:
    assert len(SEVERITY) == len(STATUSES) + len(REPLY_STATUSES)
    assert [one for one in SEVERITY if one in {"native", "lifted", "mended", "declined", "damaged", "truncated"}] == [
        "native", "lifted", "mended", "declined", "damaged", "truncated",
    ]  # fmt: skip
    assert SEVERITY[-1] == "failed"
    assert set(REPLY_STATUSES) <= MARKS.keys()
