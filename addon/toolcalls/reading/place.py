"""Where a text stands in its message, and what is looked for there: what the parts of the reader share."""

from toolcalls.reading.openers import Openers
from toolcalls.text.markdown import Position


class Place:
    """The place that all text before it was shown at, or read as calls.

    position       in its Markdown
    message_start  only white space comes before it in its message
    frame_end      the offset after the latest frame of a dialect's messages, -1 for none: there another one begins
    in_template    a message of a template has been here: behind it others may begin
    marks_left     marks of such frames are in the text where no message of their template can be
    looked_alike   a tag that is none, or that came to nothing, was in the text: what it holds lacks no opener
    openers        what is looked for from here on
    """

    __slots__ = ("frame_end", "in_template", "looked_alike", "marks_left", "message_start", "openers", "position")
    openers: Openers

    def __init__(self, position: Position, *, message_start: bool = True) -> None:
        self.position = position
        self.message_start = message_start
        self.frame_end = -1
        self.in_template = self.marks_left = self.looked_alike = False
