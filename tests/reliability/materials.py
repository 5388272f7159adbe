"""What is thrown: recorded replies with their requests, and rows of public test suites.

The suites are not part of the repository; they are looked for in `shared/suites` beside it. Where they are not there,
the project's own recordings and wire cases are the material, and the names of the rows say so.

Strategy: everything is read once in each process, in the order of the files, and a fraction of it is chosen by a digest
of the item's name and the seed, so the same numbers always choose the same items, whatever else is in the files.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from mitmproxy.io import FlowReader

from support.spoken import TEXTUAL
from toolcalls.flows import flow_metadata
from toolcalls.flows.content_codings import decoded
from toolcalls.flows.exchange_plan import wire_for
from toolcalls.wires import all_wires

REPO = Path(__file__).parents[2]
SUITES = REPO.parent / "shared" / "suites"
RECORDINGS = REPO / "recordings"

# Where recordings lost their path or their content type, the wire's own are there. A request without anything in it
# is what a recording gets that has none.
PATHS = {
    "anthropic": "/v1/messages",
    "cohere": "/v2/chat",
    "gemini": "/v1beta/models/m:streamGenerateContent?alt=sse",
    "gemini-interactions": "/v1beta/interactions",
    "gemini-jsonarray": "/v1beta/models/m:streamGenerateContent",
    "ollama": "/api/chat",
    "ollama-generate": "/api/generate",
    "openai-chat": "/v1/chat/completions",
    "openai-completions": "/v1/completions",
    "openai-responses": "/v1/responses",
}
EMPTY_REQUESTS: Mapping[str, dict[str, Any]] = {
    "anthropic": {"messages": []},
    "bedrock": {"messages": []},
    "bedrock_converse": {"messages": []},
    "cohere": {"messages": []},
    "gemini": {"contents": []},
    "gemini_interactions": {"input": []},
    "mistral_fim": {"prompt": ""},
    "ollama": {"messages": []},
    "ollama_generate": {"prompt": ""},
    "openai_chat": {"messages": []},
    "openai_completions": {"prompt": ""},
    "openai_responses": {"input": []},
}


@dataclass(frozen=True)
class Reply:
    """One reply as an upstream sent it, and the request that it answers.

    request   the request's body
    body      without content coding
    chunks    how many bytes each piece had when it was recorded; () where that is not known
    natives   how many native calls it holds; None where nobody counted
    """

    id: str
    path: str
    content_type: str
    request: bytes
    body: bytes
    chunks: tuple[int, ...] = ()
    natives: int | None = None

    @property
    def wire(self) -> str:
        """The name of the wire that it is read as."""
        found = next((wire.name for wire in all_wires().values() if wire.matches(self.path)), None)
        if found is None:
            raise LookupError(f"{self.id}: {self.path} is no path of a wire")
        return found


def chosen(name: str, fraction: float, seed: int) -> bool:
    """Whether the item of this name is in the fraction (0 to 1) that the seed chooses."""
    digest = blake2b(f"{seed} {name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) < fraction * 2**64


def seed_of(seed: int, *names: str) -> int:
    """A seed of its own for one item, which depends on nothing but its names."""
    return int.from_bytes(blake2b("\0".join([str(seed), *names]).encode(), digest_size=6).digest())


def rows_of(name: str) -> list[dict[str, Any]]:
    """The rows of a suite; [] where the suite is not there."""
    path = SUITES / name
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def body_in(row: Mapping[str, Any]) -> bytes:
    """The bytes of a row that holds them in base64."""
    return base64.b64decode(row["body_b64"])


@cache
def recorded() -> tuple[Reply, ...]:
    """Every recorded reply of a wire: those of the suite, built ones where it is not there, and the project's own."""
    return (*(tuple(_of_the_suite()) or _built()), *_of_the_project())


def _built() -> Iterator[Reply]:
    """A reply in plain words on each wire, as the tests' own upstreams write it."""
    for name, spoken in TEXTUAL.items():
        kind = "gemini-jsonarray" if spoken.form == "json_array" else spoken.wire.replace("_", "-")
        content_type = {"sse": "text/event-stream", "ndjson": "application/x-ndjson"}.get(
            spoken.form, "application/json"
        )
        request = json.dumps(EMPTY_REQUESTS[spoken.wire]).encode()
        body = spoken.said(["Plain ", "words: a < b,", " é", " and no more.\n"] * 3)
        yield Reply(f"built/{name}", PATHS[kind], content_type, request, body)


def _of_the_suite() -> Iterator[Reply]:
    for kind, path in PATHS.items():
        for row in rows_of(f"streams/{kind}.jsonl"):
            yield _reply(row, kind, path)


def _reply(row: Mapping[str, Any], kind: str, standard: str) -> Reply:
    body = str(row["body"]).encode("utf-8", "surrogatepass")
    wire = "gemini" if kind == "gemini-jsonarray" else kind.replace("-", "_")
    path = str(row["url_path"]).partition("#")[0]
    if not path.startswith("/") or not all_wires()[wire].matches(path):
        path = standard
    return Reply(
        id=f"{kind}/{row['id']}",
        path=path,
        content_type=_content_type(str(row["content_type"]), body),
        request=json.dumps(row["request"] or EMPTY_REQUESTS[wire]).encode(),
        body=body,
        chunks=tuple(row["chunks"] or ()),
        natives=row["native_calls"] if kind == "openai-chat" else None,
    )


def _content_type(said: str, body: bytes) -> str:
    """What a recording lost or calls wrong, its body tells."""
    head = body.lstrip(b"\xef\xbb\xbf \r\n")[:1]
    if said.startswith("text/event-stream") and head != b"{":
        return said
    if "json" in said:
        return said
    return "application/json" if head in {b"{", b"["} else "text/event-stream"


def _of_the_project() -> Iterator[Reply]:
    for path in sorted(RECORDINGS.glob("*.flow")):
        with path.open("rb") as file:
            flows: list[Any] = list(FlowReader(file).stream())
        for flow in flows:
            if flow.response is None or wire_for(flow.request) is None:
                continue
            coding = flow.response.headers.get("content-encoding", "")
            client = decoded(flow.response.raw_content or b"", coding)
            yield Reply(
                id=f"recordings/{path.stem}",
                path=flow.request.path,
                content_type=flow.response.headers.get("content-type", ""),
                request=flow.request.raw_content or b"",
                body=bytes(flow.metadata.get(flow_metadata.UPSTREAM, client)),
            )


def untouched() -> Iterator[Reply]:
    """The recorded replies in whose text nobody wrote a call, so that nothing of them may change."""
    return (reply for reply in recorded() if not reply.id.startswith("recordings/"))
