"""The text of a client whose parser looks at whole messages (`processors/careless_messages.py`), block by block.

Each row is a reply in its blocks, what is shown of it, with # for each call that is taken out, the verdicts with the
places they name, and why no more is shown. It is the same however the blocks are cut.
"""

from contextlib import nullcontext

import pytest

from support.carelessly import Reading
from toolcalls.processors.access import Gate
from toolcalls.processors.careless_calls import Hidden
from toolcalls.processors.careless_messages import REMEMBERED, CarelessMessages
from toolcalls.processors.careless_words import WORD_FORMS
from toolcalls.request import Tool
from toolcalls.route import Access, AccessRule, Condition
from toolcalls.values.toolbox import Toolbox


def tool(name: str, **types: str) -> Tool:
    return Tool(name, {"type": "object", "properties": {key: {"type": kind} for key, kind in types.items()}})


BOX = Toolbox((tool("run", cmd="string"), tool("wipe"), tool("read", path="string")))
RULES = (
    AccessRule("no-rm", "block", ("run",), arguments=(Condition("cmd", "rm"),)),
    AccessRule("no-wipe", "block", ("wipe",)),
)
FAR = "a call may have begun too far before it"
GONE = "a call goes on behind a block's end"
# Of each form: a forbidden call, with its end.
WIPE = {
    "forge": "<tool><tool_name>wipe</tool_name></tool>",
    "continue_codeblock": "TOOL_NAME: wipe\n",
    "react": '{"action": "wipe"}',
}
END = {"forge": "", "continue_codeblock": "```\n", "react": ""}  # what is no more of it
LIST = {form: text.replace("wipe", "list") for form, text in WIPE.items()}


def messages(form: str, rules: tuple[AccessRule, ...] = RULES) -> CarelessMessages:
    return CarelessMessages(Gate(Access(rules), model="", agent=""), WORD_FORMS[form], BOX)


class Messages(Reading[CarelessMessages]):
    """What is noted of a call is the text of its place."""

    def __init__(self, form: str) -> None:
        super().__init__(messages(form), lambda one, text: text[one.start : one.end])

    def boundary(self) -> None:
        super().boundary()
        assert self.at == len(self.text)


def read(form: str, blocks: list[str], size: int = 0) -> Messages:
    return Messages(form).read(blocks, size)


@pytest.mark.parametrize("form", WIPE)
@pytest.mark.parametrize("size", [0, 1, 3])
def test_a_forbidden_call_goes_and_all_else_stays(form: str, size: int) -> None:
    bad, good, end = WIPE[form], LIST[form], END[form]
    one = ("wipe", "no-wipe", bad)
    # Up to its last closer, a call of Forge's goes on over the next one.
    before = "" if form == "forge" else f"{good}{end}\n"
    rows: list[tuple[list[str], str, list[tuple[str, str, str]]]] = [
        ([f"So.\n{bad}{end}Then."], f"So.\n#{end}Then.", [one]),
        ([f"So.\n{good}Then."], f"So.\n{good}Then.", []),
        ([f"So.\n{before}{bad}{end}\n{good}Then."], f"So.\n{before}#{end}\n{good}Then.", [one]),
        ([f"a\n{bad}{end}b\n{bad}{end}c\n{bad}"], f"a\n#{end}b\n#{end}c\n#", [one] * 3),
        ([bad], "#", [one]),
        ([good, good], good + good, []),
        (["So.", f"\n{bad}{end}", "Then."], f"So.\n#{end}Then.", [one]),
        ([before, f"So.\n{bad}{end}", "Then."], f"{before}So.\n#{end}Then.", [one]),
        (["", "So."], "So.", []),
    ]
    for blocks, shown, found in rows:
        came = read(form, blocks, size)
        assert (came.shown, came.found) == (shown, found), blocks
        assert came.reading.hidden == ""
        assert not came.reading.removing


SPLIT = {  # what begins a call, what goes on, and what of that is no more of it
    "forge": ("<tool><tool_name>run</tool_name><cmd>", "rm</cmd></tool> So.", " So."),
    "continue_codeblock": ("TOOL_NAME: run\nBEGIN_ARG: cmd\n", "rm\nEND_ARG\nSo.", ""),
    "react": ("Action: run\nAction Input: ", "rm\nSo.", ""),
}


@pytest.mark.parametrize("form", SPLIT)
@pytest.mark.parametrize("size", [0, 1])
def test_what_an_earlier_block_has_begun_hides_the_rest(form: str, size: int) -> None:
    begun, rest, behind = SPLIT[form]
    came = read(form, [f"So.\n{begun}", rest, "More."], size)
    assert came.shown == f"So.\n{begun}#"
    assert came.reading.hidden == GONE
    assert [(name, rule) for name, rule, _ in came.found] == [("run", "no-rm")]
    assert came.found[0][2] == rest.removesuffix(behind)
    with pytest.raises(Hidden, match=GONE):
        came.reading.feed("x")
    assert not came.reading.passes("x")
    harmless = read(form, [f"So.\n{begun}", rest.replace("rm", "ls"), "More."], size)
    assert (harmless.shown, harmless.found, harmless.reading.hidden) == (harmless.text, [], "")


def test_blocks_are_joined_with_nothing_and_with_a_line_end() -> None:
    """An opener over two blocks, and a name that is one only where a line ends between them."""
    came = read("forge", ["a <to", "ol><tool_name>wipe</tool_name></tool> b"])
    assert (came.shown, came.reading.hidden) == ("a <to#", GONE)
    came = read("continue_codeblock", ["TOOL_NAME: wipe", "d\nSo."])
    assert (came.shown, came.reading.hidden) == ("#d\nSo.", "")  # without the second block it is one
    came = read("continue_codeblock", ["```tool", "wipe\nSo."])
    assert (came.shown, came.reading.hidden) == ("```tool#", GONE)
    assert came.found == [("wipe", "no-wipe", "wipe\nSo.")]
    came = read("continue_codeblock", ["```tool", "wipe\n```\nSo."])
    assert came.found == [("wipe", "no-wipe", "wipe\n")]
    came = read("react", ['a {"action": "wi', 'pe"} b'])
    assert (came.shown, came.reading.hidden) == ('a {"action": "wi#', GONE)
    # With a line end, the second block's call comes after it, and its place is that of its text.
    came = read("continue_codeblock", ["TOOL_NAME: list", "TOOL_NAME: wipe\n```\nSo."])
    assert came.found == [("wipe", "no-wipe", "TOOL_NAME: wipe\n")]
    assert came.shown == "TOOL_NAME: list#```\nSo."


def test_what_begins_nothing_is_shown_at_once() -> None:
    for form, begun in (("forge", "<to"), ("continue_codeblock", "TOOL_"), ("react", "Acti")):
        came = Messages(form)
        came.feed("Words, and more. ")
        assert came.shown == came.text
        assert messages(form).passes("Words.")
        assert not messages(form).passes(f"Words. {begun}")
        came.feed(f"So {begun}")
        assert came.shown == "Words, and more. So "
        assert not came.reading.passes(" word")
        came.feed("- no -")
        assert came.shown == came.text
        assert came.reading.passes(" word")
        came.feed(f" {begun}")
        came.boundary()
        assert came.shown == came.text  # it is no opener, and what follows may make it one
        assert not came.reading.passes("x")


@pytest.mark.parametrize("form", WIPE)
def test_from_an_opener_on_the_block_waits_for_its_end(form: str) -> None:
    came = Messages(form)
    came.feed("So. ")
    came.feed(LIST[form])
    came.feed(" and more " * 100)
    assert came.shown == "So. "
    came.boundary()
    assert came.shown == came.text
    came.feed("Words.")  # a later block may go on with it
    assert came.shown != came.text
    came.boundary()
    assert came.shown == came.text
    assert messages(form).boundary() == []


@pytest.mark.parametrize("form", WIPE)
def test_more_calls_than_go_one_by_one_go_together(form: str) -> None:
    between = f"{END[form]}Words.\n"
    for count in (15, 16):
        came = read(form, [between.join([WIPE[form]] * count) + f"{END[form]}End."])
        assert came.shown.count("#") == count
        assert [found[2] for found in came.found] == [WIPE[form]] * count
        assert came.shown.endswith("End.") == (count == 15)
        assert ("Words." in came.shown) == (count == 15)
        assert came.reading.hidden == ""


@pytest.mark.parametrize("form", WIPE)
def test_what_cannot_be_read_is_not_shown(form: str) -> None:
    too_many = {
        "forge": "<tool>\n" * 300,
        "continue_codeblock": "TOOL_NAME: x\n" * 300,
        "react": '{"' * 300 + '{"name": 1}',
    }
    came = read(form, [f"So.\n{too_many[form]}"])
    assert came.reading.hidden == "max_candidates"
    assert (came.shown, came.found) == ("So.\n", [])


def test_what_an_earlier_block_has_shown_is_remembered_so_far() -> None:
    begun, rest, _ = SPLIT["forge"]
    for words, why in ((REMEMBERED - len(begun), GONE), (REMEMBERED - len(begun) + 1, FAR)):
        came = read("forge", [begun + "w" * words])
        assert (came.shown, came.reading.hidden) == (came.text, "")
        assert not came.reading.passes("More.")
        with pytest.raises(Hidden, match=FAR) if why == FAR else nullcontext():
            came.feed(rest)
            came.boundary()
        assert came.reading.hidden == why
        assert came.shown.removesuffix("#") == begun + "w" * words
    # What has begun nothing needs no memory.
    came = read("forge", ["w" * 2 * REMEMBERED, "w" * REMEMBERED + begun, rest])
    assert came.reading.hidden == GONE


def test_earlier_blocks_are_not_read_again_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = SPLIT["react"][0]
    monkeypatch.setattr("toolcalls.processors.careless_messages._AGAIN", 3 * len(begun) + 3)
    came = read("react", [begun, "a", "b"])
    assert (came.shown, came.reading.hidden) == (f"{begun}ab", "")
    came.feed("c")
    came.boundary()
    with pytest.raises(Hidden, match=FAR):
        came.feed("d")
    assert came.shown == f"{begun}abc"


def test_what_is_forbidden_around_what_went_goes_with_it() -> None:
    """Without the objects, what is around them is the input of a call; other removals stay their own."""
    wipe = WIPE["react"]
    inside = f"Action: run\nAction Input: {wipe} a {wipe} rm"
    came = read("react", [f"a {wipe} b\n{inside}\nObservation: {wipe} c"])
    assert came.shown == "a # b\n###\nObservation: # c"
    assert sorted(came.found) == sorted([("wipe", "no-wipe", wipe)] * 4 + [("run", "no-rm", inside)])


def test_a_call_that_ends_where_another_went_is_named_without_it() -> None:
    """The line end in the place of the object ends the input of the call before it."""
    before = "Action: wipe\nAction Input: x"
    came = read("react", [f"{before}{WIPE['react']}Observation: y"])
    assert came.shown == "##Observation: y"
    assert sorted(came.found) == sorted([("wipe", "no-wipe", WIPE["react"]), ("wipe", "no-wipe", before)])


@pytest.mark.parametrize(
    "names", [("wipe", "list"), ("list", "wipe"), ("x", "list", "wipe"), ("x", "wipe", "list"), ("wipe", "x", "list")]
)
def test_each_name_of_a_call_counts(names: tuple[str, ...]) -> None:
    call = (
        "{"
        + ", ".join(f'"{key}": "{name}"' for key, name in zip(("name", "tool", "action"), names, strict=False))
        + "}"
    )
    came = read("react", [f"a {call} b"])
    assert (came.shown, [rule for _, rule, _ in came.found]) == ("a # b", ["no-wipe"])
