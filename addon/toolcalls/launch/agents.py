"""What each agent needs so that its requests come through the addon: the one table of it.

How each was tried is written in docs/agents.md. An agent is recognised by its program, or by its package where npx, uvx
and the like run it. A program that is not in the table is led through the forward proxy.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent.

    name        as people call it
    programs    what its command is called
    packages    on npm or PyPI
    base_urls   the variables that hold a base URL, the most specific first; () where only its own files do
    suffix      what its base URL ends in, where it has none yet
    arguments   words behind its program that set the base URL; `{url}` stands for it
    settings    where its base URL stands if not in a variable
    """

    name: str
    programs: tuple[str, ...]
    packages: tuple[str, ...] = ()
    base_urls: tuple[str, ...] = ()
    suffix: str = ""
    arguments: tuple[str, ...] = ()
    settings: str = ""


AGENTS = (
    Agent(
        "Claude Code",
        ("claude",),
        ("@anthropic-ai/claude-code",),
        ("ANTHROPIC_BASE_URL", "ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL"),
    ),
    Agent(
        "Codex",
        ("codex",),
        ("@openai/codex",),
        ("OPENAI_BASE_URL",),
        "/v1",
        arguments=("-c", 'openai_base_url="{url}"'),
        settings="openai_base_url, or base_url of a provider, in ~/.codex/config.toml",
    ),
    Agent("opencode", ("opencode",), ("opencode-ai",), settings="provider.NAME.options.baseURL in opencode.json"),
    Agent("Gemini CLI", ("gemini",), ("@google/gemini-cli",), ("GOOGLE_GEMINI_BASE_URL",)),
    Agent("Qwen Code", ("qwen",), ("@qwen-code/qwen-code",), ("OPENAI_BASE_URL",), "/v1"),
    Agent(
        "Kilo Code",
        ("kilo", "kilocode"),
        ("@kilocode/cli",),
        settings="provider.NAME.options.baseURL in kilo.json",
    ),
    Agent("goose", ("goose",), (), ("OPENAI_HOST", "ANTHROPIC_HOST", "OLLAMA_HOST")),
    Agent("Cline", ("cline",), ("cline",), settings="what `cline auth -b URL` wrote"),
    Agent("Continue", ("cn",), ("@continuedev/cli",), settings="apiBase in ~/.continue/config.yaml"),
    Agent("GitHub Copilot CLI", ("copilot",), ("@github/copilot",), ("COPILOT_PROVIDER_BASE_URL",), "/v1"),
    Agent("pi", ("pi",), ("@mariozechner/pi-coding-agent",), settings="baseUrl in ~/.pi/agent/models.json"),
    Agent("aider", ("aider",), ("aider-chat",), ("OPENAI_API_BASE",), "/v1"),
    Agent("OpenHands", ("openhands",), ("openhands",), ("LLM_BASE_URL",), "/v1"),
    Agent("gptme", ("gptme",), ("gptme",), ("OPENAI_BASE_URL",), "/v1"),
    Agent("Mistral Vibe", ("vibe",), ("mistral-vibe",), settings="api_base of a provider in ~/.vibe/config.toml"),
    Agent(
        "Kimi Code",
        ("kimi",),
        ("@moonshot-ai/kimi-code", "kimi-cli"),
        ("KIMI_MODEL_BASE_URL",),
        "/v1",
        settings="base_url of a provider in its config",
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
            version = word.rfind("@")  # behind a package; a scope begins with one
            yield place, word[:version] if version > 0 else word
            yield place, _program(word)


def _program(word: str) -> str:
    """The name of a program that was typed with its folder or its ending."""
    return PurePath(word.replace("\\", "/")).name.removesuffix(".exe").removesuffix(".cmd")
