"""The keys of a document, of a route and of its match: nodes → routes."""

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, get_args

from toolcalls.config.keys import Keys
from toolcalls.config.mistakes import ConfigError, Mistake, quote
from toolcalls.config.nodes import Node
from toolcalls.config.processors import ProcessorKeys
from toolcalls.config.readers import (
    Reader,
    as_choice,
    as_glob,
    as_list,
    as_mapping,
    as_patterns,
    as_word,
    expected,
    flag,
    list_of,
    number,
    one_of,
    optional_flag,
    require,
    setting,
    some_of,
)
from toolcalls.config.tools import ToolKeys
from toolcalls.route import Config, Match, Mended, PolicyName, Price, Required, Route, Side, Taken

_FILES = (".yaml", ".yml")  # by which a file with a dialect is known


def _host(node: Node, where: str) -> dict[str, Any]:
    text = as_glob(node, where)
    if "/" in text or re.fullmatch(r"[^:]*:[0-9*]+", text):
        raise expected("a host name without scheme, port and path", node, where)
    return {"host": text}


def _path(node: Node, where: str) -> dict[str, Any]:
    text = as_glob(node, where)
    if text[0] not in "/*?[":
        raise expected('a path that begins with "/" or "*"', node, where)
    return {"path": text}


def _allowed_tools(node: Node, where: str) -> dict[str, Any]:
    return {"allowed_tools": None if node.value is None else as_patterns(node, where, "null or a list")}


def _client_patterns(node: Node, where: str) -> dict[str, Any]:
    items = as_list(node, where, "a list of words ([] switches detection off)")
    return {"vtc_client_patterns": tuple(as_word(item, f"{where}[{i}]", "a word") for i, item in enumerate(items))}


def _markers(node: Node, where: str) -> dict[str, Any]:
    if not isinstance(node.value, list):
        return {"marker": (_marker(node, where, "a marker or a list of markers"),)}
    if not node.value:
        raise Mistake(node.line, f"{where}: expected at least one marker; found an empty list")
    markers = [_marker(item, f"{where}[{i}]", "a marker") for i, item in enumerate(node.value)]
    return {"marker": tuple(dict.fromkeys(markers))}


def _marker(node: Node, where: str, what: str) -> str:
    """A marker is looked for at the start of a line, where white space does not count."""
    marker = as_word(node, where, what)
    if marker != marker.strip():
        raise expected("a marker without white space around it", node, where)
    return marker


def _price(node: Node, where: str) -> float:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1_000_000:
        raise expected("a price of a million tokens, 0 or more", node, where)
    return float(value)


class OwnDialects(Protocol):
    """Finds dialects that are none of the package."""

    def in_file(self, path: Path, name: str | None) -> str:
        """The dialect in a file, under another name than the file's own if one is given.

        Raises ConfigError for what is wrong in the file, and ValueError for what is wrong with its name here.
        """

    def installed(self, name: str) -> str | None:
        """The dialect of this name that an installed package brings; None for none. Raises ValueError."""


class RouteKeys:
    """One reading of one document, with the names of the dialects and wires that exist.

    folder   from which the paths of files count
    own      finds dialects that are none of the package; None where there may be none
    """

    def __init__(
        self,
        keys: Keys,
        dialects: Collection[str],
        wires: Collection[str],
        folder: Path,
        own: OwnDialects | None = None,
    ) -> None:
        self._keys = keys
        self._dialects = dialects
        self._folder = folder
        self._own = own
        self._brought: set[str] = set()  # the names of those
        self._settings: dict[str, Reader] = {
            "client": self._client,
            "upstream": self._upstream,
            "client_dialect": self._client_dialect,
            "dialects": self._read_dialects,
            "policy": one_of("policy", get_args(PolicyName)),
            "take": some_of("take", get_args(Taken)),
            "require": some_of("require", get_args(Required)),
            "allowed_tools": _allowed_tools,
            "tools": ToolKeys(keys).tools,
            "mend": list_of("mend", get_args(Mended)),
            "multiple_calls": optional_flag("multiple_calls", "what the client takes"),
            "starts_in_reasoning": flag("starts_in_reasoning"),
            "infer_types": flag("infer_types"),
            "escaped_values": optional_flag("escaped_values", "as calls in the request show"),
            "drop_invented_results": flag("drop_invented_results"),
            "max_buffer_bytes": number("max_buffer_bytes", 64),
            "max_held_call_bytes": number("max_held_call_bytes", 64),
            "max_call_chars": number("max_call_chars", 64),
            "max_depth": number("max_depth", 1, 512),
            "max_calls": number("max_calls", 1),
            "max_candidates": number("max_candidates", 1),
            "max_frame_bytes": number("max_frame_bytes", 1024),
            "max_decoded_bytes": number("max_decoded_bytes", 1024 * 1024),
            "marker": _markers,
            "max_payload_chars": number("max_payload_chars", 0),
            "rewrite_request": flag("rewrite_request"),
            "refuse_websocket": flag("refuse_websocket"),
            "prepend_newlines": flag("prepend_newlines"),
            "newline_count": number("newline_count", 0, 10),
            **ProcessorKeys(keys, folder).readers,
        }
        self._match: dict[str, Reader] = {
            "host": _host,
            "path": _path,
            "model": lambda node, where: {"model": as_glob(node, where)},
            "wire": one_of("wire", wires),
        }
        self._route: dict[str, Reader] = {
            "name": lambda node, where: {"name": as_word(node, where, "a name")},
            "match": lambda node, where: {"match": Match(**keys.read_mapping(node, where, self._match))},
            **self._settings,
        }
        self._top: dict[str, Reader] = {
            "version": self._version,
            "vtc_client_patterns": _client_patterns,
            "prices": self._prices,
            "currency": lambda node, where: {"currency": as_word(node, where, "a currency")},
            "defaults": lambda node, where: {"defaults": keys.read_mapping(node, where, self._settings)},
            "routes": self._routes,
        }
        keys.places = {
            "the top level": self._top,
            "defaults or a route": self._settings,
            "a route": self._route,
            "the match of a route": self._match,
        }

    def config(self, root: Node) -> Config:
        """The whole document. Routes are built last, because `defaults` may be below them."""
        found = self._keys.read_mapping(root, "", self._top)
        default = replace(Route(), **found.pop("defaults", {}))
        routes = tuple(self._reads_own(replace(default, **one)) for one in found.pop("routes", ()))
        currency = found.pop("currency", "")
        prices = tuple(replace(one, currency=currency) for one in found.pop("prices", ()))
        return Config(routes=routes, default=self._reads_own(default), prices=prices, **found)

    def _reads_own(self, route: Route) -> Route:
        """The route, which reads a dialect of the configuration that its client speaks."""
        spoken = route.client_dialect
        if spoken not in self._brought or route.dialects is not None or spoken in route.own:
            return route
        return replace(route, own=(*route.own, spoken))

    def _version(self, node: Node, where: str) -> dict[str, Any]:
        number("version", 1, 1)(node, where)
        return {}

    def _routes(self, node: Node, where: str) -> dict[str, Any]:
        routes: list[dict[str, Any]] = []
        names = {Route().name}
        for i, item in enumerate([] if node.value is None else as_list(node, where, "a list of routes")):
            place = f"{where}[{i}]"
            try:
                as_mapping(item, place)
                settings = {"name": place, **self._keys.read_mapping(item, place, self._route)}
                if settings["name"] in names:
                    raise Mistake(item.line, f"{place}: the name {quote(settings['name'])} is taken already")
            except Mistake as mistake:
                self._keys.add_mistake(mistake)
                continue
            names.add(settings["name"])
            routes.append(settings)
        return {"routes": routes}

    def _prices(self, node: Node, where: str) -> dict[str, Any]:
        empty = node.value is None
        return {"prices": () if empty else self._keys.read_list(node, where, "a list of prices", self._model_price)}

    def _model_price(self, node: Node, where: str) -> Price:
        readers: dict[str, Reader] = {
            "model": setting("model", as_glob),
            "input": setting("input", _price),
            "output": setting("output", _price),
            "cached": setting("cached", _price),
        }
        found = self._keys.read_mapping(node, where, readers)
        require(node, where, "model", "input", "output")
        return Price(**{"model": "*", "input": 0.0, "output": 0.0, **found})

    def _client(self, node: Node, where: str) -> dict[str, Any]:
        side = self._dialect(node, where, get_args(Side), " or the name or file of a dialect")
        return {"client": side} if side in get_args(Side) else {"client": "text", "client_dialect": side}

    def _upstream(self, node: Node, where: str) -> dict[str, Any]:
        side = self._dialect(node, where, get_args(Side), " or the name or file of a dialect")
        return {"upstream": side} if side in get_args(Side) else {"upstream": "text", "dialects": (side,)}

    def _client_dialect(self, node: Node, where: str) -> dict[str, Any]:
        name = self._dialect(node, where, ("auto",), " or the name or file of a dialect")
        return {"client_dialect": None if name == "auto" else name}

    def _read_dialects(self, node: Node, where: str) -> dict[str, Any]:
        if not isinstance(node.value, list):
            name = self._dialect(node, where, ("auto",), ", the name or file of a dialect or a list of such")
            return {"dialects": None, "own": ()} if name == "auto" else {"dialects": (name,)}
        if not node.value:
            raise Mistake(node.line, f'{where}: expected at least one dialect (to read none, set "upstream: native")')
        names = []
        for i, item in enumerate(node.value):
            more = ("auto",) if item.value == "auto" else ()
            names.append(self._dialect(item, f"{where}[{i}]", more or self._dialects))
        listed = tuple(dict.fromkeys(names))
        if "auto" not in listed:
            return {"dialects": listed}
        own = tuple(name for name in listed if name in self._brought)
        if len(own) < len(listed) - 1:
            raise Mistake(node.line, f'{where}: "auto" is all of the package; expected only files beside it')
        return {"dialects": None, "own": own}

    def _dialect(self, node: Node, where: str, words: Collection[str], or_else: str = "") -> str:
        """One of the words, or the name of a dialect: of the package, of a file or of an installed package."""
        own = self._own
        value = node.value
        try:
            if own is not None and isinstance(value, dict):
                return self._noted(self._in_file(own, node, where))
            if own is not None and isinstance(value, str) and value.endswith(_FILES):
                return self._noted(own.in_file(self._folder / value, None))
            if own is not None and isinstance(value, str) and not (value in words or value in self._dialects):
                name = own.installed(value)
                if name is not None:
                    return self._noted(name)
        except ConfigError as error:
            *others, last = error.errors
            for line in others:
                self._keys.add_mistake(Mistake(node.line, line, placed=True))
            raise Mistake(node.line, last, placed=True) from error
        except ValueError as error:
            raise Mistake(node.line, f"{where}: {error}") from error
        return as_choice(node, where, words, or_else, self._dialects if or_else else ())

    def _in_file(self, own: OwnDialects, node: Node, where: str) -> str:
        """A dialect of a file under another name: `{file: PATH, name: NAME}`."""
        readers: dict[str, Reader] = {
            "file": setting("file", lambda node, where: as_word(node, where, "a path")),
            "name": setting("name", lambda node, where: as_word(node, where, "a name")),
        }
        found = self._keys.read_mapping(node, where, readers)
        require(node, where, "file")
        return own.in_file(self._folder / found.get("file", ""), found.get("name"))

    def _noted(self, name: str) -> str:
        self._brought.add(name)
        return name
