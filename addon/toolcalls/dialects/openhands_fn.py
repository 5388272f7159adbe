"""`openhands_fn`: naked function tags, as OpenHands teaches models without native calls.

The form holds several calls, of which OpenHands takes the first. Generation stops at `</function`, so a reply's end
closes a call as well as the closer does. `<parameter=k=v</parameter>` is read as its converter repairs it. Values of
several lines are on lines of their own. `qwen3_xml` reads the same text as the same call, except for a function
without parameters and closer at the reply's end; whichever comes first, a wrapper's closer after the call is removed
with it.
"""

from toolcalls.shapes import About, Call
from toolcalls.shapes.tags.content import Printed
from toolcalls.shapes.tags.form import FunctionTags

ABOUT = About(
    form="function tags",
    written_by="models without native calls, under OpenHands' prompt",
    source="OpenHands' `fn_call_converter`",
    example="""\
<function=execute_bash>
<parameter=command>ls -l</parameter>
</function>""",
    call=Call("execute_bash", '{"command": "ls -l"}'),
    one_call=True,
)

DIALECT = FunctionTags(
    "openhands_fn",
    orphans=("tool_call", "seed:tool_call"),
    content=Printed("block"),
    closed=False,
)

RESULT = "EXECUTION RESULT of [{name}]:\n{text}"
