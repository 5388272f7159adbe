"""A reply of 10 MB that comes whole: how fast it is read, without a host."""

import json
import time

import host
import readers

from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request, Tool
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.route import Route
from toolcalls.wires import all_wires

SIZE = 10_000_000
ROUNDS = 1
TEXTS = {"prose": readers.PROSE, "signs of HTML": readers.ANGLES}


def cost(body):
    """Seconds of CPU for one reply."""
    wire = all_wires()["openai_chat"]
    request = Request(tools=(Tool("write_to_file", host.SCHEMA),))
    decision = decide(Route(), request, {}, ())
    call_policy, tools = call_policy_of(Route(), request, decision)
    exchange = Exchange(wire, call_policy, decision, tools, form="whole", seed=b"s")
    before = time.process_time()
    exchange.feed(body)
    exchange.close()
    if exchange.failure is not None:
        raise exchange.failure
    return time.process_time() - before


def main():
    """Print the table."""
    print(f"A whole reply of {SIZE // 1_000_000} MB, without a host")
    print(f"{'':28}{'MB/s':>8}")
    call = '<invoke name="write_to_file">\n<parameter name="content">%s</parameter>\n</invoke>'
    texts = {name: readers.filled(text, SIZE) for name, text in TEXTS.items()}
    texts["a call in text"] = call % readers.filled(readers.PROSE, SIZE)
    texts["signs of HTML, then a call"] = readers.filled(readers.ANGLES, SIZE) + "\n" + call % "x"
    for name, text in texts.items():
        message = {"role": "assistant", "content": text}
        body = json.dumps({"id": "r", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
        print(f"{name:28}{len(body) / 1e6 / min(cost(body) for _ in range(ROUNDS)):8.1f}", flush=True)


if __name__ == "__main__":
    main()
