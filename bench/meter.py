"""Answers `GET /bench/cpu` with the CPU time of this process in seconds, so that the bench need not ask the system,
`GET /bench/pid` with its number, and `GET /bench/pause` with the longest time for which the loop did not come round
since that was asked last, in seconds. Whoever asks that first starts the clock, so it costs nobody else anything.
`GET /bench/profile` begins to sample the stack, and the next one ends that and has the samples as JSON (`stacks.py`).
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from mitmproxy import http
from stacks import Stacks

_TICK = 0.001


class Meter:
    """Answers in the request hook; nothing reaches an upstream."""

    def __init__(self):
        self._ticking = None
        self._sampling = None
        self._worst = 0.0

    def request(self, flow):
        """Answer the bench's own question, leave everything else alone."""
        answers = {
            "/bench/cpu": time.process_time,
            "/bench/pid": os.getpid,
            "/bench/pause": self._pause,
            "/bench/profile": self._profile,
        }
        if flow.request.path in answers:
            said = str(answers[flow.request.path]())
            flow.response = http.Response.make(200, said, {"content-type": "text/plain"})

    def _pause(self):
        if self._ticking is None:
            self._ticking = asyncio.get_running_loop().create_task(self._tick())
        worst, self._worst = self._worst, 0.0
        return worst

    def _profile(self):
        if self._sampling is None:
            self._sampling = Stacks()
            self._sampling.start()
            return "[]"
        sampling, self._sampling = self._sampling, None
        return json.dumps(list(sampling.stop().items()))

    async def _tick(self):
        last = time.perf_counter()
        while True:
            await asyncio.sleep(_TICK)
            now = time.perf_counter()
            self._worst, last = max(self._worst, now - last - _TICK), now


addons = [Meter()]
