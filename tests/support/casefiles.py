"""The case files of `tests/cases`, read into what a test needs. `tests/cases/README.md` says what their format is.

Strategy: a case is written for people, so nearly everything has a default, and the defaults are here and nowhere
else; those of a dialect's cases are in the package (`flows/cases/dialect_cases.py`), which gives these cases to other
programs, too. Every case of a dialect is turned into a Chat Completions request and a `Route`; the reader and the whole
exchange are then run on the same terms. Each case knows its file and line. One with a mistake is left out, and the
mistake is kept, so that it fails one test and no other case.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

import yaml

from support.caseformat import BESIDE, FORMATS, WITHOUT_TOOLS, Format
from support.casevalues import tools as wrong_tools
from support.repository import REPO
from toolcalls.flows.cases.dialect_cases import arguments_of, canonical, completed, openai_tools
from toolcalls.route import Route

__all__ = [
    "CASES",
    "Case",
    "CaseFile",
    "Finish",
    "Mistake",
    "Place",
    "Said",
    "Written",
    "canonical",
    "case_file",
    "case_of",
    "dialect_cases",
    "keys_beside",
    "load",
    "openai_tools",
    "read_file",
    "written_cases",
]

CASES = REPO / "tests" / "cases"

type Finish = Literal["stop", "length", "broken"]


class Place(NamedTuple):
    """Where a case begins: its file, from the repository's root, and its line."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Said(dict[str, Any]):
    """A case as its author wrote it."""

    def __init__(self, keys: Mapping[str, Any], place: Place) -> None:
        super().__init__(keys)
        self.place = place


class Mistake(NamedTuple):
    """What is wrong with a case, or with a file. `title` names it as far as it has one."""

    place: Place
    title: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


@dataclass(frozen=True, eq=False)
class CaseFile:
    """A file, named from the repository's root.

    data   `tools`, each section's cases without those that have a mistake, and what is beside them
    """

    file: str
    data: dict[str, Any]
    mistakes: tuple[Mistake, ...]


@dataclass(frozen=True)
class Case:
    """One text and its outcome.

    request    the Chat Completions request that the text answers
    calls      (name, canonical or exact argument JSON, whether it is to be compared exactly), in order
    verdicts   (status, reason, dialect, name), in order
    repairs    all repairs of all verdicts, in order
    reasoning  what went from the text to the reasoning field
    cuts       places at which the text was cut when the case failed
    """

    title: str
    text: str
    request: Mapping[str, Any]
    route: Route
    finish: Finish
    shown: str
    calls: tuple[tuple[str, str, bool], ...]
    verdicts: tuple[tuple[str, str | None, str | None, str | None], ...]
    repairs: tuple[str, ...]
    reasoning: str = ""
    cuts: tuple[int, ...] = ()
    place: Place | None = None


@dataclass(frozen=True)
class Written:
    """Calls and the text that they are written as; `refused` is what the refusal says where they cannot be."""

    title: str
    tools: list[dict[str, Any]]
    calls: tuple[tuple[str, str], ...]
    text: str | None
    refused: str | None
    place: Place | None = None


# --- files ------------------------------------------------------------------------------------------------------------


def load(kind: str, name: str = "") -> dict[str, Any]:
    """A file's `tools` and its cases by section, without those that have a mistake."""
    return case_file(kind, name).data


@cache
def case_file(kind: str, name: str = "") -> CaseFile:
    """A file of a folder (`kind`), or one that is beside the folders."""
    path = CASES / kind / f"{name}.yaml" if name else CASES / f"{kind}.yaml"
    file = str(path.relative_to(REPO))
    both = f"{kind}/{name}"
    formats = FORMATS.get(both) or FORMATS[kind]
    return read_file(path.read_text(encoding="utf-8"), file, formats, keys_beside(both if name else kind))


def keys_beside(kind: str) -> frozenset[str]:
    """The keys beside the lists of cases of a file (`wires/gemini`)."""
    return BESIDE.get(kind, frozenset()) | (frozenset() if kind in WITHOUT_TOOLS else {"tools"})


def read_file(written: str, file: str, formats: Mapping[str, Format], beside: frozenset[str]) -> CaseFile:
    """A file of these sections, with these keys beside them."""
    data: dict[str, Any] = {"tools": {}, **{section: [] for section in formats}}
    found: list[Mistake] = []

    def mistake(line: int, text: str, title: str = "") -> None:
        found.append(Mistake(Place(file, line + 1), title, text))

    loader = _Loader(written)
    try:
        root = loader.get_single_node()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        mistake(mark.line if mark else 0, f"this is no YAML: {getattr(error, 'problem', error)}")
        return CaseFile(file, data, tuple(found))
    if not isinstance(root, yaml.MappingNode):
        mistake(0, f"a case file is a mapping of {', '.join([*beside, *formats])}")
        return CaseFile(file, data, tuple(found))

    sections: dict[str, yaml.Node] = {}
    for key, node in root.value:
        if key.value in sections:
            mistake(key.start_mark.line, f"the key {key.value!r} comes twice")
        elif key.value not in formats and key.value not in beside:
            mistake(
                key.start_mark.line,
                f"the key {key.value!r} is unknown; a file of this kind has {_names(beside, formats)}",
            )
        sections.setdefault(key.value, node)
    for key in [*sorted(beside), *formats]:
        if key not in sections and key != "written":
            mistake(0, f"the key `{key}` is missing")
    for key in beside & set(sections):
        try:
            data[key] = loader.made(sections[key])
            wrong = wrong_tools(data[key]) if key == "tools" else ""
        except ValueError as error:
            wrong = str(error)
        if wrong:
            mistake(sections[key].start_mark.line, f"`{key}` {wrong}")
            return CaseFile(file, {**data, key: {}}, tuple(found))
    for section, format_ in formats.items():
        node = sections.get(section)
        if node is not None and not _is_empty(node):
            data[section] = list(_section(loader, node, section, format_, Place(file, 0), found))
    return CaseFile(file, data, tuple(found))


def _names(beside: frozenset[str], formats: Mapping[str, Format]) -> str:
    return ", ".join([*sorted(beside), *formats])


def _is_empty(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.value in {"", "null", "~"}


def _section(
    loader: "_Loader", node: yaml.Node, section: str, format_: Format, place: Place, found: list[Mistake]
) -> Iterator[Said]:
    if not isinstance(node, yaml.SequenceNode):
        found.append(Mistake(place._replace(line=node.start_mark.line + 1), "", f"`{section}` must be a list of cases"))
        return
    titles: dict[str, int] = {}
    for one in node.value:
        line = one.start_mark.line + 1
        try:
            said = _said(loader, one, format_, place._replace(line=line))
        except ValueError as error:
            found.append(Mistake(place._replace(line=line), "", str(error)))
            continue
        lines = (
            {key.value: key.start_mark.line + 1 for key, _ in one.value} if isinstance(one, yaml.MappingNode) else {}
        )
        title = said.get("title") if isinstance(said.get("title"), str) else ""
        wrong = [
            Mistake(place._replace(line=lines.get(key, line)), title or "", f"{_case(title)}: {text}")
            for key, text in format_.mistakes(said)
        ]
        if not wrong and title in titles:
            wrong = [Mistake(said.place, title, f"the case on line {titles[title]} has the title {title!r}, too")]
        titles.setdefault(title or "", line)
        found.extend(wrong)
        if not wrong:
            yield said


def _case(title: str | None) -> str:
    return f"the case {title!r}" if title else "this case"


def _said(loader: "_Loader", node: yaml.Node, format_: Format, place: Place) -> Said:
    value = loader.made(node)
    if format_.columns and isinstance(value, list):
        if len(value) > len(format_.columns):
            raise ValueError(f"a case is [{', '.join(format_.columns)}], and this one has {len(value)} items")
        value = dict(zip(format_.columns, value, strict=False))
    if not isinstance(value, dict):
        raise ValueError(f"a case is a mapping of {', '.join(format_.keys)}, and this is none")
    return Said(value, place)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML in which a key that comes twice is a mistake: a case must not lose half of what it says.

    By libyaml where PyYAML was built with it, which takes a seventh of the time.
    """

    def made(self, node: yaml.Node) -> Any:
        """The value of a node. Raises ValueError that names the key that comes twice."""
        self.constructed_objects.clear()
        try:
            return self.construct_document(node)
        except yaml.MarkedYAMLError as error:
            raise ValueError(f"{error.problem}") from error


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: list[Any] = []
    for key, _ in node.value:
        made = loader.construct_object(key)
        if made in seen:
            raise ValueError(f"the key {made!r} comes twice (line {key.start_mark.line + 1})")
        seen.append(made)
    return dict(loader.construct_pairs(node, deep=True))


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


# --- dialects ---------------------------------------------------------------------------------------------------------


def dialect_cases(name: str) -> Iterator[Case]:
    """The reading cases of a dialect."""
    data = load("dialects", name)
    for case in data["cases"]:
        yield case_of(case, name, data["tools"] or {})


def written_cases(name: str) -> Iterator[Written]:
    """The writing cases of a dialect."""
    data = load("dialects", name)
    for case in data["written"]:
        tools = openai_tools(case.get("tools", data["tools"]) or {})
        calls = tuple((call["name"], arguments_of(call)[0]) for call in case["calls"])
        yield Written(case["title"], tools, calls, case.get("text"), case.get("refused"), case.place)


def case_of(case: Said, dialect: str, tools: Mapping[str, Any]) -> Case:
    """A dialect's case, with the defaults of what it does not say."""
    made = completed(case, dialect, tools, str(case.place))
    settings = {key: tuple(value) if isinstance(value, list) else value for key, value in made.route.items()}
    return Case(
        title=made.title,
        text=made.text,
        request={"messages": [], **({"tools": made.tools} if made.tools else {}), **made.request},
        route=Route(client="native", upstream="text", **settings),
        finish=made.finish,
        shown=made.shown,
        calls=made.calls,
        verdicts=tuple(_verdict(line, dialect) for line in made.verdicts),
        repairs=made.repairs,
        reasoning=made.reasoning,
        cuts=made.cuts,
        place=case.place,
    )


def _verdict(line: str, dialect: str | None) -> tuple[str, str | None, str | None, str | None]:
    """`lifted Bash`, `declined fenced Bash`, `declined not_a_call -`.

    ` (tagged)` after it for another dialect, ` (-)` for none.
    """
    words = line.split()
    if words[-1].startswith("("):
        dialect = words.pop().strip("()-") or None
    status, *reason, name = words
    return status, reason[0] if reason else None, dialect, None if name == "-" else name
