"""Tool results that a model invents: after its own call it goes on with what it expects the tool to answer.

The markup that such text begins with, as the models' templates and transcripts write results, and where it ends. It is
looked for after the first call of a reply only, at the start of a line, and named in a verdict of its own; a call that
is in it is nobody's.
"""

from toolcalls.reading.ledger import Ledger
from toolcalls.text.scanner import Scanner, Step, beginnings

INVENTED_RESULTS: dict[str, str | None] = {
    "<function_results>": "</function_results>",
    "<function_result>": "</function_result>",
    "<tool_response>": "</tool_response>",
    "<tool_responses>": "</tool_responses>",
    "<tool_result>": "</tool_result>",
    "<tool_results>": "</tool_results>",
    "<result>": "</result>",
    "<|tool_response>": "<tool_response|>",
    "<｜tool▁outputs▁begin｜>": "<｜tool▁outputs▁end｜>",
    "<｜tool▁output▁begin｜>": "<｜tool▁output▁end｜>",
    "[TOOL_RESULTS]": "[/TOOL_RESULTS]",
    "EXECUTION RESULT of [": None,
    "## Return of functions.": None,
    "Observation:": None,
    "✿RESULT✿": None,
    "Human:": None,
}
"""What it begins with, and its closer; None where only the reply's end closes it."""


def read_invented_result(scan: Scanner, ledger: Ledger, opener: str, *, drop: bool) -> Step[None]:
    """Read from the opener, which is here, up to the closer. `drop`: the text is not shown."""
    start, closer = ledger.text.at, INVENTED_RESULTS[opener] or ""
    scan.take(len(opener))
    ledger.invents(drop=drop)
    prefixes, longest = beginnings((closer,) if closer else ())
    while True:
        at = scan.text.find(closer, scan.pos) if closer else -1
        if at >= 0:
            scan.take(at + len(closer) - scan.pos)
            break
        tail = next((size for size in range(min(longest, scan.rest()), 0, -1) if scan.text[-size:] in prefixes), 0)
        scan.take(scan.rest() - (0 if scan.ended else tail))
        ledger.invents(drop=drop)
        if scan.ended:
            break
        yield
    ledger.end_invented(start, drop=drop)
