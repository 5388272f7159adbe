"""Settings that have no effect or contradict each other. Each is reported with its line, so that nobody relies on one.

A contradiction is a mistake, a setting without effect is a warning. The whole configuration is examined, since a route
inherits from `defaults`, together with the lines of the keys that the file sets.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from toolcalls.route import Access, AccessRule, Config, Filter, Loops, Route
from toolcalls.text.patterns import match_widths

# Names that verdicts and notes use for things other than the file's own rules, so no rule may have one.
RESERVED_NAMES = frozenset({"default", "same_call", "same_result", "cycle", "message"})

# Keys about calls in text, which have no effect where both sides are native.
_TEXT_KEYS = ("policy", "take", "require", "allowed_tools", "multiple_calls")


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding and its line. `is_mistake`: the configuration cannot be used."""

    line: int
    text: str
    is_mistake: bool = False


def findings(config: Config, lines: Mapping[str, int]) -> Iterator[Finding]:
    """The findings of a configuration. `lines` are those of its keys, by place: `routes[0].access.rules[1].tools`."""
    places = [("defaults", config.default), *((f"routes[{i}]", route) for i, route in enumerate(config.routes))]
    yield from _steering(places, lines)
    for place, route in places:
        given = {key: line for key, line in lines.items() if key.startswith(f"{place}.")}
        yield from _sides(place, route, given)
        if f"{place}.access" in given and route.access is not None:
            yield from _access(f"{place}.access", route.access, given)
        if f"{place}.loops" in given and route.loops is not None:
            yield from _loops(f"{place}.loops", route.loops, given)
        for i, filter_ in enumerate(route.filters):
            yield from _filter(f"{place}.filters[{i}]", filter_, given)


def _can_block(route: Route) -> bool:
    """Whether the route may block a call, so that a text for the model is needed."""
    return route.access is not None or (route.loops is not None and route.loops.acts)


def _steering(places: list[tuple[str, Route]], lines: Mapping[str, int]) -> Iterator[Finding]:
    """`steering: request` needs rewritten requests: else the model would never learn why its call was blocked."""
    others = [route for _, route in places[1:] if route.steering == "request" and route.rewrite_request]
    for place, route in places:
        if route.steering != "request":
            continue
        keys = [f"{place}.{key}" for key in ("steering", "rewrite_request", "access", "loops")]
        line = next((lines[key] for key in keys if key in lines), None)
        if line is None:
            continue  # the route only inherits
        own = keys[0] in lines
        if not route.rewrite_request and (_can_block(route) or (own and not (place == "defaults" and others))):
            text = f"{place}.steering: request needs rewrite_request: true, since the text goes into the next request"
            yield Finding(line, text, is_mistake=True)
        elif own and not _can_block(route) and place != "defaults":
            yield Finding(line, f"{place}.steering does nothing: neither access nor loops blocks a call here")


def _sides(place: str, route: Route, given: Mapping[str, int]) -> Iterator[Finding]:
    both = route.client == "native" and route.upstream == "native"
    for key in _TEXT_KEYS if both else ():
        if (name := f"{place}.{key}") in given:
            yield Finding(given[name], f"{name} does nothing: where both sides are native, text is no call")
    if route.client == "native" and f"{place}.client_dialect" in given:
        yield Finding(given[f"{place}.client_dialect"], f"{place}.client_dialect does nothing: the client is native")


def _access(place: str, access: Access, given: Mapping[str, int]) -> Iterator[Finding]:
    blocks = [rule.action == "block" for rule in access.rules]
    if access.default == "allow" and not any(blocks):
        yield Finding(
            given[place], f"{place} does nothing: no rule blocks, and calls that no rule is about are allowed"
        )
    order = sorted(range(len(access.rules)), key=lambda i: -access.rules[i].priority)
    decides: AccessRule | None = None
    for number, i in enumerate(order):
        rule, name = access.rules[i], f"{place}.rules[{i}]"
        line = given.get(f"{name}.name", given[place])
        behind = any(blocks[other] for other in order[number + 1 :])
        if decides is not None:
            yield Finding(line, f'{name} does nothing: the rule "{decides.name}" before it decides every call')
        elif rule.action == "allow" and access.default == "allow" and any(blocks) and not behind:
            yield Finding(line, f"{name} does nothing: no rule behind it blocks, so its calls are allowed without it")
        if rule.action == "allow" and f"{name}.message" in given:
            yield Finding(given[f"{name}.message"], f"{name}.message does nothing: a rule that allows says nothing")
        if decides is None and rule.decides_all:
            decides = rule


def _filter(place: str, filter_: Filter, given: Mapping[str, int]) -> Iterator[Finding]:
    key = f"{place}.max_length"
    if filter_.pattern is None:
        if key in given:
            yield Finding(given[key], f"{key} does nothing: a literal is as long as it is")
        return
    line = given.get(key, given.get(f"{place}.pattern"))
    if line is None:
        return  # it is inherited, and reported where `defaults` sets it
    (least, most), length = match_widths(filter_.pattern), filter_.max_length
    if most == 0:
        yield Finding(line, f"{place}.pattern does nothing: it matches no character")
    elif least > length:
        yield Finding(
            line, f"{place} does nothing: a match has {least} characters at least, and max_length is {length}"
        )
    elif most is not None and most > length:
        text = f"a match may have {most} characters, and what goes past max_length ({length}) is not replaced"
        yield Finding(line, f"{place}.max_length is too little: {text}")


def _loops(place: str, loops: Loops, given: Mapping[str, int]) -> Iterator[Finding]:
    calls = loops.same_call or loops.same_result or loops.cycle
    if not (calls or loops.message):
        yield Finding(given[place], f"{place} does nothing: nothing is ever too often (null says so, too)")
    elif not calls and f"{place}.tools" in given:
        yield Finding(given[f"{place}.tools"], f"{place}.tools does nothing: no calls are counted")
    if not loops.acts and f"{place}.text" in given:
        yield Finding(given[f"{place}.text"], f"{place}.text does nothing: only replace and stop show it")
