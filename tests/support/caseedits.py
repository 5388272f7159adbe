"""Edits of case files that touch nothing but the values that change.

A file is changed as text, at the places that YAML's parser names: comments, order, blank lines and the spelling of all
that stays are as before. Every edit is read back; one that would change anything else is refused.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # by libyaml, which takes a seventh of the time
WIDTH = 120  # a list that is longer is on several lines


class NotUpdated(Exception):
    """A case stays as it is; the message says why."""


class Uneditable(NotUpdated):
    """Its file cannot be edited there."""


@dataclass(frozen=True)
class Edit:
    """What changes in the case that begins on `line` (counted from 1): keys with their new values, None to remove one.

    order   all keys of such a case, as they follow each other; the columns of one that is a list
    """

    line: int
    keys: Mapping[str, Any]
    order: Sequence[str]


def edited(source: str, edits: Sequence[Edit]) -> str:
    """A file's text with its edits. Raises `Uneditable`."""
    for edit in sorted(edits, key=lambda edit: -edit.line):
        for key, value in edit.keys.items():
            source = _edited(source, edit, key, value)
    return source


def lines_of(source: str, line: int) -> str:
    """The text of the case that begins on `line`."""
    case = _case(source, line)
    start = source.rfind("\n", 0, case.start_mark.index) + 1
    end = source.find("\n", _end(source, case, case.start_mark.column - 1))
    return source[start : end if end >= 0 else len(source)]


def _edited(source: str, edit: Edit, key: str, value: Any) -> str:
    case = _case(source, edit.line)
    if isinstance(case, yaml.SequenceNode):
        wanted = _without_case(source, edit.line, {edit.order.index(key): value})
        candidates = _cells(source, case, edit.order.index(key), value)
    else:
        wanted = _without_case(source, edit.line, {key: value})
        candidates = _candidates(source, case, edit, key, value)
    for changed in candidates:
        try:
            if _without_case(changed, edit.line, {}) == wanted:
                return changed
        except (yaml.YAMLError, Uneditable):
            continue
    raise Uneditable(f"`{key}` cannot be edited here; write {key}: {flow(value)}")


def _root(source: str) -> yaml.Node:
    root = yaml.compose(source, Loader=_LOADER)
    if not isinstance(root, yaml.MappingNode):
        raise Uneditable("a case file is a mapping")
    return root


def _case(source: str, line: int) -> Any:
    for _, section in _root(source).value:
        for case in section.value if isinstance(section, yaml.SequenceNode) else ():
            if case.start_mark.line + 1 == line and isinstance(case, yaml.CollectionNode):
                return case
    raise Uneditable(f"no case begins on line {line}")


def _without_case(source: str, line: int, changes: Mapping[str, Any]) -> str:
    """All that a file says, in one spelling, with changes in the case that begins on `line`."""
    root, data = _root(source), yaml.load(source, Loader=_LOADER)
    for section, node in root.value:
        for place, case in enumerate(node.value if isinstance(node, yaml.SequenceNode) else ()):
            if case.start_mark.line + 1 == line:
                had = data[section.value][place]
                said = {**(dict(enumerate(had)) if isinstance(had, list) else had), **changes}
                data[section.value][place] = {key: said[key] for key in sorted(said) if said[key] is not None}
    return json.dumps(data, default=str)


def _cells(source: str, case: yaml.SequenceNode, column: int, value: Any) -> Iterator[str]:
    """The file with one item of a case that is a list changed, added as the last, or removed as the last."""
    cells = case.value
    if column < len(cells):
        start, end = cells[column].start_mark.index, cells[column].end_mark.index
        if value is not None:
            yield source[:start] + flow(value) + source[end:]
        elif 0 < column == len(cells) - 1:
            yield source[: cells[column - 1].end_mark.index] + source[end:]
    elif column == len(cells) and value is not None:
        at = cells[-1].end_mark.index
        yield f"{source[:at]}, {flow(value)}{source[at:]}"


def _candidates(source: str, case: yaml.MappingNode, edit: Edit, key: str, value: Any) -> Iterator[str]:
    """The file with one key changed, in each way to write it, the nicest first."""
    nodes = {name.value: (name, node) for name, node in case.value}
    indent = case.start_mark.column
    if key not in nodes:
        before = [name for name in edit.order[: edit.order.index(key)] if name in nodes] or [case.value[0][0].value]
        at = _end(source, nodes[before[-1]][1], indent)
        for written in _written(value, indent, None, key, flowing=bool(case.flow_style)):
            if case.flow_style:
                yield f"{source[:at]}, {key}: {written}{source[at:]}"
            else:
                line_end = source.find("\n", at)
                line_end = len(source) if line_end < 0 else line_end
                yield f"{source[:line_end]}\n{' ' * indent}{_joined(f'{key}: ', written)}{source[line_end:]}"
        return
    name, node = nodes[key]
    start, end = node.start_mark.index, _end(source, node, indent)
    if start < name.end_mark.index:
        raise Uneditable(f"`{key}` is an alias of another value")
    if value is None:
        yield _removed(source, case, name, end)
        return
    if isinstance(node, yaml.SequenceNode) and isinstance(value, list):
        yield from _items_replaced(source, node, value, indent)
    for written in _written(value, indent, node, key, flowing=bool(case.flow_style)):
        yield _joined(source[:start], written) + source[end:]


def _joined(before: str, written: str) -> str:
    """A value after its key; one that begins on the next line needs no blank."""
    return (before.rstrip(" ") if written.startswith("\n") else before) + written


def _removed(source: str, case: yaml.MappingNode, name: yaml.Node, end: int) -> str:
    if case.flow_style:
        place = [key for key, _ in case.value].index(name)
        before = _end(source, case.value[place - 1][1], 0)
        return source[:before] + source[end:]
    line_start = source.rfind("\n", 0, name.start_mark.index) + 1
    line_end = source.find("\n", end)
    return source[:line_start] + (source[line_end + 1 :] if line_end >= 0 else "")


def _items_replaced(source: str, node: yaml.SequenceNode, value: list[Any], indent: int) -> Iterator[str]:
    """A list in which only the items change that differ; one of another length keeps the spelling of its items."""
    had = [yaml.safe_load(_of(source, item, indent)) for item in node.value if _alone(source, item)]
    if len(had) != len(node.value):
        return
    if len(had) == len(value):
        for item, old, new in reversed(list(zip(node.value, had, value, strict=True))):
            if _spelt(old) != _spelt(new):
                source = source[: item.start_mark.index] + flow(new) + source[_end(source, item, indent) :]
        yield source
        return
    known = {_spelt(old): _of(source, item, indent) for item, old in zip(node.value, had, strict=True)}
    items = [known.get(_spelt(new), flow(new)) for new in value]
    if node.flow_style and not any("\n" in item for item in items):
        start, end = node.start_mark.index, node.end_mark.index
        line = f"[{', '.join(items)}]"
        if start - source.rfind("\n", 0, start) + len(line) <= WIDTH:
            yield source[:start] + line + source[end:]


def _alone(source: str, item: yaml.Node) -> bool:
    """Whether an item's text can be read by itself: it is no alias."""
    text = source[item.start_mark.index : item.end_mark.index]
    return "*" not in text and "&" not in text


def _of(source: str, node: yaml.Node, indent: int) -> str:
    return source[node.start_mark.index : _end(source, node, indent)]


def _spelt(value: Any) -> str:
    return json.dumps(value, default=str)


def _end(source: str, node: yaml.Node, indent: int) -> int:
    """Where a value's text ends, before the blank lines and comments that the parser counts to it.

    indent   the column of what holds the value
    """
    if isinstance(node, yaml.ScalarNode) and node.style in {"|", ">"}:
        end = source.find("\n", node.start_mark.index)
        if end < 0:
            return len(source)
        keeps = "+" in source[node.start_mark.index : end]
        at = end
        while at < len(source):
            line_end = source.find("\n", at + 1)
            line_end = len(source) if line_end < 0 else line_end
            line = source[at + 1 : line_end]
            if line.strip() and len(line) - len(line.lstrip(" ")) <= indent:
                break
            if line.strip() or (keeps and line_end < len(source)):
                end = line_end
            at = line_end
        return end
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(source, last[1] if isinstance(last, tuple) else last, node.start_mark.column)
    return int(node.end_mark.index)


# --- values -----------------------------------------------------------------------------------------------------------


def flow(value: Any) -> str:
    """A value on one line, as it may be anywhere."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    return _scalar(value) if isinstance(value, str) else json.dumps(value)


def _scalar(value: str) -> str:
    return next(spelling for spell in (_plain, _single, _double) if (spelling := spell(value)) is not None)


def _plain(value: str) -> str | None:
    if not re.fullmatch(r"[\w./~-]([\w ./()=+*@~^:-]*[\w./()=+*@~^-])?", value, re.ASCII):
        return None
    try:
        return value if yaml.safe_load(f"[{{a: {value}}}, {value}]") == [{"a": value}, value] else None
    except yaml.YAMLError:
        return None


def _single(value: str) -> str | None:
    if "\n" in value or "'" in value or not ('"' in value or "\\" in value) or not _printable(value):
        return None
    return f"'{value}'"


def _double(value: str) -> str:
    return yaml.safe_dump(value, default_style='"', allow_unicode=True, width=float("inf")).rstrip("\n")


def literal(value: str, indent: int) -> str | None:
    lines = value.split("\n")
    if len(lines) < 2 or not _printable(value) or value[0] in " \n" or any(line != line.rstrip() for line in lines):
        return None
    mark = "|-" if lines[-1] else "|" if lines[-2] else "|+"
    body = lines if lines[-1] else lines[:-1]
    return mark + "".join(f"\n{' ' * (indent + 2)}{line}".rstrip(" ") for line in body)


def _printable(value: str) -> bool:
    return all(one.isprintable() or one == "\n" for one in value)


def _written(value: Any, indent: int, old: yaml.Node | None, key: str, *, flowing: bool) -> Iterator[str]:
    """A value in each way to write it, the nicest first, and in the style that it had, where that is possible.

    flowing   it is in a mapping on one line
    """
    if isinstance(value, str):
        style = old.style if isinstance(old, yaml.ScalarNode) else None
        ways: list[Callable[[str], str | None]] = [_scalar, _double]
        if style == '"':
            ways.insert(0, _double)
        if not flowing and (style == "|" or (style is None and value.strip("\n").count("\n") > 1)):
            ways.insert(0, lambda text: literal(text, indent))
        yield from filter(None, (way(value) for way in ways))
        return
    line = flow(value)
    if isinstance(value, list) and value and not flowing:
        rows = [f"- {flow(item)}" for item in value]
        if isinstance(old, yaml.SequenceNode) and not old.flow_style:
            yield f"\n{' ' * old.start_mark.column}".join(rows)
        elif indent + len(f"{key}: {line}") > WIDTH:
            yield "".join(f"\n{' ' * indent}{row}" for row in rows)
    yield line
