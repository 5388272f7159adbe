"""The recorded streams of `shared/suites/streams` that are damaged themselves, by what is odd about each.

A route that mends changes these, and no other.
"""

DAMAGED = {
    "llm__test_tools_streaming_variant_b__0__72d88d01": "a call, and no finish reason before [DONE]",
}
