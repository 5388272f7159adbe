"""What a large request costs before it is sent on: reading it and deciding on its route, without a host."""

import gc
import json
import time

import exchanges

from toolcalls.requests.conversation import conversation_of
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.route import VTC_CLIENT_PATTERNS, Route

SIZES = (100_000, 1_000_000, 2_000_000)
ROUNDS = 7
LONG = 400_000  # characters of one text


def cost(payload):
    """ms of CPU for a body, for its turns with their JSON, and how long the longest garbage collection in both took."""
    pauses = []

    def note(phase, _):
        pauses.append(time.perf_counter())
        if phase == "stop":
            pauses[-2:] = [pauses[-1] - pauses[-2]]

    gc.collect()
    gc.callbacks.append(note)
    try:
        before = time.process_time()
        conversation = conversation_of("openai_chat", payload)
        request = conversation.request
        decision = decide(Route(), request, {}, VTC_CLIENT_PATTERNS)
        call_policy_of(Route(), request, decision)
        decided = time.process_time()
        for turn in conversation.turns:
            assert turn.blocks
        spent = (decided - before, time.process_time() - decided, max(pauses, default=0))
        return tuple(seconds * 1e3 for seconds in spent)
    finally:
        gc.callbacks.remove(note)


def long_text(turn):
    """Text of a prompt with headings, lists, tags and code: what evidence has to look through."""
    part = f"## Rule {turn}\n\n- Use `<path>` for files, and <b>short</b> answers.\n\n```py\nif a < b: run()\n```\n\n"
    return f"{turn} {part * (LONG // len(part))}"


def evidence_cost(role):
    """ms of CPU that a text of 400 KB adds to a small request: the system prompt, or what the model has said."""
    bodies = [
        [
            json.dumps({"model": "m", "messages": [{"role": role, "content": text}, {"role": "user", "content": "hi"}]})
            for text in (long_text(turn), "short")
        ]
        for turn in range(ROUNDS)
    ]
    return min(cost(long.encode())[0] - cost(short.encode())[0] for long, short in bodies)


def main():
    """Print the tables."""
    print("A request of 150 turns, read and decided on, without a host")
    print(f"{'':28}{'ms of CPU':>12}{'µs a KB':>10}{'ms for its turns':>18}{'ms in one collection':>22}")
    for size in SIZES:
        payloads = [exchanges.body(turn, size) for turn in range(ROUNDS)]
        spent, turns, paused = map(min, zip(*map(cost, payloads), strict=True))
        kilobytes = len(payloads[0]) / 1000
        print(
            f"{kilobytes / 1000:8.1f} MB{'':17}{spent:12.2f}{spent / kilobytes * 1000:10.2f}{turns:18.2f}{paused:22.2f}"
        )
    print(f"{'system prompt of 400 KB':28}{evidence_cost('system'):12.2f}")
    print(f"{'the model said 400 KB':28}{evidence_cost('assistant'):12.2f}")


if __name__ == "__main__":
    main()
