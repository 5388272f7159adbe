"""Which form a pasted text has: every shape is tried with the strings that the text itself has around its calls.

Each way to find those strings yields `Candidate`s: a dialect, and the code that makes it. Whether one fits is for
`trial`, which lets it read the text. So a way may propose what is wrong; it must only propose what may be right.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from toolcalls.shapes import Dialect, Form
from toolcalls.shapes.code.delimited_object import DelimitedObject
from toolcalls.shapes.code.pythonic import Pythonic
from toolcalls.shapes.headers.name_in_header import Header
from toolcalls.shapes.headers.name_in_tag import NameInTag
from toolcalls.shapes.headers.name_in_words import NameInWords
from toolcalls.shapes.json.call_keys import ARGUMENTS, NAMES
from toolcalls.shapes.json.marked_json import MarkedJson
from toolcalls.shapes.tags.content import Escaped, Layout, Printed, Verbatim
from toolcalls.shapes.tags.form import FunctionTags, TagForm
from toolcalls.shapes.tags.pair_form import PairForm

TOKEN = r"(?:<[^<>\n]{1,60}>|\[[^\[\]\n\"{}]{1,60}\]|[^\s\w<>\[\]{}\"']{1,20}\w*[^\s\w<>\[\]{}\"']{0,20})"
TAG = r"(?:<[^<>\n]{1,60}>|\[[^\[\]\n\"{}]{1,60}\])"
BEFORE = re.compile(rf"((?:{TOKEN})+)\s*\Z")
BEHIND = re.compile(rf"\s*((?:{TOKEN})+)")
NAME = re.compile(r"[A-Za-z_][\w.:/-]*")


@dataclass(frozen=True)
class Candidate:
    """A dialect that may fit.

    summary   what the form is, as the end of "`NAME`: …"
    imports   the lines that its code needs beside `About`
    code      the expression that makes it
    """

    dialect: Dialect
    form: Form
    summary: str
    imports: tuple[str, ...]
    code: str


def candidates(name: str, text: str, tools: Sequence[str]) -> Iterator[Candidate]:
    """What may fit, the simplest first. `tools`: the names that are declared, () where none is known."""
    for way in (
        _json_tags,
        _json_lists,
        _json_elements,
        _attributed,
        _function_tags,
        _key_values,
        _named,
        _keyed,
        _calls,
    ):
        yield from way(name, text, tools)


def _made(shape: type[Any], form: Form, summary: str, name: str, settings: dict[str, Any], *more: str) -> Candidate:
    """A candidate whose code spells the settings as a person would."""
    spelt = [f"{key}={_spelt(value)}" for key, value in settings.items()]
    line = f'{shape.__name__}("{name}", {", ".join(spelt)})' if spelt else f'{shape.__name__}("{name}")'
    if len(f"DIALECT = {line}") > 120:
        line = f'{shape.__name__}(\n    "{name}",\n' + "".join(f"    {one},\n" for one in spelt) + ")"
    imports = (*more, f"from {shape.__module__} import {shape.__name__}")
    return Candidate(shape(name, **settings), form, summary, imports, line)


def _spelt(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple):
        inside = ", ".join(_spelt(item) for item in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, re.Pattern):
        quoted = re.sub(r'(?<!\\)"', r"\"", value.pattern)
        return f're.compile(r"{quoted}")'
    if isinstance(value, Printed):
        return f'Printed("{value.layout}")'
    return f"{type(value).__name__}()" if isinstance(value, Verbatim | Escaped) else repr(value)


def _place(opening: str) -> dict[str, str]:
    """Special tokens count anywhere; what could be prose or markup, at the start of a line."""
    return {"place": "anywhere"} if re.match(r"<[|｜]", opening) else {}


def _in_line(opening: str) -> dict[str, str]:
    """The same for shapes whose openers count anywhere unless they say otherwise."""
    return {} if re.match(r"<[|｜]", opening) else {"place": "line"}


def _space_at(text: str) -> str:
    """The white space that a text begins with."""
    return text[: len(text) - len(text.lstrip())]


# --- JSON -------------------------------------------------------------------------------------------------------------


def _jsons(text: str, bracket: str) -> Iterator[tuple[int, int, Any]]:
    """Each outermost JSON value that begins with a bracket: where it begins and ends, and what it is."""
    at = text.find(bracket)
    while at >= 0:
        try:
            value, end = json.JSONDecoder(strict=False).raw_decode(text, at)
        except ValueError:
            end = at + 1
        else:
            yield at, end, value
        at = text.find(bracket, end)


def _is_call(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return any(isinstance(value.get(key), str) for key in NAMES) and any(key in value for key in ARGUMENTS)


def _around(text: str, start: int, end: int) -> tuple[str, str]:
    """The marks in front of a body and after it, "" for none."""
    before, behind = BEFORE.search(text[:start]), BEHIND.match(text[end:])
    return before[1] if before else "", behind[1] if behind else ""


def _closers(opening: str, closing: str) -> list[str]:
    """What may close a call, of the marks that come after it: all, up to the next call, or the first one."""
    up_to = closing.partition(opening)[0] if opening else closing
    first = re.match(TOKEN, closing)
    return list(dict.fromkeys(one for one in (first[0] if first else "", up_to, closing) if one))


def _json_tags(name: str, text: str, _: Sequence[str]) -> Iterator[Candidate]:
    found = [one for one in _jsons(text, "{") if _is_call(one[2])]
    for start, end, value in found[:1]:
        opening, behind = _around(text, start, end)
        last = re.findall(TOKEN, opening)
        line = text[len(text[:start].rstrip()) : start]
        key = next(key for key in ARGUMENTS if key in value)
        for mark in dict.fromkeys((last[-1] if last else "", opening)):
            for closing in _closers(mark, behind) or [""]:
                settings: dict[str, Any] = {"opening": (mark,)}
                settings |= {"closing": (closing,)} if closing else {"closed": False}
                settings |= ({} if key == "arguments" else {"arguments": key}) | ({"line": line} if line else {})
                settings |= _place(mark)
                if not mark:
                    continue
                what = f"a JSON object behind `{mark}`."
                yield _made(MarkedJson, "JSON in tags", what, name, settings)
                if mark != opening:
                    wrapper = opening.removesuffix(mark)
                    ends = [one for one in _closers("", behind[len(closing) :]) if one]
                    for outer in ends:
                        yield _made(MarkedJson, "JSON in tags", what, name, {**settings, "around": (wrapper, outer)})
        for both in _wrappers(text, found, opening, behind):
            settings = {"opening": (opening,), "closing": (_closers(opening, behind) or [""])[:1], "around": both}
            if opening and settings["closing"][0]:
                settings["closing"] = tuple(settings["closing"])
                settings |= {"line": line} if line else {}
                what = f"a JSON object behind `{opening}`, in `{both[0]}`."
                yield _made(MarkedJson, "JSON in tags", what, name, settings | _place(opening))


def _wrappers(text: str, found: Sequence[tuple[int, int, Any]], opening: str, behind: str) -> Iterator[tuple[str, str]]:
    """The marks around all calls, where the calls have marks of their own."""
    if not opening or not behind:
        return
    first = text.rfind(opening, 0, found[0][0])
    last = text.find(behind, found[-1][1]) + len(behind)
    outer = _around(text, first, last)
    if outer[0] and outer[1]:
        yield outer


def _json_lists(name: str, text: str, _: Sequence[str]) -> Iterator[Candidate]:
    for start, end, value in _jsons(text, "["):
        if not (isinstance(value, list) and value and all(_is_call(item) for item in value)):
            continue
        opening, behind = _around(text, start, end)
        line = text[len(text[:start].rstrip()) : start]
        for closing in [*_closers(opening, behind), ""]:
            settings: dict[str, Any] = {"opening": (opening,)}
            settings |= {"closing": (closing,)} if closing else {"closed": False}
            settings |= {"brackets": ("[",)} | ({"line": line} if line else {}) | _place(opening)
            if opening:
                what = f"a JSON array behind `{opening}`."
                yield _made(MarkedJson, "arrays behind a mark", what, name, settings)
        return


def _json_elements(name: str, text: str, tools: Sequence[str]) -> Iterator[Candidate]:
    """`<call:N>{…}</call:N>`, with or without tags around all calls."""
    for start, end, value in _jsons(text, "{"):
        head = re.search(r"(<[^\s<>{}]*?)([A-Za-z_][\w.-]*)>\s*\Z", text[:start])
        if head is None or not isinstance(value, dict) or _is_call(value):
            continue
        for called in dict.fromkeys((*tools, head[2])):
            tag = head[0].rstrip()
            if not tag.endswith(f"{called}>"):
                continue
            opens = tag.removesuffix(f"{called}>")
            behind = re.match(r"\s*(<[^<>]*>)", text[end:])
            if len(opens) < 2 or behind is None:
                continue
            closing = behind[1].replace(called, "{name}")
            what = f"the arguments as JSON in an element that begins with `{opens}` and the tool's name."
            settings: dict[str, Any] = {"start": opens, "closing": closing}
            yield _made(NameInTag, "header and JSON", what, name, settings)
            outer = _around(text, text.find(opens), text.rfind(behind[1]) + len(behind[1]))
            if all(outer):
                yield _made(
                    NameInTag,
                    "header and JSON",
                    what,
                    name,
                    settings | {"before": outer[0], "after": outer[1], "between": ""},
                )
        return


# --- tags -------------------------------------------------------------------------------------------------------------


def _attributed(name: str, text: str, _: Sequence[str]) -> Iterator[Candidate]:
    head = re.search(
        r"(?:<([\w:.-]+)>\s*)?<([\w:.-]+) ([\w-]+)=[\"']?[\w.:/-]+[\"']?\s*>(\s*)"
        r"(?:<([\w:.-]+) ([\w-]+)=[\"']?[\w.:/-]+)?",
        text,
    )
    if head is None:
        return
    wrapper, call, named, between, parameter, keyed = head.groups()
    base: dict[str, Any] = {"call": call, **({"parameter": parameter} if parameter not in {None, "parameter"} else {})}
    base |= {} if between == "\n" else {"line": between}
    base |= {"named_in": (named, keyed or "name")} if {named, keyed} - {"name", None} else {}
    what = f"calls in `<{call}>` elements that carry the name."
    ways: list[dict[str, Any]] = [{"wrappers": (wrapper,), "bare": False}, {"wrappers": (wrapper,)}] if wrapper else []
    for around in (*ways, {"wrappers": ()}):
        for content in (Verbatim(), Escaped()):
            settings = {**around, **base, "content": content}
            more = f"from toolcalls.shapes.tags.content import {type(content).__name__}"
            made = _made(TagForm, "invoke", what, name, settings, more)
            yield Candidate(made.dialect, made.form, made.summary, tuple(reversed(made.imports)), made.code)


def _function_tags(name: str, text: str, _: Sequence[str]) -> Iterator[Candidate]:
    head = re.search(r"(?:<([\w:.-]+)>(\s*))?<([\w:.-]+)=[\w.:/-]+>\s*(?:<([\w:.-]+)=)?", text)
    if head is None:
        return
    wrapper, between, call, parameter = head.groups()
    elements = {"call": call} if call != "function" else {}
    elements |= {"parameter": parameter} if parameter not in {None, "parameter"} else {}
    layouts: tuple[Layout, ...] = ("lines", "inline", "block", "verbatim")
    what = f"function tags in `<{wrapper}>`." if wrapper else "function tags with nothing around them."
    for layout in layouts:
        settings: dict[str, Any] = {"wrappers": (wrapper,), "bare": False} if wrapper else {}
        settings |= elements | ({} if between in {"\n", None} else {"line": between, "hollow": between})
        more = () if layout == "lines" else ("from toolcalls.shapes.tags.content import Printed",)
        settings |= {"content": Printed(layout)} if more else {}
        yield _made(FunctionTags, "function tags", what, name, settings, *more)


def _key_values(name: str, text: str, _: Sequence[str]) -> Iterator[Candidate]:
    found = re.search(
        r"(?:<(?P<outer>[\w:.-]+)>\s*)?<(?P<call>[\w:.-]+)>\s*[\w.:/-]+(?P<line>\s*)(?:<(?P<sep>[\w:.-]+)>\s*)?"
        r"<(?P<key>[\w:.-]+)>[^<>\n]+</(?P=key)>\s*<(?P<value>[\w:.-]+)>",
        text,
    )
    if found is None:
        return
    parts = found.groupdict()
    base: dict[str, Any] = {"call": parts["call"], "key": parts["key"], "value": parts["value"]}
    base |= {"separator": parts["sep"]} if parts["sep"] else {}
    base |= {"line": "\n"} if "\n" in parts["line"] else {}
    what = f"a name with pairs of key and value in `<{parts['call']}>`."
    for around in ({"wrapper": parts["outer"]}, {}) if parts["outer"] else ({},):
        yield _made(PairForm, "keys and values", what, name, {**around, **base})


# --- a name, then its arguments ---------------------------------------------------------------------------------------


def _named(name: str, text: str, tools: Sequence[str]) -> Iterator[Candidate]:
    """A name in words or between marks, with its arguments as JSON after it."""
    for start, end, value in _jsons(text, "{"):
        if not isinstance(value, dict) or _is_call(value):
            continue
        line_start = text.rfind("\n", 0, start) + 1
        if not text[line_start:start].strip():
            line_start = text.rfind("\n", 0, line_start - 1) + 1
        head = text[line_start:start]
        for called in [one for one in tools if one in head] or NAME.findall(re.sub(TOKEN, " ", head)):
            before, _, sep = head.rpartition(called)
            opening, between = before.strip(), sep.strip()
            if not opening:
                continue
            space = before[len(before.rstrip()) :]
            behind = BEHIND.match(text[end:])
            closing = behind[1] if behind else ""
            for ends in (*_closers(opening, closing), *((")", ")]", "]", "}") if closing else ()), ""):
                if ends and not text[end:].lstrip().startswith(ends):
                    continue
                template = f"{opening}{space}{{name}}{sep}{{arguments}}{_space_at(text[end:]) if ends else ''}{ends}"
                tokens = re.match(r"<", opening) is not None
                what = f"`{opening}`, a name, and the arguments as JSON."
                marks = re.fullmatch(rf"{TAG}+", opening) and re.fullmatch(rf"(?:{TAG}\s*)*", between)
                if tokens and marks:
                    yield from _headers(name, opening, between, ends, template, what)
                elif not tokens and (tools or (between and not re.search(r"\w", between) and opening.count(" ") < 3)):
                    layout = template.replace("{arguments}", "{json}")
                    settings: dict[str, Any] = {"opening": (opening,), "behind": ((between, (ends,) if ends else ()),)}
                    yield _made(NameInWords, "agents and gateways", what, name, {**settings, "layout": layout})
        return


def _headers(name: str, opening: str, between: str, ends: str, template: str, what: str) -> Iterator[Candidate]:
    header = re.compile(rf"\s*(?P<name>[^\s<>{{}}\"]+)\s*{re.escape(between)}\s*")
    marks = re.findall(r"<[^<>]*>", opening)
    closes = re.findall(r"<[^<>]*>", ends)
    ways: list[dict[str, Any]] = [{"opening": (opening,), "end": (ends,) if ends else ()}]
    if len(marks) > 1 and len(closes) > 1:
        ways.append(
            {
                "sections": (marks[0],),
                "opening": ("".join(marks[1:]),),
                "end": (closes[0],),
                "closers": ("".join(closes[1:]),),
            }
        )
    for way in ways:
        written = template
        if "sections" in way:
            written = template.removeprefix(marks[0]).removesuffix(way["closers"][0])
        settings = {**way, "header": header, "template": written, **_in_line(opening)}
        made = _made(Header, "header and JSON", what, name, settings)
        yield Candidate(made.dialect, made.form, made.summary, ("import re", *made.imports), made.code)


def _keyed(name: str, text: str, _: Sequence[str]) -> Iterator[Candidate]:
    head = re.search(rf"({TOKEN})([a-z_]*:)?([A-Za-z_][\w.-]*)\{{[\w-]+:({TOKEN})", text)
    if head is None:
        return
    opening, before, _name, delimiter = head.groups()
    behind = BEHIND.match(text[text.rfind("}") + 1 :])
    for closing in _closers(opening, behind[1] if behind else ""):
        settings = {"opening": (opening,), "closing": (closing,), "delimiter": delimiter}
        settings |= ({} if before == "call:" else {"before": before or ""}) | _in_line(opening)
        what = f"`{opening}`, a name, and an object whose strings stand between `{delimiter}`."
        yield _made(DelimitedObject, "notations", what, name, settings)


def _calls(name: str, text: str, _: Sequence[str]) -> Iterator[Candidate]:
    """Calls as Python writes them, after a mark."""
    head = re.search(rf"({TOKEN})(\s*)(\[?)[A-Za-z_][\w.]*\((?:[A-Za-z_]\w*\s*=|\))", text)
    if head is None:
        return
    opening, line, bracket = head.groups()
    last = text.rfind(")")
    behind = BEHIND.match(text[last + 1 :].lstrip("]") if bracket else text[last + 1 :])
    for closing in [*_closers(opening, behind[1] if behind else ""), ""]:
        settings: dict[str, Any] = {"opening": (opening,), **({"closing": (closing,)} if closing else {})}
        if not bracket:
            settings |= {"brackets": (line, line), "between": "\n"}
        what = f"calls as Python writes them, behind `{opening}`."
        yield _made(Pythonic, "Python", what, name, settings | _in_line(opening))
