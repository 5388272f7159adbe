"""Wrappers around calls, and their closers: no markup of theirs stays beside a call (law 8)."""

import pytest

from support.damaged import TOOLS, outcome
from toolcalls.dialects import all_dialects
from toolcalls.shapes import Call
from toolcalls.shapes.tags.entities import escape
from toolcalls.shapes.tags.form import TagForm
from toolcalls.shapes.tags.pair_form import PairForm
from toolcalls.values.toolbox import Toolbox

CALL = ("Noop", "{}")
BARE = '<invoke name="Noop">\n</invoke>'


def wrapped() -> dict[str, tuple[str, str, str]]:
    """What a dialect with a wrapper writes: up to a call, the call, and the wrapper's closer."""
    found = {}
    for name, dialect in all_dialects().items():
        if name in {"invoke_angleless", "invoke_escaped", "function_tags_stripped"}:  # they write none
            continue
        if not (isinstance(dialect, TagForm) and dialect.wrappers) and not (
            isinstance(dialect, PairForm) and dialect.wrapper
        ):
            continue
        text = dialect.write([Call(*CALL)], Toolbox(TOOLS))
        head, at = text.rfind("</"), text.find(">") + 1
        found[name] = text[:at], text[at:head], text[head:]
    before, call, closer = found["invoke"]
    return found | {"invoke_escaped": (escape(before), escape(call), escape(closer))}


WRAPPED = wrapped()


@pytest.mark.parametrize("name", WRAPPED)
def test_text_between_a_call_and_the_closer_is_all_that_is_shown(name: str) -> None:
    opener, call, closer = WRAPPED[name]
    read = outcome(f"{opener}{call}\nThen more.\n{closer}\nDone.", name)
    assert read.calls == (CALL,)
    assert read.text.split() == ["Then", "more.", "Done."]


@pytest.mark.parametrize("name", WRAPPED)
def test_a_declined_call_before_the_closer_is_all_that_is_shown(name: str) -> None:
    opener, call, closer = WRAPPED[name]
    other = call.replace("Noop", "other")
    read = outcome(f"{opener}{call.rstrip()}\n{other.strip()}\n{closer}", name)
    assert read.calls == (CALL,)
    assert read.text.strip() == other.strip()


@pytest.mark.parametrize("name", WRAPPED)
def test_a_closer_stays_where_its_opener_does(name: str) -> None:
    opener, call, closer = WRAPPED[name]
    other = f"{opener}{call.replace('Noop', 'other')}{closer}"
    assert outcome(other, name).text == other
    quoted = f"```\n{opener}{call}{closer}\n```\n{closer}"
    assert outcome(quoted, name).text == quoted


def test_the_closer_goes_once_and_not_out_of_a_quotation() -> None:
    text = f"<function_calls>\n{BARE}\nI close with `</function_calls>`:\n</function_calls>\n</function_calls>"
    assert outcome(text).text.strip() == "I close with `</function_calls>`:\n\n</function_calls>"


@pytest.mark.parametrize("call", [BARE, "<Tune>\n<n>1</n>\n</Tune>", '<tool_call>\n{"name": "Noop"}\n</tool_call>'])
@pytest.mark.parametrize("gap", ["\n", ""])
def test_a_known_wrapper_goes_with_its_calls(call: str, gap: str) -> None:
    read = outcome(f"I look.\n<toolbridge_calls>{gap}{call}\n{call}{gap}</toolbridge_calls>\nDone.")
    assert len(read.calls) == 2
    assert read.text.split() == ["I", "look.", "Done."]
    words = outcome(f"<toolbridge_calls>{gap}{call}\nwords\n</toolbridge_calls>")
    assert (len(words.calls), words.text.strip()) == (1, "words")


@pytest.mark.parametrize(
    "text",
    [
        "<toolbridge_calls>\nnothing\n</toolbridge_calls>",
        '<toolbridge_calls>\n<invoke name="other">\n</invoke>\n</toolbridge_calls>',
        f"```\n<toolbridge_calls>\n{BARE}\n</toolbridge_calls>\n```",
        "It begins with <toolbridge_calls> on a line.",
    ],
)
def test_a_wrapper_without_a_call_is_text(text: str) -> None:
    assert outcome(text).text == text


@pytest.mark.parametrize("wrapper", ["tool_calls", "function_calls", "tool_call", "tools", "tool_use", "function_call"])
@pytest.mark.parametrize("call", [BARE, "<Tune>\n<n>1</n>\n</Tune>", "<function=Noop>\n</function>"])
def test_a_wrapper_of_another_form_hides_no_call(wrapper: str, call: str) -> None:
    """No grammar that begins with the wrapper waits for what cannot come, to the end of the reply."""
    assert len(outcome(f"<{wrapper}>\n{call}\n</{wrapper}>").calls) == 1
