"""Which agent asked, and in which of its sessions: labels for people, from headers and body.

Nothing is decided by these. Most agents send a header with the id of their session; some put it into the body. An agent
that sends neither is grouped by how its conversation begins. Many send their SDK's User-Agent only, and are named so.
"""

from collections.abc import Callable
from hashlib import blake2b

from toolcalls.insight.conversation import RequestSummary
from toolcalls.insight.exchange_record import ExchangeRecord
from toolcalls.insight.redaction import redacted_text
from toolcalls.requests.client_memory import SESSION_HEADERS

_LENGTH = 80  # characters of a label or an id

# A piece of a User-Agent or of X-Title, in lower case, and who sends it.
_AGENTS = {
    "claude-cli": "Claude Code",
    "codex": "Codex",
    "geminicli": "Gemini CLI",
    "kilo": "Kilo Code",
    "opencode": "opencode",
    "roocode": "Roo Code",
    "roo code": "Roo Code",
    "cline": "Cline",
    "qwencode": "Qwen Code",
    "kimi-code": "Kimi Code",
    "mistral-vibe": "Mistral Vibe",
    "aider": "Aider",
    "zed/": "Zed",
}


def agent_of(record: ExchangeRecord) -> str:
    """The agent's name; the library's where the agent does not say who it is; "" for nothing."""
    return agent_named(record.header)


def agent_named(header: Callable[[str], str]) -> str:
    """`agent_of`, by a function that gives the value of a request header, "" for none."""
    for name in ("user-agent", "x-title", "originator"):
        said = header(name).lower()
        for piece, agent in _AGENTS.items():
            if piece in said:
                return agent
    if header("agent-session-id"):
        return "Goose"
    if header("x-initiator"):
        return "Copilot CLI"
    product = header("user-agent").partition(" ")[0]
    return redacted_text(product)[:_LENGTH]


def session_of(record: ExchangeRecord, request: RequestSummary) -> str:
    """The id of the session, the same for all of its exchanges; it begins with `~` where the agent sent none."""
    for header in SESSION_HEADERS:
        if value := record.header(header):
            return redacted_text(value)[:_LENGTH]
    if request.session:
        return request.session
    first = next((message.digest for message in request.messages if message.role == "user"), "")
    begins = f"{record.host}\0{agent_of(record)}\0{first or record.id}"
    return "~" + blake2b(begins.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()
