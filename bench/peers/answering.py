"""What the adapters of this folder share: lines of `toolcalls cases --run` in, lines out. It needs nothing but Python.

An adapter runs in the Python in which its engine is installed, so it imports nothing of this project.
"""

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from typing import Any

# What a parser makes of a case: the text that is left, and (name, argument JSON) of each call.
type Parse = Callable[[str, Mapping[str, Any]], tuple[str, list[tuple[str, str]]]]


def answer_lines(parsers: Mapping[str, str], parse: Parse) -> None:
    """Answer each line of standard input.

    parsers   dialect → the name of the engine's parser for it; other dialects are skipped
    parse     is given that name and the line; what it raises is the answer's `error`
    """
    out = sys.stdout
    for line in sys.stdin:
        case = json.loads(line)
        answer: dict[str, Any] = {"id": case["id"]}
        name = parsers.get(case["dialect"])
        if name is None:
            answer["skipped"] = f"no parser is known for {case['dialect']}"
        else:
            try:
                with redirect_stdout(sys.stderr):  # what an engine prints is no answer
                    text, calls = parse(name, case)
                answer |= {"text": text, "calls": [{"name": one, "arguments": json_text} for one, json_text in calls]}
            except Exception as error:  # noqa: BLE001 - whatever an engine raises costs this case only
                answer["error"] = f"{type(error).__name__}: {error}"[:200]
        print(json.dumps(answer), file=out, flush=True)
