"""What the case files of `tests/cases` may hold: the keys of every kind of case, and what their values must be.

`tests/cases/README.md` says what the keys mean, and a test holds its tables to `FORMATS`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, get_args

from support.casevalues import (
    CUT,
    REASONS,
    Check,
    calls,
    calls_with,
    either,
    false,
    flag,
    history,
    mapping,
    number,
    one_of,
    open_calls,
    outcomes,
    places,
    repairs,
    rows,
    text,
    texts,
    tools,
    turns,
    verdicts,
)
from toolcalls.flows.cases.dialect_cases import ROUTE_KEYS
from toolcalls.route import PolicyName


@dataclass(frozen=True)
class Format:
    """The keys of one kind of case. `columns`: the keys of a case that is written as a list."""

    keys: Mapping[str, Check]
    required: frozenset[str]
    columns: tuple[str, ...] = ()

    def mistakes(self, case: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
        """Each mistake in a case as the key that it is about, "" for the case, and a sentence."""
        for key in case:
            if key not in self.keys:
                near = get_close_matches(str(key), self.keys, 1)
                known = f"did you mean `{near[0]}`?" if near else f"the keys are {', '.join(self.keys)}"
                yield str(key), f"the key {key!r} is unknown; {known}"
        for key in self.keys:
            if key in self.required and key not in case:
                yield "", f"the key `{key}` is missing"
            elif key in case and (wrong := self.keys[key](case[key])):
                yield key, f"`{key}` {wrong}"


@dataclass(frozen=True)
class _Dialect(Format):
    """A case of a dialect: what was cut off says how it ended and what is shown of it."""

    def mistakes(self, case: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
        found = list(super().mistakes(case))
        yield from found
        if found:
            return
        truncated = any(line.startswith("truncated") for line in case.get("verdicts", ()))
        if truncated or case.get("finish") in CUT:
            why = "a verdict is `truncated`" if truncated else f"`finish` is {case['finish']}"
            meaning = {
                "finish": "how the reply ended: stop, length or broken",
                "shown": "the text that the client sees",
            }
            for key in meaning.keys() - set(case):
                yield "", f"the key `{key}` is missing ({meaning[key]}): {why}, and such a case has no default for it"


@dataclass(frozen=True)
class _Written(Format):
    """A case of writing: the text, or the refusal."""

    def mistakes(self, case: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
        yield from super().mistakes(case)
        if ("text" in case) == ("refused" in case):
            yield "", "exactly one of `text` and `refused` must be there"


_ROUTE: dict[str, Check] = {
    "policy": one_of(*get_args(PolicyName)),
    "allowed_tools": either(texts, lambda value: "" if value is None else "must be a list or null"),
    "dialects": texts,
    "multiple_calls": flag,
    "infer_types": flag,
    "max_buffer_bytes": number,
    "max_held_call_bytes": number,
    "drop_invented_results": flag,
}
assert set(_ROUTE) == ROUTE_KEYS, "the package knows other keys of a route than the format"

_TITLE: dict[str, Check] = {"title": text}
_WIRE: dict[str, Check] = {
    **_TITLE,
    "route": mapping,
    "tools": tools,
    "request": mapping,
    "reply": rows,
    "same": either(flag, one_of("whole")),
    "text": text,
    "reasoning": text,
    "calls": calls_with("id", "form"),
    "order": text,
    "verdicts": verdicts,
    "whole": false,
}
_SENT = frozenset({"title", "reply"})
_RULES: dict[str, Check] = {**_TITLE, "rules": mapping}
_KIND = one_of("lift", "lower", "roundtrip", "process")
_FRAMES: dict[str, Check] = {
    **_RULES,
    "kind": _KIND,
    "reply": rows,
    "gets": rows,
    "same": flag,
    "order": text,
    "verdicts": outcomes,
    "whole": either(rows, mapping),
}
_FRAMED = frozenset({"title", "rules", "reply", "verdicts"})
_QUOTATION: dict[str, Check] = {**_TITLE, "text": text}
_QUOTED = frozenset(_QUOTATION)
_FLAGS = one_of("late", "anywhere")

# File or folder → section → what its cases are.
FORMATS: dict[str, dict[str, Format]] = {
    "dialects": {
        "cases": _Dialect(
            {
                **_TITLE,
                "text": text,
                "shown": text,
                "calls": calls,
                "verdicts": verdicts,
                "repairs": repairs,
                "finish": one_of("stop", *CUT),
                "tools": tools,
                "request": mapping,
                "reasoning": text,
                "cuts": places,
                **_ROUTE,
            },
            frozenset({"title", "text"}),
        ),
        "written": _Written(
            {**_TITLE, "calls": calls, "tools": tools, "text": text, "refused": text}, frozenset({"title", "calls"})
        ),
    },
    "wires/openai_chat": {
        "cases": Format(
            {**_WIRE, "upstream_finish": text, "open": open_calls, "finish": text, "whole_only": flag}, _SENT
        ),
        "raw": Format({**_TITLE, "in": text, "out": text}, frozenset({"title", "in"})),
    },
    "wires/openai_responses": {
        "cases": Format(
            {
                **_WIRE,
                "upstream_status": text,
                "open": open_calls,
                "status": text,
                "reason": text,
                "whole_only": flag,
                "in_whole": mapping,
            },
            _SENT | {"order"},
        )
    },
    "wires/anthropic": {
        "cases": Format(
            {**_WIRE, "upstream_stop": text, "open": open_calls, "stop": text, "in_whole": mapping}, _SENT | {"order"}
        )
    },
    "wires/gemini": {
        "cases": Format({**_WIRE, "upstream_finish": text, "finish": text, "signatures": rows, "others": rows}, _SENT)
    },
    "wires/ollama": {"cases": Format({**_WIRE, "upstream_finish": text, "finish": text}, _SENT)},
    "processors/openai_chat": {
        "cases": Format(
            {
                **_RULES,
                "says": turns,
                "history": history,
                "text": text,
                "calls": turns,
                "finish": text,
                "verdicts": outcomes,
                "notes": texts,
            },
            frozenset({"title", "rules", "says", "finish", "verdicts"}),
        )
    },
    "processors/anthropic_and_openai_responses": {
        "cases": Format(
            {
                **_RULES,
                "kind": _KIND,
                "reply": rows,
                "met": one_of("length"),
                "text": text,
                "texts": mapping,
                "calls": turns,
                "open": texts,
                "order": text,
                "finish": text,
                "same": flag,
                "verdicts": outcomes,
                "notes": texts,
                "whole": either(false, mapping),
            },
            _FRAMED | {"order", "finish"},
        )
    },
    "processors/gemini": {"cases": Format(_FRAMES, _FRAMED)},
    "processors/ollama": {"cases": Format(_FRAMES, _FRAMED)},
    "quoting": {
        "quoted": Format(
            {
                **_QUOTATION,
                "reason": one_of(*sorted(REASONS)),
                "finish": one_of("stop", *CUT),
                "anywhere": flag,
            },
            _QUOTED,
        ),
        "followed": Format(_QUOTATION, _QUOTED),
        "calls": Format({**_QUOTATION, "whole": flag}, _QUOTED),
    },
    "quoting_notations": {
        "quoted": Format({**_QUOTATION, "flag": _FLAGS}, _QUOTED, columns=("title", "text", "flag")),
        "calls": Format(_QUOTATION, _QUOTED, columns=("title", "text")),
    },
    "prompts": {
        "prompts": Format(
            {**_TITLE, "source": text, "teaches": texts, "calls": text, "system": text},
            frozenset({"title", "source", "teaches", "calls", "system"}),
        )
    },
}
# What is beside the sections of cases.
BESIDE: dict[str, frozenset[str]] = {"wires/gemini": frozenset({"streamed_arguments"})}
WITHOUT_TOOLS = frozenset({"quoting", "quoting_notations", "prompts"})
