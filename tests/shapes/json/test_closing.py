"""Brackets that are missing or too many around a call's JSON, in every dialect that writes its arguments as JSON.

Strategy: each dialect writes a call. Where its argument object stands as JSON, a brace or a bracket is put after the
last brace and after the last bracket, and the last bracket of an array is left out. It must be the same call, and no
mark of the dialect may be left as text.
"""

import pytest

from support.damaged import outcome, tool
from toolcalls.dialects import all_dialects
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox

TOOLS = (tool("Bash", command="string"),)
ARGUMENTS = '{"command": "ls"}'
CALLS = (("Bash", ARGUMENTS),)


def forms() -> dict[str, str]:
    """A call as each dialect writes it that holds the arguments as JSON."""
    found = {}
    for name, dialect in all_dialects().items():
        try:
            text = dialect.write([Call("Bash", ARGUMENTS)], Toolbox(TOOLS))
        except Unwritable:
            continue
        if ARGUMENTS in text:
            found[name] = text
    return found


FORMS = forms()
# The text after the last brace begins with the bracket of the array that the call is in.
ARRAYS = [name for name, text in FORMS.items() if text[text.rindex("}") + 1 :].strip().startswith("]")]


def test_there_are_such_dialects() -> None:
    assert len(FORMS) > 40
    assert len(ARRAYS) > 8


@pytest.mark.parametrize("bracket", ["}", "]"])
@pytest.mark.parametrize("name", FORMS)
def test_one_bracket_too_many_goes_with_the_call(name: str, bracket: str) -> None:
    text = FORMS[name]
    ends = {
        text.rindex("}") + 1,
        *([text.rindex("}") + text[text.rindex("}") :].index("]") + 1] if name in ARRAYS else []),
    }
    for end in ends:
        for dialect in (name, None):
            read = outcome(text[:end] + bracket + text[end:], dialect, tools=TOOLS)
            assert (read.calls, read.text) == (CALLS, "")
            assert "surplus_bracket" in read.repairs


@pytest.mark.parametrize("name", FORMS)
def test_brackets_behind_words_are_text(name: str) -> None:
    """It does not go on to where the model closes a bracket of its own."""
    read = outcome(f"{FORMS[name]}\n(see above)]", name, tools=TOOLS)
    assert read.text.endswith("(see above)]")


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_without_its_last_bracket(name: str) -> None:
    text = FORMS[name]
    end = text.rindex("}") + text[text.rindex("}") :].index("]")
    for dialect in (name, None):
        for damaged in (text[:end] + text[end + 1 :], text[:end]):
            read = outcome(damaged, dialect, tools=TOOLS)
            assert (read.calls, read.text) == (CALLS, "")
            assert "missing_brace" in read.repairs
        assert outcome(text[:end], dialect, tools=TOOLS, finish="length").calls == ()
