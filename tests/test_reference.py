"""The reference that is written from the code (`scripts/reference.py`): nothing is missing, and examples are good."""

import sys
from pathlib import Path

import pytest

from support.repository import REPO
from toolcalls import config
from toolcalls.dialects import all_dialects
from toolcalls.tools.run.agents import AGENTS
from toolcalls.wires import all_wires

sys.path.insert(0, str(REPO / "scripts"))
import reference

KEYS = reference.config_keys()


def test_every_key_has_an_example() -> None:
    assert {key for keys in KEYS.values() for key in keys} == set(reference.EXAMPLES)


@pytest.mark.parametrize(("place", "key"), [(place, key) for place, keys in KEYS.items() for key in keys])
def test_an_example_is_a_configuration(place: str, key: str, tmp_path: Path) -> None:
    (tmp_path / "reactors.py").write_text("def no_force_push(call): ...\n", encoding="utf-8")
    example = reference.EXAMPLES[key]
    text = {
        "The top level": example,
        "Defaults and routes": f"defaults:\n  {example}",
        "A route": f"routes:\n  - {example}",
    }[place]
    made = config.parse(text, str(tmp_path / "toolcalls.yaml"), tuple(all_dialects()), tuple(all_wires()))
    assert made != config.Config() or key == "version" or key in {"currency", "steering"}


def test_a_type_without_words_is_an_error() -> None:
    with pytest.raises(TypeError, match="no words for"):
        reference._type(bytes)


def test_a_field_without_a_sentence_is_an_error() -> None:
    assert reference._said_of_fields(reference.Match)["host"].startswith("a pattern")
    assert "nothing" not in reference._said_of_fields(reference.Match)


def test_each_agents_page_is_there() -> None:
    linked = {agent.page for agent in AGENTS if agent.page}
    there = {path.stem for path in (REPO / "docs" / "agents").glob("*.md")}
    assert linked <= there
    assert there - linked == {"cursor", "vs-code", "zed"}  # no programs that can be started behind the addon
    assert all(agent.page or agent.trial is None or agent.name in {"gptme", "Mistral Vibe"} for agent in AGENTS)


def test_each_api_is_listed() -> None:
    page = (REPO / "docs" / "apis.md").read_text(encoding="utf-8")
    assert [name for name in all_wires() if f"`{name}`" not in page] == []
