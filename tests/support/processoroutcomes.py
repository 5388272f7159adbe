"""What comes out of the cases of `tests/cases/processors`, in their own words."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from support import processorframes, processorrows
from support.caseexpectations import Doubtful, Expected, kept, unordered
from support.casefiles import Said, canonical
from support.processorcases import KINDS, body_of, check, exchange_for, got, history_of, route_of, run, words
from toolcalls.wires.frames import Form


def processed(said: Said) -> dict[str, Expected]:
    """A turn, in every kind of exchange."""
    route, history = route_of(said["rules"]), history_of(said)
    exchange = exchange_for(route, "lift", "sse", history)
    found = got(run(exchange, body_of(said["says"], "lift", "sse")), "lift", "sse")
    calls = [{call["name"]: json.loads(call["arguments"])} for call in found.calls]
    notes = [note.rule for _, note in exchange.notes]
    text = " ".join(found.text.split())
    came = {
        "text": Expected(text, not text),
        "calls": Expected(calls, not calls),
        "finish": Expected(found.finish, default=False),
        "verdicts": Expected(unordered(said["verdicts"], words(exchange)), default=False),
        "notes": Expected(notes, not notes),
    }
    new = {**said, **{key: value for key, (value, _) in came.items()}}
    for kind in KINDS:
        for form in ("sse", "whole"):
            again = exchange_for(route, kind, form, history)
            out = run(again, body_of(said["says"], kind, form))
            try:
                check(new, again, got(out, kind, form), kind)
            except AssertionError as error:
                raise Doubtful(f"the kinds of exchange have different outcomes ({kind}, {form})") from error
            cut = exchange_for(route, kind, form, history)
            if run(cut, body_of(said["says"], kind, form), 1) != out:
                raise Doubtful(f"it depends on where the bytes are cut ({kind}, {form})")
    return came


# --- rows of blocks or items ------------------------------------------------------------------------------------------


def row(said: Said) -> dict[str, Expected]:
    """What a row gives on both wires. Its keys are an Anthropic client's, for that API says more of how it ended."""
    came = _row(said, "sse")
    if said.get("whole", True):
        as_one, wrote = _row(said, "whole"), said.get("whole", {})
        differ = {
            key: wrote[key] if wrote.get(key, one.value) == one.value else one.value
            for key, one in as_one.items()
            if key != "same" and one.value != came[key].value
        }
        came["whole"] = Expected(differ, not differ)
    new = _with(said, came)
    for wire in processorrows.WIRES:
        _holds(f"the wires or the cuts have different outcomes ({wire})", processorrows.check_row, wire, new)
        if new.get("whole", True):
            _holds(f"the forms of the reply have different outcomes ({wire})", processorrows.check_whole, wire, new)
    return came


def _row(said: Said, form: Form) -> dict[str, Expected]:
    wire = "anthropic"
    body = processorrows.sent(wire, form, processorrows.own_row(said), 7, said.get("met", ""))
    exchange = processorrows.own_exchange(wire, said, form)
    out = run(exchange, body)
    found = processorrows.received(wire, form, out)
    calls = kept(
        said.get("calls", ()),
        [{name: json.loads(arguments)} for name, arguments in found.calls],
        lambda old, new: canonical(json.dumps(old)) == canonical(json.dumps(new)),
    )
    text = found.text.rstrip()
    came = {
        "text": Expected(text, not text),
        "calls": Expected(calls, not calls),
        "open": Expected(found.open, not found.open),
        "order": Expected(found.order, default=False),
        "finish": Expected(found.finish, default=False),
        "same": Expected(out == body, out != body),
        "verdicts": Expected(unordered(said["verdicts"], words(exchange)), default=False),
    }
    if "texts" in said:
        starts, ends = (len(said["texts"][key]) for key in ("starts", "ends"))
        around = {"starts": found.text[:starts], "ends": found.text[len(found.text) - ends :]}
        came |= {"text": Expected(None, default=True), "texts": Expected(around, default=False)}
    if "notes" in said:
        came["notes"] = Expected([note.rule for _, note in exchange.notes], default=False)
    return came


# --- frames -----------------------------------------------------------------------------------------------------------


def frames(said: Said, wire: str) -> dict[str, Expected]:
    """Frames of Gemini or Ollama, as the client gets them, and the same reply as one body."""
    form: Form = "sse" if wire == "gemini" else "ndjson"
    body = processorframes.sent(wire, form, said["reply"])
    exchange = processorframes.own_exchange(wire, said, form)
    out = run(exchange, body)
    came = {
        "same": Expected(out == body, out != body),
        "verdicts": Expected(unordered(said["verdicts"], words(exchange)), default=False),
    }
    if "gets" in said:
        found = processorframes.contents(wire, form, out)
        gets = kept(said["gets"], [_short(wire, frame) for frame in found], _reads_alike(wire))
        came["gets"] = Expected(gets, default=False)
        came["order"] = Expected(processorframes.received(wire, form, out).order, default=False)
    if said.get("whole"):
        came["whole"] = Expected(_as_one(said, wire), default=False)
    new = _with(said, came)
    _holds("it depends on where the bytes are cut", processorframes.check_frames, wire, new)
    if wire == "gemini":
        _holds("an array has another outcome", processorframes.check_array, new)
    if new.get("whole"):
        _holds("as one body, the reply has other verdicts", processorframes.check_whole, wire, new)
    return came


def _as_one(said: Said, wire: str) -> Any:
    body = processorframes.sent(wire, "whole", said["reply"])
    whole = json.loads(run(processorframes.own_exchange(wire, said, "whole"), body))
    if wire == "ollama":
        message = _short(wire, whole["message"])
        message = {"content": message} if isinstance(message, str) else message
        return said["whole"] if _reads_alike(wire)(said["whole"], message) else message
    parts = processorframes.parts_joined(whole["candidates"][0]["content"]["parts"])
    return kept(said["whole"], _short(wire, parts), lambda old, new: _reads_alike(wire)([old], [new]))


def _short(wire: str, frame: Any) -> Any:
    """The parts of a frame, or its message, as a case writes them."""
    if wire == "gemini":
        return [part["text"] if set(part) == {"text"} else part for part in frame]
    message = {key: value for key, value in frame.items() if key != "role" and (key, value) != ("content", "")}
    return message["content"] if set(message) == {"content"} else message


def _reads_alike(wire: str) -> Callable[[Any, Any], bool]:
    return lambda old, new: processorframes.normal(wire, [old]) == processorframes.normal(wire, [new])


# --- all of them ------------------------------------------------------------------------------------------------------


def _with(said: Said, came: dict[str, Expected]) -> Said:
    keys = {**said, **{key: one.value for key, one in came.items()}}
    absent: Iterable[str] = (key for key, one in came.items() if one.default)
    return Said({key: value for key, value in keys.items() if key not in set(absent)}, said.place)


def _holds(otherwise: str, check_: Callable[..., None], *case: Any) -> None:
    try:
        check_(*case)
    except AssertionError as error:
        raise Doubtful(otherwise) from error
