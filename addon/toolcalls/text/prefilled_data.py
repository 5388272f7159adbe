"""Whether a prefill has begun an answer in JSON or in an element, which the reply goes on with."""

import re

# A bracket of JSON, or what separates two of its values.
_BRACKET = re.compile(r"""(?:[\[{]\s*)+\Z|["\]}]\s*[:,]\s*\Z""")
_TAG = re.compile(r"(?:<([^<>/\s][^<>]*)>|\[([^\[\]]+)\])\s*\Z")
# Names of marks that open calls. A prefill that ends with one asks for a call.
_OF_CALLS = re.compile(r"tool|call|func|invoke|action|plugin|python", re.IGNORECASE)


def begins_data(prefill: str) -> bool:
    """Whether a text that goes on after `prefill` is inside JSON, or in an element that is not around a call."""
    bracket = _BRACKET.search(prefill)
    before = prefill[: bracket.start()] if bracket is not None else prefill
    tag = _TAG.search(before)
    if tag is not None:
        return _OF_CALLS.search(tag[1] or tag[2]) is None and (bracket is not None or tag[1] is not None)
    return bracket is not None and not (bracket[0][0] in "[{" and before[-1:].isalnum())
