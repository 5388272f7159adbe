"""Whether a request tells its server what the reply's text must look like, in the members that servers add to an API.

Servers that speak another one's API take such members beside those of the API itself: vLLM `guided_*` and
`structured_outputs`, SGLang `json_schema`, `regex` and `ebnf`, llama.cpp `json_schema` and `grammar`, TGI `grammar`,
Ollama `format`, NVIDIA's NIM and Dynamo the first ones under `nvext`. Each server passes over those that it does not
know, so all are looked for everywhere.
"""

from collections.abc import Mapping
from typing import Any

# `structural_tag` is not among them: it says how marked calls are written, and leaves other text free.
_ASKING = frozenset(
    {"guided_json", "guided_regex", "guided_choice", "guided_grammar", "json_schema", "regex", "ebnf", "grammar"}
)
_FORMAT = "format"  # "json", or a schema
# Those that hold such members, some by shorter names.
_SHORT = frozenset({"json", "json_object", "regex", "choice", "grammar"})
_WITHIN: dict[str, frozenset[str]] = {
    "structured_outputs": _SHORT,
    "guided_decoding": _SHORT,
    "nvext": frozenset(),
    "extra_body": frozenset(),
}
MEMBERS = (*sorted(_ASKING), _FORMAT, *_WITHIN)


def is_constrained(fields: Mapping[str, Any]) -> bool:
    """Whether a member other than the API's own asks for text of a certain form."""
    if any(_asks(fields.get(key)) for key in _ASKING):
        return True
    form = fields.get(_FORMAT)
    if isinstance(form, dict) or form == "json":
        return True
    for key, names in _WITHIN.items():
        held = fields.get(key)
        if isinstance(held, dict) and (any(_asks(held.get(name)) for name in names) or is_constrained(held)):
            return True
    return False


def _asks(value: object) -> bool:
    """Whether a member is set. An empty schema allows any JSON; an empty text or list asks for nothing."""
    return isinstance(value, dict) or bool(value)
