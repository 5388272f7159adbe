"""`smolagents`: smolagents' form, a word and one JSON object with the call's name and arguments.

Other agents put other objects behind the same word: `react` is asked first, and reads this one as well.
"""

from toolcalls.shapes import About, Sign
from toolcalls.shapes.json.marked_json import MarkedJson

ABOUT = About(
    form="agents and gateways",
    sign=Sign(strength="form"),
    written_by="models under the prompt of smolagents' ToolCallingAgent",
    source="https://huggingface.co/docs/smolagents/reference/agents",
    example="""\
Action:
{"name": "read_file", "arguments": {"path": "src/a.ts"}}""",
)

DIALECT = MarkedJson(
    "smolagents",
    opening=("Action:",),
    closing=("<end_action>",),
    closed=False,
    line="\n",
    brackets=("{",),
    place="start",
)

RESULT = "Observation:\n{text}"
