"""Recordings of sound replies: every API, both directions and from one dialect to another, and dialects that leak."""

from dataclasses import replace
from functools import partial

from making.asking import TAUGHT, Recording
from making.shapes import (
    INVOKE,
    QUESTION,
    SAID,
    Native,
    chat,
    chat_call,
    chat_deltas,
    chat_reply,
    chat_whole,
    compact,
    cut_up,
    data,
    ended_lines,
    messages,
    reply,
    response_events,
    texts,
    tool_use,
)
from support.loopback import encoded

LIMITED = INVOKE.replace("\n</invoke>", '\n<parameter name="limit">20</parameter>\n</invoke>')
MENTION = f"The form that I use for a call is this one:\n\n```xml\n{LIMITED}\n```\n\nShall I go on?"
TWO = f"I'll look at both.\n\n{LIMITED}\n\n{LIMITED.replace('app', 'größe')}"
CUT = f"{SAID}{LIMITED}"[:-60]
HERMES = '<tool_call>\n{"name": "read_file", "arguments": {"path": "src/app.py"}}\n</tool_call>'
TAGGED = "<read_file>\n<path>src/app.py</path>\n</read_file>"
ECHOED = f"Here is prompt.md, which I wrote yesterday:\n\n{INVOKE}\n\nIt is what I tell the model."

GLM = (
    "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>src/app.py</arg_value>\n"
    "<arg_key>limit</arg_key>\n<arg_value>20</arg_value>\n</tool_call>"
)
MINIMAX = f"<minimax:tool_call>\n{INVOKE}\n</minimax:tool_call>"
KIMI = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>"
    '{"path": "src/app.py"}<|tool_call_end|><|tool_calls_section_end|>'
)
HARMONY = (
    "<|channel|>analysis<|message|>I need the file.<|end|><|start|>assistant<|channel|>commentary "
    'to=functions.read_file <|constrain|>json<|message|>{"path": "src/app.py"}<|call|>'
)
GEMMA = '<|tool_call>call:read_file{path:<|"|>src/app.py<|"|>,limit:20}<tool_call|>'
HY = (
    "<tool_calls>\n<tool_call>read_file<tool_sep>\n<arg_key>path</arg_key>\n<arg_value>src/app.py</arg_value>\n"
    "</tool_call>\n</tool_calls>"
)
UNCLOSED = "<tool_call>\n<function=read_file>\n<parameter=path>\nsrc/app.py\n</parameter>\n"


def said(api: str, text: str, *, streamed: bool = True) -> Recording:
    """A client with tools, and a model that writes a text."""
    return Recording(api, reply(api, text, streamed=streamed), streamed=streamed)


def lowered(api: str, *, streamed: bool = True) -> Recording:
    """A client whose prompt teaches a form, and a server that calls natively."""
    pieces = reply(api, "I'll look at the file.", [Native()], streamed=streamed)
    return Recording(api, pieces, tools=(), system=TAUGHT, streamed=streamed)


def translated(api: str, text: str = SAID + HERMES) -> Recording:
    """A client whose prompt teaches one form, and a model that writes another."""
    return Recording(api, reply(api, text), tools=(), system=TAUGHT)


def over_websocket() -> Recording:
    """Two requests on one connection, and a call as text in each reply."""
    text = f"And the tests.\n\n{HERMES.replace('src/app', 'tests/test_app')}"
    second = [compact(event) for event in response_events(text, id="resp_made_up_2")]
    return replace(said("websocket", SAID + INVOKE), turns=[second])


def completions() -> Recording:
    """OpenAI's older API, in which there is no place for calls."""
    head = {"id": "cmpl-1", "object": "text_completion", "created": 1_760_000_000, "model": "made-up"}
    choice = {"index": 0, "logprobs": None, "finish_reason": None}
    pieces = [data({**head, "choices": [{**choice, "text": piece}]}) for piece in cut_up(SAID + INVOKE)]
    end = data({**head, "choices": [{**choice, "text": "", "finish_reason": "stop"}]})
    return Recording("openai_completions", [*pieces, end, b"data: [DONE]\n\n"], tools=())


def gap() -> Recording:
    """Mistral's completion between a prompt and a suffix, asked by hand; a reply is a chat's."""
    asked = {"model": "made-up", "prompt": QUESTION, "suffix": "\n", "stream": True}
    return Recording("mistral_fim", chat_reply(INVOKE), tools=(), body=asked)


def generate() -> Recording:
    """Ollama's completion of a prompt."""
    made = [
        {"model": "made-up", "created_at": f"2025-10-09T08:53:20.{number:09}Z", "response": piece, "done": False}
        for number, piece in enumerate([*cut_up(SAID + HERMES), ""])
    ]
    return Recording("ollama_generate", ended_lines(made), tools=(), system="You are brief.")


def one_chunk(index: int) -> Recording:
    """A whole native call in one chunk, with the role again."""
    function = {"name": "read_file", "arguments": '{"path": "src/app.py"}'}
    call = {"id": "call_made_up", "index": index, "type": "function", "function": function}
    deltas = [*({"content": piece} for piece in cut_up(SAID)), {"role": "assistant", "tool_calls": [call]}]
    return Recording("openai_chat", chat_deltas(deltas, "tool_calls"))


def usage_with_every_chunk() -> Recording:
    """As vLLM sends it with `continuous_usage_stats`: the count so far, in each chunk."""
    deltas = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in cut_up(SAID + LIMITED)), {}]
    pieces = [
        data(
            chat(
                delta,
                None if delta else "stop",
                usage={"prompt_tokens": 210, "completion_tokens": count, "total_tokens": 210 + count},
            )
        )
        for count, delta in enumerate(deltas)
    ]
    return Recording("openai_chat", [*pieces, b"data: [DONE]\n\n"])


def beside_a_native_call() -> Recording:
    """Text, the call in it, and the same call natively."""
    deltas = [*({"content": piece} for piece in cut_up(SAID + INVOKE)), *chat_call(Native())]
    return Recording("openai_chat", chat_deltas(deltas, "tool_calls"))


def legacy_function_call() -> Recording:
    """The form that Chat Completions had before tools."""
    call = {"name": "read_file", "arguments": ""}
    deltas = [{"function_call": call}, *({"function_call": {"arguments": one}} for one in cut_up(Native().arguments))]
    return Recording("openai_chat", chat_deltas(deltas, "function_call"))


def two_text_blocks() -> Recording:
    """Text, a native call of the model's own, and a second text block in which a call leaked."""
    blocks = [texts("I'll look at both."), tool_use(Native()), texts(INVOKE.replace("app", "main"))]
    return Recording("anthropic", messages(blocks, "tool_use"))


def gzip_kept() -> Recording:
    """Compressed, as it may be where the client asks for it; nothing is to be changed."""
    pieces = encoded(chat_reply(SAID + LIMITED), "gzip")
    return Recording("openai_chat", pieces, tools=(), headers={"content-encoding": "gzip"})


def echo() -> Recording:
    """The user showed a file that holds a call, and the model repeats it."""
    earlier = [("user", ECHOED), ("assistant", "I see.")]
    return replace(said("openai_chat", f"Your file says:\n\n{INVOKE}\n\n{QUESTION}"), earlier=earlier)


SOUND = {
    "lifted-invoke-stream": partial(said, "openai_chat", TWO),
    "lifted-whole": lambda: Recording("openai_chat", [compact(chat_whole(SAID + LIMITED))], streamed=False),
    "lifted-over-websocket": over_websocket,
    "lifted-gemini-whole": partial(said, "gemini", SAID + INVOKE, streamed=False),
    "lifted-behind-a-native-call": two_text_blocks,
    "lifted-bedrock": partial(said, "bedrock", SAID + INVOKE),
    "lifted-bedrock-converse": partial(said, "bedrock_converse", SAID + INVOKE),
    "lifted-interactions": partial(said, "gemini_interactions", SAID + INVOKE),
    "lifted-cohere": partial(said, "cohere", SAID + INVOKE),
    "lowered-for-a-text-client": partial(lowered, "openai_chat"),
    "lowered-responses": partial(lowered, "openai_responses"),
    "lowered-over-websocket": partial(lowered, "websocket"),
    "lowered-messages": partial(lowered, "anthropic"),
    "lowered-bedrock": partial(lowered, "bedrock"),
    "lowered-bedrock-converse": partial(lowered, "bedrock_converse"),
    "lowered-gemini": partial(lowered, "gemini"),
    "lowered-interactions": partial(lowered, "gemini_interactions"),
    "lowered-cohere": partial(lowered, "cohere"),
    "lowered-ollama": partial(lowered, "ollama"),
    "roundtrip": partial(translated, "openai_chat", SAID + INVOKE),
    "roundtrip-responses": partial(translated, "openai_responses"),
    "roundtrip-messages": partial(translated, "anthropic"),
    "roundtrip-bedrock": partial(translated, "bedrock"),
    "roundtrip-bedrock-converse": partial(translated, "bedrock_converse"),
    "roundtrip-gemini": partial(translated, "gemini"),
    "roundtrip-interactions": partial(translated, "gemini_interactions"),
    "roundtrip-cohere": partial(translated, "cohere"),
    "roundtrip-ollama": partial(translated, "ollama"),
    "observed-completions": completions,
    "observed-ollama-generate": generate,
    "observed-mistral-fim": gap,
    "gzip-kept": gzip_kept,
    "stray-word": partial(said, "openai_chat", f"{SAID}court\n{LIMITED}"),
    "glm-keys-and-values": partial(said, "anthropic", SAID + GLM),
    "minimax-wrapped-invoke": partial(said, "anthropic", SAID + MINIMAX),
    "kimi-section": partial(said, "openai_chat", SAID + KIMI),
    "harmony-channels": partial(said, "openai_responses", HARMONY),
    "tags-unasked": partial(said, "openai_chat", SAID + TAGGED),
    "gemma-notation": partial(said, "ollama", SAID + GEMMA),
    "hy-with-separator": partial(said, "openai_chat", SAID + HY),
    "qwen-without-closers": partial(said, "openai_chat", SAID + UNCLOSED),
    "fenced-example": partial(said, "openai_chat", MENTION),
    "echo-of-a-message": echo,
    "beside-the-same-native-call": beside_a_native_call,
    "cut-in-a-tag": lambda: Recording("openai_chat", chat_reply(CUT)[:-3], cut="rst"),
    "native-index-minus-one": partial(one_chunk, -1),
    "legacy-function-call": legacy_function_call,
    "usage-with-every-chunk": usage_with_every_chunk,
}
