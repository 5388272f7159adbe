"""Writes the tables of the pages that come from the code's own tables: `make tables`.

A table is in its page between two comments, which name it:

    <!-- repairs: written by make tables -->
    …
    <!-- end of repairs -->

To add one, write the comments into the page and an entry into `TABLES`. With `--check` nothing is written: the tables
that are stale are printed, and the exit status is 1. `tests/test_tables.py` holds the pages to it.
"""

import argparse
import contextlib
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import reference
import yaml

from toolcalls.dialects import about, all_dialects, summary
from toolcalls.insight.exports.schema import json_schema
from toolcalls.insight.vocabulary.fields import FIELDS
from toolcalls.insight.vocabulary.reasons import failing
from toolcalls.insight.vocabulary.words import (
    BEYOND_THEM_IN_DOCS,
    CONDITIONS,
    NOTES,
    OUTCOMES,
    REASONS,
    REPAIRS,
    REPLY_STATUSES,
    STATUSES,
)
from toolcalls.mitm.metrics.names import METRICS
from toolcalls.own_dialects.engines import CONTENTS, ENGINES, Unsayable, required, said, settings
from toolcalls.shapes import Form, Sign

REPO = Path(__file__).parents[1]
LIBRARY = "recordings/library.yaml"
SCHEMA = "addon/toolcalls/insight/exports/exchange.schema.json"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a page.

    page    the page's path in the repository
    name    the name in the comments around it
    lines   makes its lines
    """

    page: str
    name: str
    lines: Callable[[], Iterable[str]]

    def written(self, text: str) -> str:
        """The page's text with this table as it should be. Raises ValueError where its comments are not there once."""
        before, begin, rest = text.partition(f"<!-- {self.name}: written by make tables -->\n")
        _, end, after = rest.partition(f"<!-- end of {self.name} -->\n")
        if not begin or not end or begin in after:
            raise ValueError(f"{self.page} does not hold the comments around {self.name} exactly once")
        return f"{before}{begin}\n{'\n'.join(self.lines())}\n\n{end}{after}"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table in Markdown; the cells are Markdown, in which a bar would end the cell."""
    for cells in (head, ["---"] * len(head), *rows):
        inside = [re.sub(r"(?<!\\)\|", r"\|", cell) for cell in cells]
        yield "|" + "".join(f" {cell} |" if cell else " |" for cell in inside)


# --- the tables -------------------------------------------------------------------------------------------------------


def _statuses() -> Iterator[str]:
    rows = [(f"`{code}`", one.in_docs) for code, one in STATUSES.items()]
    return markdown(("status", "means"), [*rows, *((f"`{one.code}`", one.in_docs) for one in REPLY_STATUSES.values())])


def _reasons() -> Iterator[str]:
    rows = ((f"`{code}`", one.in_docs or one.sentence, one.remedy.setting) for code, one in REASONS.items())
    return markdown(("reason", "means", "accept it anyway"), rows)


def _conditions() -> Iterator[str]:
    rows = [
        (str(number), words, ", ".join(f"`{code}`" for code in REASONS if code in failing(number)))
        for number, words in CONDITIONS.items()
    ]
    return markdown(("", "condition", "fails with"), [*rows, ("+", BEYOND_THEM_IN_DOCS, "any other")])


def _fields() -> Iterator[str]:
    return markdown(("field", "says"), ((f"`{field.path}`", field.in_docs) for field in FIELDS))


def _log_fields() -> Iterator[str]:
    rows = (
        (f"`{field.path.removeprefix('verdicts[].')}`", field.in_docs)
        for field in FIELDS
        if field.in_log and (field.in_report or field.path.startswith("verdicts[]."))
    )
    return markdown(("field", "says"), rows)


def _outcomes() -> Iterator[str]:
    rows = ((f"`{code}`", one.in_docs or one.sentence) for code, one in OUTCOMES.items())
    return markdown(("outcome", "counts"), rows)


def _notes() -> Iterator[str]:
    rows = ((f"`{code}`", one.in_docs or one.sentence, one.remedy) for code, one in NOTES.items())
    return markdown(("note", "means", "remedy"), rows)


def _repairs() -> Iterator[str]:
    return markdown(("repair", "means"), ((f"`{code}`", one.in_docs or one.sentence) for code, one in REPAIRS.items()))


def _metrics() -> Iterator[str]:
    return markdown(
        ("metric", "is a", "labels", "counts"),
        ((f"`{one.exposed}`", one.kind, ", ".join(f"`{label}`" for label in one.labels), one.says) for one in METRICS),
    )


# What the dialects of a form have in common.
_LOOKS_LIKE: dict[Form, str] = {
    "function tags": "`<tool_call><function=…><parameter=…>`",
    "invoke": '`<invoke name="…"><parameter name="…">`',
    "keys and values": "`<arg_key>…</arg_key><arg_value>`",
    "JSON in tags": '`<tool_call>{"name": …}`',
    "JSON in the open": "the whole message is a call",
    "arrays behind a mark": "`<tool_calls>[{…}]`",
    "header and JSON": "`[TOOL_CALLS]name[ARGS]{…}`",
    "channels": r"`<\|channel\|>commentary to=functions.…`",
    "Python": "`[f(a='x'), g()]`",
    "notations": "`call:name{key:…}`",
    "elements": "`<read_file><path>…`",
    "agents and gateways": "`TOOL_CALL: {…}`, `Action: …`",
}


def _of_form(form: Form) -> list[str]:
    return [name for name in all_dialects() if about(name).form == form]


def _dialects_by_form() -> Iterator[str]:
    return markdown(
        ("form", "looks like", "dialects"),
        ((form, _LOOKS_LIKE[form], ", ".join(f"`{name}`" for name in _of_form(form))) for form in get_args(Form)),
    )


def _every_dialect() -> Iterator[str]:
    """Sections instead of rows: an example has lines."""
    for form in get_args(Form):
        yield from (f"## {form[0].upper()}{form[1:]}", "")
        for name in _of_form(form):
            known, what = about(name), summary(name)
            yield from (f"### `{name}`", "", f"{what[0].upper()}{what[1:]}", "")
            yield from (f"* Strength of its sign: {_strength(known.sign)}",)
            yield from (f"* Written by: {known.written_by}", f"* Source: {known.source}", f"* Since: {known.since}", "")
            yield from ("~~~text", known.example, "~~~", "")


def _strength(sign: Sign) -> str:
    """How strong a dialect's sign is, and which of its openers are stronger or weaker."""
    others = [
        f"{strength} for what begins with {', '.join(f'`{one}`' for one in openers)}"
        for strength, openers in (("mark", sign.marks), ("rest", sign.rests))
        if openers
    ]
    known = (
        [f"known for it: models with {', '.join(f'`{one}`' for one in sign.models)} in their name"]
        if sign.models
        else []
    )
    return "; ".join((sign.strength, *others, *known))


def _engines() -> Iterator[str]:
    """The engines of forms in files: what each takes, and the dialects of the package that are data of it."""
    alike: dict[str, list[str]] = {}
    for name, dialect in all_dialects().items():
        with contextlib.suppress(Unsayable):
            alike.setdefault(said(dialect)[0], []).append(name)
    for name, engine in ENGINES.items():
        yield from (f"## `{name}`", "", f"{inspect.getdoc(engine.shape).partition('\n\n')[0]}", "")
        if name in alike:
            yield from (f"Such dialects: {', '.join(f'`{one}`' for one in alike[name])}.", "")
        yield from reference.keys_of(engine.shape, settings(engine), required(engine), CONTENTS)
        yield ""


def _recordings() -> Iterator[str]:
    """The library of recordings: a heading, what it is about, and a table for each of its groups."""
    for number, group in enumerate(yaml.safe_load((REPO / LIBRARY).read_text(encoding="utf-8"))):
        yield from ([""] if number else [])
        yield from (f"### {group['title']}", "", *textwrap.wrap(group["about"], 118), "")
        rows = [
            (f"`{name}`", said["shows"], _outcome(said), _source(said["source"]))
            for name, said in group["recordings"].items()
        ]
        yield from markdown(("recording", "what is odd about it", "verdicts and notes", "source"), rows)


def _outcome(said: Mapping[str, Any]) -> str:
    found = [f"`{one}`" for one in (*said.get("verdicts", ()), *said.get("notes", ()))]
    return ", ".join(found) or "none"


def _source(source: str | Sequence[str]) -> str:
    """Addresses as links, an issue by its repository and number."""
    sources = [source] if isinstance(source, str) else source
    return ", ".join(f"[{_label(one)}]({one})" if one.startswith("https://") else one for one in sources)


def _label(address: str) -> str:
    issue = re.fullmatch(r"https://github\.com/([^/]+/[^/]+)/(?:issues|pull)/(\d+)", address)
    return f"{issue[1]}#{issue[2]}" if issue else address.split("/")[2].removeprefix("www.")


def _agents() -> Iterator[str]:
    return markdown(("agent", "tried", "with `toolcalls run`", "by hand", "speaks", "base URL"), reference.agents())


def _options() -> Iterator[str]:
    return markdown(("option", "takes", "default", "says"), reference.options())


TABLES = (
    Table("docs/agents.md", "agents", _agents),
    Table("docs/configuration.md", "keys", reference.configuration),
    Table("docs/commands.md", "options", _options),
    Table("docs/cli.md", "commands", reference.commands),
    Table("docs/python-api.md", "types", reference.python_api),
    Table("docs/dialects.md", "dialects by form", _dialects_by_form),
    Table("docs/dialects.md", "every dialect", _every_dialect),
    Table("docs/own-dialect-engines.md", "engines", _engines),
    Table("docs/log.md", "log fields", _log_fields),
    Table("docs/commands.md", "conditions", _conditions),
    Table("docs/statuses.md", "statuses", _statuses),
    Table("docs/statuses.md", "reasons", _reasons),
    Table("docs/statuses.md", "notes", _notes),
    Table("docs/statuses.md", "repairs", _repairs),
    Table("docs/exports.md", "fields", _fields),
    Table("docs/exports.md", "outcomes", _outcomes),
    Table("docs/metrics.md", "metrics", _metrics),
    Table("recordings/README.md", "recordings", _recordings),
)


# --- the command ------------------------------------------------------------------------------------------------------


def pages() -> dict[str, tuple[str, str]]:
    """Each page that holds tables, and the schema of the exports: the text as it is, and as it should be."""
    found: dict[str, tuple[str, str]] = {}
    for table in TABLES:
        text = (REPO / table.page).read_text(encoding="utf-8")
        was, should = found.get(table.page, (text, text))
        found[table.page] = was, table.written(should)
    schema = json.dumps(json_schema(), indent=2) + "\n"
    return {**found, SCHEMA: ((REPO / SCHEMA).read_text(encoding="utf-8"), schema)}


def main() -> int:
    """Write or check. Returns the exit status."""
    parser = argparse.ArgumentParser(description="Write the tables of the pages that come from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing; say which pages are stale")
    check = parser.parse_args().check
    stale = {page: should for page, (was, should) in pages().items() if was != should}
    for page, text in stale.items():
        print(f"{page} is stale" if check else f"{page} is written")
        if not check:
            (REPO / page).write_text(text, encoding="utf-8")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
