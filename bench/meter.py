"""Answers `GET /bench/cpu` with the CPU time of this process in seconds, so that the bench need not ask the system, and
`GET /bench/pid` with its number.
"""

import os
import time

from mitmproxy import http


class Meter:
    """Answers in the request hook; nothing reaches an upstream."""

    def request(self, flow):
        """Answer the bench's own question, leave everything else alone."""
        if flow.request.path == "/bench/cpu":
            flow.response = http.Response.make(200, str(time.process_time()), {"content-type": "text/plain"})
        elif flow.request.path == "/bench/pid":
            flow.response = http.Response.make(200, str(os.getpid()), {"content-type": "text/plain"})


addons = [Meter()]
