"""`pytest --update-cases`, and what a failing case prints: only what comes out changes, never where a law is broken."""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from support import casehooks, caseoutcomes, caseupdates
from support.caseedits import Edit, Uneditable, edited, lines_of
from support.caseexpectations import Doubtful
from support.casefiles import CASES, Place, Said, keys_beside, load, read_file
from support.caseformat import FORMATS, Format
from support.caseoutcomes import changes
from support.repository import REPO
from support.sampling import DEEP, a_few

ORDER = ("title", "finish", "text", "shown", "calls", "verdicts", "repairs")
SOURCE = """\
# A head.
tools: {Bash: {command: string}}

cases:

# ---- one

- title: one   # a comment
  text: |-
    a
      b

    c

  # before what is shown
  shown: "x\\n"   # behind it
  calls: [{name: Bash, arguments: {"command": "ls"}}, {name: Noop}]
  verdicts:
  - lifted Bash
  - lifted Noop  # why

# ---- two
- {title: two, text: "hello", repairs: [missing_closer]}
- title: three
  text: hi
"""


def diff(line: int, **keys: Any) -> list[str]:
    """The lines that an edit takes away and adds."""
    after = edited(SOURCE, [Edit(line, keys, ORDER)])
    lines = difflib.unified_diff(SOURCE.splitlines(), after.splitlines(), n=0, lineterm="")
    return [one for one in lines if not one.startswith(("---", "+++", "@@"))]


@pytest.mark.parametrize(
    ("line", "keys", "lines"),
    [
        (8, {"shown": "let me\n"}, ['-  shown: "x\\n"   # behind it', '+  shown: "let me\\n"   # behind it']),
        (8, {"text": "q\nr"}, ["-    a", "-      b", "-", "-    c", "+    q", "+    r"]),
        (8, {"finish": "stop"}, ["+  finish: stop"]),
        (8, {"repairs": ["number"]}, ["+  repairs: [number]"]),
        (8, {"verdicts": None}, ["-  verdicts:", "-  - lifted Bash", "-  - lifted Noop  # why"]),
        (
            8,
            {"verdicts": ["lifted Bash", "declined echo Noop"]},
            ["-  - lifted Noop  # why", "+  - declined echo Noop  # why"],
        ),
        (
            8,
            {"calls": [{"name": "Noop"}]},
            ['-  calls: [{name: Bash, arguments: {"command": "ls"}}, {name: Noop}]', "+  calls: [{name: Noop}]"],
        ),
        (
            8,
            {
                "calls": [
                    {"name": "Bash", "arguments": {"command": "ls"}},
                    {"name": "Two", "arguments": {"a": [1, None]}},
                ]
            },
            [
                '-  calls: [{name: Bash, arguments: {"command": "ls"}}, {name: Noop}]',
                '+  calls: [{name: Bash, arguments: {"command": "ls"}}, {name: Two, arguments: {a: [1, null]}}]',
            ],
        ),
        (
            23,
            {"repairs": None, "shown": "a\nb"},
            [
                '-- {title: two, text: "hello", repairs: [missing_closer]}',
                '+- {title: two, text: "hello", shown: "a\\nb"}',
            ],
        ),
        (24, {"text": "yes"}, ["-  text: hi", '+  text: "yes"']),
        (24, {"text": 'a: "b" # \x00 \u2028'}, ["-  text: hi", '+  text: "a: \\"b\\" # \\0 \\L"']),
        (24, {"shown": "a\nb\n c\n"}, ["+  shown: |", "+    a", "+    b", "+     c"]),
        (24, {"calls": [{"name": "B" * 120}]}, ["+  calls:", f"+  - {{name: {'B' * 120}}}"]),
    ],
)
def test_an_edit_touches_nothing_but_its_value(line: int, keys: dict[str, Any], lines: list[str]) -> None:
    assert diff(line, **keys) == lines


ROWS = "quoted:\n- [a, 'x, {call}', late]  # why\n- [b, \"{call}\"]\n"


@pytest.mark.parametrize(
    ("line", "flag", "after"),
    [
        (2, "anywhere", ROWS.replace("late", "anywhere")),
        (2, None, ROWS.replace(", late", "")),
        (3, "late", ROWS.replace('"{call}"', '"{call}", late')),
    ],
)
def test_a_case_that_is_a_list_changes_in_one_item(line: int, flag: str | None, after: str) -> None:
    order = ("title", "text", "flag")
    assert edited(ROWS, [Edit(line, {"flag": flag}, order)]) == after
    with pytest.raises(Uneditable):
        edited(ROWS, [Edit(line, {"title": None}, order)])


def test_what_cannot_be_edited_is_refused() -> None:
    with pytest.raises(Uneditable, match="no case begins on line 9"):
        diff(9, shown="a")
    shared = SOURCE.replace("[missing_closer]", "&all [missing_closer]") + "  repairs: *all\n"
    with pytest.raises(Uneditable):
        edited(shared, [Edit(24, {"repairs": ["number"]}, ORDER)])
    with pytest.raises(Uneditable):
        edited(shared, [Edit(23, {"repairs": ["number"]}, ORDER)])


def test_the_lines_of_a_case_are_all_of_it_and_nothing_else() -> None:
    assert lines_of(SOURCE, 24) == "- title: three\n  text: hi"
    assert lines_of(SOURCE, 8).endswith("\n  - lifted Noop  # why")
    assert lines_of(SOURCE, 8).startswith("- title: one   # a comment\n")


FILES = sorted(CASES.rglob("*.yaml"))


def formats_of(kind: str) -> Mapping[str, Format]:
    return FORMATS.get(kind) or FORMATS[kind.partition("/")[0]]


def sections(kind: str) -> Iterator[tuple[str, list[Said]]]:
    """The lists of cases of a file."""
    for section in formats_of(kind):
        if cases := load(*kind.split("/"))[section]:
            yield section, cases


@pytest.mark.sampled(10)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_can_be_edited(path: Any) -> None:
    """The last case of each list: a key goes in and out again, and not a byte is different."""
    kind = path.relative_to(CASES).with_suffix("").as_posix()
    source = path.read_text(encoding="utf-8")
    for section, cases in sections(kind):
        order = (*formats_of(kind)[section].keys, "new")
        if formats_of(kind)[section].columns:
            continue
        line = cases[-1].place.line
        with_new = edited(source, [Edit(line, {"new": 'it: "so"'}, order)])
        assert with_new != source
        assert edited(with_new, [Edit(line, {"new": None}, order)]) == source


# --- what comes out ---------------------------------------------------------------------------------------------------

type Fake = Callable[[str, str], Place]

LONGCAT = """\
tools: {Bash: {command: string}, Noop: {}}

cases:

- title: a call behind text
  text: |-
    Let me look.
    <longcat_tool_call>{"name": "Bash", "arguments": {"command": "ls"}}</longcat_tool_call>
  shown: "Let me look.\\n"
  calls: [{name: Bash, arguments: {command: ls}}]
"""


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Fake:
    """Puts a text in the place of a case file, for all that updates read and write."""

    def put(kind: str, written: str) -> Place:
        file = f"tests/cases/{kind}.yaml"
        formats = FORMATS.get(kind) or FORMATS[kind.partition("/")[0]]
        read = read_file(written, file, formats, frozenset() if kind == "quoting" else frozenset({"tools"}))
        assert read.mistakes == ()
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(written, encoding="utf-8")
        monkeypatch.setattr(caseoutcomes, "load", lambda *_: read.data)
        monkeypatch.setattr(caseupdates, "REPO", tmp_path)
        (place,) = (case.place for cases in read.data.values() for case in cases if isinstance(case, Said))
        return place

    return put


def updated(place: Place) -> str:
    updates = caseupdates.Updates()
    updates.add(place)
    updates.write()
    return (caseupdates.REPO / place.file).read_text(encoding="utf-8")


def test_a_case_that_says_what_comes_out_does_not_change(fake: Fake) -> None:
    place = fake("dialects/longcat", LONGCAT)
    assert changes(place) == {}
    assert caseupdates.pasteable(place) == ""
    updates = caseupdates.Updates()
    assert updates.add(place) == {}
    assert updates.write() == []


def test_another_spelling_of_the_same_is_kept(fake: Fake) -> None:
    spelled = LONGCAT.replace("{command: ls}}]", '{"command": "ls"}}]') + "  verdicts: [lifted Bash (longcat)]\n"
    assert changes(fake("dialects/longcat", spelled + "  repairs: []\n")) == {}


@pytest.mark.parametrize(
    "stale",
    [
        LONGCAT.replace('"Let me look.\\n"', '"Look."'),
        LONGCAT.replace('  shown: "Let me look.\\n"\n', ""),
        LONGCAT.replace("{command: ls}", "{command: pwd}"),
        LONGCAT + "  repairs: [missing_closer]\n",
        LONGCAT + "  verdicts: [declined fenced Bash]\n",
        LONGCAT + "  reasoning: Hm.\n",
    ],
)
def test_a_stale_case_says_again_what_comes_out(fake: Fake, stale: str) -> None:
    place = fake("dialects/longcat", stale)
    assert caseupdates.pasteable(place) == LONGCAT[LONGCAT.index("- title") :].rstrip("\n")
    assert updated(place) == LONGCAT


@pytest.mark.parametrize(
    ("kind", "sound", "stale"),
    [
        (
            "dialects/longcat",
            "tools: {Noop: {}}\ncases:\nwritten:\n- title: a\n  calls: [{name: Noop, json: '{}'}]\n"
            '  text: \'<longcat_tool_call>{"name": "Noop", "arguments": {}}</longcat_tool_call>\'\n',
            ("text: .*", "text: x"),
        ),
        (
            "wires/openai_chat",
            "tools: {Noop: {}}\ncases:\n- title: a\n  reply: ['So.', \"\\n<invoke name='Noop'></invoke>\"]\n"
            '  text: "So.\\n"\n  calls: [{name: Noop}]\n  finish: tool_calls\n  verdicts: [lifted Noop (invoke)]\n'
            "raw: []\n",
            ("finish: tool_calls", "finish: stop"),
        ),
        (
            "wires/anthropic",
            "tools: {Noop: {}}\ncases:\n- title: a\n  reply: [\"<invoke name='Noop'></invoke>\"]\n"
            "  calls: [{name: Noop}]\n  order: c\n  stop: tool_use\n  verdicts: [lifted Noop (invoke)]\n",
            ("order: c", "order: t"),
        ),
        (
            "processors/openai_chat",
            "tools: {}\ncases:\n- title: a\n  rules: {access: {default: deny, message: No.}}\n"
            "  says: [{Bash: {command: ls}}]\n  text: No.\n  finish: stop\n  verdicts: [blocked Bash default]\n",
            ("text: No.", "text: Yes."),
        ),
        (
            "quoting",
            'quoted:\n- {title: a, text: "As in\\n```\\n{call}\\n```\\nand so on.", reason: fenced}\n'
            "followed: []\ncalls: []\n",
            ("fenced", "reasoning"),
        ),
    ],
)
def test_so_do_cases_of_every_kind(fake: Fake, kind: str, sound: str, stale: tuple[str, str]) -> None:
    assert changes(fake(kind, sound)) == {}
    assert updated(fake(kind, re.sub(*stale, sound))) == sound


# What a case says of its outcome. All other keys say what comes, and no update touches them.
OUTCOMES = {
    "dialects:cases": {"shown", "reasoning", "calls", "verdicts", "repairs"},
    "dialects:written": {"text", "refused"},
    "wires:cases": {
        *("text", "reasoning", "calls", "open", "order", "finish", "status", "reason", "stop", "signatures", "others"),
        *("verdicts", "same", "in_whole"),
    },
    "wires:raw": {"out"},
    "processors:cases": {
        *("text", "texts", "calls", "open", "order", "finish", "same", "verdicts", "notes", "whole", "gets"),
    },
    "quoting:quoted": {"reason", "anywhere"},
    "quoting:followed": set(),
    "quoting:calls": {"whole"},
    "quoting_notations:quoted": {"flag"},
    "quoting_notations:calls": set(),
    "prompts:prompts": {"teaches"},
}


def damages(value: Any) -> Iterator[Any]:
    """Values that say something else."""
    match value:
        case bool():
            yield not value
        case str():
            yield from (value.swapcase(), f"{value}x", "stop", "length", "anywhere", "late", "fenced", "reasoning")
        case [*before, _]:
            yield from ([*before, one] for one in damages(value[-1]))
            yield before
        case dict():
            yield from ({**value, key: one} for key in value for one in damages(value[key]))
        case _:
            pass


def damaged(kind: str, section: str, case: Said, key: str) -> Said | None:
    """A case that says something else in one key, and is still a case; None where there is no such value."""
    for value in damages(case[key]):
        other = Said({**case, key: value}, case.place)
        if value != case[key] and not [*formats_of(kind)[section].mistakes(other)]:
            return other
    return None


def normal(data: Any) -> Any:
    """What a file says, with one spelling for a call without arguments and for a part that is a text."""
    match data:
        case {"text": str() as text, **more} if not more:
            return text
        case dict():
            return {key: normal(value) for key, value in data.items() if (key, value) != ("arguments", {})}
        case list():
            return [normal(item) for item in data]
        case _:
            return data


def read_of(kind: str, written: str) -> dict[str, Any]:
    return read_file(written, f"tests/cases/{kind}.yaml", formats_of(kind), keys_beside(kind)).data


def replaced(monkeypatch: pytest.MonkeyPatch, kind: str, written: str) -> dict[tuple[str, str], Said]:
    """Put a text in the place of a case file; returns its cases by section and title."""
    data = read_of(kind, written)
    monkeypatch.setattr(caseoutcomes, "load", lambda *_: data)
    return {(section, one["title"]): one for section in formats_of(kind) for one in data.get(section, ())}


def with_outcomes(kind: str) -> Iterator[tuple[str, Said, str]]:
    """For each key of each list that says an outcome, the first case that has it."""
    for section, cases in sections(kind):
        for key in OUTCOMES[f"{kind.partition('/')[0]}:{section}"]:
            yield from ((section, case, key) for case in [case for case in cases if key in case][: 2 if DEEP else 1])


def rounds(kind: str) -> Iterator[list[tuple[str, Said, str, Said]]]:
    """What is damaged together: of each case one key, with the case that says something else there."""
    left = [(section, case, key, damaged(kind, section, case, key)) for section, case, key in with_outcomes(kind)]
    there = [(section, case, key, other) for section, case, key, other in left if other is not None]
    while there:
        now = {(section, case["title"]): (section, case, key, other) for section, case, key, other in there}
        yield list(now.values())
        there = [one for one in there if one not in now.values()]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(CASES).as_posix())
def test_an_update_mends_what_is_damaged_in_any_file(path: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Each key that says an outcome, damaged in a copy of its file: after the update the file says what it said."""
    kind = path.relative_to(CASES).with_suffix("").as_posix()
    file, source = path.relative_to(REPO).as_posix(), path.read_text(encoding="utf-8")
    monkeypatch.setattr(caseupdates, "REPO", tmp_path)
    (tmp_path / file).parent.mkdir(parents=True)
    mended = 0
    for together in a_few(list(rounds(kind)), 4, kind):
        edits = [
            Edit(case.place.line, {key: other[key]}, tuple(formats_of(kind)[section].keys))
            for section, case, key, other in together
        ]
        written = edited(source, edits)
        (tmp_path / file).write_text(written, encoding="utf-8")
        cases = replaced(monkeypatch, kind, written)
        updates = caseupdates.Updates()
        for section, case, _, _ in together:
            updates.add(cases[section, case["title"]].place)
        updates.write()
        mended_file = (tmp_path / file).read_text(encoding="utf-8")
        cases = replaced(monkeypatch, kind, mended_file)
        for section, case, key, _ in together:
            after = cases[section, case["title"]]
            assert {**after, key: None} == {**case, key: None}
            if key == "refused":  # a case says a part of it
                assert case[key] in after[key]
            elif key in after:
                assert normal(after[key]) == normal(case[key]), f"{case.place}: {key}"
            else:  # it said what holds without it
                assert changes(after.place) == {}
            mended += 1
    assert mended


def test_what_depends_on_a_cut_is_never_written(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    place = fake("dialects/longcat", LONGCAT.replace('"Let me look.\\n"', '"Look."'))
    honest = caseoutcomes.read
    monkeypatch.setattr(
        caseoutcomes, "read", lambda case, pieces: honest(case, pieces)._replace(reasoning=str(len(pieces)))
    )
    with pytest.raises(Doubtful, match="depends on where the text is cut"):
        caseupdates.Updates().add(place)


def test_what_loses_text_is_never_written(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    def loses(*_: object) -> None:
        raise AssertionError("text was lost, added or moved")

    place = fake("dialects/longcat", LONGCAT)
    monkeypatch.setattr(caseoutcomes, "read", loses)
    with pytest.raises(Doubtful, match="a law is broken: text was lost"):
        caseupdates.Updates().add(place)


def test_a_quoted_text_that_becomes_a_call_is_never_written(fake: Fake) -> None:
    place = fake("quoting", 'quoted:\n- {title: a, text: "{call}", reason: fenced}\nfollowed: []\ncalls: []\n')
    with pytest.raises(Doubtful, match="a call is made of the text"):
        changes(place)


def test_a_file_that_changed_meanwhile_is_left_alone(fake: Fake) -> None:
    place = fake("dialects/longcat", LONGCAT.replace('"Let me look.\\n"', '"Look."'))
    updates = caseupdates.Updates()
    updates.add(place)
    path = caseupdates.REPO / place.file
    path.write_text(LONGCAT, encoding="utf-8")
    with pytest.raises(Uneditable, match="changed while the tests ran"):
        updates.write()
    assert path.read_text(encoding="utf-8") == LONGCAT


@pytest.mark.parametrize("started", [{"numprocesses": 2}, {"worker": True}])
def test_several_processes_update_nothing(started: dict[str, Any]) -> None:
    options = {"update_cases": True, **started}
    config: Any = SimpleNamespace(getoption=lambda name, default=None: options.get(name, default))
    if "worker" in started:
        config.workerinput = {}
    with pytest.raises(pytest.UsageError, match="leave out -n"):
        casehooks.pytest_configure(config)
