"""Dialects of the package as files under other names, and forms that are nobody's."""

from functools import cache

from toolcalls.dialects import DAMAGED, ESCAPED, FIRST, LAST, TENTATIVE, UNLIKELY, OwnName, all_dialects, chosen
from toolcalls.own_dialects.engines import Unsayable
from toolcalls.own_dialects.form_file import form_of
from toolcalls.own_dialects.form_text import dialect_text
from toolcalls.reading.open_calls import CODE
from toolcalls.requests.opened_reasoning import OPENING_DIALECTS

# What the package knows of these beside their data: in which turn they are asked, what is read with them, open calls.
_MORE = {*DAMAGED, *ESCAPED, *FIRST, *LAST, *TENTATIVE, *UNLIKELY, *OPENING_DIALECTS, CODE}

ACME = """\
name: acme
form: json
data:
  opening: <|acme|>
  closing: <|/acme|>
  place: anywhere
result: '<|acme_result|>{text}<|/acme_result|>'
examples:
- text: '<|acme|>{"name": "ls", "arguments": {"path": "."}}<|/acme|>'
  calls: [{name: ls, arguments: {path: .}}]
- text: '`<|acme|>` begins a call.'
  calls: []
"""
CALL = '<|acme|>{"name": "ls", "arguments": {"path": "."}}<|/acme|>'


def own_name(name: str) -> str:
    return f"my_{name}"


@cache
def in_a_file(name: str) -> OwnName:
    """A dialect of the package as its file brings it."""
    return form_of(dialect_text(name, own_name(name)), f"{name}.yaml", all_dialects())


@cache
def sayable() -> tuple[str, ...]:
    """The dialects that are their engine's data and nothing else."""
    found = []
    for name in all_dialects():
        try:
            dialect_text(name, own_name(name))
        except Unsayable:
            continue
        if name not in _MORE and len(chosen((name,))) == 1:
            found.append(name)
    return tuple(found)
