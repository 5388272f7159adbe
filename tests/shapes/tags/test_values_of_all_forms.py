"""What a value between tags may hold, and what may be between two of them, in every form of tags.

Strategy: calls are put together from each dialect's own tags (`support.taggedcalls`), with a parameter in any order, a
value that holds these tags, an element that the tool does not declare, or a closer that is missing, wrong, too early or
not needed. Each is read whole and cut anywhere (`outcome`), with a sentence behind it that must stay. `make test-long`
takes all orders of the parameters.
"""

import json
from itertools import permutations
from random import Random

import pytest

from support.damaged import outcome
from support.sampling import SEED, a_few, some
from support.taggedcalls import KEYS, TOOLS, dialects, own_tags, tags_of
from toolcalls.shapes.tags.form import TagForm
from toolcalls.shapes.tags.pair_form import PairForm
from toolcalls.shapes.tags.tool_elements import ToolElements

THEN = "\n\nThen I wait."
PLAIN = {"path": "src/a b.ts", "content": "if a < b:\n  <p>x & y</p>", "mode": "fast"}
ORDERS = list(permutations(KEYS))


def arguments(values: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return (("Write", json.dumps(values)),)


@pytest.mark.parametrize("held", own_tags(tags_of("invoke"), "path", "mode"))
@pytest.mark.parametrize("name", dialects())
def test_a_value_may_hold_its_own_tags(name: str, held: str) -> None:
    tags = tags_of(name)
    for order in a_few(ORDERS, 1, f"{name} {held}"):
        for turn, key in enumerate(KEYS):
            other = next(one for one in order if one != key)
            values = {one: own_tags(tags, key, other)[held] if one == key else PLAIN[one] for one in order}
            read = outcome(tags.of(values) + THEN, name, tools=TOOLS, turn=turn, turns=len(KEYS))
            assert read.calls == arguments(values), (order, key)
            assert (read.text, read.repairs) == (THEN, ()), (order, key)


@pytest.mark.parametrize(("name", "place"), [(name, at) for name in dialects() for at in range(4)])
def test_what_the_tool_does_not_declare_joins_no_neighbour(name: str, place: int) -> None:
    tags = tags_of(name)
    for turn, order in enumerate(a_few(ORDERS, 3, name)):
        values = {key: PLAIN[key] for key in order}
        parts = [tags.element(key, text) for key, text in values.items()]
        parts.insert(place, tags.element("note", "- [x] a\n- [ ] <b>b</b>"))
        kept = (
            {**values}
            if tags.elements
            else dict(
                [*list(values.items())[:place], ("note", "- [x] a\n- [ ] <b>b</b>"), *list(values.items())[place:]]
            )
        )
        read = outcome(tags.call(*parts) + THEN, name, tools=TOOLS, turn=turn, turns=3)
        assert read.calls == arguments(kept), order
        assert read.text == THEN, order
        assert read.repairs == (("unknown_argument",) if tags.elements else ()), order


@pytest.mark.parametrize("name", dialects())
def test_a_closer_that_is_missing_is_named_or_there_is_no_call(name: str) -> None:
    tags, random = tags_of(name), Random(f"{SEED} {name}")
    for turn, order in enumerate(a_few(ORDERS, 3, name)):
        values, lost = {key: PLAIN[key] for key in order}, random.choice(order)
        parts = [
            tags.element(key, text).removesuffix(tags.close(key) if key == lost else "") for key, text in values.items()
        ]
        for behind in ("", THEN):
            read = outcome(tags.call(*parts) + behind, name, tools=TOOLS, turn=turn, turns=3)
            if lost == order[-1] and behind:
                assert read.calls == (), order
                continue
            assert read.calls == arguments(values), (order, lost)
            assert "unclosed_value" in read.repairs
            assert read.text == behind


@pytest.mark.parametrize("closer", ["its own name", "y", "parameter", "arg_value", "｜DSML｜parameter"])
@pytest.mark.parametrize("name", dialects(TagForm, PairForm, ToolElements))
def test_the_closer_of_another_element_in_front_of_what_comes_next(name: str, closer: str) -> None:
    tags = tags_of(name)
    for order in a_few(ORDERS, 2, f"{name} {closer}"):
        written = order[0] if closer == "its own name" else closer
        if f"</{written}>" == tags.close(order[0]).strip():
            continue
        values = {key: PLAIN[key] for key in order}
        for number in range(3):
            # Behind a tag of its own, only a closer that belongs to a parameter is one.
            if closer == "y" and "<" in values[order[number]]:
                continue
            wrong = f"</{order[number] if closer == 'its own name' else closer}>"
            if wrong == tags.close(order[number]).strip():
                continue
            parts = [tags.element(key, text) for key, text in values.items()]
            layout = tags.closer[: len(tags.closer) - len(tags.closer.lstrip())]
            parts[number] = f"{tags.open(order[number])}{values[order[number]]}{layout}{wrong}"
            if number == 2 and not tags.end:
                continue
            behind = THEN if number < 2 else ""
            read = outcome(tags.call(*parts) + behind, name, tools=TOOLS, turn=number, turns=3)
            assert read.calls == arguments(values), (order, number)
            assert (read.text, read.repairs) == (behind, ("wrong_closer",)), (order, number)


@pytest.mark.parametrize("name", dialects(TagForm, PairForm, ToolElements))
def test_a_closer_that_the_value_opened_is_the_values(name: str) -> None:
    tags = tags_of(name)
    for element in ("div", "arg_value", "content"):
        if f"</{element}>" == tags.closer.strip():
            continue
        values = PLAIN | {"path": f"<{element}>x</{element}>"}
        parts = [tags.element(key, text) for key, text in values.items()]
        parts[0] = f"{tags.open('path')}{values['path']}"
        read = outcome(tags.call(*parts) + THEN, name, tools=TOOLS)
        assert read.calls == arguments(values), element
        assert "wrong_closer" not in read.repairs, element


@pytest.mark.parametrize("name", [name for name in dialects() if tags_of(name).closes_itself])
def test_a_parameter_that_closes_itself_is_empty(name: str) -> None:
    tags = tags_of(name)
    for number, order in enumerate(some(ORDERS[:3], 3, name)):
        values = {key: PLAIN[key] for key in order} | {order[number]: ""}
        parts = [tags.element(key, text) for key, text in values.items()]
        parts[number] = f"{tags.open(order[number]).strip()[:-1]}/>"
        read = outcome(tags.call(*parts) + THEN, name, tools=TOOLS, turn=number, turns=3)
        assert (read.calls, read.text, read.repairs) == (arguments(values), THEN, ()), order


# A tag of `invoke` that is closed at once is that dialect's, which is asked first.
@pytest.mark.parametrize("name", [name for name in dialects() if name != "invoke_elements"])
def test_arguments_behind_a_closer_that_came_too_early(name: str) -> None:
    tags = tags_of(name)
    parts = [tags.element(key, text) for key, text in PLAIN.items()]
    read = outcome(f"{tags.head}{tags.end}{tags.gap}{tags.gap.join(parts)}{tags.tail}{THEN}", name, tools=TOOLS)
    assert (read.calls, read.text, read.repairs) == (arguments(PLAIN), THEN, ("duplicate_closer",))


@pytest.mark.parametrize("name", dialects(PairForm))
def test_a_value_without_its_key_is_left_out(name: str) -> None:
    tags = tags_of(name)
    value = tags.element("content", "more")
    keyless = value[value.index(">", value.index("content")) + 1 :].lstrip()
    for number in range(len(KEYS)):
        parts = [tags.element(key, text) for key, text in PLAIN.items()]
        parts.insert(number + 1, keyless)
        read = outcome(tags.call(*parts) + THEN, name, tools=TOOLS)
        assert (read.calls, read.text, read.repairs) == (arguments(PLAIN), THEN, ("left_out",)), number
