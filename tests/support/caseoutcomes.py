"""What comes out of a case, in the words of its file: to paste when it fails, and for `pytest --update-cases`.

An outcome is only given where the laws hold: all of the text is there, and however it is cut, the result is the same.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from support import processoroutcomes, quotingoutcomes
from support.caseexpectations import Doubtful, Expected, kept, spelt
from support.casefiles import CASES, Case, Place, Said, canonical, case_of, load, openai_tools
from support.caseformat import FORMATS
from support.dialectcases import WIRE, Outcome, chunks, comparable, exchanged, read, read_back, single, whole
from support.exchanges import run, same_wherever_it_is_cut
from support.exchanges import words as words_of
from support.rawbytes import RAW_CALL, check_raw, raw_bytes
from support.repository import REPO
from support.wirecases import ALSO_SENT, SENT, WHOLE, Sent, exchange_for
from support.wireoutcomes import received
from toolcalls.requests.conversation import request_of
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import write


def changes(place: Place) -> dict[str, Any]:
    """What must change in a case so that it says what comes out: keys with their values, None for one that must go.

    Raises `Doubtful`.
    """
    kind, section, said = _said(place)
    try:
        expected = _of(kind, section, said)
    except AssertionError as error:
        raise Doubtful(
            f"a law is broken: {str(error).splitlines()[0] if str(error) else 'an assertion failed'}"
        ) from error
    new = {}
    for key, (value, default) in expected.items():
        if key in said:
            if said[key] != value or spelt(said[key]) != spelt(value):
                new[key] = None if default else value
        elif not default:
            new[key] = value
    return new


def order_of(place: Place) -> tuple[str, ...]:
    """All keys of such a case, as they follow each other."""
    kind, section, _ = _said(place)
    return tuple((FORMATS.get(kind) or FORMATS[kind.partition("/")[0]])[section].keys)


def _said(place: Place) -> tuple[str, str, Said]:
    """The case at a place, with the name of its file (`dialects/hermes`) and of its list."""
    kind = (REPO / place.file).relative_to(CASES).with_suffix("").as_posix()
    for section, cases in load(*kind.split("/")).items():
        for case in cases or ():
            if isinstance(case, Said) and case.place == place:
                return kind, section, case
    raise Doubtful(f"there is no case at {place}")


type Way = Callable[[Said, str], dict[str, Expected]]


def _of(kind: str, section: str, said: Said) -> dict[str, Expected]:
    ways: dict[tuple[str, str], Way] = {
        ("dialects", "cases"): _read,
        ("dialects", "written"): _written,
        ("wires", "cases"): _received,
        ("wires/openai_chat", "raw"): lambda said, _: _raw(said),
        ("processors/openai_chat", "cases"): lambda said, _: processoroutcomes.processed(said),
        ("processors/anthropic_and_openai_responses", "cases"): lambda said, _: processoroutcomes.row(said),
        ("processors/gemini", "cases"): processoroutcomes.frames,
        ("processors/ollama", "cases"): processoroutcomes.frames,
        ("quoting", "quoted"): lambda said, _: quotingoutcomes.quoted(said),
        ("quoting", "followed"): lambda said, _: quotingoutcomes.followed(said),
        ("quoting", "calls"): lambda said, _: quotingoutcomes.called(said),
        ("quoting_notations", "quoted"): lambda said, _: quotingoutcomes.other_notation(said),
        ("quoting_notations", "calls"): lambda said, _: quotingoutcomes.called_behind(said),
        ("prompts", "prompts"): lambda said, _: quotingoutcomes.taught(said),
    }
    way = ways.get((kind, section)) or ways.get((kind.partition("/")[0], section))
    if way is None:
        raise Doubtful(f"nothing here says what comes out of the cases of {kind}.yaml (`{section}`)")
    return way(said, kind.partition("/")[2])


def call_said(name: str, arguments: str, exact: bool = False) -> dict[str, Any]:
    """A call as a case says it: its arguments as a mapping, or where that would lose something as JSON."""
    values = json.loads(arguments)
    plain = json.dumps(values, ensure_ascii=False) == arguments or canonical(arguments) == _sorted_once(arguments)
    if exact or not isinstance(values, dict) or not plain:
        return {"name": name, "json": arguments}
    return {"name": name, "arguments": values}


def _sorted_once(arguments: str) -> str:
    """The canonical JSON where no key comes twice, "" where one does."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(found)) != len(found):
            raise ValueError("a key comes twice")
        return dict(found)

    try:
        return json.dumps(json.loads(arguments, object_pairs_hook=pairs), ensure_ascii=False, allow_nan=False)
    except ValueError:
        return ""


def _calls(said: Mapping[str, Any], came: Iterable[tuple[str, str]]) -> Expected:
    wrote = said.get("calls", [])
    new = [call_said(*call, exact=place < len(wrote) and "json" in wrote[place]) for place, call in enumerate(came)]
    return Expected(kept(wrote, new, _same_call), not new)


def _same_call(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    if "json" in old and "json" in new:
        return (old["name"], old["json"]) == (new["name"], new["json"])
    values = [json.loads(one["json"]) if "json" in one else one.get("arguments", {}) for one in (old, new)]
    return old["name"] == new["name"] and spelt(values[0]) == spelt(values[1])


# --- dialects ---------------------------------------------------------------------------------------------------------


def _read(said: Said, name: str) -> dict[str, Expected]:
    case = case_of(said, name, load("dialects", name)["tools"] or {})
    came = _lawful(case)
    verdicts = [_verdict(one.status, one.reason, one.dialect, one.name, name) for one in came.verdicts]
    verdicts = kept(said.get("verdicts", ()), verdicts, lambda old, new: old.removesuffix(f" ({name})") == new)
    shown, calls = came.shown.replace("\r", "␍"), _calls(said, came.calls)
    as_usual = verdicts == [f"lifted {called}" for called, _ in came.calls]
    cut = case.finish != "stop" or any(line.startswith("truncated") for line in verdicts)
    repairs = [repair for verdict in came.verdicts for repair in verdict.repairs]
    return {
        "finish": Expected(case.finish, not cut),
        "shown": Expected(shown, not cut and shown == ("" if came.calls else said["text"])),
        "reasoning": Expected(came.reasoning, not came.reasoning),
        "calls": calls,
        "verdicts": Expected(verdicts, as_usual),
        "repairs": Expected(repairs, not repairs),
    }


def _verdict(status: str, reason: str | None, dialect: str | None, name: str | None, own: str) -> str:
    if name is not None and (not name or name == "-" or " " in name or "(" in name):
        raise Doubtful(f"a verdict cannot be written with the name {name!r}")
    line = " ".join(filter(None, (status, reason, name or "-")))
    return line if dialect == own else f"{line} ({dialect or '-'})"


def _lawful(case: Case) -> Outcome:
    """What a case comes to, whole, in pieces and through a wire."""
    came = read(case, [case.text])
    for size in (1, 3, 7):
        if read(case, chunks(case.text, size)) != came:
            raise Doubtful(f"it depends on where the text is cut (pieces of {size})")
    for at in range(1, len(case.text)):
        if read(case, [case.text[:at], case.text[at:]]) != came:
            raise Doubtful(f"it depends on where the text is cut (behind {at} characters)")
    as_it_came = replace(case, shown=came.shown)
    for size, cuts in ((len(case.text), whole), (3, whole), (7, single)):
        if exchanged(as_it_came, chunks(case.text, max(size, 1)), cuts) != comparable(came):
            raise Doubtful("through Chat Completions it is something else")
    return came


def _written(said: Said, name: str) -> dict[str, Expected]:
    file = load("dialects", name)
    request = request_of(
        WIRE, json.dumps({"messages": [], "tools": openai_tools(said.get("tools", file["tools"]) or {})}).encode()
    )
    tools = Toolbox(request.tools)
    calls = [Call(call["name"], call.get("json") or json.dumps(call.get("arguments", {}))) for call in said["calls"]]
    try:
        text = write(name, calls, tools)
    except Unwritable as refusal:
        message = str(refusal)
        return {
            "text": Expected(None, default=True),
            "refused": Expected(said["refused"] if said.get("refused", "\0") in message else message, default=False),
        }
    if [(one, canonical(json_)) for one, json_ in read_back(name, text, request, tools)] != [
        (call.name, canonical(call.arguments)) for call in calls
    ]:
        raise Doubtful("what is written reads back as something else")
    return {"text": Expected(text, default=False), "refused": Expected(None, default=True)}


# --- wires ------------------------------------------------------------------------------------------------------------


def _received(said: Said, wire: str) -> dict[str, Expected]:
    forms = [sent for sent in (*SENT.values(), *ALSO_SENT.values(), WHOLE[wire]) if sent.wire == wire]
    forms = [sent for sent in forms if sent.takes(said)]
    came = _outcome(said, forms[0])
    if "in_whole" in said:
        other = _outcome(said, WHOLE[wire])
        came["in_whole"] = Expected({key: other[key].value for key in said["in_whole"]}, default=False)
    if came["same"].value is not True and "same" not in said.get("in_whole", {}):
        came["same"] = _same_in_whole(said, forms, came["same"])
    new = {**said, **{key: value for key, (value, _) in came.items()}}
    for sent in forms:
        case = {**new, **new.get("in_whole", {})} if sent.form == "whole" else new
        exchange, body = sent.exchange(case), sent.body(case)
        out = run(exchange, [body])
        try:
            sent.check(case, out, exchange)
        except AssertionError as error:
            raise Doubtful(f"the forms of the reply have different outcomes ({sent.form})") from error
        if sent in SENT.values():
            made = partial(sent.exchange, new)
            same_wherever_it_is_cut(made, body, step=max(sent.step, len(body) // 60), seen=sent.seen)
    return {key: one for key, one in came.items() if key in FORMATS[f"wires/{wire}"]["cases"].keys}


def _outcome(said: Said, sent: Sent) -> dict[str, Expected]:
    exchange, body = sent.exchange(said), sent.body(said)
    out = run(exchange, [body])
    found = received(sent, out)
    came: dict[str, Expected] = {
        key: Expected(value, value == default) for key, (value, default) in found.texts.items()
    }
    verdicts = words_of(exchange)
    wrote = said.get("verdicts", [])
    unordered = sent.wire in {"anthropic", "openai_responses"} and sorted(wrote) == sorted(verdicts)
    came["verdicts"] = Expected(wrote if unordered else verdicts, not verdicts)
    came["same"] = Expected(out == body, out != body)
    calls = []
    for place, call in enumerate(found.calls):
        old = said.get("calls", [])[place] if place < len(said.get("calls", [])) else {}
        new = call_said(call["name"], call["arguments"], exact="json" in old)
        for key in ("id", "form"):
            if key in old and key in call:
                new[key] = call[key]
        calls.append(
            old if old and _same_call(old, new) and all(old.get(k) == new.get(k) for k in ("id", "form")) else new
        )
    came["calls"] = Expected(calls, not calls)
    came["open"] = Expected([{"name": one["name"], "json": one["arguments"]} for one in found.open], not found.open)
    if "order" not in said and sent.wire not in {"anthropic", "openai_responses"}:
        del came["order"]
    return came


def _same_in_whole(said: Said, forms: list[Sent], streamed: Expected) -> Expected:
    """Whether the bytes of the whole form alone are untouched."""
    for sent in forms:
        if sent.form == "whole" and streamed.value is False:
            body = sent.body(said)
            if run(sent.exchange(said), [body]) == body:
                return Expected("whole", default=False)
    return streamed


def _raw(said: Said) -> dict[str, Expected]:
    exchange, body = exchange_for("openai_chat", {}, "sse"), raw_bytes(said["in"])
    out = run(exchange, [body]).decode()
    (made,) = [record.id for _, record in exchange.client_calls] or [""]
    same = out.encode() == raw_bytes(said["in"], made)
    came = said["in"] if same else out.replace(RAW_CALL, "CALL").replace(made or "ID", "ID")
    check_raw({"in": said["in"], "out": came})
    return {"out": Expected(came, same)}
