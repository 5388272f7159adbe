"""Archives of any size, made of the recorded flows: the same replies behind requests as long as those of agents.

A request grows by earlier turns (source code that was read, and a word about it), whose number goes around from none to
some forty, so it has up to 250 KB and 100 KB in the middle. Ids and times are the flows' own, and the same in every
run.
"""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from mitmproxy import http
from mitmproxy.io import FlowReader, tnetstring

from support.repository import REPO

_TURNS = 41  # kinds of length
_RESULT = 6000  # characters of a file that was read
_APART = 40.0  # seconds between two exchanges
_SOURCE = "".join(
    path.read_text(encoding="utf-8") for path in sorted((REPO / "addon" / "toolcalls" / "insight").glob("*.py"))
)


def recordings() -> list[http.HTTPFlow]:
    """The flows of `recordings/`."""
    found: list[http.HTTPFlow] = []
    for path in sorted((REPO / "recordings").glob("*.flow")):
        with path.open("rb") as file:
            found += (flow for flow in FlowReader(file).stream() if isinstance(flow, http.HTTPFlow))
    return found


def grown(flow: http.HTTPFlow, turns: int, at: int) -> bytes:
    """The request's body with `turns` more turns in front, whose text begins at a place of its own."""
    body = flow.request.content or b""
    try:
        asked = json.loads(body)
    except ValueError:
        return body
    key = next((one for one in ("messages", "contents", "input") if isinstance(asked.get(one), list)), None)
    if key is None:
        return body
    earlier: list[dict[str, Any]] = []
    for turn in range(turns):
        begin = (at * 997 + turn * 4111) % (len(_SOURCE) - _RESULT)
        for role, text in (("user", _SOURCE[begin : begin + _RESULT]), ("assistant", f"I have read part {turn}.")):
            role = "model" if key == "contents" and role == "assistant" else role  # noqa: PLW2901
            content = {"parts": [{"text": text}]} if key == "contents" else {"content": text}
            earlier.append({"role": role, **content})
    first = asked[key][:1]
    asked[key] = (
        [*first, *earlier, *asked[key][1:]] if first and first[0].get("role") == "system" else earlier + asked[key]
    )
    return json.dumps(asked, ensure_ascii=False).encode()


def flows(count: int) -> Iterator[dict[str, Any]]:
    """The states of `count` flows."""
    bases = recordings()
    states: dict[tuple[int, int], dict[str, Any]] = {}
    for number in range(count):
        base, turns = number % len(bases), (number // len(bases)) % _TURNS
        if (base, turns) not in states:
            flow = bases[base].copy()
            flow.request.content = grown(bases[base], turns, base)
            states[base, turns] = flow.get_state()
        state = copy.copy(states[base, turns])
        state["id"] = str(UUID(int=number))
        request, response = dict(state["request"]), dict(state["response"])
        moved = number * _APART
        for message in (request, response):
            for key in ("timestamp_start", "timestamp_end"):
                message[key] += moved
        yield {**state, "request": request, "response": response}


def write(folder: Path, size: int, files: int = 1) -> list[Path]:
    """An archive of at least `size` bytes in `files` files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{number:03}.flow" for number in range(files)]
    states = flows(1 << 40)
    for path in paths:
        with path.open("wb") as file:
            while file.tell() < size // files:
                file.write(tnetstring.dumps(next(states)))
    return paths
