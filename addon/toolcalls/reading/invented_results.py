"""Tool results that a model invents: behind its own call it goes on with what it expects the tool to answer.

The markup that such text begins with, as the models' templates and transcripts write results, and where it ends. It is
looked for behind the first call of a reply only, at the start of a line, and named in a verdict of its own; a call that
stands in it is nobody's.
"""

RESULTS: dict[str, str | None] = {
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
