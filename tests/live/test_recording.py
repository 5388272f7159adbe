"""`toolcalls_record` in a real mitmdump: what was recorded when it ends, however it ends."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from support.loopback import CALL, Reply, asked, flows_in, mitmdump, post, streamed, upstream
from support.waiting import seen

COUNT = 12


@pytest.mark.parametrize(
    ("how", "why"), [(signal.SIGTERM, "mitmproxy ended"), (signal.SIGKILL, "mitmproxy was killed")]
)
def test_all_is_written_however_mitmdump_ends(tmp_path: Path, how: signal.Signals, why: str) -> None:
    """The signal comes right after the last reply, when the process that writes may not even have loaded."""
    folder = tmp_path / "recordings"
    with (
        upstream(*[Reply(streamed(CALL))] * COUNT) as server,
        mitmdump(tmp_path, "--set", f"toolcalls_record={folder}", to=server.url) as dump,
    ):
        for _ in range(COUNT):
            assert post(dump.url, asked()).ended
        os.kill(dump.pid, how)
        status = dump.ended()
        assert (status == 0) == (how == signal.SIGTERM)

    def end() -> dict[str, Any] | None:
        for path in folder.glob("*.index.jsonl"):
            *_, last, begun = ["", *path.read_text().split("\n")]  # somebody may be just writing
            return json.loads(last) if '"ended"' in last and not begun else None
        return None

    if how == signal.SIGTERM:
        assert end(), "mitmdump did not wait"
    seen(end)
    found = end()
    assert found is not None
    (path,) = folder.glob("*.flow")
    assert len(flows_in(path)) == found["exchanges"]
    assert found["why"] == why
    # What a killed mitmproxy was just about to hand over is lost; all that it had handed over is written.
    assert found["exchanges"] == COUNT if how == signal.SIGTERM else found["exchanges"] >= COUNT - 2
    assert found["missing"] <= 1
