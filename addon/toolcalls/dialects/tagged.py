"""`tagged`: elements named after the tool, as Cline, Roo Code and Kilo Code teach them and parse them.

Values are strings as they stand; the clients decode nothing and escape nothing. The lists below are those of the
agents' own prompts and parsers; a request's declared tools come first.

Roo Code's `read_file` takes several files: `<args><file><path>…</path><line_range>1-50</line_range></file></args>` in
text, `files: [{path, line_ranges: [[1, 50]]}]` as its native tool (Roo Code's pull request 10186). Where the latter is
declared, the former is read as it.
"""

import json
import re
from typing import Any

from toolcalls.shapes import About, CallSink, Sign
from toolcalls.shapes.tags.element_values import SchemaPlace
from toolcalls.shapes.tags.tool_elements import ToolElements
from toolcalls.shapes.tags.undeclared_parameters import undeclared_elements
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import items, members, quote
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="elements",
    sign=Sign(strength="form"),
    written_by=(
        "models under the prompts of Cline, Roo Code and Kilo Code, and models that were trained on such transcripts"
    ),
    source=(
        "the prompts and parsers of Cline (`AssistantMessage`), Roo Code up to 3.41 "
        "(https://github.com/RooCodeInc/Roo-Code) and Kilo Code 5.x"
    ),
    example="""\
<read_file>
<path>src/a.ts</path>
</read_file>""",
    one_call=True,
)

_TOOLS = """
access_mcp_resource server_name uri
act_mode_respond response
apply_diff path diff
apply_patch input patch
ask_followup_question question options follow_up
attempt_completion result command
browser_action action url coordinate size text
codebase_search query path
condense context
delete_file path
edit_file target_file instructions code_edit path old_string new_string
execute_command command requires_approval timeout cwd
fast_edit_file path old_string new_string
fetch_instructions task
focus_chain
generate_explanation title from_ref to_ref
generate_image prompt path image
list_code_definition_names path
list_files path recursive
load_mcp_documentation
new_rule path content
new_task context mode message todos
plan_mode_respond response options needs_more_exploration
read_file path start_line end_line line_range args
replace_in_file path absolutePath diff
report_bug title what_happened steps_to_reproduce api_request_output additional_context description
run_slash_command command args
search_and_replace path search replace start_line end_line use_regex ignore_case operations
search_files path regex file_pattern
search_replace file_path old_string new_string
summarize_task context
switch_mode mode_slug reason
update_todo_list todos
use_mcp_tool server_name tool_name arguments
use_skill skill_name
use_subagents prompt_1 prompt_2 prompt_3 prompt_4 prompt_5
web_fetch url prompt
web_search query allowed_domains blocked_domains
write_to_file path absolutePath content
"""
_EVERYWHERE = ("task_progress",)

KNOWN = {name: (*keys, *_EVERYWHERE) for name, *keys in (line.split() for line in _TOOLS.strip().splitlines())}

_FILES, _RANGE, _RANGES = "files", "line_range", "line_ranges"
_LINES = re.compile(r"\s*(\d+)\s*-\s*(\d+)\s*")


class _Tagged(ToolElements):
    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One call, or what would be one if the tool declared its parameters."""
        opener = yield from scan.among(tuple(tag for tag in self.openers(tools.names) if tag[1:-1] in tools))
        if opener is None:
            return (yield from super().read(scan, sink, tools))
        if (yield from self.begins(scan, sink, (yield from scan.space(len(opener))), opener[1:-1], tools)):
            return (yield from super().read(scan, sink, tools))
        return (yield from undeclared_elements(scan, sink, tools, opener))

    def structure(self, text: str, place: SchemaPlace, sink: CallSink) -> str:
        made = super().structure(text, place, sink)
        item = place.item()
        if place.path != (_FILES,) or not item.knows(_RANGES) or item.knows(_RANGE):
            return made
        files = items(made) if made.startswith("[") else None
        return _with_ranges(made) if files is None else f"[{','.join(map(_with_ranges, files))}]"


def _with_ranges(file: str) -> str:
    """One file's JSON, with lines as text, `1-50`, made pairs of numbers. What is no such text stays."""
    if not file.startswith("{"):
        return file
    kept = []
    for key, raw in members(file):
        spelt: Any = json.loads(raw) if key == _RANGE else None
        lines = [
            _LINES.fullmatch(one) for one in (spelt if isinstance(spelt, list) else [spelt]) if isinstance(one, str)
        ]
        if lines and all(lines):
            pairs = ",".join(f"[{found[1]},{found[2]}]" for found in lines if found)
            kept.append(f'"{_RANGES}":[{pairs}]')
        else:
            kept.append(f"{quote(key)}:{raw}")
    return f"{{{','.join(kept)}}}"


DIALECT = _Tagged("tagged", known=KNOWN, older={"read_file": {"args": _FILES}})

# Values that the clients read up to the last closing tag before the tool's: every other one ends at the first.
TO_LAST_CLOSER = {"write_to_file": ("content",)}

RESULT = "[{name}] Result:\n{text}"
