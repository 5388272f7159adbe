"""A form's file: what it takes, and every mistake as one line with the file, the place and what to do."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.ownforms import ACME
from support.sampling import examples
from toolcalls.config import ConfigError
from toolcalls.dialects import all_dialects, grammar
from toolcalls.own_dialects.engines import ENGINES, built, readers, required, settings
from toolcalls.own_dialects.form_file import form_of
from toolcalls.shapes import Call
from toolcalls.values.toolbox import Toolbox


def changed(*pairs: tuple[str, str]) -> str:
    text = ACME
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return text


BAD = {
    "without a closer": (
        changed(("  closing: <|/acme|>\n", "")),
        ["acme.yaml:4: data.closing: expected what ends a call, or closed: false if nothing does; found nothing"],
    ),
    "an empty closer": (
        changed(("closing: <|/acme|>", "closing: []")),
        ["acme.yaml:5: data.closing: expected what ends a call, or closed: false if nothing does; found nothing"],
    ),
    "without what begins a call": (
        changed(("  opening: <|acme|>\n", "")),
        ['acme.yaml:4: data: expected the key "opening"; found none'],
    ),
    "a call that begins with nothing": (
        changed(("opening: <|acme|>", 'opening: " "')),
        ["acme.yaml:4: data: a call would begin with nothing; expected marks or names of elements"],
    ),
    "an example that contradicts it": (
        changed(("arguments: {path: .}", "arguments: {path: src}")),
        ['acme.yaml:9: examples[0]: expected ls {"path": "src"}; it reads ls {"path": "."}'],
    ),
    "an example that must not be read": (
        changed(("'`<|acme|>` begins a call.'", '\'<|acme|>{"name": "ls", "arguments": {}}<|/acme|>\'')),
        ["acme.yaml:11: examples[1]: expected no call; it reads ls {}"],
    ),
    "an example that is not read": (
        changed(("<|/acme|>'\n", "'\n"), ("text: '<|acme|>", "text: '<acme>")),
        ['acme.yaml:9: examples[0]: expected ls {"path": "."}; it reads no call'],
    ),
    "another text beside the calls": (
        changed(("{path: .}}]\n", "{path: .}}]\n  shown: Hm\n")),
        ['acme.yaml:9: examples[0]: expected the text "Hm" beside the calls; it shows ""'],
    ),
    "no example with calls": (
        changed(("calls: [{name: ls, arguments: {path: .}}]", "calls: []"), ('<|acme|>{"name"', '{"name"')),
        ["acme.yaml:9: examples: expected at least one with calls; found none"],
    ),
    "no examples": (
        ACME.partition("examples:")[0],
        ['acme.yaml:1: expected the key "examples"; found none'],
    ),
    "a name that is taken": (
        changed(("name: acme", "name: hermes")),
        ['acme.yaml:1: name: the name "hermes" is taken; expected another one'],
    ),
    "a name that means something": (
        changed(("name: acme", "name: native")),
        ['acme.yaml:1: name: the name "native" is taken; expected another one'],
    ),
    "a name that is no word": (
        changed(("name: acme", "name: ACME 7B")),
        ['acme.yaml:1: name: expected a word in lower case, with digits and _; found "ACME 7B"'],
    ),
    "an unknown key": (
        changed(("result:", "results:")),
        ['acme.yaml:7: unknown key "results"; did you mean "result"?'],
    ),
    "an unknown key in the data": (
        changed(("  closing:", "  closer:")),
        ['acme.yaml:5: unknown key "closer"; did you mean "closed"?'],
    ),
    "an unknown engine": (
        changed(("form: json", "form: jsn")),
        [f'acme.yaml:2: form: expected one of {", ".join(ENGINES)}; found "jsn"; did you mean "json"?'],
    ),
    "wrong types": (
        changed(("opening: <|acme|>", "opening: 7"), ("place: anywhere", "place: [x]")),
        [
            "acme.yaml:4: data.opening: expected a text or a list; found 7",
            "acme.yaml:6: data.place: expected one of anywhere, line, start, message; found a list",
        ],
    ),
    "an element with brackets": (
        changed(("form: json", "form: tags"), ("  opening: <|acme|>\n  closing: <|/acme|>\n", "  call: <acme>\n")),
        ['acme.yaml:4: data.call: expected the name of an element, without brackets; found "<acme>"'],
    ),
    "an answer without its text": (
        changed(("{text}", "{answer}")),
        ["acme.yaml:7: result: expected a text with the place {text}, once and behind a mark; found "
         '"<|acme_result|>{answer}<|/acme_result|>"'],
    ),
    "no data": (
        changed(("  opening: <|acme|>\n  closing: <|/acme|>\n  place: anywhere\n", "")),
        ["acme.yaml:3: data: expected the engine's data; found nothing"],
    ),
    "a layout with a place that nobody fills": (
        changed(
            ("form: json", "form: name_in_tag"),
            ("  opening: <|acme|>\n  closing: <|/acme|>\n", "  start: '<acme:'\n  closing: '</acme:{tool}>'\n"),
        ),
        ["acme.yaml:9: examples[0]: expected ls"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "lines"), BAD.values(), ids=BAD)
def test_a_mistake_is_a_line_with_its_place(text: str, lines: list[str]) -> None:
    with pytest.raises(ConfigError) as wrong:
        form_of(text, "acme.yaml", all_dialects())
    assert len(wrong.value.errors) == len(lines), wrong.value.errors
    for line, expected in zip(wrong.value.errors, lines, strict=True):
        assert line.startswith(expected)


def test_a_sound_file() -> None:
    form = form_of(ACME, "acme.yaml", all_dialects())
    assert form == "acme"
    assert grammar(form).write([Call("ls", '{"path": "."}')], Toolbox()).startswith("<|acme|>{")
    assert form.form.result == "<|acme_result|>{text}<|/acme_result|>"
    assert form == form_of(ACME, "elsewhere.yaml", all_dialects())
    other = form_of(changed(("result:", "# result:")), "acme.yaml", all_dialects())
    assert (form != other, form == "acme", other == "acme") == (True, True, True)


@pytest.mark.parametrize("name", ENGINES)
def test_each_engine_takes_its_fields_as_keys(name: str) -> None:
    engine = ENGINES[name]
    assert set(readers(engine)) == set(settings(engine))
    assert set(required(engine)) <= set(settings(engine))
    if not required(engine):
        assert built(engine, "acme", {}).name == "acme"


VALUES = st.recursive(
    st.one_of(st.text(max_size=12), st.booleans(), st.none(), st.integers(0, 9)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=6,
)


@given(st.data(), st.sampled_from(sorted(ENGINES)))
@examples(120)
def test_any_data_is_a_form_or_a_mistake(data: st.DataObject, form: str) -> None:
    """Whatever a file says, it is read or refused, and never ends in another error."""
    keys = data.draw(st.lists(st.sampled_from(sorted(settings(ENGINES[form]))), unique=True, max_size=6))
    said = {key: data.draw(VALUES) for key in keys}
    head = f"name: acme\nform: {form}\ndata: {json.dumps(said)}\n"
    text = f"{head}examples:{ACME.partition('examples:')[2]}"
    errors: tuple[str, ...] = ()
    try:
        form_of(text, "acme.yaml", all_dialects())
    except ConfigError as wrong:
        errors = wrong.errors
    assert all(line.startswith("acme.yaml:") for line in errors)
