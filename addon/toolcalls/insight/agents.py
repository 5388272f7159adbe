"""Which agent asked, and in which of its sessions: labels for people, from headers and body.

Nothing is decided by these. Most agents send a header with the id of their session; some put it into the body. An agent
that sends neither is grouped by how its conversation begins. Many send their SDK's User-Agent only, and are named so.
"""

from hashlib import blake2b

from toolcalls.insight.conversation import Asked
from toolcalls.insight.exchange_record import Seen
from toolcalls.insight.redaction import redacted_text

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
_SESSION_HEADERS = (
    *("x-claude-code-session-id", "session-id", "x-session-id", "agent-session-id", "session_id"),
    *("x-session-affinity", "thread-id"),
)


def agent_of(seen: Seen) -> str:
    """The agent's name; the library's where the agent does not say who it is; "" for nothing."""
    for header in ("user-agent", "x-title", "originator"):
        said = seen.header(header).lower()
        for piece, name in _AGENTS.items():
            if piece in said:
                return name
    if seen.header("agent-session-id"):
        return "Goose"
    if seen.header("x-initiator"):
        return "Copilot CLI"
    product = seen.header("user-agent").partition(" ")[0]
    return redacted_text(product)[:_LENGTH]


def session_of(seen: Seen, asked: Asked) -> str:
    """The id of the session, the same for all of its exchanges; it begins with `~` where the agent sent none."""
    for header in _SESSION_HEADERS:
        if value := seen.header(header):
            return redacted_text(value)[:_LENGTH]
    if asked.session:
        return asked.session
    first = next((message.digest for message in asked.messages if message.role == "user"), "")
    begins = f"{seen.host}\0{agent_of(seen)}\0{first or seen.id}"
    return "~" + blake2b(begins.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()
