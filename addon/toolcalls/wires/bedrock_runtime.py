"""What the APIs of Amazon Bedrock's runtime have in common: paths that name the model, and streams of binary events.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_Operations_Amazon_Bedrock_Runtime.html. The last part of a
path says whether the reply is a stream; requests say nothing of it.
"""

from typing import ClassVar
from urllib.parse import urlsplit

from toolcalls.wires import EVENT_STREAM, Wire, form_of
from toolcalls.wires.frames import Form


class BedrockRuntime(Wire):
    """One of the APIs. `path` ends the paths of whole replies, `stream_path` those of streams."""

    stream_path: ClassVar[str]
    stream_form: ClassVar[Form]

    def matches(self, path: str) -> bool:
        """Any path that names a model and ends in one of the two."""
        plain = urlsplit(path).path.rstrip("/")
        return "/model/" in plain and plain.endswith((self.path, self.stream_path))

    def form(self, path: str, content_type: str) -> Form | None:
        """Binary events, or JSON where the path does not ask for a stream."""
        if content_type.partition(";")[0].strip().lower() == EVENT_STREAM:
            return self.stream_form
        return "whole" if form_of(content_type) == "whole" and self.asked_form(path, b"") == "whole" else None

    def asked_form(self, path: str, body: bytes) -> Form:  # noqa: ARG002 - the path says it
        return self.stream_form if urlsplit(path).path.rstrip("/").endswith(self.stream_path) else "whole"
