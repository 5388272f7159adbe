"""What servers and gateways do otherwise than their API's reference says: replies for the recordings named after it.

Each function gives the pieces of a reply that says `text`, in the shape in which that server was seen to send it; the
content is made up. Tests use the same functions with a text that holds no call, which must leave byte for byte.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from making.asking import Recording
from making.shapes import (
    DONE,
    INVOKE,
    QUESTION,
    SAID,
    START,
    USAGE,
    chat,
    chat_whole,
    compact,
    cut_up,
    data,
    generated,
    lines,
    message_events,
    messages,
    named,
    response_events,
    texts,
)

DSML = (
    '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="read_file">\n<｜DSML｜parameter name="path" string="true">src/app.py'
)
DSML += "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>"
QWEN = "<tool_call>\n<function=read_file>\n<parameter=path>\nsrc/app.py\n</parameter>\n</function>\n</tool_call>"
KIMI = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>"
    '{"path": "src/app.py"}<|tool_call_end|><|tool_calls_section_end|>'
)
LONGCAT = '<longcat_tool_call>{"name": "read_file", "arguments": {"path": "src/app.py"}}</longcat_tool_call>'
JSON = '{"name": "read_file", "arguments": {"path": "src/app.py"}}'


@dataclass(frozen=True)
class Quirk:
    """A reply that is odd.

    api      whose form it has; its SDK asks for it, where `body` does not say what is asked by hand
    path     where it is asked for
    reply    the pieces of a reply that says a text
    text     what the recorded one says
    kind     its content type
    fails    the SDK raises an error for it
    """

    api: str
    path: str
    reply: Callable[[str], list[bytes]]
    text: str
    kind: str = "text/event-stream"
    streamed: bool = True
    fails: bool = False
    body: Mapping[str, Any] | None = None


# --- Chat Completions -------------------------------------------------------------------------------------------------


def deepseek(text: str) -> list[bytes]:
    """Both fields in every chunk, one of them null; the last one has reason and usage."""
    head = {"system_fingerprint": "fp_made_up"}
    thought = [{"content": None, "reasoning_content": piece} for piece in ("I could write ", INVOKE[:22], " here.")]
    said = [{"content": piece, "reasoning_content": None} for piece in cut_up(text)]
    first = {"role": "assistant", "content": None, "reasoning_content": ""}
    last = chat({"content": "", "reasoning_content": None}, "stop", usage=USAGE, **head)
    return [*(data(chat(one, **head)) for one in (first, *thought, *said)), data(last), DONE]


def openrouter(text: str) -> list[bytes]:
    """Comments keep the connection alive, in the middle of a call too; the role comes with every chunk."""
    head = {"provider": "Made Up"}
    pieces = [b": OPENROUTER PROCESSING\n\n", b": OPENROUTER PROCESSING\n\n"]
    details = [{"type": "reasoning.text", "text": "Hm.", "format": "unknown", "index": 0}]
    thought = {"role": "assistant", "content": "", "reasoning": "Hm.", "reasoning_details": details}
    pieces.append(data(chat(thought, **head)))
    for number, piece in enumerate(cut_up(text)):
        pieces.append(data(chat({"role": "assistant", "content": piece}, **head)))
        pieces += [b": OPENROUTER PROCESSING\n\n"] if number % 4 == 3 else []
    end = chat({"role": "assistant", "content": ""}, "stop", **head)
    end["choices"][0]["native_finish_reason"] = "stop"
    return [*pieces, data(end), data(chat({"role": "assistant", "content": ""}, usage=USAGE, **head)), DONE]


def ends_twice(text: str) -> list[bytes]:
    """The finish reason, and once more with the usage."""
    end = {"role": "assistant", "content": ""}
    said = [{"role": "assistant", "content": piece} for piece in cut_up(text)]
    pieces = [b": OPENROUTER PROCESSING\n\n", *(data(chat(delta, provider="Made Up")) for delta in said)]
    pieces += [data(chat(end, "stop", provider="Made Up")), data(chat(end, "stop", provider="Made Up", usage=USAGE))]
    return [*pieces, DONE]


def mistral(text: str) -> list[bytes]:
    """A thought is a part of a list, text is a string; `p` fills each event to a length that tells nothing."""
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "I need the file."}], "closed": True}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}, {"content": [thought]}]
    deltas += [{"content": piece} for piece in cut_up(text)]
    filled = [chat(delta, p="abcdefgh"[: number % 8 + 1]) for number, delta in enumerate(deltas)]
    return [*map(data, filled), data(chat({"content": ""}, "stop", usage=USAGE, p="abc")), DONE]


def groq(text: str) -> list[bytes]:
    """An object of its own in the first and the last chunk; the last one has an empty delta."""
    first = chat({"role": "assistant", "content": ""}, x_groq={"id": "req_made_up", "seed": 7}, service_tier=None)
    said = [chat({"content": piece}) for piece in cut_up(text)]
    last = chat({}, "stop", x_groq={"id": "req_made_up", "usage": {**USAGE, "queue_time": 0.1}})
    return [*map(data, [first, *said, last]), DONE]


def vllm(text: str) -> list[bytes]:
    """Fields that are null, a stop reason beside the finish reason, and a last chunk that has usage and no choice."""
    first = chat({"role": "assistant", "content": ""}, prompt_token_ids=None)
    said = [chat({"content": piece}) for piece in cut_up(text)]
    end = chat({"content": ""}, "stop")
    for one in [*said, end]:
        one["choices"][0] |= {"logprobs": None, "token_ids": None}
    end["choices"][0]["stop_reason"] = 151645
    return [*map(data, [first, *said, end, chat(None, usage=USAGE)]), DONE]


def llama_cpp(text: str) -> list[bytes]:
    """The first delta's content is null, and the last chunk tells how long everything took."""
    head = {"system_fingerprint": "b1-made-up"}
    timings = {"cache_n": 0, "prompt_n": 210, "prompt_ms": 81.25, "predicted_n": 48, "predicted_per_second": 61.03}
    deltas = [{"role": "assistant", "content": None}, *({"content": piece} for piece in cut_up(text))]
    last = chat({}, "stop", timings=timings, usage=USAGE, **head)
    return [*(data(chat(delta, **head)) for delta in deltas), data(last), DONE]


def lm_studio(text: str) -> list[bytes]:
    """Its own path; how the model was run stands beside the choices."""
    choice = {"index": 0, "logprobs": None, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": START, "model": "made-up", "choices": [choice]}
    ran = {
        "usage": USAGE,
        "stats": {"tokens_per_second": 51.4, "time_to_first_token": 0.11, "stop_reason": "eosFound"},
        "model_info": {"arch": "made-up", "quant": "Q4_K_M", "format": "gguf", "context_length": 4096},
        "runtime": {"name": "made-up", "version": "1.0.0", "supported_formats": ["gguf"]},
    }
    return [json.dumps({**body, **ran}, indent=2).encode()]


def azure(text: str) -> list[bytes]:
    """What its filter found: of the prompt in a chunk without a choice, of the reply in each choice, and once alone."""
    safe = {"hate": {"filtered": False, "severity": "safe"}}
    prompt = {**chat(None, prompt_filter_results=[{"prompt_index": 0, "content_filter_results": safe}])}
    prompt |= {"id": "", "object": "", "created": 0, "model": ""}
    first = chat({"role": "assistant", "content": "", "refusal": None})
    said = [chat({"content": piece}) for piece in cut_up(text)]
    end, late = chat({}, "stop"), chat({})
    for one in [first, *said, end]:
        one["choices"][0] |= {"logprobs": None, "content_filter_results": safe if one in said else {}}
    del late["choices"][0]["delta"]
    offsets = {"check_offset": 0, "start_offset": 0, "end_offset": len(text)}
    late["choices"][0] |= {"content_filter_results": safe, "content_filter_offsets": offsets}
    return [*map(data, [prompt, first, *said, end, late]), DONE]


def azure_v1(text: str) -> list[bytes]:
    """Each delta has all of its fields, those without a value as null."""
    empty = {"content": None, "function_call": None, "refusal": None, "role": None, "tool_calls": None}
    deltas = [{**empty, "role": "assistant"}, *({**empty, "content": piece} for piece in cut_up(text))]
    chunks = [chat(delta, usage=None, system_fingerprint=None) for delta in deltas]
    return [*map(data, chunks), data(chat(empty, "stop", usage=None)), data(chat(None, usage=USAGE)), DONE]


def copilot_offsets(text: str) -> list[bytes]:
    """What a filter found, and up to where, stands before each delta; no chunk says of which kind it is."""
    safe = {"error": {"code": "", "message": ""}, "hate": {"filtered": False, "severity": "safe"}}
    offsets = {"check_offset": 0, "start_offset": 0, "end_offset": len(text)}
    deltas = [{"content": None, "role": "assistant"}, *({"content": piece} for piece in cut_up(text))]
    head = {"created": START, "id": "chatcmpl-1", "model": "made-up"}
    found = {"index": 0, "content_filter_offsets": offsets, "content_filter_results": safe}
    chunks: list[dict[str, Any]] = [{"choices": [], "created": 0, "id": "", "prompt_filter_results": []}]
    chunks += [{"choices": [{**found, "delta": delta}], **head} for delta in deltas]
    chunks.append({"choices": [{"finish_reason": "stop", **found, "delta": {"content": None}}], **head, "usage": USAGE})
    return [*map(data, chunks), DONE]


def vertex_signature(text: str) -> list[bytes]:
    """Gemini's signature of a native call stands in the call, which comes whole; its client has to send it back."""
    signed = {"google": {"thought_signature": "c2lnbmVk"}}
    function = {"name": "read_file", "arguments": '{"path":"README.md"}'}
    call = {"index": 0, "id": "function-call-1", "type": "function", "function": function, "extra_content": signed}
    said = [{"role": "assistant", "content": piece} for piece in cut_up(text)]
    last = chat({"role": "assistant", "tool_calls": [call]}, "tool_calls", usage=USAGE)
    return [*(data(chat(delta)) for delta in said), data(last), DONE]


def workers_ai(text: str) -> list[bytes]:
    """A whole reply with a list of no calls, whose finish reason says that it is over."""
    body = chat_whole(text, tool_calls=[], refusal=None, reasoning_content=None)
    return [compact({**body, "prompt_logprobs": None})]


def kept_alive(text: str) -> list[bytes]:
    """Comments before the first event and in the middle of a call."""
    events = [data(chat({"content": piece})) for piece in cut_up(text)]
    first = data(chat({"role": "assistant", "content": ""}))
    alive = b": keep-alive\n\n"
    end = chat({"content": ""}, "stop", usage=USAGE)
    return [alive, alive, first, *events[:5], alive, *events[5:], data(end), DONE]


def empty_lines(text: str) -> list[bytes]:
    """A whole reply behind empty lines, which keep its connection alive."""
    return [b"\n", b"\n", compact(chat_whole(text))]


def usage_in_the_choice(text: str) -> list[bytes]:
    """The usage stands inside the choice, beside its finish reason."""
    last = chat({}, "stop")
    last["choices"][0]["usage"] = USAGE
    said = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in cut_up(text))]
    return [*(data(chat(delta)) for delta in said), data(last), DONE]


def without_a_space(text: str) -> list[bytes]:
    """No space behind `data:`, and fields of its own beside the choices."""
    said = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in cut_up(text))]
    payloads = [chat(delta, content=delta["content"], lastOne=False) for delta in said]
    payloads.append(chat({}, "stop", content="", lastOne=True, usage=USAGE))
    return [*(b"data:" + compact(one) + b"\n\n" for one in payloads), b"data:[DONE]\n\n"]


def empty_words(text: str) -> list[bytes]:
    """Each chunk has a role and a finish reason that are empty strings, and a list of no calls."""
    said = [{"role": "", "content": piece, "tool_calls": []} for piece in cut_up(text)]
    first = {"role": "assistant", "content": "", "tool_calls": []}
    return [*(data(chat(delta, "")) for delta in (first, *said)), data(chat({"role": ""}, "stop", usage=USAGE)), DONE]


def repeats_the_message(text: str) -> list[bytes]:
    """Behind the deltas comes the whole message once more, in an object of the other kind."""
    said = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in cut_up(text))]
    events = [data(chat(delta)) for delta in said]
    return [*events, data(chat({"content": ""}, "stop")), data(chat_whole(text))]


def two_choices(text: str) -> list[bytes]:
    """A whole reply in two choices: the first has the text, the second a native call and no text."""
    body = chat_whole(text)
    call = {"id": "toolu_made_up", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    call["function"] = {"name": "read_file", "arguments": '{"path": "README.md"}'}
    second = {"index": 1, "message": {"role": "assistant", "content": None, "tool_calls": [call]}}
    body["choices"][0]["finish_reason"] = "tool_calls"
    body["choices"].append({**second, "finish_reason": "tool_calls"})
    return [compact(body)]


def error_in_the_stream(text: str) -> list[bytes]:
    """The provider failed behind the text: an error beside a choice that ends with one."""
    said = [{"role": "assistant", "content": piece} for piece in cut_up(text)]
    error = {"code": 502, "message": "Provider disconnected unexpectedly"}
    last = chat({"content": ""}, "error", error=error, provider="Made Up")
    # In one piece, for the SDK hangs up when it has read the error.
    return [*(data(chat(delta, provider="Made Up")) for delta in said), data(last) + DONE]


# --- Messages ---------------------------------------------------------------------------------------------------------


def thinking(text: str) -> list[bytes]:
    """Thoughts with a signature and thoughts that nobody may read, both before the text."""
    thought: list[Mapping[str, Any]] = [
        {"type": "thinking_delta", "thinking": f"I could write {INVOKE}"},
        {"type": "signature_delta", "signature": "c2lnbmVk"},
    ]
    hidden = {"type": "redacted_thinking", "data": "aGlkZGVu"}
    begun = {"type": "thinking", "thinking": "", "signature": ""}
    return messages([(begun, thought), (hidden, []), texts(text)], "end_turn")


def stops_for_a_tool(text: str) -> list[bytes]:
    """The reply stops to have a tool called, and holds none."""
    return messages([texts(text)], "tool_use")


def input_at_once(text: str) -> list[bytes]:
    """A native call of the gateway's whose input stands in the start of its block, and no delta behind it."""
    call = {"type": "tool_use", "id": "toolu_made_up", "name": "read_file", "input": {"path": "README.md"}}
    return messages([texts(text), (call, [])], "tool_use")


def crlf_and_done(text: str) -> list[bytes]:
    """A gateway that ends its lines with CRLF, sends no ping, and ends with `[DONE]` as another API does."""
    events = [one for one in message_events([texts(text)], "end_turn") if one["type"] != "ping"]
    written = [one.replace(b"\n", b"\r\n") for one in named(events)]
    return [*written, b"data: [DONE]\r\n\r\n"]


def vertex_claude(text: str) -> list[bytes]:
    """Ids say that they are Vertex AI's."""
    call = {"type": "tool_use", "id": "toolu_vrtx_made_up", "name": "read_file", "input": {}}
    given = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", '{"path": "README', '.md"}')]
    written = messages([texts(text), (call, given)], "tool_use")
    return [one.replace(b'"msg_made_up"', b'"msg_vrtx_made_up"') for one in written]


# --- Responses --------------------------------------------------------------------------------------------------------


def responses(text: str) -> list[bytes]:
    """A thought that nobody may read before the message; each delta is filled to a length that tells nothing."""
    head = {"id": "resp_made_up", "object": "response", "created_at": START, "model": "made-up", "error": None}
    begun = {**head, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    thought = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "aGlkZGVu"}
    message = {"id": "msg_1", "type": "message", "role": "assistant"}
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": text}
    whole = {**message, "status": "completed", "content": [part]}
    at = {"item_id": "msg_1", "output_index": 1, "content_index": 0}
    usage = {"input_tokens": 210, "output_tokens": 48, "total_tokens": 258}
    fill = "abcdefghijklmnop"
    deltas = [
        {
            "type": "response.output_text.delta",
            **at,
            "delta": piece,
            "logprobs": [],
            "obfuscation": fill[: 16 - len(piece)],
        }
        for piece in cut_up(text)
    ]
    opened = {**message, "status": "in_progress", "content": []}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": thought},
        {"type": "response.output_item.done", "output_index": 0, "item": thought},
        {"type": "response.output_item.added", "output_index": 1, "item": opened},
        {"type": "response.content_part.added", **at, "part": {**part, "text": ""}},
        *deltas,
        {"type": "response.output_text.done", **at, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **at, "part": part},
        {"type": "response.output_item.done", "output_index": 1, "item": whole},
        {
            "type": "response.completed",
            "response": {**begun, "status": "completed", "output": [thought, whole], "usage": usage},
        },
    ]
    return named({**event, "sequence_number": number} for number, event in enumerate(events))


def heartbeats(text: str) -> list[bytes]:
    """Events of a type that no reference names, while the model thinks and in the middle of a message."""
    events = response_events(text)
    beat = {"type": "keepalive"}
    mixed = [*events[:2], beat, *events[2:6], beat, *events[6:]]
    return named({**event, "sequence_number": number} for number, event in enumerate(mixed))


# --- Gemini -----------------------------------------------------------------------------------------------------------


def signed(text: str) -> list[bytes]:
    """Thoughts are parts that say so, and the signature comes with an empty text, behind everything else."""
    replies = [generated([{"text": "**Looking**\n\n", "thought": True}])]
    replies += [generated([{"text": piece}]) for piece in cut_up(text, 32)]
    replies.append(generated([{"text": "", "thoughtSignature": "c2lnbmVk"}], "STOP"))
    return [data(one, b"\r\n\r\n") for one in replies]


def enveloped(text: str) -> list[bytes]:
    """Code Assist puts each reply into another object."""
    replies = [generated([{"text": piece}]) for piece in cut_up(text, 32)] + [generated([{"text": ""}], "STOP")]
    return [data({"response": one, "traceId": "made-up"}) for one in replies]


def array(text: str) -> list[bytes]:
    """Without `alt=sse` the replies are one JSON array, which grows."""
    replies = [generated([{"text": piece}]) for piece in cut_up(text, 40)] + [generated([{"text": ""}], "STOP")]
    written = [json.dumps(one, indent=2).encode() for one in replies]
    return [b"[" + written[0], *(b"\n,\r\n" + one for one in written[1:]), b"\n]\n"]


def malformed(text: str) -> list[bytes]:
    """The API could not read the call that the model wrote, and tells of it in a sentence, without any content."""
    told = f"Malformed function call: {text}"
    return [data(generated(None, "MALFORMED_FUNCTION_CALL", finishMessage=told), b"\r\n\r\n")]


ASKED = {
    "contents": [{"role": "user", "parts": [{"text": QUESTION}]}],
    "tools": [
        {
            "functionDeclarations": [
                {"name": "read_file", "parameters": {"type": "OBJECT", "properties": {"path": {"type": "STRING"}}}}
            ]
        }
    ],
}


# --- Ollama -----------------------------------------------------------------------------------------------------------


def ollama(text: str) -> list[bytes]:
    """Thoughts in a field of their own, times with nine digits, counts and nanoseconds in the last line."""
    thoughts = [{"content": "", "thinking": piece} for piece in ("I need ", "the file.")]
    return lines([*thoughts, *({"content": piece} for piece in cut_up(text))])


def recording_of(quirk: Quirk) -> Recording:
    """What is asked and answered for a quirk."""
    return Recording(
        quirk.api,
        quirk.reply(quirk.text),
        path=quirk.path,
        streamed=quirk.streamed,
        kind=quirk.kind,
        fails=quirk.fails,
        body=quirk.body,
    )


_VERTEX = "/v1/projects/made-up/locations/made-up-1"
_CHAT, _ANTHROPIC, _GEMINI = (
    "/chat/completions",
    "/v1/messages",
    "/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
)

QUIRKS = {
    "deepseek-reasoning": Quirk("openai_chat", _CHAT, deepseek, SAID + DSML),
    "openrouter-comments": Quirk("openai_chat", f"/api/v1{_CHAT}", openrouter, SAID + INVOKE),
    "mistral-parts": Quirk(
        "openai_chat", f"/v1{_CHAT}", mistral, 'I look.[TOOL_CALLS]read_file[ARGS]{"path": "src/app.py"}'
    ),
    "groq-x-groq": Quirk(
        "openai_chat", f"/openai/v1{_CHAT}", groq, SAID + '<function=read_file>{"path": "src/app.py"}</function>'
    ),
    "vllm-usage-alone": Quirk("openai_chat", f"/v1{_CHAT}", vllm, SAID + QWEN),
    "llama-cpp-timings": Quirk("openai_chat", f"/v1{_CHAT}", llama_cpp, f"{SAID}<tool_call>\n{JSON}\n</tool_call>"),
    "lm-studio-v0": Quirk(
        "openai_chat",
        f"/api/v0{_CHAT}",
        lm_studio,
        f"{SAID}<tool_call>\n{JSON}\n</tool_call>",
        "application/json",
        streamed=False,
    ),
    "azure-filters": Quirk(
        "openai_chat", f"/openai/deployments/made-up{_CHAT}?api-version=2024-10-21", azure, SAID + INVOKE
    ),
    "thinking-before-a-call": Quirk("anthropic", _ANTHROPIC, thinking, f"{SAID}count\n{INVOKE}"),
    "stops-for-a-missing-tool": Quirk("anthropic", _ANTHROPIC, stops_for_a_tool, SAID + INVOKE),
    "text-in-five-places": Quirk(
        "openai_responses", "/v1/responses", responses, f"{SAID}{INVOKE}\n\nThen we know more."
    ),
    "gemini-signature": Quirk("gemini", _GEMINI, signed, SAID + INVOKE),
    "gemini-malformed-call": Quirk("gemini", _GEMINI, malformed, 'print(default_api.read_file(path="src/app.py"))'),
    "gemini-array": Quirk(
        "gemini", _GEMINI.removesuffix("?alt=sse"), array, SAID + INVOKE, "application/json; charset=UTF-8", body=ASKED
    ),
    "cloudcode-envelope": Quirk(
        "gemini",
        "/v1internal:streamGenerateContent?alt=sse",
        enveloped,
        SAID + INVOKE,
        body={"model": "made-up", "project": "made-up", "request": ASKED},
    ),
    "ollama-thinking": Quirk("ollama", "/api/chat", ollama, SAID + QWEN, "application/x-ndjson"),
    "choice-ends-twice": Quirk("openai_chat", f"/api/v1{_CHAT}", ends_twice, SAID + INVOKE),
    "deepseek-keep-alive": Quirk("openai_chat", _CHAT, kept_alive, SAID + DSML),
    "deepseek-empty-lines": Quirk("openai_chat", _CHAT, empty_lines, SAID + DSML, "application/json", streamed=False),
    "kimi-usage-in-the-choice": Quirk("openai_chat", f"/v1{_CHAT}", usage_in_the_choice, SAID + KIMI),
    "longcat-no-space": Quirk("openai_chat", f"/openai/v1{_CHAT}", without_a_space, SAID + LONGCAT),
    "minimax-empty-role": Quirk("openai_chat", f"/v1{_CHAT}", empty_words, SAID + INVOKE),
    "minimax-repeats-the-message": Quirk("openai_chat", f"/v1{_CHAT}", repeats_the_message, SAID + INVOKE),
    "copilot-two-choices": Quirk("openai_chat", _CHAT, two_choices, SAID + INVOKE, "application/json", streamed=False),
    "openrouter-error-in-the-stream": Quirk(
        "openai_chat", f"/api/v1{_CHAT}", error_in_the_stream, SAID + INVOKE, fails=True
    ),
    "gateway-input-at-once": Quirk("anthropic", _ANTHROPIC, input_at_once, SAID + INVOKE),
    "gateway-crlf-and-done": Quirk("anthropic", _ANTHROPIC, crlf_and_done, SAID + INVOKE),
    "azure-v1-nulls": Quirk("openai_chat", f"/openai/v1{_CHAT}?api-version=preview", azure_v1, SAID + INVOKE),
    "copilot-filter-offsets": Quirk("openai_chat", _CHAT, copilot_offsets, SAID + INVOKE),
    "vertex-openapi-signature": Quirk(
        "openai_chat", f"{_VERTEX}/endpoints/openapi{_CHAT}", vertex_signature, SAID + INVOKE
    ),
    "vertex-claude": Quirk(
        "anthropic", f"{_VERTEX}/publishers/anthropic/models/made-up:streamRawPredict", vertex_claude, SAID + INVOKE
    ),
    "cloudflare-workers-ai": Quirk(
        "openai_chat",
        f"/v1/made-up/gateway/compat{_CHAT}",
        workers_ai,
        f"{SAID}<tool_call>\n{JSON}\n</tool_call>",
        "application/json",
        streamed=False,
    ),
    "openai-keepalive-event": Quirk("openai_responses", "/v1/responses", heartbeats, SAID + INVOKE),
}
