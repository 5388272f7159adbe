"""A custom tool of the Responses API from end to end: the official SDK, a real mitmdump, a scripted upstream, loopback.

The model writes the call as text, the agent gets a `custom_tool_call` and answers it, and the model goes on.
"""

import json
from typing import Any

import pytest

from support.loopback import EVENTS, Host, Reply
from support.responsesclient import framed, stream
from support.responsesclient import whole as body_of
from support.sdk import client
from toolcalls.flows import flow_metadata

CONFIG = """
routes:
  - {name: lift, match: {path: "/lift/*"}, client: native, upstream: text, dialects: [invoke], rewrite_request: true}
"""
PATCH = {"type": "custom", "name": "apply_patch", "description": "Patches files.", "format": {"type": "text"}}
TEXT = '*** Begin Patch\n+größe "日本" \\ 😀 <b>&amp;\n*** End Patch'
CALL = f'I patch.\n<invoke name="apply_patch">\n<parameter name="input">{TEXT}</parameter>\n</invoke>'


def ask(running: Host, way: str, said: str, path: str, given: Any) -> Any:
    events = stream([[said[at : at + 7] for at in range(0, len(said), 7)]])
    if way == "whole":
        running.upstream.replies = [Reply([body_of(events)], {"content-type": "application/json"}, framing="length")]
    else:
        running.upstream.replies = [Reply([framed(event) for event in events], dict(EVENTS))]
    request: Any = {"model": "m", "input": given, "tools": [PATCH]}
    with client(f"{running.dump.url}{path}") as sdk:
        if way == "whole":
            return sdk.responses.create(**request)
        with sdk.responses.stream(**request) as told:
            return told.get_final_response()


@pytest.mark.parametrize("way", ["whole", "helper"])
def test_a_custom_tool_is_called_in_text_and_answered(running: Host, way: str) -> None:
    path = f"/lift{running.prefix()}/v1"
    message, call = ask(running, way, CALL, path, "go").output
    assert message.content[0].text == "I patch.\n"
    assert (call.type, call.name, call.input) == ("custom_tool_call", "apply_patch", TEXT)
    result = {"type": "custom_tool_call_output", "call_id": call.call_id, "output": "Done."}
    history = [{"role": "user", "content": "go"}, message.to_dict(), call.to_dict(), result]
    answer = ask(running, way, "All done.", f"{path}/again", history)
    assert answer.output_text == "All done."
    flow = running.flow(f"{path}/again/responses")
    sent = json.loads(flow.request.content or b"")  # the upstream knows no custom tools
    assert "tools" not in sent
    said = json.dumps(sent["input"], ensure_ascii=False)
    assert "custom_tool_call" not in said
    assert json.dumps(TEXT, ensure_ascii=False)[1:-1] in said
    assert "Done." in said
    first = running.flow(f"{path}/responses")
    (verdict,) = first.metadata[flow_metadata.REPORT]["verdicts"]
    assert (verdict["status"], json.loads(verdict["arguments"])) == ("lifted", {"input": TEXT})
