"""A text client's own call with a parameter in another form's tags: it stays as the model wrote it, or it is forbidden.

A client's parser may skip what it does not know, and read the rest. Written anew by what our reader makes of all of
it, the same call has a parameter more, which the agent may refuse.
"""

from itertools import product

import pytest

from support.careless import FORMS, RULES, cut, forbidden
from support.carelessclients import STEPS, got
from support.processorcases import words

FORMS_OF_TAGS = ("invoke", "invoke, attributes", "qwen3_xml", "openhands_fn", "tagged")
FOREIGN = {
    "element": "<{0}>{1}</{0}>\n",
    "attribute": '<parameter name="{}">{}</parameter>\n',
    "assigned": "<parameter={}>{}</parameter>\n",
    "assigned, lines": "<parameter={}>\n{}\n</parameter>\n",
    "escaped closer": '<parameter name="{}">{}<\\/parameter>\n',
}
KEYS = ("title", "note")  # a declared parameter, one that is not


@pytest.mark.sampled(5)
@pytest.mark.parametrize("rules", [RULES, {}], ids=["rules", "no rules"])
@pytest.mark.parametrize("foreign", FOREIGN)
@pytest.mark.parametrize("form", FORMS_OF_TAGS)
def test_a_call_with_a_parameter_in_other_tags_stays_byte_for_byte(form: str, foreign: str, rules: object) -> None:
    for key, around, step in product(KEYS, ("{}", "So:\n\n{}\nDone.\n", "{}\n{}\n"), STEPS):
        junk = FOREIGN[foreign].format(key, "now")
        text = around.replace("{}", FORMS[form].write("execute_command", [("command", "du -sh x")], junk))
        out, exchange = got(FORMS[form].dialect, cut(text, step), rules=rules)
        assert out == text, (key, around, step)
        assert not [word for word in words(exchange) if word.startswith("blocked")]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("foreign", FOREIGN)
@pytest.mark.parametrize("form", FORMS_OF_TAGS)
def test_a_forbidden_value_goes_whatever_tags_it_has(form: str, foreign: str) -> None:
    for outer, inner, step in product(("rm x", "ls"), ("rm x", "ls"), STEPS):
        text = FORMS[form].write("execute_command", [("command", outer)], FOREIGN[foreign].format("command", inner))
        for around in ("{}", "So:\n\n{}\nDone.\n", "{}\n{}\n"):
            out, _ = got(FORMS[form].dialect, cut(around.replace("{}", text), step))
            assert not forbidden(form, out), (outer, inner, around)
