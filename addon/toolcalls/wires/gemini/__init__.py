"""`gemini`: `models.generateContent` and `models.streamGenerateContent`, as events, as one JSON array, and whole.

https://ai.google.dev/api/generate-content. A lane is a candidate. The same replies come from Vertex AI and, inside
`{"response": ...}`, from Code Assist (`/v1internal:streamGenerateContent`), whose requests are inside `request`.

A call is one part, `functionCall: {name, args}` with `args` an object, and is never split: a call that is lifted is
held and sent when it is complete, and one that broke off stays text. A made call has no `id`, as most of the API's own.
There is no finish reason for calls, it stays `STOP`; where a call broke off, `STOP` becomes `MAX_TOKENS`. Vertex can
stream the arguments of a native call (`partialArgs`); such a call is put together here only to be read, its parts pass
as they are. `MALFORMED_FUNCTION_CALL` comes with a sentence about the call (`finishMessage`), whose forms nobody has
written down: it passes, and nothing is completed before it.

All else passes: thoughts, signatures (a part whose text or call is taken keeps its other fields, with an empty text, as
the API itself sends them), code that the API runs, grounding, safety, usage. Every frame repeats the usage of the whole
reply so far, so a frame with nothing but text that became part of a call is left out, and one with nothing but calls is
left out with them. In the array form no element can be left out: an empty text remains. Reasoning from the text becomes
a part with `thought: true`. What a text became keeps the text's place among the other parts (`Place`).

The events of a frame say of each of its calls, in order, whether it stays, is withdrawn (`Withdrawn`) or is replaced;
in a stream their order also says where the text between them belongs. Where native calls become text, no event says
which were taken: then a part stays that is the call of an event, and no other. A replaced call keeps its part's other
fields (a signature) and its id.

    parts         a candidate's parts: text, thoughts, calls; and why it ended
    partial_args  the arguments of a call that come in pieces, put together
    answer        a reply of our own making, and calls that the API refused in their place
    decoding      a reply's frames as events
    encoding      a reply's candidates, streamed or whole, encoded from changed events
    placing       a candidate's parts, merged with what has become of its calls and its text
"""

from functools import partial
from urllib.parse import parse_qs, unquote, urlsplit

from toolcalls.wires import Wire, form_of
from toolcalls.wires.frames import Form
from toolcalls.wires.gemini import answer
from toolcalls.wires.gemini.encoding import Candidates

_STREAM = ":streamGenerateContent"


class _Gemini(Wire):
    """The wire. Its path ends in a method: `models/gemini-pro:generateContent`."""

    def form(self, path: str, content_type: str) -> Form | None:
        """Events, or JSON: an array of replies where a stream was requested without `alt=sse`."""
        form = form_of(content_type)
        return "json_array" if form == "whole" and _method(path).endswith(_STREAM) else form

    def asked_form(self, path: str, body: bytes) -> Form:  # noqa: ARG002 - the path says it
        if not _method(path).endswith(_STREAM):
            return "whole"
        return "sse" if parse_qs(urlsplit(path).query).get("alt") == ["sse"] else "json_array"

    def matches(self, path: str) -> bool:
        """Any path that ends in one of the two methods: versions, projects and gateways come before it."""
        return _method(path).endswith((_STREAM, self.path))


def _method(path: str) -> str:
    return unquote(urlsplit(path).path).rstrip("/")


WIRE = _Gemini(
    "gemini", ":generateContent", partial(Candidates, streamed=True), partial(Candidates, streamed=False),
    answer=answer.whole, answering=answer.Answering, calls_are_whole=True,
)  # fmt: skip
