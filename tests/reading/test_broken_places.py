"""Where text stops being a call: line and column in the reply, and the last characters that were understood.

Strategy: calls that break at a known character, with lines in front of them, in pieces of any size; and the same place
in the log line, without what is secret.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.readings import read, verdicts
from support.strategies import STANDARD, TOOLS, cut, law
from toolcalls.events import Break
from toolcalls.insight.descriptions import describe_break
from toolcalls.insight.report import verdict_data
from toolcalls.mending.defects import checked
from toolcalls.mitm.log_line import causes
from toolcalls.values.toolbox import Toolbox

HERMES = '<tool_call>\n{"name": "Bash", "arguments": {"command": "ls", "n": '
INVOKE = '<invoke name="Bash">\n<parameter name="command">ls\n-l'
BROKEN = {
    "an argument": (HERMES, "x7}}\n</tool_call>", "bad_arguments"),
    "a name that is none": ('<tool_call>\n{"name": 7}', "\n</tool_call>", "not_a_call"),
    "no closer": (INVOKE, "", "unclosed"),
}
LINES = ["", "So.\n", "One.\n\nTwo\r\n", "é\n" * 40, "a word\n" * 3000]


@law
@given(st.data(), st.sampled_from(sorted(BROKEN)), st.sampled_from(LINES))
def test_the_place_is_the_character_that_was_not_understood(data: st.DataObject, kind: str, before: str) -> None:
    good, bad, reason = BROKEN[kind]
    text = f"{before}{good}{bad}"
    for pieces in ([text], data.draw(cut(text))):
        (verdict,) = verdicts(read(STANDARD, pieces))
        at = len(before) + len(good)
        line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        assert verdict.reason == reason
        has_left = verdict.index is not None
        assert verdict.broke == Break(line, column, "" if has_left else good[-128:])
        if has_left:
            told = checked(verdict, '{"command": "ls', Toolbox(TOOLS))
            assert told.broke == Break(line, column, '{"command": "ls')


def test_a_call_that_is_whole_has_none() -> None:
    (verdict,) = verdicts(read(STANDARD, [f"{INVOKE}</parameter>\n</invoke>"]))
    assert (verdict.status, verdict.broke) == ("lifted", None)


@pytest.mark.parametrize("secret", ["", "sk-ant-api03-" + "A1b2" * 6])
def test_people_are_told(secret: str) -> None:
    (verdict,) = verdicts(
        read(STANDARD, [f'Hm.\n<tool_call>\n{{"name": "Bash", "arguments": {{"k": "{secret}", x7: 1}}}}'])
    )
    data = verdict_data(verdict)
    told = describe_break(data)
    assert told.startswith("line 3, column ")
    assert secret[8:] not in told or not secret
    (line,) = causes({"verdicts": [data], "notes": [], "kind": "lift", "client": "native"})
    assert told[:20] in line
