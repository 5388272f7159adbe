"""How an agent is led to the proxy: the table of agents, base URLs, proxies."""

import re
import socket
import sys
from typing import Any

import pytest

from toolcalls.streams import BadInput
from toolcalls.tools.run.agents import AGENTS, OTHER, agent_in
from toolcalls.tools.run.routing import Routing, reserved_ports
from toolcalls.tools.run.routing import routed as routed_with


def routed(*given: Any) -> Routing:
    with reserved_ports() as free_port:
        command, environment, *upstream = given
        return routed_with(command, environment, free_port, *upstream)


def test_nobody_else_gets_a_port_that_is_reserved_and_a_server_may_listen_there() -> None:
    with reserved_ports() as free_port:
        ports = [free_port() for _ in range(3)]
        assert len(set(ports)) == 3
        with socket.create_server(("127.0.0.1", ports[0])), socket.create_connection(("127.0.0.1", ports[0])):
            pass
        if sys.platform == "linux":
            with socket.socket() as other, pytest.raises(OSError, match="in use"):
                other.bind(("127.0.0.1", ports[1]))


@pytest.mark.parametrize(
    ("command", "name", "place"),
    [
        (["claude", "-p", "x"], "Claude Code", 0),
        (["/usr/local/bin/codex"], "Codex", 0),
        (["C:\\npm\\gemini.cmd"], "Gemini CLI", 0),
        (["npx", "-y", "@openai/codex@0.169.0", "exec"], "Codex", 2),
        (["uvx", "--from", "aider-chat", "aider"], "aider", 2),
        (["node", "/usr/lib/node_modules/.bin/qwen"], "Qwen Code", 1),
        (["python", "agent.py", "claude"], "Claude Code", 2),
        (["./my-agent", "claude"], OTHER.name, 0),
    ],
)
def test_an_agent_is_recognised(command: list[str], name: str, place: int) -> None:
    agent, found = agent_in(command)
    assert (agent.name, found) == (name, place)


def test_each_program_has_one_row() -> None:
    programs = [program for agent in AGENTS for program in agent.programs]
    assert len(programs) == len(set(programs))
    assert all(agent.base_urls or agent.settings for agent in AGENTS), "nothing says where the base URL is"


@pytest.mark.parametrize("name", ["ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL"])
def test_claude_code_may_ask_another_cloud(name: str) -> None:
    made = routed(["claude"], {name: "http://10.0.0.1:4000/v1"})
    (mode,) = made.modes
    assert made.environment[name] == f"http://127.0.0.1:{mode.rpartition(':')[2]}/v1"
    assert "ANTHROPIC_BASE_URL" not in made.environment


def test_a_base_url_in_a_variable_is_led_through_a_reverse_proxy() -> None:
    made = routed(["claude"], {"ANTHROPIC_BASE_URL": "http://10.0.0.1:4000/gateway/", "NO_PROXY": "corp"})
    (mode,) = made.modes
    found = re.fullmatch(r"reverse:http://10\.0\.0\.1:4000@127\.0\.0\.1:(\d+)", mode)
    assert found is not None
    assert made.environment["ANTHROPIC_BASE_URL"] == f"http://127.0.0.1:{found[1]}/gateway"
    assert made.environment["NO_PROXY"] == "corp,127.0.0.1"
    assert "HTTPS_PROXY" not in made.environment
    assert made.forward is None


def test_an_upstream_gets_the_ending_that_the_agent_wants() -> None:
    ends = {"claude": "", "qwen": "/v1", "gemini": "", "aider": "/v1"}
    for program, end in ends.items():
        made = routed([program], {}, "https://models.example")
        (url,) = (value for name, value in made.environment.items() if "proxy" not in name.lower())
        assert re.fullmatch(rf"http://127\.0\.0\.1:\d+{end}", url), program
    assert routed(["qwen"], {}, "h:1/api/v9").environment["OPENAI_BASE_URL"].endswith("/api/v9")


def test_two_base_urls_have_a_port_each() -> None:
    made = routed(["goose"], {"OPENAI_HOST": "http://a:1", "OLLAMA_HOST": "b:2"})
    assert [mode.partition("@")[0] for mode in made.modes] == ["reverse:http://a:1", "reverse:http://b:2"]
    assert len({made.environment[name] for name in ("OPENAI_HOST", "OLLAMA_HOST")}) == 2


def test_codex_is_told_by_an_argument() -> None:
    made = routed(["codex", "exec", "x"], {"OPENAI_BASE_URL": "http://h:1/v1"})
    assert made.command == ("codex", "-c", f'openai_base_url="{made.environment["OPENAI_BASE_URL"]}"', "exec", "x")
    assert routed(["codex", "exec", "x"], {}).command == ("codex", "exec", "x")


def test_what_has_no_base_url_goes_by_a_forward_proxy() -> None:
    made = routed(["opencode"], {"NO_PROXY": "localhost,127.0.0.1"})
    assert made.modes == (f"regular@127.0.0.1:{made.forward}",)
    url = f"http://127.0.0.1:{made.forward}"
    assert {made.environment[name] for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")} == {url}
    assert made.environment["NO_PROXY"] == made.environment["no_proxy"] == ""


def test_a_base_url_keeps_its_password_and_its_query() -> None:
    made = routed(["qwen"], {"OPENAI_BASE_URL": "http://me:pw@h:1/v1?api-version=2"})
    (mode,) = made.modes
    port = mode.rpartition(":")[2]
    assert mode == f"reverse:http://h:1@127.0.0.1:{port}"
    assert made.environment["OPENAI_BASE_URL"] == f"http://me:pw@127.0.0.1:{port}/v1?api-version=2"


def test_a_proxy_of_the_user_stands_behind() -> None:
    (mode,) = routed(["claude"], {"HTTPS_PROXY": "http://corp:3128"}).modes
    assert mode.startswith("upstream:http://corp:3128@127.0.0.1:")
    with pytest.raises(BadInput, match="without a password") as refused:
        routed(["claude"], {"https_proxy": "http://me:secret@corp:3128"})
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("upstream", ["ftp://x", "http://", "http://x:y"])
def test_what_is_no_upstream(upstream: str) -> None:
    with pytest.raises(BadInput, match="URL"):
        routed(["claude"], {}, upstream)


def test_an_agent_that_only_its_settings_lead() -> None:
    with pytest.raises(BadInput, match=r"opencode takes its base URL from its settings only \(provider\.NAME"):
        routed(["opencode"], {}, "http://h:1")
