"""What each agent needs so that its requests come through the addon: the one table of it.

The table of docs/agents.md is made from it (`make tables`). An agent is recognised by its program, or by its package
where npx, uvx and the like run it. A program that is not in the table goes through the forward proxy.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath


@dataclass(frozen=True, slots=True)
class Trial:
    """How an agent was tried: the real program ran a call that stood as text in a scripted model's reply.

    versions    of the agent
    month       when, as people write it
    run         by which ways `toolcalls run` pointed it at the proxy; () for none
    by_hand     by which ways a proxy was used that was started by hand; () for none
    but         what else is to be said, "" for nothing
    """

    versions: str
    month: str = "November 2026"
    run: tuple[str, ...] = ()
    by_hand: tuple[str, ...] = ()
    but: str = ""


BOTH = ("reverse", "forward")


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent.

    name        as people call it
    programs    what its command is called
    packages    on npm or PyPI
    base_urls   the variables that hold a base URL, the most specific first; () where only its own files do
    suffix      what its base URL ends in, where it has none yet
    arguments   words after its program that set the base URL; `{url}` stands for it
    settings    where its base URL stands if not in a variable
    page        its page in docs/agents, "" for none
    wires       the APIs that it speaks, as people know them
    trial       how it was tried; None: not at all
    """

    name: str
    programs: tuple[str, ...]
    packages: tuple[str, ...] = ()
    base_urls: tuple[str, ...] = ()
    suffix: str = ""
    arguments: tuple[str, ...] = ()
    settings: str = ""
    page: str = ""
    wires: str = ""
    trial: Trial | None = None


AGENTS = (
    Agent(
        "Claude Code",
        ("claude",),
        ("@anthropic-ai/claude-code",),
        ("ANTHROPIC_BASE_URL", "ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL"),
        page="claude-code",
        wires="Anthropic",
        trial=Trial("2.1.330, 2.1.197", run=BOTH, by_hand=BOTH),
    ),
    Agent(
        "Codex",
        ("codex",),
        ("@openai/codex",),
        ("OPENAI_BASE_URL",),
        "/v1",
        arguments=("-c", 'openai_base_url="{url}"'),
        settings="openai_base_url, or base_url of a provider, in ~/.codex/config.toml",
        page="codex",
        wires="Responses, over WebSocket and SSE",
        trial=Trial("0.169.0", run=BOTH, by_hand=BOTH),
    ),
    Agent(
        "opencode",
        ("opencode",),
        ("opencode-ai",),
        settings="provider.NAME.options.baseURL in opencode.json",
        page="opencode",
        wires="mostly Chat Completions",
        trial=Trial("1.18.33", run=("forward",), by_hand=BOTH),
    ),
    Agent(
        "Gemini CLI",
        ("gemini",),
        ("@google/gemini-cli",),
        ("GOOGLE_GEMINI_BASE_URL",),
        page="gemini-cli",
        wires="Gemini",
        trial=Trial("0.61.0", run=BOTH, by_hand=BOTH),
    ),
    Agent(
        "Qwen Code",
        ("qwen",),
        ("@qwen-code/qwen-code",),
        ("OPENAI_BASE_URL",),
        "/v1",
        page="qwen-code",
        wires="Chat Completions",
        trial=Trial("0.15.10", run=BOTH, by_hand=BOTH),
    ),
    Agent(
        "Kilo Code",
        ("kilo", "kilocode"),
        ("@kilocode/cli",),
        settings="provider.NAME.options.baseURL in kilo.json",
        page="opencode",
        wires="as opencode",
        trial=Trial("7.7.7", run=("forward",), by_hand=BOTH),
    ),
    Agent(
        "goose",
        ("goose",),
        (),
        ("OPENAI_HOST", "ANTHROPIC_HOST", "OLLAMA_HOST"),
        page="goose",
        wires="Chat Completions (tried), Anthropic",
        trial=Trial("1.52.0", by_hand=("reverse",), but="damaged native calls only"),
    ),
    Agent(
        "Cline",
        ("cline",),
        ("cline",),
        settings="what `cline auth -b URL` wrote",
        page="cline",
        wires="Chat Completions",
        trial=Trial("3.0.65, 2.18.0", run=("forward",), by_hand=BOTH, but="`toolcalls run` with 3.0.65"),
    ),
    Agent(
        "Continue",
        ("cn",),
        ("@continuedev/cli",),
        settings="apiBase in ~/.continue/config.yaml",
        page="continue",
        wires="Chat Completions",
        trial=Trial("1.5.47", run=("forward",), by_hand=BOTH),
    ),
    Agent(
        "GitHub Copilot CLI",
        ("copilot",),
        ("@github/copilot",),
        ("COPILOT_PROVIDER_BASE_URL",),
        "/v1",
        page="copilot-cli",
        wires="Chat Completions, Responses (also WebSocket), Anthropic",
        trial=Trial("1.0.102", run=BOTH, by_hand=BOTH),
    ),
    Agent(
        "pi",
        ("pi",),
        ("@mariozechner/pi-coding-agent",),
        settings="baseUrl in ~/.pi/agent/models.json",
        page="pi",
        wires="Chat Completions (tried), Responses, Anthropic",
        trial=Trial("0.73.1", run=("forward",), by_hand=BOTH),
    ),
    Agent(
        "aider",
        ("aider",),
        ("aider-chat",),
        ("OPENAI_API_BASE",),
        "/v1",
        page="aider",
        wires="Chat Completions without tools",
        trial=Trial("0.86.2", run=BOTH, by_hand=BOTH, but="its requests and edits pass; it calls no tools"),
    ),
    Agent(
        "OpenHands",
        ("openhands",),
        ("openhands",),
        ("LLM_BASE_URL",),
        "/v1",
        page="openhands",
        wires="Chat Completions, whole replies",
        trial=Trial("1.16.0", run=BOTH, by_hand=BOTH),
    ),
    Agent("gptme", ("gptme",), ("gptme",), ("OPENAI_BASE_URL",), "/v1", trial=Trial("0.35.1", run=BOTH)),
    Agent(
        "Mistral Vibe",
        ("vibe",),
        ("mistral-vibe",),
        settings="api_base of a provider in ~/.vibe/config.toml",
        trial=Trial("3.0.2", run=("forward",)),
    ),
    Agent(
        "Kimi Code",
        ("kimi",),
        ("@moonshot-ai/kimi-code", "kimi-cli"),
        ("KIMI_MODEL_BASE_URL",),
        "/v1",
        settings="base_url of a provider in its config",
        page="kimi-code",
        wires="Chat Completions",
        trial=Trial("2.1.0", run=BOTH, by_hand=BOTH),
    ),
    Agent("crush", ("crush",), ("@charmland/crush",), settings="providers.NAME.base_url in crush.json"),
)

# Any program: the variables that SDKs read.
OTHER = Agent(
    "this program", (), (), ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "OPENAI_API_BASE", "GOOGLE_GEMINI_BASE_URL")
)
SUFFIXES = {"OPENAI_BASE_URL": "/v1", "OPENAI_API_BASE": "/v1"}  # of OTHER, whose variables are those of several APIs

_RUNNERS = frozenset({"npx", "bunx", "pnpx", "pnpm", "yarn", "npm", "uvx", "uv", "pipx", "node", "python", "python3"})
_LOOKED_AT = 8  # words of a runner's command


def agent_in(command: Sequence[str]) -> tuple[Agent, int]:
    """The agent that a command starts, and which of its words names it."""
    for place, name in _named(command):
        for agent in AGENTS:
            if name in agent.programs or name in agent.packages:
                return agent, place
    return OTHER, 0


def _named(command: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The words of a command that may name an agent, with their places."""
    program = _program(command[0])
    yield 0, program
    if program not in _RUNNERS:
        return
    for place, word in enumerate(command[1:_LOOKED_AT], 1):
        if not word.startswith("-"):
            version = word.rfind("@")  # after a package; a scope begins with one
            yield place, word[:version] if version > 0 else word
            yield place, _program(word)


def _program(word: str) -> str:
    """The name of a program that was typed with its folder or its ending."""
    return PurePath(word.replace("\\", "/")).name.removesuffix(".exe").removesuffix(".cmd")
