"""What a plan takes from a request's headers, and what of a body is not read before it is needed."""

from unittest.mock import patch

from mitmproxy import http

from toolcalls.config import default_path, load
from toolcalls.dialects import all_dialects
from toolcalls.flows import exchange_plan
from toolcalls.wires import all_wires


def request(body: bytes = b'{"messages": []}') -> http.Request:
    return http.Request.make("POST", "http://upstream/v1/chat/completions", body)


def test_headers_of_one_name_are_joined_as_the_host_joins_them() -> None:
    asked = request()
    asked.headers = http.Headers(
        [(b"X-Title", b"a"), (b"User-Agent", b"caf\xc3\xa9"), (b"x-title", b"b \xff"), (b"X-TITLE", b"")]
    )
    found = exchange_plan._by_name(asked.headers)
    assert found == {name.lower(): asked.headers[name] for name in asked.headers}
    assert found == {"x-title": "a, b \udcff, ", "user-agent": "caf\u00e9"}


def test_a_body_is_digested_once_and_only_for_an_id() -> None:
    config = load(default_path(), all_dialects(), all_wires())
    wire = all_wires()["openai_chat"]
    with patch.object(exchange_plan, "blake2b", wraps=exchange_plan.blake2b) as digest:
        plan = exchange_plan.plan_for(wire, request(), config)
        exchange = plan.exchange("whole")
        exchange.feed(b'{"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}')
        exchange.close()
        assert digest.call_count == 0
        assert plan.seed() == plan.seed() != exchange_plan.plan_for(wire, request(b'{"messages":[]}'), config).seed()
        assert digest.call_count == 2
