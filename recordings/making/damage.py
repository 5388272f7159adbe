"""Recordings of replies that arrive damaged: native calls, ends of replies, and calls in places where nobody looks.

`DAMAGE` is recorded under the configuration that ships, which mends what has one reading (`mend: [protocol]`). `MENDED`
is what is mended by choice; it is recorded under `mended/toolcalls.yaml`, which chooses all kinds.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from making.asking import Recording
from making.shapes import (
    DONE,
    INVOKE,
    JSON,
    SAID,
    USAGE,
    Native,
    chat,
    chat_call,
    chat_deltas,
    chat_entry,
    chat_reply,
    compact,
    cut_up,
    data,
    generated,
    lines,
    messages,
    reply,
    texts,
    tool_use,
)

READ = Native()
TESTS = Native(arguments='{"path": "tests/test_app.py"}', id="call_made_up_2")
NOW = Native("now", "{}")
TWO_TOOLS = ("read_file", "now")
QWEN = "<tool_call>\n<function=read_file>\n<parameter=path>\nsrc/app.py\n</parameter>\n</function>\n</tool_call>"
UNKNOWN = "<<<CALL read_file>>>\n<<<ARG path>>>src/app.py<<<END ARG>>>\n<<<END CALL>>>"
EDITS = [{"old": "print(x)", "new": "return x"}]
INVENTED = f"{INVOKE}\n<function_results>\n<result>\ndef greet(): ...\n</result>\n</function_results>\nIt is empty."


def chatted(*deltas: Mapping[str, Any], finish: str | None = "tool_calls", text: str = SAID) -> Recording:
    """Chat Completions with a text and these deltas behind it."""
    said = [{"content": piece} for piece in cut_up(text)]
    return Recording("openai_chat", chat_deltas([*said, *deltas], finish), tools=TWO_TOOLS)


def called(*calls: Native, api: str = "openai_chat", text: str = SAID, tools: Sequence[str] = TWO_TOOLS) -> Recording:
    """A reply with a text and native calls that are sound in form."""
    return Recording(api, reply(api, text, calls), tools=tuple(tools))


# --- native calls -----------------------------------------------------------------------------------------------------


def as_object() -> Recording:
    """Arguments that are an object where the API has a string."""
    return chatted(chat_entry(0, READ, name=READ.name, arguments=json.loads(READ.arguments)))


def encoded_twice() -> Recording:
    """Arguments that are a JSON string which holds the object."""
    return called(replace(READ, arguments=json.dumps(READ.arguments)), api="openai_responses")


def index_zero() -> Recording:
    """Two calls, each whole in one chunk, both under index 0."""
    entries = [chat_entry(0, call, name=call.name, arguments=call.arguments) for call in (READ, TESTS)]
    return chatted(*entries)


def arguments_again() -> Recording:
    """The whole arguments, once more in each delta."""
    whole = [chat_entry(0, arguments=READ.arguments) for _ in range(2)]
    return chatted(chat_entry(0, READ, name=READ.name, arguments=READ.arguments), *whole)


def name_again() -> Recording:
    """The name in every delta."""
    pieces = cut_up(READ.arguments, 20)
    return chatted(
        chat_entry(0, READ, name=READ.name, arguments=""),
        *(chat_entry(0, name=READ.name, arguments=piece) for piece in pieces),
    )


def id_in_each_delta() -> Recording:
    """Another id in every delta of one call."""
    begins, *rest = chat_call(READ)
    later = [{"tool_calls": [{**one["tool_calls"][0], "id": f"call_{number}"}]} for number, one in enumerate(rest)]
    return chatted(begins, *later)


def without_index() -> Recording:
    """Deltas of a call that do not say which one they belong to."""
    deltas = [
        {"tool_calls": [{key: value for key, value in one["tool_calls"][0].items() if key != "index"}]}
        for one in chat_call(READ)
    ]
    return chatted(*deltas)


def remains_in_text() -> Recording:
    """The server took the call out of the text and left its end there."""
    return called(READ, text=f"{SAID}src/app.py\n</parameter>\n</invoke>")


def cut_off() -> Recording:
    """The limit of tokens was met in the middle of the arguments."""
    return chatted(*chat_call(replace(READ, arguments='{"path": "src/a')), finish="length")


# --- what replies say of themselves -----------------------------------------------------------------------------------


def end_turn() -> Recording:
    """The Messages API says that the turn has ended, and there is a call."""
    return Recording("anthropic", messages([texts("I look."), tool_use(READ)], "end_turn"), tools=TWO_TOOLS)


def nothing() -> Recording:
    """A reply of nothing, for which tokens are charged all the same."""
    return Recording("openai_chat", [*map(data, [chat({"role": "assistant"}), chat({}, "stop", usage=USAGE)]), DONE])


def dropped_by_ollama() -> Recording:
    """Tokens were counted, and what they said could not be parsed and is gone."""
    return Recording("ollama", lines([{"content": ""}]))


# --- where nobody looks -----------------------------------------------------------------------------------------------


def reasoned() -> Recording:
    """The call is in the reasoning field, and the content is empty."""
    deltas = [{"reasoning_content": piece} for piece in cut_up(f"I need the file.\n{QWEN}")]
    return Recording("openai_chat", chat_deltas(deltas))


def thought_aloud() -> Recording:
    """Reasoning in tags in the text, though the API has a field for it."""
    return Recording("openai_chat", chat_reply("<think>\nThe file first.\n</think>\n\nHere it comes.", [READ]))


def invented() -> Recording:
    """The model writes a result behind its call."""
    return Recording("anthropic", reply("anthropic", SAID + INVENTED))


def failed(api: str, status: int, body: Any) -> Recording:
    """An error with a body that quotes the model."""
    return Recording(api, [compact(body)], status=status, kind=JSON)


def llama_server() -> Recording:
    """llama-server could not parse what its model wrote."""
    told = f"Failed to parse input at pos 24: {SAID}{QWEN}"
    return failed("openai_chat", 500, {"error": {"code": 500, "message": told, "type": "server_error"}})


def groq() -> Recording:
    """Groq could not, either, and quotes the call in a field of its own."""
    told = "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details."
    error = {"message": told, "type": "invalid_request_error", "code": "tool_use_failed"}
    quoted = '<function=read_file>{"path": "src/app.py"}</function>'
    return failed("openai_chat", 400, {"error": {**error, "failed_generation": quoted}})


def ollama() -> Recording:
    """Ollama's error with the arguments as the model wrote them."""
    raw = '{"name": "read_file", "arguments": {"path": "src/app.py"}}'
    told = f"error parsing tool call: raw='{raw}', err=unexpected end of JSON input"
    return replace(failed("ollama", 500, {"error": told}), streamed=False)


def refused_by_gemini() -> Recording:
    """Gemini ends with a reason, and quotes the call in a sentence."""
    told = 'Malformed function call: call:default_api:read_file{path:"src/app.py"}'
    made = generated(None, "MALFORMED_FUNCTION_CALL", finishMessage=told)
    return Recording("gemini", [data(made, b"\r\n\r\n")])


def leaked_before() -> Recording:
    """A call that leaked as text stands in the conversation, with what the user found."""
    earlier = [("user", "Read src/app.py."), ("assistant", SAID + INVOKE)]
    pieces = messages([texts("It never returns the text.")], "end_turn")
    return Recording("anthropic", pieces, earlier=earlier)


DAMAGE = {
    "arguments-empty": lambda: chatted(chat_entry(0, NOW, name="now", arguments="")),
    "arguments-as-an-object": as_object,
    "arguments-encoded-twice": encoded_twice,
    "arguments-repeated": arguments_again,
    "arguments-cut-off": cut_off,
    "argument-missing": partial(called, replace(READ, arguments='{"limit": 20}'), api="anthropic"),
    "parallel-calls-under-index-zero": index_zero,
    "index-missing": without_index,
    "name-in-each-delta": name_again,
    "name-empty": partial(called, replace(READ, name="")),
    "name-of-no-tool": partial(called, replace(READ, name="view"), api="anthropic"),
    "id-empty": partial(called, replace(READ, id="")),
    "id-in-each-delta": id_in_each_delta,
    "id-for-two-calls": partial(called, READ, replace(TESTS, id=READ.id), api="openai_responses"),
    "next-parameter-in-a-value": partial(
        called, replace(READ, arguments=json.dumps({"path": "src/app.py</parameter>\n<parameter=limit>20"}))
    ),
    "empty-call-beside-its-text": partial(called, replace(READ, arguments="{}"), text=SAID + QWEN),
    "rest-of-a-call-in-the-text": remains_in_text,
    "finish-denies-the-call": partial(chatted, *chat_call(READ), finish="stop"),
    "finish-ends-the-turn": end_turn,
    "finish-promises-a-call": partial(chatted, text="Let me look at the file."),
    "finish-missing": partial(chatted, *chat_call(READ), finish=None),
    "reply-empty": nothing,
    "reply-dropped": dropped_by_ollama,
    "call-in-unknown-marks": partial(chatted, finish="stop", text=SAID + UNKNOWN),
    "call-announced": partial(chatted, finish="stop", text="The import is wrong. Let me look at the file:"),
    "call-in-a-last-fence": partial(chatted, finish="stop", text=f"{SAID}```xml\n{INVOKE}\n```"),
    "result-invented": invented,
}
MENDED = {
    "array-as-a-string": partial(
        called,
        Native("edit_file", json.dumps({"path": "src/app.py", "edits": json.dumps(EDITS), "all": "true"})),
        api="anthropic",
        tools=("edit_file",),
    ),
    "array-as-a-string-gemini": partial(
        called,
        Native("edit_file", json.dumps({"path": "src/app.py", "edits": json.dumps(EDITS)})),
        api="gemini",
        tools=("edit_file",),
    ),
    "object-for-a-string": partial(
        called,
        Native(
            "edit_file",
            json.dumps({"path": "package.json", "edits": [{"old": {"version": "1.0"}, "new": {"version": "1.1"}}]}),
        ),
        tools=("edit_file",),
    ),
    "arguments-no-json": partial(called, replace(READ, arguments="{'path': 'src/app.py', \\n 'limit': 20}}")),
    "name-with-a-prefix": partial(called, replace(READ, name="functions.read_file"), api="openai_responses"),
    "name-with-a-channel": partial(called, replace(READ, name="read_file<|channel|>commentary")),
    "call-in-the-reasoning": reasoned,
    "reasoning-in-the-text": thought_aloud,
    "error-of-llama-server": llama_server,
    "error-of-groq": groq,
    "error-of-ollama": ollama,
    "error-of-gemini": refused_by_gemini,
    "result-dropped": invented,
    "leaked-in-the-history": leaked_before,
}
