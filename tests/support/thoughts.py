"""Texts that reason, with a call in the reasoning or after it: a table that tests and `make reliability` read.

A new way to write reasoning needs a line in `texts`, no test of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolcalls.route import PolicyName
from toolcalls.text.quoting_marks import REASONING_CLOSERS, REASONING_TAGS

POLICIES: tuple[PolicyName, ...] = ("standard", "strict", "lenient")
NAMES = [tag[1:-1] for tag in REASONING_TAGS if tag.startswith("<") and not {":", "|"} & set(tag)]
# Marks that a dialect takes out of the text, where nothing says that they are in reasoning.
FRAMED = frozenset(
    {
        *("<|START_THINKING|>", "<|END_THINKING|>", "<|open|>think<|sep|>", "<|close|>think<|sep|>", "<channel|>"),
        *("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
    }
)
PARAMETERS = {"type": "object", "properties": {"idea": {"type": "string"}, "depth": {"type": "integer"}}}
# What makes no call inside the tags that a declared tool is named after. {call} is one of another tool.
THOUGHTS = {
    "nothing": "",
    "white space": "\n\n",
    "words": "\nShall I?\n{call}\nNo.\n",
    "words behind a parameter": "\n<idea>a</idea>\nShall I?\n{call}\n",
    "words before a parameter": "Maybe <idea>a</idea>\n{call}\n",
    "a call behind a parameter": "<idea>a</idea>\n{call}\n",
    "a parameter that never closes": "<idea>\n{call}\n",
    "a parameter of no tool": "<plan>a</plan>\n{call}\n",
    "JSON": '{{"idea": "a"}}',
}


@dataclass(frozen=True)
class Reasoned:
    """A text with {call} in the place of a call.

    made      whether that call is made; no other one ever is
    policies  for which this holds
    tool      a declared tool of this name, with PARAMETERS, beside those that are called; "" for none
    route     members of the route, which say that replies start in reasoning, for instance
    framed    a dialect takes its mark out of the text, though no call is made
    """

    text: str
    made: bool = False
    policies: tuple[PolicyName, ...] = POLICIES
    tool: str = ""
    route: Mapping[str, Any] = field(default_factory=dict)
    framed: bool = False


def texts() -> dict[str, Reasoned]:
    """Every text by its title."""
    found: dict[str, Reasoned] = {}
    for opener, closer in REASONING_TAGS.items():
        if opener in FRAMED:
            continue
        found |= {
            f"{opener} around words": Reasoned(f"{opener}\nShall I?\n{{call}}\nNo.\n{closer}\nDone."),
            f"{opener} around a call": Reasoned(f"{opener}\n{{call}}\n{closer}"),
            f"{opener} that never closes": Reasoned(f"{opener}\n{{call}}", policies=("standard", "strict")),
            f"{opener} before a call": Reasoned(f"{opener}\nShall I?\n{closer}\n\n{{call}}", made=True),
        }
    for name in NAMES:
        for title, thought in THOUGHTS.items():
            inside = thought.replace("{{", "{").replace("}}", "}")
            found[f"a tool named {name}, {title}"] = Reasoned(f"<{name}>{inside}</{name}>\nDone.", tool=name)
        found[f"a tool named {name}, before a call"] = Reasoned(f"<{name}>\n</{name}>\n{{call}}", made=True, tool=name)
    opened: Mapping[str, Any] = {"starts_in_reasoning": True}
    for closer in REASONING_CLOSERS:
        found |= {
            f"{closer} that the route expects": Reasoned(
                f"Shall I?\n{{call}}\nNo.\n{closer}\nDone.", route=opened, framed=closer in FRAMED
            ),
            f"{closer} before a call": Reasoned(f"Shall I?\n{closer}\n\n{{call}}", made=True, route=opened),
        }
        if closer not in FRAMED:
            text = f"Shall I?\n{{call}}\n{closer}\nDone."
            found[f"{closer} that nothing opened"] = Reasoned(text, policies=("strict",))
    # `lenient` takes a whole call in reasoning that never closes: the model forgot to stop thinking.
    never = Reasoned("Shall I?\n{call}", policies=("standard", "strict"), route=opened)
    found["no closer where the route expects one"] = never
    return found
