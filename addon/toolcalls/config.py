"""YAML → frozen routes; every mistake is one line that names its file, its line, what was found and what was expected.

Strategy: three steps, each with one kind of mistake. `load` turns a file into text (size, UTF-8). `_Composer` turns the
text into nodes that remember their lines; it reads the parser's events itself, so that nothing is constructed, no tag
means anything, no alias is expanded, and depth and number of values are bounded while they are read. `_Reading` turns
nodes into routes: every key has one reader, a reader gives the fields of `Route` that it sets or raises `_Mistake`, and
mistakes are collected key by key.

Unquoted values mean what they mean in JSON (true, false, null, numbers); everything else is text. So the YAML 1.1
surprises (`no`, `on`, `12:30`, `0x10`, dates) are text here, and a tool pasted as JSON is read as JSON.

The names of dialects and wires come in as arguments, because this module sits below both.
Over 300 lines: the three steps share one kind of mistake, and the keys are a list of short readers that is read as one.

A reactor's file is looked at and not run: whether it is there, is Python, and has the function.
"""

import ast
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, get_args

import yaml

from toolcalls.idle import RESERVED, findings
from toolcalls.patterns import compiled
from toolcalls.request import Tool
from toolcalls.route import (
    Access,
    AccessRule,
    Condition,
    Config,
    Filter,
    LoopAction,
    Loops,
    Match,
    PolicyName,
    Price,
    Reactor,
    Required,
    Route,
    Side,
    Taken,
)

MAX_BYTES = 1_000_000
MAX_DEPTH = 64
MAX_VALUES = 20_000
MAX_MISTAKES = 20
MAX_PATTERN = 1_000


class ConfigError(ValueError):
    """A configuration that cannot be used. `errors` holds one line per mistake, `str` joins them with newlines."""

    @property
    def errors(self) -> tuple[str, ...]:
        """The mistakes in line order, each `source:line: what is wrong`; at most MAX_MISTAKES."""
        return self.args

    def __str__(self) -> str:
        return "\n".join(self.args)


def default_path() -> Path:
    """The file that is read when none is named: the repository's own, else the one that an installed wheel holds."""
    package = Path(__file__).resolve().parent
    checkout = package.parents[1] / "config" / "toolcalls.yaml"
    return checkout if checkout.is_file() else package / "_config" / "toolcalls.yaml"


def load(path: Path, dialects: Collection[str], wires: Collection[str]) -> Config:
    """Reads a file of at most MAX_BYTES bytes of UTF-8. Raises ConfigError, also when the file cannot be read."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        text = data.decode() if len(data) <= MAX_BYTES else ""
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        mistake = _Mistake(line, f"found byte 0x{data[error.start]:02x}, which is not UTF-8; expected UTF-8 text")
        raise _config_error(str(path), [mistake]) from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise _config_error(str(path), [_Mistake(1, f"the file cannot be read: {reason}")]) from error
    if len(data) > MAX_BYTES:
        raise _config_error(str(path), [_Mistake(1, _TOO_LARGE)])
    return parse(text, str(path), dialects, wires)


def parse(text: str, source: str, dialects: Collection[str], wires: Collection[str]) -> Config:
    """Reads YAML text. `source` is the name that mistakes begin with; `dialects` and `wires` are the names that exist.

    Empty text is the default Config. Raises ConfigError and nothing else, whatever the text is.
    """
    reading = _Reading(dialects, wires, Path(source).parent)
    try:
        if len(text) > MAX_BYTES:
            raise _Mistake(1, _TOO_LARGE)
        config = reading.config(_Composer(text).document())
    except _Mistake as mistake:
        raise _config_error(source, [*reading.mistakes, mistake]) from mistake
    if not reading.mistakes:
        found = sorted(findings(config, reading.lines), key=lambda finding: finding.line)
        reading.mistakes.extend(
            _Mistake(finding.line, finding.text) for finding in found[:MAX_MISTAKES] if finding.wrong
        )
        said = _config_error(source, [_Mistake(finding.line, finding.text) for finding in found if not finding.wrong])
        config = replace(config, warnings=said.errors[:MAX_MISTAKES])
    if reading.mistakes:
        raise _config_error(source, reading.mistakes)
    return config


def select(config: Config, *, host: str, path: str, model: str, wire: str) -> Route:
    """The first route whose match fits, else `config.default`. A query string in `path` is not looked at.

    `*` and `?` match any character, also `/` and `.`. Upper and lower case count, except in host names (RFC 4343).
    """
    host, path = host.lower(), path.partition("?")[0]
    for route in config.routes:
        match = route.match
        if (
            (match.host is None or fnmatchcase(host, match.host.lower()))
            and (match.path is None or fnmatchcase(path, match.path))
            and (match.model is None or fnmatchcase(model, match.model))
            and (match.wire is None or fnmatchcase(wire, match.wire))
        ):
            return route
    return config.default


# --- mistakes ---------------------------------------------------------------------------------------------------------

_TOO_LARGE = f"the file is too large; expected at most {MAX_BYTES} bytes"


class _Mistake(Exception):
    """One mistake on its way to its line in a ConfigError."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def _config_error(source: str, mistakes: list[_Mistake]) -> ConfigError:
    ordered = sorted(mistakes, key=lambda mistake: mistake.line)
    return ConfigError(*(_printable(f"{source}:{mistake.line}: {mistake}") for mistake in ordered))


def _printable(text: str) -> str:
    """`text` on one line: what could break a line, move a cursor or hide is written as its escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:60] + "…"


def _quote(text: str) -> str:
    return f'"{_short(text)}"'


def _did_you_mean(word: str, known: Collection[str]) -> str:
    close = get_close_matches(word[:60], known, n=1)
    return f'; did you mean "{close[0]}"?' if close else ""


# --- text to nodes ----------------------------------------------------------------------------------------------------

type Scalar = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class _Node:
    """One value and the line it begins on, from 1. The values of a mapping stand with the lines of their keys."""

    line: int
    value: "Scalar | list[_Node] | dict[str, tuple[int, _Node]]"


_WORDS: dict[str, Scalar] = {"": None, "~": None, "null": None, "true": True, "false": False}
_LINE_BREAK = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")  # YAML 1.1, section 5.4: what its marks count
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")  # RFC 8259, section 6


class _Composer:
    """The nodes of one YAML document. Recursion is bounded by MAX_DEPTH, work by MAX_BYTES and MAX_VALUES."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._events: Iterator[yaml.Event] = iter(())
        self._line = 1
        self._values = 0

    def document(self) -> _Node:
        """The only document of the text, a null node when there is none."""
        try:
            self._events = yaml.parse(self._text, Loader=yaml.SafeLoader)
            self._next()  # the stream's start
            if isinstance(self._next(), yaml.StreamEndEvent):
                return _Node(1, None)
            root = self._node(self._next(), 0)
            self._next()  # the document's end
            if not isinstance(self._next(), yaml.StreamEndEvent):
                raise _Mistake(self._line, "found a second document; expected one")
            return root
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            about = ", ".join(part for part in (error.context, error.problem) if part)
            raise _Mistake(mark.line + 1 if mark else self._line, f"not YAML: {about}") from error
        except yaml.reader.ReaderError as error:
            line = len(_LINE_BREAK.findall(self._text, 0, error.position)) + 1
            raise _Mistake(line, f"found character U+{error.character:04X}, which YAML does not allow") from error
        except (ValueError, OverflowError) as error:
            # PyYAML hands the digits of `\U........` and `%YAML` to chr() and int() without looking at their size.
            raise _Mistake(self._line, "not YAML: a number in an escape or a directive is out of range") from error

    def _next(self) -> yaml.Event:
        event = next(self._events)
        if event.start_mark is not None:
            self._line = event.start_mark.line + 1
        return event

    def _node(self, event: yaml.Event, depth: int) -> _Node:
        line = self._line
        self._values += 1
        if depth > MAX_DEPTH:
            raise _Mistake(line, f"found values nested more than {MAX_DEPTH} deep; expected fewer levels")
        if self._values > MAX_VALUES:
            raise _Mistake(line, f"found more than {MAX_VALUES} values; expected fewer")
        if isinstance(event, yaml.AliasEvent) or (isinstance(event, yaml.NodeEvent) and event.anchor is not None):
            raise _Mistake(line, f"found the anchor or alias {_quote(event.anchor or '')}; expected the value itself")
        if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag is not None:
            raise _Mistake(line, f"found the tag {_quote(event.tag)}; expected a plain value or quoted text")
        if isinstance(event, yaml.ScalarEvent):
            text = self._whole(event.value)
            return _Node(line, text if event.style else self._plain(text))
        if isinstance(event, yaml.SequenceStartEvent):
            items = []
            while not isinstance(event := self._next(), yaml.SequenceEndEvent):
                items.append(self._node(event, depth + 1))
            return _Node(line, items)
        fields: dict[str, tuple[int, _Node]] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key_line = self._line
            if not isinstance(event, yaml.ScalarEvent):
                raise _Mistake(key_line, "found a list, a mapping or an alias as a key; expected a word")
            self._node(event, depth + 1)  # a key keeps the rules of a value, but is its text: `1:` is "1"
            key = self._whole(event.value)
            if key in fields:
                raise _Mistake(key_line, f"key {_quote(key)} stands twice, first on line {fields[key][0]}")
            fields[key] = (key_line, self._node(self._next(), depth + 1))
        return _Node(line, fields)

    def _whole(self, text: str) -> str:
        """`text` with surrogate pairs joined, as JSON writes what lies beyond U+FFFF ("\\ud83d\\ude00")."""
        try:
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError as error:
            raise _Mistake(self._line, "found half of a surrogate pair; expected whole characters") from error

    def _plain(self, text: str) -> Scalar:
        if text in _WORDS:
            return _WORDS[text]
        number = _NUMBER.fullmatch(text)
        if not number:
            return text
        if len(text) > 300 or not math.isfinite(float(text)):
            raise _Mistake(self._line, f"the number {_quote(text)} is out of range (quote it to make it text)")
        return float(text) if number[1] or number[2] else int(text)


# --- nodes to routes --------------------------------------------------------------------------------------------------

type _Reader = Callable[[_Node, str], dict[str, Any]]


def _found(node: _Node) -> str:
    match node.value:
        case None:
            return "nothing"
        case bool(value):
            return str(value).lower()
        case str(text):
            return _quote(text)
        case list():
            return "a list"
        case dict():
            return "a mapping"
        case number:
            return _short(str(number))


def _expected(what: str, node: _Node, where: str, hint: str = "") -> _Mistake:
    return _Mistake(node.line, f"{where + ': ' if where else ''}expected {what}; found {_found(node)}{hint}")


def _items(node: _Node, where: str, what: str) -> list[_Node]:
    if not isinstance(node.value, list):
        raise _expected(what, node, where)
    return node.value


def _fields(node: _Node, where: str, *, may_be_empty: bool = False) -> dict[str, tuple[int, _Node]]:
    if may_be_empty and node.value is None:  # a section whose lines are all commented out
        return {}
    if not isinstance(node.value, dict):
        raise _expected("a mapping of keys to values", node, where)
    return node.value


def _text(node: _Node, where: str, what: str = "text") -> str:
    if not isinstance(node.value, str):
        raise _expected(f"{what} (in quotes if need be)", node, where)
    return node.value


def _word(node: _Node, where: str, what: str) -> str:
    """Text that is shown on one line of a log: not blank, printable, short."""
    text = _text(node, where, what)
    if not text.strip() or not text.isprintable() or len(text) > 200:
        raise _expected(f"{what} of 1 to 200 printable characters", node, where)
    return text


def _choice(node: _Node, where: str, names: Collection[str], or_else: str = "", hidden: Collection[str] = ()) -> str:
    """One of `names`, which the mistake lists, or of `hidden`, which it calls `or_else`."""
    if isinstance(node.value, str) and (node.value in names or node.value in hidden):
        return node.value
    hint = _did_you_mean(node.value, [*names, *hidden]) if isinstance(node.value, str) else ""
    one_of = "one of " if len(names) > 1 else ""
    raise _expected(f"{one_of}{', '.join(names)}{or_else}", node, where, hint)


def _flag(name: str) -> _Reader:
    def read(node: _Node, where: str) -> dict[str, Any]:
        if not isinstance(node.value, bool):
            raise _expected("true or false", node, where)
        return {name: node.value}

    return read


def _one_of(name: str, names: Collection[str]) -> _Reader:
    return lambda node, where: {name: _choice(node, where, names)}


def _words(name: str, names: Collection[str]) -> _Reader:
    """A list of some of `names`; null is what the policy says."""

    def read(node: _Node, where: str) -> dict[str, Any]:
        if node.value is None:
            return {name: None}
        items = _items(node, where, f"null (what the policy says) or a list of {', '.join(names)}")
        return {name: tuple(dict.fromkeys(_choice(item, f"{where}[{i}]", names) for i, item in enumerate(items)))}

    return read


def _number(name: str, low: int, high: int | None = None) -> _Reader:
    what = str(low) if low == high else f"a whole number, {low} {'or more' if high is None else f'to {high}'}"

    def read(node: _Node, where: str) -> dict[str, Any]:
        value = node.value
        if not isinstance(value, int) or isinstance(value, bool) or value < low or (high is not None and value > high):
            raise _expected(what, node, where)
        return {name: value}

    return read


def _glob(node: _Node, where: str) -> str:
    text = _text(node, where, "a pattern")
    if not text or len(text) > MAX_PATTERN:
        raise _expected(f"a pattern of 1 to {MAX_PATTERN} characters", node, where)
    if "[" in re.sub(r"\[(?:!.|[^!])[^\]]*\]", "", text, flags=re.DOTALL):
        raise _expected('a pattern in which every "[" is closed by a "]"', node, where)
    return text


def _host(node: _Node, where: str) -> dict[str, Any]:
    text = _glob(node, where)
    if "/" in text or re.fullmatch(r"[^:]*:[0-9*]+", text):
        raise _expected("a host name without scheme, port and path", node, where)
    return {"host": text}


def _path(node: _Node, where: str) -> dict[str, Any]:
    text = _glob(node, where)
    if text[0] not in "/*?[":
        raise _expected('a path that begins with "/" or "*"', node, where)
    return {"path": text}


def _allowed_tools(node: _Node, where: str) -> dict[str, Any]:
    return {"allowed_tools": None if node.value is None else _patterns(node, where, "null or a list")}


def _patterns(node: _Node, where: str, what: str = "a list") -> tuple[str, ...]:
    items = _items(node, where, f"{what} of regular expressions")
    return tuple(_pattern(item, f"{where}[{i}]") for i, item in enumerate(items))


def _pattern(node: _Node, where: str) -> str:
    pattern = _text(node, where, "a regular expression")
    try:
        if not pattern or len(pattern) > MAX_PATTERN:
            raise _expected(f"a regular expression of 1 to {MAX_PATTERN} characters", node, where)
        compiled(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise _expected("a regular expression", node, where, f" ({reason})") from error
    return pattern


def _client_patterns(node: _Node, where: str) -> dict[str, Any]:
    items = _items(node, where, "a list of words ([] switches detection off)")
    return {"vtc_client_patterns": tuple(_word(item, f"{where}[{i}]", "a word") for i, item in enumerate(items))}


def _markers(node: _Node, where: str) -> dict[str, Any]:
    if not isinstance(node.value, list):
        return {"marker": (_marker(node, where, "a marker or a list of markers"),)}
    if not node.value:
        raise _Mistake(node.line, f"{where}: expected at least one marker; found an empty list")
    markers = [_marker(item, f"{where}[{i}]", "a marker") for i, item in enumerate(node.value)]
    return {"marker": tuple(dict.fromkeys(markers))}


def _marker(node: _Node, where: str, what: str) -> str:
    """A marker is looked for at the start of a line, where white space does not count."""
    marker = _word(node, where, what)
    if marker != marker.strip():
        raise _expected("a marker without white space around it", node, where)
    return marker


def _parameters(node: _Node, where: str) -> dict[str, Any]:
    _fields(node, where)
    return {"schema": _json(node)}


def _json(node: _Node) -> Any:
    """The plain value of a node, as `json.loads` would give it."""
    match node.value:
        case dict(fields):
            return {key: _json(value) for key, (_, value) in fields.items()}
        case list(items):
            return [_json(item) for item in items]
        case scalar:
            return scalar


# --- processors -------------------------------------------------------------------------------------------------------


def _tool_patterns(node: _Node, where: str) -> dict[str, Any]:
    """One regular expression or a list of them, for the names of tools."""
    if not isinstance(node.value, list):
        return {"tools": (_pattern(node, where),)}
    if not node.value:
        raise _Mistake(node.line, f"{where}: expected at least one regular expression; found an empty list")
    return {"tools": _patterns(node, where)}


def _texts(node: _Node, where: str, what: str) -> tuple[str, ...]:
    """A text or a list of texts, none of them empty."""
    items = node.value if isinstance(node.value, list) else [node]
    found = tuple(_text(item, where, what) for item in items)
    if not found or not all(found):
        raise _expected(f"{what} or a list of such", node, where)
    return found


def _named(name: str, read: Callable[[_Node, str], Any]) -> _Reader:
    return lambda node, where: {name: read(node, where)}


def _seconds(node: _Node, where: str) -> dict[str, Any]:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 60:
        raise _expected("a number of seconds, more than 0 and at most 60", node, where)
    return {"time_limit": float(value)}


def _price(node: _Node, where: str) -> float:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1_000_000:
        raise _expected("a price of a million tokens, 0 or more", node, where)
    return float(value)


def _count(name: str) -> _Reader:
    """How many times are too many: 0 for never, or 2 and more, since once is no repetition."""

    def read(node: _Node, where: str) -> dict[str, Any]:
        if node.value == 1:
            raise _expected("0 for never, or a whole number from 2", node, where)
        return _number(name, 0, 60)(node, where)

    return read


def _missing(key: str, node: _Node, where: str) -> _Mistake:
    return _Mistake(node.line, f'{where}: expected the key "{key}"; found none')


class _Reading:
    """One reading of one document: the names that exist, and the mistakes so far. With a mistake no Config comes out,
    so what stands in for a wrong value is never seen."""

    def __init__(self, dialects: Collection[str], wires: Collection[str], folder: Path) -> None:
        self.mistakes: list[_Mistake] = []
        self.lines: dict[str, int] = {}  # of the keys, by place
        self._folder = folder
        self._dialects = sorted(dialects)
        self._settings: dict[str, _Reader] = {
            "client": self._client,
            "upstream": self._upstream,
            "client_dialect": self._client_dialect,
            "dialects": self._read_dialects,
            "policy": _one_of("policy", get_args(PolicyName)),
            "take": _words("take", get_args(Taken)),
            "require": _words("require", get_args(Required)),
            "allowed_tools": _allowed_tools,
            "tools": self._tools,
            "multiple_calls": _flag("multiple_calls"),
            "infer_types": _flag("infer_types"),
            "drop_invented_results": _flag("drop_invented_results"),
            "max_buffer_bytes": _number("max_buffer_bytes", 64),
            "max_call_chars": _number("max_call_chars", 64),
            "max_depth": _number("max_depth", 1, 512),
            "max_calls": _number("max_calls", 1),
            "max_candidates": _number("max_candidates", 1),
            "max_frame_bytes": _number("max_frame_bytes", 1024),
            "max_decoded_bytes": _number("max_decoded_bytes", 1024 * 1024),
            "marker": _markers,
            "max_payload_chars": _number("max_payload_chars", 0),
            "rewrite_request": _flag("rewrite_request"),
            "refuse_websocket": _flag("refuse_websocket"),
            "prepend_newlines": _flag("prepend_newlines"),
            "newline_count": _number("newline_count", 0, 10),
            "access": self._access,
            "loops": self._loops,
            "reactors": self._reactors,
            "filters": self._filters,
            "steering": _one_of("steering", ("reply", "request")),
        }
        self._match: dict[str, _Reader] = {
            "host": _host,
            "path": _path,
            "model": lambda node, where: {"model": _glob(node, where)},
            "wire": _one_of("wire", sorted(wires)),
        }
        self._route: dict[str, _Reader] = {
            "name": lambda node, where: {"name": _word(node, where, "a name")},
            "match": lambda node, where: {"match": Match(**self._collect(node, where, self._match))},
            **self._settings,
        }
        self._top: dict[str, _Reader] = {
            "version": self._version,
            "vtc_client_patterns": _client_patterns,
            "prices": self._prices,
            "defaults": lambda node, where: {"defaults": self._collect(node, where, self._settings)},
            "routes": self._routes,
        }

    def config(self, root: _Node) -> Config:
        """The whole document. Routes are built last, because `defaults` may stand below them."""
        found = self._collect(root, "", self._top)
        default = replace(Route(), **found.pop("defaults", {}))
        routes = tuple(replace(default, **settings) for settings in found.pop("routes", ()))
        return Config(routes=routes, default=default, **found)

    def _note(self, mistake: _Mistake) -> None:
        if len(self.mistakes) == MAX_MISTAKES - 1:
            raise mistake  # the last one that is shown: it ends the reading
        self.mistakes.append(mistake)

    def _collect(self, node: _Node, where: str, readers: Mapping[str, _Reader]) -> dict[str, Any]:
        """What the keys of a mapping set. A key that is wrong is noted and sets nothing."""
        found: dict[str, Any] = {}
        for key, (line, value) in _fields(node, where, may_be_empty=True).items():
            place = f"{where}.{key}" if where else key
            self.lines[place] = line
            try:
                if key not in readers:
                    raise _Mistake(line, self._unknown(key, readers))
                settings = readers[key](value, place)
                for twice in found.keys() & settings.keys():
                    raise _Mistake(line, f"{place}: another key beside it has set {twice}; expected one of the two")
                found |= settings
            except _Mistake as mistake:
                self._note(mistake)
        return found

    def _unknown(self, key: str, here: Mapping[str, _Reader]) -> str:
        places = {"the top level": self._top, "defaults or a route": self._settings, "a route": self._route}
        for place, keys in {**places, "the match of a route": self._match}.items():
            if key in keys:
                return f"unknown key {_quote(key)} in this place; it belongs in {place}"
        return f"unknown key {_quote(key)}" + (_did_you_mean(key, here) or f"; expected one of {', '.join(here)}")

    def _version(self, node: _Node, where: str) -> dict[str, Any]:
        _number("version", 1, 1)(node, where)
        return {}

    def _routes(self, node: _Node, where: str) -> dict[str, Any]:
        routes: list[dict[str, Any]] = []
        names = {Route().name}
        for i, item in enumerate([] if node.value is None else _items(node, where, "a list of routes")):
            place = f"{where}[{i}]"
            try:
                _fields(item, place)
                settings = {"name": place, **self._collect(item, place, self._route)}
                if settings["name"] in names:
                    raise _Mistake(item.line, f"{place}: the name {_quote(settings['name'])} is taken already")
            except _Mistake as mistake:
                self._note(mistake)
                continue
            names.add(settings["name"])
            routes.append(settings)
        return {"routes": routes}

    def _prices(self, node: _Node, where: str) -> dict[str, Any]:
        empty = node.value is None
        return {"prices": () if empty else tuple(self._each(node, where, "a list of prices", self._model_price))}

    def _model_price(self, node: _Node, where: str) -> Price:
        readers: dict[str, _Reader] = {
            "model": _named("model", _glob),
            "input": _named("input", _price),
            "output": _named("output", _price),
            "cached": _named("cached", _price),
        }
        found = self._collect(node, where, readers)
        for key in ("model", "input", "output"):
            if key not in _fields(node, where):
                raise _missing(key, node, where)
        return Price(**{"model": "*", "input": 0.0, "output": 0.0, **found})

    def _client(self, node: _Node, where: str) -> dict[str, Any]:
        side = _choice(node, where, get_args(Side), " or the name of a dialect", self._dialects)
        return {"client": side} if side in get_args(Side) else {"client": "text", "client_dialect": side}

    def _upstream(self, node: _Node, where: str) -> dict[str, Any]:
        side = _choice(node, where, get_args(Side), " or the name of a dialect", self._dialects)
        return {"upstream": side} if side in get_args(Side) else {"upstream": "text", "dialects": (side,)}

    def _client_dialect(self, node: _Node, where: str) -> dict[str, Any]:
        name = _choice(node, where, ("auto",), " or the name of a dialect", self._dialects)
        return {"client_dialect": None if name == "auto" else name}

    def _read_dialects(self, node: _Node, where: str) -> dict[str, Any]:
        if not isinstance(node.value, list):
            what = ", the name of a dialect or a list of names"
            name = _choice(node, where, ("auto",), what, self._dialects)
            return {"dialects": None if name == "auto" else (name,)}
        if not node.value:
            raise _Mistake(node.line, f'{where}: expected at least one dialect (to read none, set "upstream: native")')
        names = [_choice(item, f"{where}[{i}]", self._dialects) for i, item in enumerate(node.value)]
        return {"dialects": tuple(dict.fromkeys(names))}

    # Processors

    def _access(self, node: _Node, where: str) -> dict[str, Any]:
        readers: dict[str, _Reader] = {
            "default": _one_of("default", ("allow", "deny")),
            "message": _named("message", _text),
            "rules": lambda node, where: {"rules": tuple(self._each(node, where, "a list of rules", self._rule))},
        }
        return {"access": None if node.value is None else Access(**self._collect(node, where, readers))}

    def _each[T](self, node: _Node, where: str, what: str, read: Callable[[_Node, str], T]) -> list[T]:
        """What `read` makes of each item. Items that have a name have each their own."""
        found: list[T] = []
        names: set[str] = set()
        for i, item in enumerate(_items(node, where, what)):
            made = read(item, f"{where}[{i}]")
            name = getattr(made, "name", None)
            if name is not None and name in names:
                raise _Mistake(item.line, f"{where}[{i}]: the name {_quote(name)} is taken already")
            names.add(str(name))
            found.append(made)
        return found

    def _rule(self, node: _Node, where: str) -> AccessRule:
        readers: dict[str, _Reader] = {
            "name": _named("name", lambda node, where: _word(node, where, "a name")),
            "action": _one_of("action", ("allow", "block")),
            "tools": _tool_patterns,
            "model": _named("model", _glob),
            "agent": _named("agent", _glob),
            "arguments": self._conditions,
            "priority": _number("priority", -1000, 1000),
            "message": _named("message", _text),
        }
        found = self._collect(node, where, readers)
        for key in ("name", "action"):
            if key not in _fields(node, where):
                raise _missing(key, node, where)
        if (name := found.get("name")) in RESERVED:
            raise _Mistake(
                _fields(node, where)["name"][0], f"{where}.name: {_quote(name)} is a word of the addon's own"
            )
        return AccessRule(**{"name": where, "action": "block", **found})

    def _conditions(self, node: _Node, where: str) -> dict[str, Any]:
        found: list[Condition] = []
        for key, (_, value) in _fields(node, where).items():
            place = f"{where}.{key}"
            if not isinstance(value.value, dict):
                found.append(Condition(key, matches=_pattern(value, place)))
                continue
            readers: dict[str, _Reader] = {
                "matches": _named("matches", _pattern),
                "outside": _named("outside", lambda node, where: _texts(node, where, "a path")),
                "inside": _named("inside", lambda node, where: _texts(node, where, "a path")),
            }
            if not value.value:
                raise _expected("matches, outside or inside", value, place)
            found.append(Condition(key, **self._collect(value, place, readers)))
        return {"arguments": tuple(found)}

    def _loops(self, node: _Node, where: str) -> dict[str, Any]:
        numbers: dict[str, _Reader] = {key: _count(key) for key in ("same_call", "same_result", "cycle", "message")}
        readers: dict[str, _Reader] = {
            **numbers,
            "action": _one_of("action", get_args(LoopAction)),
            "tools": _tool_patterns,
            "progress": _flag("progress"),
            "text": _named("text", _text),
        }
        return {"loops": None if node.value is None else Loops(**self._collect(node, where, readers))}

    def _reactors(self, node: _Node, where: str) -> dict[str, Any]:
        return {"reactors": tuple(self._each(node, where, "a list of reactors", self._reactor))}

    def _reactor(self, node: _Node, where: str) -> Reactor:
        readers: dict[str, _Reader] = {
            "file": _named("file", lambda node, where: _word(node, where, "a path")),
            "function": _named("function", lambda node, where: _word(node, where, "a function's name")),
            "tools": _tool_patterns,
            "time_limit": _seconds,
        }
        found = self._collect(node, where, readers)
        fields = _fields(node, where)
        for key in ("file", "function"):
            if key not in fields:
                raise _missing(key, node, where)
            if key not in found:  # its mistake is noted
                return Reactor("", "")
        path = (self._folder / Path(found["file"]).expanduser()).absolute()
        line = fields["file"][0]
        try:
            tree = ast.parse(path.read_bytes(), str(path))
        except OSError as error:
            raise _Mistake(line, f"{where}.file: {path} cannot be read: {error.strerror}") from error
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise _Mistake(line, f"{where}.file: {path} is not Python: {error}") from error
        functions = [item.name for item in tree.body if isinstance(item, ast.FunctionDef)]
        if found["function"] not in functions:
            hint = _did_you_mean(found["function"], functions)
            raise _expected("the name of a function in the file", fields["function"][1], f"{where}.function", hint)
        return Reactor(**{**found, "file": str(path)})

    def _filters(self, node: _Node, where: str) -> dict[str, Any]:
        return {"filters": tuple(self._each(node, where, "a list of filters", self._filter))}

    def _filter(self, node: _Node, where: str) -> Filter:
        readers: dict[str, _Reader] = {
            "name": _named("name", lambda node, where: _word(node, where, "a name")),
            "literal": _named("literal", _text),
            "pattern": _named("pattern", _pattern),
            "replace": _named("replace", _text),
            "max_length": _number("max_length", 1, 10_000),
            "calls": _flag("calls"),
        }
        found = self._collect(node, where, readers)
        fields = _fields(node, where)
        if "name" not in fields:
            raise _missing("name", node, where)
        if ("literal" in fields) == ("pattern" in fields):
            raise _Mistake(node.line, f"{where}: expected either literal or pattern")
        if found.get("literal") == "":
            raise _expected("text of at least one character", fields["literal"][1], f"{where}.literal")
        if "pattern" in found:
            try:
                re.sub(found["pattern"], found.get("replace", ""), "")
            except (re.error, IndexError) as error:
                line = fields["replace"][0]
                raise _Mistake(line, f"{where}.replace: expected groups that the pattern has ({error})") from error
        return Filter(**{"name": where, **found})

    def _tools(self, node: _Node, where: str) -> dict[str, Any]:
        tools: dict[str, Tool] = {}
        for i, item in enumerate(_items(node, where, "a list of tools")):
            tool = self._tool(item, f"{where}[{i}]")
            if tool.name in tools:
                raise _Mistake(item.line, f"{where}[{i}]: the tool {_quote(tool.name)} stands twice; expected it once")
            tools[tool.name] = tool
        return {"tools": tuple(tools.values())}

    def _tool(self, node: _Node, where: str) -> Tool:
        """A tool, flat or in the form of an OpenAI request (https://platform.openai.com/docs/api-reference/chat)."""
        fields = _fields(node, where)
        kind = _one_of("type", ("function",))
        if "function" in fields:
            self._collect(node, where, {"type": kind, "function": lambda _node, _where: {}})
            node, where = fields["function"][1], f"{where}.function"
            fields = _fields(node, where)
        if "name" not in fields:
            raise _Mistake(node.line, f'{where}: expected a tool with the key "name"; found none')
        readers: dict[str, _Reader] = {
            "name": lambda node, where: {"name": _word(node, where, "a name")},
            "description": lambda node, where: {"description": _text(node, where)},
            "parameters": _parameters,
            "type": kind,
            "strict": _flag("strict"),
        }
        found = self._collect(node, where, readers)
        return Tool(found.get("name", where), found.get("schema", {}), found.get("description", ""))
