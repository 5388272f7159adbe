"""`tagged`: elements named after the tool, as Cline, Roo Code and Kilo Code teach them and parse them.

    <read_file>
    <path>src/a.ts</path>
    </read_file>

Written by models under those agents' prompts, and by models that were trained on such transcripts. Values are strings
as they stand; the clients decode nothing and escape nothing. The lists below are those of the agents' own prompts and
parsers (Cline `AssistantMessage`, Roo Code up to 3.41, Kilo Code 5.x); a request's declared tools come first.
"""

from toolcalls.shapes.tagnamed import TagNamed

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

DIALECT = TagNamed("tagged", known=KNOWN)

RESULT = "[{name}] Result:\n{text}"
