"""Five routes, told apart by their paths, and what a model says on them: the same for every API and every client.

Each route is of another kind. The names and arguments have characters of two, three and four bytes, so that a cut may
fall into one.
"""

from typing import Any

CONFIG = """
routes:
  - {name: lift, match: {path: "/lift/*"}, client: native, upstream: text}
  - {name: lower, match: {path: "/lower/*"}, client: invoke, upstream: native}
  - {name: same, match: {path: "/same/*"}, client: invoke, upstream: text}
  - {name: other, match: {path: "/other/*"}, client: tagged, upstream: text, multiple_calls: true}
  - {name: observe, match: {path: "/observe/*"}, client: native, upstream: native, mend: []}
"""

# Two calls in a text: as they are written, and as they are meant.
INVOKE = [
    '<invoke name="read_file">\n<parameter name="path">größe/日本 😀.md</parameter>\n</invoke>',
    '<invoke name="now"></invoke>',
]
BLOCK = "<function_calls>\n{}\n{}\n</function_calls>".format(*INVOKE)
TAGGED = ["<read_file>\n<path>größe/日本 😀.md</path>\n</read_file>", "<now>\n</now>"]
TEXT = "Naïve: let me look.\n\n{}\n\nAnd the time:\n\n{}\n\nThat is all."
MEANT = [("read_file", {"path": "größe/日本 😀.md"}), ("now", {})]

# The first of them alone.
ONE = MEANT[0]
ONE_BLOCK = f"<function_calls>\n{INVOKE[0]}\n</function_calls>"


def one_call(native: Any) -> dict[str, tuple[list[Any], str, list[Any], str]]:
    """By route: what the upstream says, the text and the calls that the client gets, and the verdict.

    native   the call as the upstream makes it
    """
    written = ["Let me ", "look.\n\n<inv", INVOKE[0][4:], "\n"]
    return {
        "lift": (written, "Let me look.\n\n", [ONE], "lifted"),
        "lower": (["Let me look.", native], f"Let me look.\n\n{ONE_BLOCK}", [], "lowered"),
        "observe": (["Let me look.", native], "Let me look.", [ONE], "native"),
    }
