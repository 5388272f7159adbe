"""The floor of an addon that shows both sides of a reply: it keeps each piece with its time, and changes nothing."""

import sys
from pathlib import Path
from time import monotonic_ns

sys.path.insert(0, str(Path(__file__).parents[1] / "addon"))

from toolcalls.mitm.timed_bodies import TimedBody


class Keeping:
    """Keeps every piece of every reply, and hands it on as it is."""

    def responseheaders(self, flow):
        """Install the callable."""
        body = TimedBody(monotonic_ns())

        def piece(data):
            body.add(data, monotonic_ns())
            return data

        flow.response.stream = piece


addons = [Keeping()]
