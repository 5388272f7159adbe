"""Case files: each mistake is found with its file and line, fails nothing else, and the format is documented."""

import re

import pytest

from support.casefiles import CASES, CaseFile, Place, case_of, read_file
from support.caseformat import FORMATS
from support.casereports import command, named

FILE = "tests/cases/dialects/x.yaml"
SOUND = """\
tools: {Bash: {command: string}}

cases:

- title: one
  text: hello

- title: two
  text: hello
  calls: []

written:
"""


def parsed(written: str, kind: str = "dialects") -> CaseFile:
    return read_file(written, FILE, FORMATS[kind], frozenset({"tools"}))


def test_a_sound_file_has_no_mistake() -> None:
    file = parsed(SOUND)
    assert file.mistakes == ()
    assert [case["title"] for case in file.data["cases"]] == ["one", "two"]
    assert [case.place for case in file.data["cases"]] == [Place(FILE, 5), Place(FILE, 8)]


# What is put in place of the second case's lines: the mistake's line, and what is said of it.
MISTAKES = {
    "no title": ("- text: hello\n", 8, "the key `title` is missing"),
    "no text": ("- title: two\n", 8, "the key `text` is missing"),
    "an unknown key": (
        "- title: two\n  text: a\n  shwon: a\n",
        10,
        "the key 'shwon' is unknown; did you mean `shown`?",
    ),
    "a key that nothing is like": ("- title: two\n  text: a\n  zzz: a\n", 10, "the keys are title, text, shown"),
    "a key twice": ("- title: two\n  text: a\n  text: b\n", 8, "the key 'text' comes twice (line 10)"),
    "the title of another": ("- title: one\n  text: a\n", 8, "the case on line 5 has the title 'one', too"),
    "a text that is a number": ("- title: two\n  text: 5\n", 9, "`text` must be a text, not 5; put it in quotes"),
    "no list of calls": ("- title: two\n  text: a\n  calls: Bash\n", 10, "`calls` must be a list, not a text"),
    "a call without a name": ("- title: two\n  text: a\n  calls: [{json: ''}]\n", 10, "`calls` item 1 must be a call"),
    "a call with a date": (
        "- title: two\n  text: a\n  calls: [{name: Bash, arguments: {a: 2024-01-01}}]\n",
        10,
        "holds what JSON cannot",
    ),
    "a call with broken JSON": (
        "- title: two\n  text: a\n  calls: [{name: Bash, json: '{'}]\n",
        10,
        "`calls` item 1 has a `json` that is no JSON",
    ),
    "a call with an unknown key": (
        "- title: two\n  text: a\n  calls: [{name: Bash, args: {}}]\n",
        10,
        "`calls` item 1 has the unknown key 'args'; a call has name, arguments, json",
    ),
    "a status that is none": (
        "- title: two\n  text: a\n  verdicts: [lifed Bash]\n",
        10,
        "`verdicts` item 1 has the status 'lifed'; the statuses are lifted, lowered",
    ),
    "a reason that is none": (
        "- title: two\n  text: a\n  verdicts: [declined fence Bash]\n",
        10,
        "`verdicts` item 1 has the reason 'fence', which is none",
    ),
    "a verdict without a name": (
        "- title: two\n  text: a\n  verdicts: [lifted]\n",
        10,
        "`verdicts` item 1 must read `status [reason] name [(dialect)]`",
    ),
    "a repair that is none": ("- title: two\n  text: a\n  repairs: [closer]\n", 10, "`repairs` item 1 is no repair"),
    "a finish that is none": (
        "- title: two\n  text: a\n  finish: end\n",
        10,
        "`finish` must be one of stop, length, broken, not 'end'",
    ),
    "a flag that is none": ("- title: two\n  text: a\n  infer_types: 1\n", 10, "`infer_types` must be true or false"),
    "tools that are none": ("- title: two\n  text: a\n  tools: [Bash]\n", 10, "`tools` must map names of tools"),
    "a reply that is cut off without what is shown": (
        "- title: two\n  text: a\n  finish: length\n",
        8,
        "the key `shown` is missing (the text that the client sees): `finish` is length",
    ),
    "a truncated verdict without its finish": (
        '- title: two\n  text: a\n  shown: ""\n  verdicts: [truncated cut_off Bash]\n',
        8,
        "the key `finish` is missing (how the reply ended: stop, length or broken): a verdict is `truncated`",
    ),
    "no mapping": ("- two\n", 8, "a case is a mapping of title, text"),
}


@pytest.mark.parametrize(("case", "line", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named_and_costs_no_other_case(case: str, line: int, said: str) -> None:
    file = parsed(SOUND.replace("- title: two\n  text: hello\n  calls: []\n", case))
    assert [one["title"] for one in file.data["cases"]] == ["one"]
    assert [str(mistake) for mistake in file.mistakes if said in mistake.text] != [], file.mistakes
    assert {mistake.place for mistake in file.mistakes} == {Place(FILE, line)}


@pytest.mark.parametrize(
    ("written", "line", "said"),
    [
        ("tools: {}\ncases: ]\n", 2, "this is no YAML"),
        ("- title: one\n", 1, "a case file is a mapping of tools, cases, written"),
        ("cases:\nwritten:\n", 1, "the key `tools` is missing"),
        ("tools: {}\ncases:\nwritten:\nmore: 5\n", 4, "the key 'more' is unknown"),
        ("tools: {}\ncases:\ntools: {}\n", 3, "the key 'tools' comes twice"),
        ("tools: {Bash: 5}\ncases:\n", 1, "`tools` must map 'Bash' to its parameters"),
        ("tools: {}\ncases: {title: one}\n", 2, "`cases` must be a list of cases"),
        ("tools: {}\ncases:\nwritten:\n- title: one\n  calls: []\n", 4, "exactly one of `text` and `refused`"),
    ],
)
def test_a_mistake_of_a_whole_file_is_named(written: str, line: int, said: str) -> None:
    (mistake,) = parsed(written).mistakes
    assert mistake.place == Place(FILE, line)
    assert said in mistake.text


@pytest.mark.parametrize(
    ("kind", "section", "case", "said"),
    [
        ("wires/anthropic", "cases", "{title: a, reply: []}", "the key `order` is missing"),
        ("wires/gemini", "cases", "{title: a, reply: [], open: []}", "the key 'open' is unknown"),
        ("wires/ollama", "cases", "{title: a, reply: [], whole: true}", "`whole` can only be false, not True"),
        ("wires/openai_chat", "raw", "{title: a}", "the key `in` is missing"),
        (
            "processors/openai_chat",
            "cases",
            "{title: a, rules: {}, says: [5]}",
            "`says` item 1 must be a text or a call",
        ),
        (
            "processors/gemini",
            "cases",
            "{title: a, rules: {}, reply: [], verdicts: [well]}",
            "`verdicts` item 1 must begin with a status, `passed` or `changed`",
        ),
        ("quoting", "quoted", "{title: a, text: b, reason: fence}", "`reason` must be one of"),
        ("quoting_notations", "quoted", "[a, b, soon]", "`flag` must be one of late, anywhere"),
        ("quoting_notations", "calls", "[a, b, late]", "a case is [title, text], and this one has 3 items"),
    ],
)
def test_every_kind_of_file_has_its_format(kind: str, section: str, case: str, said: str) -> None:
    empty = "".join(f"{name}: []\n" for name in FORMATS[kind] if name != section)
    file = parsed(f"tools: {{}}\n{empty}{section}:\n- {case}\n", kind)
    assert file.data[section] == []
    assert any(said in mistake.text for mistake in file.mistakes), file.mistakes
    assert {mistake.place.line for mistake in file.mistakes} == {2 + empty.count("\n") + 1}


def test_a_case_knows_its_place() -> None:
    file = parsed(SOUND)
    case = case_of(file.data["cases"][1], "x", {})
    assert str(case.place) == f"{FILE}:8"
    assert command(Place(FILE, 8), "tests/dialects/test_cases.py") == (
        f".venv/bin/python -m pytest tests/dialects/test_cases.py --case {FILE}:8"
    )


def test_any_line_of_a_case_names_it() -> None:
    places = [Place(FILE, 5), Place(FILE, 8), Place("other.yaml", 6)]
    chosen = {wanted: [place.line for place in places if named(place, [wanted], places)] for wanted in (
        FILE, f"{FILE}:5", f"{FILE}:7", f"{FILE}:99", f"{FILE}:1", "other.yaml:6",
    )}  # fmt: skip
    assert list(chosen.values()) == [[5, 8], [5], [5], [8], [], [6]]


def documented() -> dict[str, list[set[str]]]:
    """The keys in each table of the page, by the file or folder that the heading above it names."""
    tables: dict[str, list[set[str]]] = {}
    names: list[str] = []
    section = ""
    keys: set[str] | None = None
    for line in (CASES / "README.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            names, section = (
                [name.replace("/NAME", "").removesuffix(".yaml") for name in re.findall(r"`(.+?)`", line)],
                "",
            )
        elif line.startswith("### "):
            section = line.partition("`")[2].partition("`")[0]
        if line.startswith("| key |"):
            keys = set()
            for name in names:
                tables.setdefault(f"{name}:{section}", []).append(keys)
        elif keys is not None and line.startswith("| `"):
            keys.add(line.split("`")[1])
        elif not line.startswith("| ---"):
            keys = None
    return tables


def test_the_format_is_documented() -> None:
    """Every key of every kind of case has its row, and every row is a key."""
    known: dict[str, set[str]] = {}
    for file, sections in FORMATS.items():
        for section, format_ in sections.items():
            for name in (f"{file}:{section}", f"{file}:", f"{file.partition('/')[0]}:{section}"):
                known.setdefault(name, set()).update(format_.keys)
    tables = documented()
    covered = set(tables)
    for file, sections in FORMATS.items():
        for section in sections:
            assert covered & {f"{file}:{section}", f"{file}:", f"{file.partition('/')[0]}:{section}"}, (file, section)
    assert {name: keys for name, (keys,) in tables.items()} == {name: known[name] for name in tables}
