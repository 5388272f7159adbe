"""What servers and gateways do otherwise than their API's reference says: replies for the recordings named after it.

Each function gives the pieces of a reply that says `text`, in the shape in which that server was seen to send it; the
content is made up. Tests use the same functions with a text that holds no call, which must leave byte for byte.

Over 300 lines: a table, whose rows are replies.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

START = 1_760_000_000
QUESTION = "Why does greet() print nothing? It is in src/app.py."

INVOKE = '<invoke name="read_file">\n<parameter name="path">src/app.py</parameter>\n</invoke>'
DSML = (
    '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="read_file">\n<｜DSML｜parameter name="path" string="true">src/app.py'
)
DSML += "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>"
QWEN = "<tool_call>\n<function=read_file>\n<parameter=path>\nsrc/app.py\n</parameter>\n</function>\n</tool_call>"
JSON = '{"name": "read_file", "arguments": {"path": "src/app.py"}}'
SAID = "I'll look at the file.\n\n"


@dataclass(frozen=True)
class Quirk:
    """A reply that is odd.

    api      whose form it has; its SDK asks for it, where `body` does not say what is asked by hand
    path     where it is asked for
    reply    the pieces of a reply that says a text
    text     what the recorded one says
    kind     its content type
    """

    api: str
    path: str
    reply: Callable[[str], list[bytes]]
    text: str
    kind: str = "text/event-stream"
    streamed: bool = True
    body: Mapping[str, Any] | None = None


def cut_up(text: str, size: int = 9) -> list[str]:
    """A text, about as a tokenizer would cut it."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def data(payload: Mapping[str, Any], end: bytes = b"\n\n") -> bytes:
    """One event without a name."""
    return b"data: " + json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode() + end


def named(events: Iterable[Mapping[str, Any]]) -> list[bytes]:
    """Events that have their type as their name."""
    return [b"event: " + event["type"].encode() + b"\n" + data(event) for event in events]


# --- Chat Completions -------------------------------------------------------------------------------------------------

DONE = b"data: [DONE]\n\n"
USAGE = {"prompt_tokens": 210, "completion_tokens": 48, "total_tokens": 258}


def chat(delta: Mapping[str, Any] | None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """A chunk; `more` are further fields beside `choices`. Without a delta it has no choice."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": START, "model": "made-up"}
    return {**head, "choices": choices, **more}


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


# --- Messages ---------------------------------------------------------------------------------------------------------


def messages(blocks: Iterable[tuple[Mapping[str, Any], list[Mapping[str, Any]]]], stop: str) -> list[bytes]:
    """A reply with these blocks, each with its deltas, and a ping behind the first start and in every block."""
    usage = {"input_tokens": 210, "cache_read_input_tokens": 0, "output_tokens": 1, "service_tier": "standard"}
    message = {"id": "msg_made_up", "type": "message", "role": "assistant", "model": "made-up", "content": []}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}}
    ]
    for index, (block, deltas) in enumerate(blocks):
        events += [{"type": "content_block_start", "index": index, "content_block": block}, {"type": "ping"}]
        for number, delta in enumerate(deltas):
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
            events += [{"type": "ping"}] if number == 6 else []
        events.append({"type": "content_block_stop", "index": index})
    told = {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 48}}
    return named([*events, {"type": "message_delta", **told}, {"type": "message_stop"}])


def _texts(text: str) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in cut_up(text)]


def thinking(text: str) -> list[bytes]:
    """Thoughts with a signature and thoughts that nobody may read, both before the text."""
    thought: list[Mapping[str, Any]] = [
        {"type": "thinking_delta", "thinking": f"I could write {INVOKE}"},
        {"type": "signature_delta", "signature": "c2lnbmVk"},
    ]
    hidden = {"type": "redacted_thinking", "data": "aGlkZGVu"}
    begun = {"type": "thinking", "thinking": "", "signature": ""}
    return messages([(begun, thought), (hidden, []), _texts(text)], "end_turn")


def stops_for_a_tool(text: str) -> list[bytes]:
    """The reply stops to have a tool called, and holds none."""
    return messages([_texts(text)], "tool_use")


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


# --- Gemini -----------------------------------------------------------------------------------------------------------

COUNTS = {"promptTokenCount": 210, "candidatesTokenCount": 48, "totalTokenCount": 258, "thoughtsTokenCount": 9}


def generated(parts: list[Mapping[str, Any]] | None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """One reply of a stream; `more` are further fields of its candidate."""
    candidate: dict[str, Any] = {} if parts is None else {"content": {"parts": parts, "role": "model"}}
    candidate |= {"finishReason": finish} if finish else {}
    usage = {"usageMetadata": COUNTS, "modelVersion": "made-up", "responseId": "made_up"}
    return {"candidates": [{**candidate, "index": 0, **more}], **usage}


def signed(text: str) -> list[bytes]:
    """Thoughts are parts that say so, and the signature comes with an empty text, behind everything else."""
    replies = [generated([{"text": "**Looking**\n\n", "thought": True}])]
    replies += [generated([{"text": piece}]) for piece in cut_up(text, 30)]
    replies.append(generated([{"text": "", "thoughtSignature": "c2lnbmVk"}], "STOP"))
    return [data(one, b"\r\n\r\n") for one in replies]


def enveloped(text: str) -> list[bytes]:
    """Code Assist puts each reply into another object."""
    replies = [generated([{"text": piece}]) for piece in cut_up(text, 30)] + [generated([{"text": ""}], "STOP")]
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
    lines = [{"content": "", "thinking": piece} for piece in ("I need ", "the file.")]
    lines += [{"content": piece} for piece in cut_up(text)]
    made = [
        {
            "model": "made-up",
            "created_at": f"2025-10-09T08:53:20.{number:09}Z",
            "message": {"role": "assistant", **line},
            "done": False,
        }
        for number, line in enumerate([*lines, {"content": ""}])
    ]
    counts = {"total_duration": 812000000, "load_duration": 21000000, "prompt_eval_count": 210, "eval_count": 48}
    made[-1] |= {"done": True, "done_reason": "stop", **counts}
    return [json.dumps(one, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for one in made]


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
}
