"""What the most careless parser of a dialect reads (`processors/careless.py`), place by place.

Each row is a reply in its blocks, what is shown of it, with # for each call that is taken out, and the verdicts. It is
the same however the blocks are cut. Then the limits: how long what is held, and what is looked at.
"""

import json
from collections.abc import Callable, Iterable

import pytest

from support.carelessgate import GATE, RULES, TOOLS, tags
from support.carelessly import Reading
from support.growth import grows_with_its_input
from toolcalls.processors.access import Gate
from toolcalls.processors.careless import PATIENCE, CarelessReading
from toolcalls.processors.careless_calls import Decided, Forbidden, Hidden, refused_objects
from toolcalls.processors.careless_tags import LONGEST, Tags, as_json, calls_in_objects
from toolcalls.processors.careless_text import LINGERS, KeptText
from toolcalls.route import Access, AccessRule, Condition
from toolcalls.values.toolbox import Toolbox

GONE = "a call goes on behind a block's end"


def arguments_of(one: Forbidden, _text: str) -> str:
    return ", ".join(f"{key}={json.loads(raw)}" for key, raw in one.arguments)


def reading_of(dialects: str) -> Reading[CarelessReading]:
    """`dialects`: with a plus between two."""
    return Reading(CarelessReading(GATE, tags(*dialects.split(" + "))), arguments_of)


def read(dialect: str, blocks: Iterable[str], size: int = 0) -> Reading[CarelessReading]:
    return reading_of(dialect).read(blocks, size)


CASES = [
    ("tagged", ["Hi. <run><cmd>rm x</cmd></run> So."], "Hi. # So.", [("run", "no-rm", "cmd=rm x")]),
    ("tagged", ["<run><cmd>ls</cmd></run> So."], "<run><cmd>ls</cmd></run> So.", []),
    ("tagged", ["<run><cmd>ls</cmd></run> </cmd> rm </cmd> So."], "<run><cmd>ls</cmd></run> </cmd> rm </cmd> So.", []),
    ("tagged", ["<run><cmd>ls</cmd><cmd>rm</cmd></run> So."], "# So.", [("run", "no-rm", "cmd=ls, cmd=rm")]),
    ("tagged", ["<run><cmd>rm</cmd><cmd>ls</cmd></run> So."], "# So.", [("run", "no-rm", "cmd=rm")]),
    ("tagged", ["<run>words <title>t</title> <!-- --> <cmd>rm</cmd></run> So."], "# So.", [("run", "no-rm", "cmd=rm")]),
    ("tagged", ["<run><cmd>rm"], "#", [("run", "no-rm", "")]),
    ("tagged", ["<run><cmd>ls"], "<run><cmd>ls", []),
    ("tagged", ["<run><cmd>ls</cmd>"], "<run><cmd>ls</cmd>", []),
    ("tagged", ["<run><args><cmd>rm</cmd></args></run> x"], "# x", [("run", "no-rm", "cmd=rm")]),
    ("tagged", ["<run><x><cmd>rm</cmd></x></run> x"], "# x", [("run", "no-rm", "cmd=rm")]),
    ("tagged", ["<run><title><cmd>rm</cmd></title></run> x"], "<run><title><cmd>rm</cmd></title></run> x", []),
    (
        "tagged",
        ["<run><cmd>ls</run><cmd>rm</cmd></run>"],
        "<run><cmd>ls</run><cmd>rm</cmd>#",
        [("run", "no-rm", "cmd=rm")],
    ),
    ("tagged", ["<run><cmd>l</run> x <run><cmd>rm x</run>"], "<run><cmd>l</run> x #", [("run", "no-rm", "")]),
    (
        "hermes + tagged",  # the object that began before it has no such value, and hides none
        ["<tool_call>w <say><note>a</note> curl</note></say> x"],
        "<tool_call>w # x",
        [("say", "no-curl", "note=a, note=a</note> curl")],
    ),
    (
        "hermes + invoke",  # an element's closer ends no object
        ['<tool_call>{"name": "say", "arguments": {"note": "</invoke>curl"}}</tool_call> x'],
        "# x",
        [("say", "no-curl", "note=</invoke>curl")],
    ),
    (
        "hermes + invoke",  # nor does an object's end an element
        ['<invoke name="say"><parameter name="note"></tool_call>curl</parameter></invoke> x'],
        "# x",
        [("say", "no-curl", "note=</tool_call>curl")],
    ),
    ("tagged", ["<wipe></wipe> a"], "# a", [("wipe", "no-wipe", "")]),
    ("tagged", ["a <wipe> b </wipe> c"], "a # c", [("wipe", "no-wipe", "")]),
    (
        "tagged",
        ["<write><path>a</path><content><path>/etc</path></content></write> a"],
        "<write><path>a</path><content><path>/etc</path></content></write> a",
        [],
    ),
    (
        "tagged",
        ["<write><path>a</path><content>x</content><path>/etc</path></content></write> a"],
        "# a",
        [("write", "no-etc", "path=a, path=/etc")],
    ),
    (
        "tagged",
        ["<write><path>/etc/x</path><content>y</content></write> a"],
        "# a",
        [("write", "no-etc", "path=/etc/x")],
    ),
    (
        "tagged",
        ["<read><path>/etc/x</path></read> b <run><cmd>ls</cmd></run> c"],
        "# b <run><cmd>ls</cmd></run> c",
        [("read", "no-etc", "path=/etc/x")],
    ),
    (
        "tagged",
        ["<run><cmd>ls</cmd></run> b <read><path>/etc/x</path></read> c"],
        "<run><cmd>ls</cmd></run> b # c",
        [("read", "no-etc", "path=/etc/x")],
    ),
    ("tagged", ["<run>", "<cmd>rm x</cmd></run> So."], "<run>#</run> So.", [("run", "no-rm", "cmd=rm x")]),
    ("tagged", ["<run><cmd>", "rm x</cmd></run> So."], "<run><cmd>#", [("run", "no-rm", "cmd=rm x")]),
    ("tagged", ["<ru", "n><cmd>rm x</cmd></run> So."], "<ru#", [("run", "no-rm", "cmd=rm x")]),
    ("tagged", ["<run><cmd>r", "m</cmd></run> So."], "<run><cmd>r#", [("run", "no-rm", "cmd=rm, cmd=r\nm")]),
    (
        "tagged",
        ["<run><cmd>ls</cmd></r", "un> a <cmd>rm</cmd></run> b"],
        "<run><cmd>ls</cmd></run> a #</run> b",
        [("run", "no-rm", "cmd=ls, cmd=rm")],
    ),
    (
        "tagged",
        ["<run><cmd>ls</cmd></run>", " a <cmd>rm</cmd></run> b"],
        "<run><cmd>ls</cmd></run> a <cmd>rm</cmd># b",
        [("run", "no-rm", "cmd=ls, cmd=rm")],
    ),
    ("tagged", ["<run><cmd>ls</cmd></run> a </cmd></run> b"], "<run><cmd>ls</cmd></run> a </cmd></run> b", []),
    ("tagged", ["a < b <i>c</i> <x"], "a < b <i>c</i> <x", []),
    ("tagged", ["<RUN><CMD>rm</CMD></RUN> x"], "# x", [("run", "no-rm", "CMD=rm")]),
    (
        "invoke",
        ['<invoke name="run"><parameter name="cmd">rm</parameter></invoke> x'],
        "# x",
        [("run", "no-rm", "cmd=rm")],
    ),
    (
        "invoke",
        ['<invoke name="run"><parameter name="cmd">ls</parameter></invoke> x'],
        '<invoke name="run"><parameter name="cmd">ls</parameter></invoke> x',
        [],
    ),
    (
        "invoke",
        ['<invoke name="run"><parameter name="title">t</parameter> a <parameter name="cmd">rm</parameter></invoke> x'],
        "# x",
        [("run", "no-rm", "cmd=rm")],
    ),
    (
        "invoke",
        [
            '<invoke name="run"><parameter name="cmd">ls</parameter></invoke> x '
            '<invoke name="read"><parameter name="path">/etc</parameter></invoke> y'
        ],
        '<invoke name="run"><parameter name="cmd">ls</parameter></invoke> x # y',
        [("read", "no-etc", "path=/etc")],
    ),
    ("invoke", ['<invoke name="wipe"></invoke> x'], "# x", [("wipe", "no-wipe", "")]),
    ("invoke", ['<invoke name="wipe" tool="run">a</invoke> x'], "# x", [("wipe", "no-wipe", "")]),
    ("qwen3_xml", ["<function=run><parameter=cmd>rm</parameter></function> x"], "# x", [("run", "no-rm", "cmd=rm")]),
    ("qwen3_xml", ["<function=run><parameter=cmd=rm</parameter></function> x"], "# x", [("run", "no-rm", "cmd=rm")]),
    (
        "qwen3_xml",
        ["<function=run><parameter=cmd>ls</parameter></function> x"],
        "<function=run><parameter=cmd>ls</parameter></function> x",
        [],
    ),
    (
        "hermes",
        ['<tool_call>{"name":"run","arguments":{"cmd":"rm"}}</tool_call> x'],
        "# x",
        [("run", "no-rm", "cmd=rm")],
    ),
    (
        "hermes",
        ['<tool_call>{"name":"run","arguments":{"cmd":"ls"}}</tool_call> x'],
        '<tool_call>{"name":"run","arguments":{"cmd":"ls"}}</tool_call> x',
        [],
    ),
    (
        "hermes",
        ['<tool_call>a {"name":"run","arguments":"{\\"cmd\\":\\"rm\\"}"} b</tool_call> x'],
        "# x",
        [("run", "no-rm", "cmd=rm")],
    ),
    (
        "hermes",
        ['<tool_call>{"name":"run","arguments":{"cmd":"ls","cmd":"rm"}}</tool_call> x'],
        "# x",
        [("run", "no-rm", "cmd=ls, cmd=rm")],
    ),
    (
        "hermes",
        [
            '<tool_call>{"name":"run","arguments":{"cmd":"ls"}}</tool_call> a '
            '{"name":"run","arguments":{"cmd":"rm"}}</tool_call> x'
        ],
        '<tool_call>{"name":"run","arguments":{"cmd":"ls"}}</tool_call> a {"name":"run","arguments":{"cmd":"rm"}}# x',
        [("run", "no-rm", "cmd=rm")],
    ),
    ("hermes", ["<tool_call> words </tool_call> x"], "<tool_call> words </tool_call> x", []),
    ("hermes", ['<tool_call>{"name":"run","arguments":{"cmd":"rm"}}'], "#", [("run", "no-rm", "cmd=rm")]),
    ("hermes", ['<tool_call>{"name":"wipe"}</tool_call> x'], "# x", [("wipe", "no-wipe", "")]),
    ("hermes", ['<tool_call>{"name":"wipe","name":"run"}</tool_call> x'], "# x", [("run", "no-wipe", "")]),
    ("hermes", ['<tool_call>{"name":"run","name":"wipe"}</tool_call> x'], "# x", [("wipe", "no-wipe", "")]),
    (
        "hermes",
        ['<tool_call>{"name":"wipe","name":"say","name":"run"}</tool_call> x'],
        "# x",
        [("run", "no-wipe", "")],
    ),
]


@pytest.mark.parametrize(("dialect", "blocks", "shown", "found"), CASES, ids=lambda one: str(one)[:60])
def test_what_is_shown_and_what_is_taken_out(
    dialect: str, blocks: list[str], shown: str, found: list[tuple[str, str, str]]
) -> None:
    for size in (0, 1, 2, 7):
        came = read(dialect, blocks, size)
        assert (came.shown, came.found) == (shown, found)
        assert came.reading.hidden == (GONE if len(blocks) > 1 and shown.endswith("#") else "")


# Of each form: how a call of `say` begins, how its `note` and `mood` do, how they end, how it ends.
FORMS = {
    "tagged": ("<say>", "<note>", "</note>", "<mood>", "</mood>", "</say>"),
    "invoke": (
        '<invoke name="say">', '<parameter name="note">', "</parameter>", '<parameter name="mood">', "</parameter>",
        "</invoke>"
    ),
    "qwen3_xml": (
        "<function=say>", "<parameter=note>", "</parameter>", "<parameter=mood>", "</parameter>", "</function>"
    ),
}  # fmt: skip
# The blocks of a reply, with | between them: {0} to {5} are what FORMS says. What is shown, and the rules that act.
READINGS = [
    ("{0}{1}x{2}{5} z", "{0}{1}x{2}{5} z", []),
    ("{0}{1}curl{2}{5} z", "# z", ["no-curl"]),
    ("{0}{1}x{5} z", "{0}{1}x{5} z", []),
    ("{0}{1}curl{5} z", "# z", ["no-curl"]),
    ("{0}{1}x{5} curl {2}{5} z", "{0}{1}x{5} curl {2}# z", ["no-curl"]),
    ("{0}{1}x{2} curl {2}{5} z", "# z", ["no-curl"]),
    ("{0}{1}x{2} words {2}{5} z", "{0}{1}x{2} words {2}{5} z", []),
    ("{0}{1}x{2}{5} curl {2}{5} z", "{0}{1}x{2}{5} curl {2}# z", ["no-curl"]),
    ("{0}{1}x{2}{5} curl {2} z", "{0}{1}x{2}{5} curl {2} z", []),
    ("{0}{0}{1}curl{2}{5}{5} z", "#{5} z", ["no-curl"]),
    ("{0}{1}x{2}{5} {0}{1}curl{2}{5} {0}{1}y{2}{5} z", "{0}{1}x{2}{5} # {0}{1}y{2}{5} z", ["no-curl"]),
    ("{0}{1}curl{2}| b", "# b", ["no-curl"]),
    ("{0} x {0}|{1}curl{2}{5}{5} b", "{0} x {0}##{5}{5} b", ["no-curl", "no-curl"]),
    ("{0}{1}x{2} | curl {2}{5} b", "{0}{1}x{2}  curl #{5} b", ["no-curl"]),
    ("a {2} {5} {1}curl{2} z", "a {2} {5} {1}curl{2} z", []),
    ("{0}{3}b{4}{1}a{2}{5} z", "# z", ["no-both"]),
    ("{0}{3}c{4}{1}a{2}{5} z", "{0}{3}c{4}{1}a{2}{5} z", []),
    ("{0}{3}b{4}{5} {1}a{2}{5} z", "{0}{3}b{4}{5} {1}a{2}# z", ["no-both"]),
    ("{0}{3}b{4}{5}{0}{1}a{2}{5} z", "{0}{3}b{4}{5}{0}{1}a{2}{5} z", []),
    ("{0}{1}x{2}{5} {0} abc {1}curl{2}{5} z", "{0}{1}x{2}{5} # z", ["no-curl"]),
    ("{0}{1}curl{2} {1}a{5} z", "# z", ["no-curl"]),
    ("{0}{1}curl{2} mid {0}{1}x{2}{5} z", "# mid {0}{1}x{2}{5} z", ["no-curl"]),
    ("{0}{1}curl{2} mid {5} z{5} y", "# z{5} y", ["no-curl"]),
    ("{0}{1}curl{2}{5} mid {1}curl{2} z", "# mid {1}curl{2} z", ["no-curl"]),
    ("{0}{1}a{1}curl{2}{2}{5} z", "# z", ["no-curl"]),
    ("{0}{1}x{2} {3}b{4} {1}a{5} z", "# z", ["no-both"]),
    # Up to its first closer, a declared text is data, whatever it holds.
    ("{0}{3}x{1}curl{2}y{4}{5} z", "{0}{3}x{1}curl{2}y{4}{5} z", []),
    ("{0}{3}{1}{3}x{4}curl{2}{5} z", "{0}{3}{1}{3}x{4}curl{2}{5} z", []),
    # Another call does not end what came before it.
    (
        "{0}{1}x{2}{5} <run><cmd>ls</cmd></run> curl {2}{5} z",
        "{0}{1}x{2}{5} <run><cmd>ls</cmd></run> curl {2}# z",
        ["no-curl"],
    ),
    ("{0}{1}x{2}{5} {0}{1}y{2}{5} curl {2}{5} z", "{0}{1}x{2}{5} {0}{1}y{2}{5} curl {2}# z", ["no-curl"]),
    # Over blocks, with nothing or a line end between them.
    ("{0}{3}b{4}|{1}a{2}{5} z", "{0}{3}b{4}#{5} z", ["no-both"]),
    ("{0}{3}b|c{4}{1}a{2}{5} z", "{0}{3}bc{4}#{5} z", ["no-both"]),
    ("{0}{1}x|{2}{5} z", "{0}{1}x{2}{5} z", []),
    ("{0}|{1}x{2}|{5} z|{1}curl{2}{5}", "{0}{1}x{2}{5} z{1}curl{2}#", ["no-curl"]),
    ("{0}{1}x{2}{5}|{0}{1}curl{2}{5}|z", "{0}{1}x{2}{5}#z", ["no-curl"]),
    # What is left of a call whose parameter was taken out is judged with all its other parameters.
    ("{0}" + "w" * PATIENCE + "{3}b{4}{1}a{2} x {1}a{2} y", "{0}" + "w" * PATIENCE + "{3}b{4}# x # y", ["no-both"] * 2),
    ("{0}" + "w" * PATIENCE + "{1}curl{2} x {1}ls{2}{5} y", "{0}" + "w" * PATIENCE + "# x {1}ls{2}{5} y", ["no-curl"]),
]


@pytest.mark.parametrize("dialect", FORMS)
@pytest.mark.parametrize(("text", "shown", "rules"), READINGS, ids=lambda one: str(one)[:60])
def test_each_reading_counts_in_every_form(text: str, shown: str, rules: list[str], dialect: str) -> None:
    words = FORMS[dialect]
    for size in (0, 1, 7):
        came = read(dialect, text.format(*words).split("|"), size)
        assert (came.shown, [rule for _, rule, _ in came.found]) == (shown.format(*words), rules)
        assert came.reading.hidden == ""


OBJECTS = {
    "before another": ("{curl}{ls} z", "#{ls} z"),
    "behind another": ("{ls}{curl} z", "{ls}# z"),
    "closed by the block's end": ("{open}| b </tool_call> z", "# b </tool_call> z"),
    "opened twice": ("<tool_call>{curl}</tool_call> z", "# z"),
    "behind a closer, without one": ("{ls} {bare} z", "{ls} {bare} z"),
}
OF_OBJECTS = {
    "bare": '{"name":"say","arguments":{"note":"curl"}}',
    "open": '<tool_call>{"name":"say","arguments":{"note":"curl"}}',
    "curl": '<tool_call>{"name":"say","arguments":{"note":"curl"}}</tool_call>',
    "ls": '<tool_call>{"name":"run","arguments":{"cmd":"ls"}}</tool_call>',
}


@pytest.mark.parametrize("title", OBJECTS)
def test_calls_in_json_are_judged_one_by_one(title: str) -> None:
    text, shown = (part.format(**OF_OBJECTS) for part in OBJECTS[title])
    for size in (0, 1, 7):
        came = read("hermes", text.split("|"), size)
        assert (came.shown, came.reading.hidden) == (shown, "")
        assert [rule for _, rule, _ in came.found] == ["no-curl"] * shown.count("#")


def test_a_call_in_json_over_two_blocks_hides_the_rest() -> None:
    came = read("hermes", ['<tool_call>{"name":"say",', '"arguments":{"note":"curl"}}</tool_call> z'])
    assert (came.shown, came.reading.hidden) == ('<tool_call>{"name":"say",#', GONE)


# --- how long ---------------------------------------------------------------------------------------------------------


def test_a_mention_is_held_so_long_and_no_longer() -> None:
    came = reading_of("tagged")
    came.feed("Use <run>")
    assert came.shown == "Use "
    came.feed("x" * (PATIENCE - len("<run>")))
    assert came.shown == "Use "
    came.feed("y")
    assert came.shown == came.text
    assert not came.reading.removing
    came.feed("<cmd>rm</cmd> a</run> b")
    assert came.shown == came.text.replace("<cmd>rm</cmd> a</run>", "#</run>").replace("#</run>", "# a</run>")


def test_a_mention_of_calls_in_json_is_held_as_long() -> None:
    for inside, held in (("x", False), ("{", True)):
        came = reading_of("hermes")
        came.feed("Use <tool_call>")
        came.feed(inside + "x" * (PATIENCE - len("<tool_call>") - 1))
        assert came.shown == "Use "
        came.feed("y")
        assert (came.shown == "Use ") == held
        came.feed('{"name":"wipe"}</tool_call> z')
        if held:
            came.boundary()  # where no text is waited for any more
        assert came.shown.endswith("# z")
        assert came.reading.hidden == ""


FAR = "Use <tool_call> " + "w " * PATIENCE  # a mention that has long been shown
WIPE = '{"name":"wipe"}'
RUN = '{"name":"run","arguments":{"cmd":"ls"}}'


@pytest.mark.parametrize(
    ("behind", "shown", "removed"),
    [
        (f"{WIPE}</tool_call> z", "# z", 1),
        (WIPE, "#", 1),
        (f"{RUN} y {WIPE}", "#", 1),  # a reader takes the one or the other
        (f"{RUN}</tool_call> z", f"{RUN}</tool_call> z", 0),
        (f"{WIPE}</tool_call> a <tool_call>{RUN}</tool_call> z", f"# a <tool_call>{RUN}</tool_call> z", 1),
        (f"{WIPE}</tool_call> a {WIPE}", "# a #", 2),
        (f"{WIPE}| a {WIPE}|z", "# a #z", 2),
    ],
)
def test_json_far_behind_its_tag_is_judged_when_it_is_whole(behind: str, shown: str, removed: int) -> None:
    for size in (0, 1, 7):
        came = read("hermes", f"{FAR}{behind}".split("|"), size)
        assert (came.shown, came.reading.hidden) == (f"{FAR}{shown}", "")
        assert [rule for _, rule, _ in came.found] == ["no-wipe"] * removed


def test_json_far_behind_its_tag_that_goes_on_in_another_block_hides_the_rest() -> None:
    came = read("hermes", [f'{FAR}{{"name":"say",', '"arguments":{"note":"curl"}}</tool_call> z'])
    assert (came.shown, came.reading.hidden) == (f'{FAR}{{"name":"say",#', GONE)


def test_what_is_allowed_by_its_arguments_alone_is_no_mention() -> None:
    """Where all is denied that no rule allows, a call without arguments does not pass, however long it is."""
    allowing = Access((AccessRule("ls", "allow", ("run",), arguments=(Condition("cmd", "ls"),)),), "deny")
    reading = CarelessReading(Gate(allowing, model="", agent=""), tags("tagged"))
    assert reading.feed("<run>" + "x" * 2 * PATIENCE) == []
    assert [type(one) for one in reading.boundary()] == [Decided, Forbidden]
    passing = CarelessReading(Gate(allowing, model="", agent=""), tags("tagged"))
    text = "<run><cmd>ls</cmd></run>"
    assert passing.feed(text) == [Decided(len(text), True)]
    denied = CarelessReading(Gate(allowing, model="", agent=""), tags("tagged"))
    assert [one.shown for one in denied.feed("<run><cmd>rm</cmd></run>") if isinstance(one, Decided)] == [False, False]


def test_a_tool_that_is_mentioned_often_is_one_call() -> None:
    came = reading_of("tagged")
    for _ in range(100):
        came.feed("<run>" + "x" * PATIENCE + "y")
    assert (came.shown, came.reading.hidden) == (came.text, "")


def test_many_openers_of_one_call_are_two_calls() -> None:
    """So that a text may open half as many calls as can be followed, each as often as it likes."""
    reading = CarelessReading(Gate(Access(RULES[2:]), model="", agent=""), tags("invoke"))
    for number in range(31):
        reading.feed(f'<invoke name="a{number}">' * 4)
    assert reading.hidden == ""


LONG = "x" * 1024
KEPT = {  # what is between two parts of a call: how it begins, how it goes on, and what is found
    "a value": ("tagged", "<say><note>", " curl</note></say>", ["no-curl"]),
    "a value that passes": ("tagged", "<say><note>", "</note></say>", []),
    "a value that nobody asks for": ("tagged", "<run><title>", "</title><cmd>rm</cmd></run>", ["no-rm"]),
    "a call in JSON": (
        "hermes", '<tool_call>{"name":"run","arguments":{"title":"', '","cmd":"rm"}}</tool_call>', ["no-rm"]
    ),
    "one that passes": ("hermes", '<tool_call>{"name":"run","arguments":{"title":"', '"}}</tool_call>', []),
}  # fmt: skip


@pytest.mark.parametrize("title", KEPT)
def test_what_is_open_is_kept_however_long_it_is(title: str) -> None:
    dialect, begin, end, rules = KEPT[title]
    came = reading_of(dialect)
    for piece in (begin, *[LONG] * (5 * LINGERS // len(LONG)), end):
        came.feed(piece)
    assert [rule for _, rule, _ in came.found] == rules
    assert (came.shown == came.text) == (not rules)


def test_what_no_reading_needs_is_not_kept() -> None:
    came = reading_of("tagged")
    came.feed("<run><cmd>ls</cmd></run> <say><note>x</note>")
    for _ in range(5 * LINGERS // len(LONG)):
        came.feed(LONG)
    kept = came.reading._kept
    assert kept.text(0, 10) is None
    assert not kept.is_large
    came.feed("</note>")  # what it would end is not known any more
    assert [name for name, _, _ in came.found] == ["say"]


def test_a_later_closer_is_read_with_what_has_just_been_closed() -> None:
    came = reading_of("tagged")
    for _ in range(3 * LINGERS // len(LONG)):
        came.feed(LONG)
    came.feed("<say><note>x</note> words")
    came.feed(LONG)
    came.feed("</note></say> z")
    assert (came.shown, came.found) == (came.text, [])


def test_a_parameter_that_no_rule_asks_for_leaves_behind_a_long_call() -> None:
    came = reading_of("tagged")
    came.feed("<run>" + "x" * PATIENCE)
    came.feed("<title>t")
    assert came.shown == came.text
    came.feed("</title><cmd>")
    assert came.shown == came.text.removesuffix("<cmd>")
    came.feed("ls</cmd>")
    assert came.shown == came.text


def test_what_follows_a_call_that_was_taken_out_goes_with_it_up_to_its_closer() -> None:
    for rest, left in (("x" * 10, 0), ("x" * PATIENCE, 0), ("x" * (PATIENCE + 1), PATIENCE + 1)):
        came = reading_of("tagged")
        came.feed("<run><cmd>rm</cmd>")
        assert came.reading.removing
        came.feed(rest)
        assert came.shown == "#" + "x" * left
        came.feed("</run> b")
        assert came.shown.endswith(" b")
        assert ("</run>" in came.shown) == bool(left)
        assert not came.reading.removing


def test_calls_that_pass_by_their_name_are_not_held() -> None:
    came = reading_of("tagged")
    came.feed("<other>a</other> <read><args>")
    assert came.shown == "<other>a</other> "
    plain = CarelessReading(Gate(Access(RULES[2:]), model="", agent=""), tags("tagged"))
    assert plain.feed("<run><cmd>rm") == [Decided(5, True), Decided(7, True)]


def test_more_calls_than_can_be_followed_hide_the_rest() -> None:
    for count, hidden in ((64, ""), (65, "max_candidates")):
        came = reading_of("tagged")
        for number in range(count):
            came.feed(f"<run><cmd>{number}</cmd>")
        assert came.reading.hidden == hidden
    with pytest.raises(Hidden, match="max_candidates"):
        came.reading.feed("x")
    assert not came.reading.passes("x")
    deep = reading_of("tagged")
    deep.feed("<run>" + "<a>" * 64)
    assert deep.reading.hidden == ""
    deep.feed("<a>")
    assert deep.reading.hidden == "max_depth"


def test_further_closers_of_a_value_are_tried_so_often_and_then_it_cannot_be_read() -> None:
    for closes, count, readable in (
        ("</cmd>", 17, True), ("</cmd>", 18, False), ("</run>", 17, True), ("</run></run>", 18, True),
    ):  # fmt: skip
        came = reading_of("tagged")
        came.feed(f"<run><cmd>ls{closes}" + "</cmd>" * count)
        assert (came.found == []) == readable
        assert came.reading.removing != readable


@pytest.mark.parametrize(("count", "readable"), [(17, True), (18, False)])
def test_further_closers_of_calls_in_json_are_tried_so_often_and_then_they_cannot_be_read(
    count: int, readable: bool
) -> None:
    came = reading_of("hermes")
    came.feed('<tool_call>{"name":"run","arguments":{"cmd":"ls"}}' + "</tool_call>" * count)
    assert (came.found == []) == readable


def test_long_behind_a_call_its_closer_takes_no_other_place() -> None:
    for gap, found in ((LINGERS - 100, True), (4 * LINGERS, False)):
        came = reading_of("tagged")
        came.feed("<run><cmd>ls</cmd></run>")
        for _ in range(gap // 1024):
            came.feed("x" * 1024)
        came.feed("<cmd>rm</cmd></run>")
        assert bool(came.found) == found
        assert (came.shown == came.text) != found


def test_how_much_text_came_before_a_call_does_not_matter_to_its_later_closers() -> None:
    """What is forgotten depends on how long ago each call, or each of its values, has ended."""
    for gap, found in ((3 * LINGERS // 4, True), (4 * LINGERS, False)):
        for rest in ("<note>curl</note></say>", "curl</note></say>"):
            came = reading_of("tagged")
            came.feed("<run><cmd>ls</cmd></run>")
            for _ in range(3 * LINGERS // 2 // len(LONG)):
                came.feed(LONG)
            came.feed("<say><note>x</note></say>")
            for _ in range(gap // len(LONG)):
                came.feed(LONG)
            came.feed(rest)
            assert bool(came.found) == found, rest


# --- the text that is kept --------------------------------------------------------------------------------------------


def test_text_is_kept_by_its_places() -> None:
    kept = KeptText()
    assert kept.text(0, 0) is None
    for piece in ("abc", "def", "ghi"):
        kept.add(piece)
    assert kept.end == 9
    assert [kept.text(start, end) for start, end in ((0, 9), (2, 4), (3, 6), (4, 4), (8, 9))] == [
        "abcdefghi", "cd", "def", "", "i",
    ]  # fmt: skip
    kept.forget(2)
    assert kept.text(0, 3) == "abc"
    kept.forget(3)
    assert kept.text(2, 4) is None
    assert kept.text(3, 5) == "de"
    kept.forget(100)
    assert kept.text(6, 9) == "ghi"
    assert kept.text(5, 9) is None
    assert kept.values(5, 9) is None


def test_a_value_over_blocks_is_read_with_and_without_a_line_end() -> None:
    kept = KeptText()
    for piece in ("ab", "cd", "ef"):
        kept.add(piece)
        kept.boundary()
        kept.boundary()
    assert kept.values(0, 2) == ["ab"]
    assert kept.values(0, 3) == ["abc", "ab\nc"]
    assert kept.values(2, 4) == ["cd"]
    assert kept.values(1, 6) == ["bcdef", "b\ncd\nef"]
    assert [kept.is_split(*places) for places in ((0, 2), (2, 4), (1, 3), (3, 5), (4, 6))] == [
        False, False, True, True, False,
    ]  # fmt: skip


def test_much_text_is_large() -> None:
    kept = KeptText()
    assert not kept.is_large
    kept.add("x" * (2 * LINGERS))
    assert not kept.is_large
    kept.add("x")
    assert kept.is_large
    kept.forget(2 * LINGERS)
    assert not kept.is_large


# --- tags -------------------------------------------------------------------------------------------------------------


def found(dialect: str, text: str) -> list[tuple[str, tuple[str, ...], str]]:
    return [(tag.kind, tag.names, text[tag.start : tag.end]) for tag in tags(dialect).found(text)]


TAGS = [
    ("tagged", "a<run>b", ("call", ("run",), "<run>")),
    ("tagged", "< RUN a='1' >", ("call", ("run",), "< RUN a='1' >")),
    ("tagged", "</ run >", ("end", ("run",), "</ run >")),
    ("tagged", "<cmd>", ("value", ("cmd",), "<cmd>")),
    ("tagged", "</cmd>", ("closer", ("cmd",), "</cmd>")),
    ("tagged", "a < b", None),
    ("tagged", "<function=run>", None),
    ("tagged", "<parameter=a=b</parameter>", None),
    ("invoke", '<invoke name="run">', ("call", ("run",), '<invoke name="run">')),
    ("invoke", "<invoke a=1 name=run>", ("call", ("run",), "<invoke a=1 name=run>")),
    ("invoke", "<x:invoke name='run'>", ("call", ("run",), "<x:invoke name='run'>")),
    ("invoke", "<invoke name='run' tool='b'>", ("call", ("run", "b"), "<invoke name='run' tool='b'>")),
    ("invoke", "<invoke>", None),
    ("invoke", "</invoke>", ("end", (), "</invoke>")),
    ("invoke", '<parameter name="a">', ("value", ("a",), '<parameter name="a">')),
    ("invoke", "</parameter>", ("closer", (), "</parameter>")),
    ("invoke", "<parameter>", None),
    ("invoke", "<cmd>", None),
    ("invoke", "<invoke data-name='a'>", ("call", ("a",), "<invoke data-name='a'>")),
    ("invoke", "<invoke filename='a'>", None),
    ("invoke", "<invoke x='>", ("call", ("run", "write", "read", "wipe", "say"), "<invoke x='>")),
    ("invoke", "<invoke name='a b\"c'>", ("call", ("a", 'a b"c'), "<invoke name='a b\"c'>")),
    ("invoke", '<parameter ="a" name=b>', ("value", ("b", 'a" name=b'), '<parameter ="a" name=b>')),
    ("qwen3_xml", "<function=run>", ("call", ("run",), "<function=run>")),
    ("qwen3_xml", '<function = "run" >', ("call", ("run",), '<function = "run" >')),
    ("qwen3_xml", "<function=run\n", ("call", ("run",), "<function=run")),
    ("qwen3_xml", "<function=bash>", ("call", ("bash", "execute_bash", "terminal"), "<function=bash>")),
    (
        "qwen3_xml",
        "<function=file_editor>",
        ("call", ("file_editor", "str_replace_editor"), "<function=file_editor>"),
    ),
    ("qwen3_xml", "</function>", ("end", (), "</function>")),
    ("qwen3_xml", "<parameter=a>", ("value", ("a",), "<parameter=a>")),
    ("qwen3_xml", "<parameter=a=b</parameter>", ("given", ("a",), "<parameter=a=b</parameter>")),
    ("qwen3_xml", "</parameter>", ("closer", (), "</parameter>")),
    ("hermes", "<tool_call>", ("objects", (), "<tool_call>")),
    ("hermes", "</TOOL_CALL>", ("objects end", (), "</TOOL_CALL>")),
    ("hermes", "<invoke name='run'>", None),
]


WIDE = [  # up to the first `>`, whatever comes before that
    ("invoke", "<invoke name='a' <b>c</b>", ("call", ("a",), "<invoke name='a' <b>")),
    ("invoke", "<x:invoke </invoke> name='a'>", ("end", (), "</invoke>")),
    ("invoke", "<invoke name=a</invoke> b>", ("call", ("a</invoke", "a<"), "<invoke name=a</invoke>")),
    ("invoke", "<parameter name='a'</parameter>>", ("value", ("a",), "<parameter name='a'</parameter>")),
    ("invoke", "<parameter-- name='a'>", ("value", ("a",), "<parameter-- name='a'>")),
    ("invoke", "<parameters name='a'>", None),
]


@pytest.mark.parametrize(("dialect", "text", "tag"), TAGS + WIDE)
def test_a_tag_is_known(dialect: str, text: str, tag: tuple[str, tuple[str, ...], str] | None) -> None:
    assert found(dialect, text) == ([] if tag is None else [tag])
    assert tags(dialect)


@pytest.mark.parametrize(("dialect", "text", "tag"), [row for row in TAGS if row[2] is not None])
def test_a_tag_of_one_dialect_is_known_beside_those_of_others(
    dialect: str, text: str, tag: tuple[str, tuple[str, ...], str]
) -> None:
    """Of one that names no tool, only where it stands: another dialect may have another name for it."""
    several = Tags((dialect, "invoke", "qwen3_xml", "tagged", "hermes"), Toolbox(TOOLS), ())
    ((kind, names, written),) = [(one.kind, one.names, text[one.start : one.end]) for one in several.found(text)]
    assert written == tag[2]
    if tag[0] in {"call", "given", "objects", "objects end"}:
        assert (kind, names[: len(tag[1])]) == (tag[0], tag[1])


@pytest.mark.parametrize(
    ("text", "begun"),
    [
        ("abc", 3), ("a<", 1), ("a<ru", 1), ("a<run ", 1), ("a</", 1), ("a< b", 1), ("a<1", 3), ("a<run>", 6),
        ("<a<b", 2), ("<ru", 0), ("</", 0),
        ("<parameter=a=b<", 0), ("<parameter=a=b</para", 0), ("x<parameter=a=b</parameter>", 27),
        ("<" + "a" * (LONGEST - 1), 0), ("<" + "a" * LONGEST, LONGEST + 1),
    ],
)  # fmt: skip
def test_a_tag_that_has_begun_is_waited_for(text: str, begun: int) -> None:
    assert tags("tagged").begun(text) == begun


def test_a_function_ends_with_its_line() -> None:
    for text, begun in (("<function=a", 0), ("<function=\n", 0), ("<function=a\n", 12), ("<function=a\nb", 13)):
        assert tags("qwen3_xml").begun(text) == begun
        assert tags("tagged").begun(text) == 0


@pytest.mark.parametrize(
    ("dialects", "begun", "waits"),
    [
        ("tagged", "<run ", True), ("tagged", "<RUN ", True), ("tagged", "</run ", True), ("tagged", "<cmd ", True),
        ("tagged", "<args ", True), ("tagged", "<command ", True), ("tagged", "<b ", False),
        ("tagged", "<invoke ", False), ("tagged", "<function=", False),
        ("invoke", "<invoke ", True), ("invoke", "<x:invoke ", True), ("invoke", "</parameter ", True),
        ("invoke", "<b ", False), ("invoke", "< invoke ", False), ("tagged", "< run ", False),
        ("qwen3_xml", "<function=", True), ("qwen3_xml", "<parameter=a=b", True),
        ("qwen3_xml", "<parameter=a=b<", True), ("qwen3_xml", "<b ", False),
        ("hermes", "<tool_call ", True), ("hermes", "</tool_call ", True), ("hermes", "<b ", False),
    ],
)  # fmt: skip
def test_a_long_tag_is_waited_for_where_its_name_counts(dialects: str, begun: str, waits: bool) -> None:
    text = begun.removesuffix("<") + "w" * LONGEST + "<" * begun.endswith("<")
    text = text if begun[-1] in " =b<" else begun + " " * LONGEST
    assert tags(dialects).begun(f"So. {text}") == 4 + len(text) * (not waits)


@pytest.mark.parametrize(
    ("text", "begun"),
    [
        ("a<invoke b <c", 1), ("a<invoke b <c>", 14), ("a<b <parameter c <d <e", 4), ("<invoke> <parameter", 9),
        ("<invoked a <b", 11), ("<invoke- <b ", 0),
    ],
)  # fmt: skip
def test_a_tag_up_to_its_first_closing_sign_is_waited_for(text: str, begun: int) -> None:
    assert tags("invoke").begun(text) == begun


@pytest.mark.parametrize(
    ("dialect", "blocks", "expected"),
    [
        ("invoke", ["<invoke name='a", "b'>"], [("call", ("ab", "a", "a\nb"), "<invoke name='ab'>")]),
        ("invoke", ["<invoke", "name='a'>"], [("call", ("a",), "<invokename='a'>")]),
        ("invoke", ["<in", "voke name='a'>"], [("call", ("a",), "<invoke name='a'>")]),
        ("tagged", ["<ru", "n>"], [("call", ("run",), "<run>"), ("value", ("ru",), "<run>")]),
        ("tagged", ["<run", ">"], [("call", ("run",), "<run>")]),
        ("tagged", ["<run>a</run", ">b"], [("call", ("run",), "<run>"), ("end", ("run",), "</run>")]),
        (
            "qwen3_xml",
            ["<function=ru", "n>"],
            [("call", ("ru",), "<function=ru"), ("call", ("run",), "<function=run>")],
        ),
        (
            "qwen3_xml",
            ["<parameter=a=b", "c</parameter>"],
            [("given", ("a",), "<parameter=a=bc</parameter>")] * 2,
        ),
        (
            "tagged",
            ["a", "b<ru", "n>c<cm", "", "d>e"],
            [("call", ("run",), "<run>"), ("value", ("ru",), "<run>"), ("value", ("cmd", "cm"), "<cmd>")],
        ),
    ],
)
def test_a_tag_over_blocks_is_one_with_a_line_end_and_without(
    dialect: str, blocks: list[str], expected: list[object]
) -> None:
    text = "".join(blocks)
    ends = [sum(map(len, blocks[:number])) for number in range(1, len(blocks))]
    apart = tags(dialect).found_apart(text, ends)
    assert [(tag.kind, tag.names, text[tag.start : tag.end]) for tag in apart] == expected


LONG_TAGS = {  # a tag that never ends, and what forbids the call when it does
    "invoke": ("<invoke id='", "' name='wipe'>"),
    "wide": ("<invoke a <b ", " name='wipe'>"),
    "function": ("<function=", "wipe>"),
    "element": ("<wipe a='", "'>"),
    "parameter": ("<run><cmd a='", "'>rm</cmd></run>"),
}
FORM = {"invoke": "invoke", "wide": "invoke", "function": "qwen3_xml", "element": "tagged", "parameter": "tagged"}


@pytest.mark.parametrize("title", LONG_TAGS)
@pytest.mark.parametrize("words", ["w ", " "])
def test_a_long_tag_is_one(title: str, words: str) -> None:
    begin, end = LONG_TAGS[title]
    if title == "function" and words.strip():
        begin, end = "<function=wipe", ">"  # its name is all of it
        words = " "
    for size in (1, 7, 1000):
        came = read(FORM[title], [f"So. {begin}{words * 2000}{end} Then."], size)
        assert len(came.found) == 1, size
        assert came.shown == "So. # Then."


@pytest.mark.parametrize("title", LONG_TAGS)
def test_a_tag_that_never_ends_is_read_once(title: str) -> None:
    begin, end = LONG_TAGS[title]

    def work(size: int) -> Callable[[], object]:
        def all_of_it() -> None:
            reading = CarelessReading(GATE, tags(FORM[title]))
            reading.feed(begin)
            for _ in range(size):
                assert reading.feed(" < w\n " if title == "wide" else "     ") == []
            assert any(isinstance(one, Forbidden) for one in reading.feed(end))

        return all_of_it

    grows_with_its_input(work, 2000)
    came = reading_of(FORM[title])
    for piece in (begin, *[" " * 500] * 5):
        came.feed(piece)
    assert came.shown == ""


def test_a_tag_inside_of_one_that_goes_on_is_found_once() -> None:
    text = "<invoke a <function=wipe\n b <c d <e f > So."
    for size in (1, 3, 100):
        # As a function, and as an attribute of the tag around it.
        assert [name for name, _, _ in read("invoke + qwen3_xml", [text], size).found] == ["wipe"] * 2
    blocks = ["<function=wi", "pe>", "So."]
    for size in (1, 3, 100):
        came = read("qwen3_xml", blocks, size)
        assert [name for name, _, _ in came.found] == ["wipe"]
        assert came.shown == "<function=wi#"


def test_a_tag_in_which_another_begins_is_one_and_the_other() -> None:
    text = "<invoke a <invoke name='a'>"
    assert found("invoke", text) == [("call", ("a",), text), ("call", ("a",), "<invoke name='a'>")]


@pytest.mark.parametrize("text", ["<invoke name='a'>", "<invoke name='a' <b></b>", "<invoke <b", "<parameter</invoke>"])
def test_the_work_on_many_tags_grows_with_them(text: str) -> None:
    known = tags("invoke")

    def work(size: int) -> Callable[[], object]:
        return lambda: [*known.found(text * size), known.begun(text * size), *known.found_apart(text * size, [1, size])]

    grows_with_its_input(work, 1000)


def test_what_a_long_tag_has_hidden_is_read_where_its_block_ends() -> None:
    came = read("invoke + qwen3_xml", [f"<invoke {'<b ' * LONGEST}", "<function=wipe\n", "So."])
    assert ("wipe", "no-wipe", "") in came.found


def test_no_careless_parser_is_known_of_some_dialects() -> None:
    assert not tags("mistral")
    assert found("mistral", "<run><invoke name='run'><function=run><tool_call>") == []
    assert Tags((), Toolbox(TOOLS), ())


@pytest.mark.parametrize(
    ("name", "key", "is_data"),
    [
        ("run", "cmd", True), ("run", "path", False), ("read", "path", True), ("read", "args", False),
        ("nobody", "cmd", False), ("write_to_file", "content", True),
    ],
)  # fmt: skip
def test_a_declared_text_is_data(name: str, key: str, is_data: bool) -> None:
    assert tags("tagged").is_data(name, key) == is_data


@pytest.mark.parametrize(
    ("value", "raw"),
    [
        (" a ", '"a"'), ("<![CDATA[a]]>", '"a"'), ("[1]", "[1]"), ('{"a": 1}', '{"a": 1}'), ("{a", '"{a"'),
        ("1", '"1"'), ("", '""'), ("a [1]", '"a [1]"'),
    ],
)  # fmt: skip
def test_a_value_is_json_or_a_text(value: str, raw: str) -> None:
    assert as_json(value) == raw


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("", []), ("{}", []), ('{"name": "a"}', [(("a",), [])]), ('{"name": 1}', [(("1",), [])]),
        ('x {"name": "a", "arguments": {"k": 1}} y', [(("a",), [("k", '"1"')])]),
        ('{"NAME": "a", "Input": {"k": "v"}}', [(("a",), [("k", '"v"')])]),
        ('{"name": "a", "tool": "b", "args": "{\\"k\\": [1]}"}', [(("a", "b"), [("k", '["1"]')])]),
        ('{"name": "a", "args": {"k": 1, "k": 2}}', [(("a",), [("k", '"1"'), ("k", '"2"')])]),
        ('{"name": "a", "args": "no"}', [(("a",), [])]), ('{"name": "a", "args": [1]}', [(("a",), [])]),
        ('{"x": {"function": "a"}}', [(("a",), [])]), ('{ {"name": "a"}', [(("a",), [])]),
        ('{"name": "a"}{"name": "b"}', [(("a",), []), (("b",), [])]), ('{"other": "a"}', []),
    ],
)  # fmt: skip
def test_calls_in_json_are_found_wherever_they_stand(text: str, calls: list[object]) -> None:
    assert list(calls_in_objects(text)) == calls


def test_objects_may_begin_far_into_a_text() -> None:
    """What counts is how much is read for them."""
    text = "x" * (1 << 16) + "{no} " * 100 + '{"name": "a"}'
    assert [names for names, _ in calls_in_objects(text)] == [("a",)]


def test_more_objects_than_are_tried_cannot_be_read() -> None:
    assert len(list(calls_in_objects('{"name": "a"}' * 1024))) == 1024
    with pytest.raises(ValueError, match="too many"):
        list(calls_in_objects('{"name": "a"}' * 1025))
    deny = Gate(Access((AccessRule("all", "block", arguments=(Condition("cmd", "^rm"),)),)), model="", agent="")
    assert [refusal.reason for _, _, refusal in refused_objects(deny, None)] == ["undecided"]
    assert [refusal.reason for _, _, refusal in refused_objects(deny, "{" * 1025)] == ["undecided"]
    vain = '{"a": [' + "1, " * 20_000
    assert [refusal.reason for _, _, refusal in refused_objects(deny, 4 * vain)] == ["undecided"]
    named = Gate(Access((AccessRule("one", "block", ("b",)),)), model="", agent="")
    assert [refusal.rule for _, _, refusal in refused_objects(named, "{" * 1025)] == ["one"]
    allowing = Gate(Access((AccessRule("one", "allow", ("b",)),)), model="", agent="")
    assert list(refused_objects(allowing, "{" * 1025)) == []
    assert list(refused_objects(deny, '{"name": "a"}')) == []
    ((name, learned, refusal),) = refused_objects(deny, '{"name": "a", "name": "b", "args": {"cmd": "rm"}}')
    assert (name, learned, refusal.rule) == ("b", [("cmd", '"rm"')], "all")


def test_the_search_for_json_behind_a_mention_is_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that a rule asks for holds the text behind the mention, however long it is."""
    looked_at: list[int] = []
    text_of = KeptText.text

    def counted(self: KeptText, start: int, end: int) -> str | None:
        looked_at.append(max(0, end - start))
        return text_of(self, start, end)

    monkeypatch.setattr(KeptText, "text", counted)
    sums = []
    for count in (500, 1000):
        looked_at.clear()
        came = reading_of("hermes + tagged")
        came.feed(FAR)
        came.feed("<run><cmd>")
        for _ in range(count):
            came.feed("long words ")
        sums.append(sum(looked_at))
    assert sums[1] < 2.5 * sums[0]
